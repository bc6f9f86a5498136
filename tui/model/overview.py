"""The first view of statistics: what there is, what failed, who does how much of what; each line leads on.

Theory. What somebody asks who looks at an unknown capture, in this order: how much is it and when was it, is anything
wrong, which operations are there and how fast are they. The rest is a line for each of the other views, which says
what is most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analyzer.columns.arrays import Ints
from analyzer.columns.text import safe_text
from analyzer.columns.values import iso_time
from analyzer.insight.figures import Figures
from analyzer.insight.statistics import Group, Study
from analyzer.insight.unanswered import Waiting, longest, unanswered
from analyzer.render.amounts import count, rate, size
from analyzer.render.durations import duration
from analyzer.render.lines import Line
from analyzer.render.sparkline import narrowed, sparkline
from tui.model.figures import NOTHING, format_key, make_metric_columns, make_name_column
from tui.model.leads import NOTHING_NOW, FilterLead, Lead, MessageLead, ViewLead, make_label_filters
from tui.model.table import SortableTable
from tui.model.views import TableView, TextView, ViewHeads, ViewLine, ViewState

OLDEST_REQUESTS, TITLE_WIDTH, BESIDE_WIDTH = 3, 16, 34
"""Requests that are named, cells of the words that a line begins with, and of those behind what is drawn."""


@dataclass(frozen=True, slots=True)
class OverviewFacts:
    """What is said of all messages. over_time: how many in each `interval` (ns). waiting: who waited longest."""

    total: Figures
    first: int | None
    last: int | None
    interval: int
    over_time: Sequence[int]
    groups: Sequence[Group]
    waiting: Sequence[Waiting]

    @classmethod
    def from_study(cls, study: Study) -> OverviewFacts:
        """Of the rows of a study."""
        rows: Ints = unanswered(study.reader.session, study.rows)
        over_time = [group.figures.messages for group in study.by("time").groups]
        groups = study.by("protocol", "operation").groups
        parts = (study.total, study.first, study.last, study.intervals.length, over_time, groups)
        return cls(*parts, longest(study.reader.session, rows, OLDEST_REQUESTS))


class OverviewView(TextView):
    """See the module. others: for each other view that has anything, its name and what is most in it."""

    def __init__(self, name: str, facts: OverviewFacts, others: Sequence[tuple[str, str]], rate_name: str) -> None:
        super().__init__(name, "")
        self._facts, self._others, self._rate = facts, others, rate_name
        self._table = _make_operation_table(facts.groups)

    def make_lines(self, width: int, state: ViewState) -> Sequence[ViewLine]:
        """See View."""
        if not self._facts.total.messages:
            return [ViewLine((("warning", " there is no message to count"),))]
        found = [*self._make_amounts(width), *self._make_troubles(), ViewLine(())]
        return [*found, *self._make_table_lines(width), ViewLine(()), *self._make_view_lines()]

    def make_head(self, width: int, state: ViewState) -> ViewHeads:
        """See View."""
        return ()

    def _make_amounts(self, width: int) -> Iterator[ViewLine]:
        facts, total = self._facts, self._facts.total
        if facts.first is None or facts.last is None:
            return
        first, last = (iso_time(time)[:19].replace("T", " ") for time in (facts.first, facts.last))
        yield _make_item("time", f"{first} to {last[11:] if last[:10] == first[:10] else last} UTC")
        how_fast = "" if total.rate is None else f", {rate(total.rate)} messages/s"
        yield _make_item("took", f"{duration(facts.last - facts.first)}{how_fast}")
        kinds = ("requests", "answers", "oneway", "push", "raw")
        parts = [f"{getattr(total, kind):,} {kind}" for kind in kinds if getattr(total, kind)]
        yield _make_item("messages", f"{total.messages:,}, {size(total.bytes)}: {', '.join(parts)}")
        drawn = narrowed(facts.over_time, max(width - TITLE_WIDTH - BESIDE_WIDTH, 10))
        each = facts.interval * -(-len(facts.over_time) // len(drawn))
        text = f"  each {duration(each)}, {max(drawn):,} at most"
        spark: Line = (*_make_title("over time"), ("name", sparkline(drawn)), ("dim", text))
        yield ViewLine(spark, ViewLead(self._rate), "over time")

    def _make_troubles(self) -> Iterator[ViewLine]:
        """What failed and what was never answered; that there is none, if so."""
        total = self._facts.total
        if total.errors is None:
            yield _make_item("errors", "being looked for ...", style="dim")
        elif total.errors:
            share = "" if total.error_rate is None else f", {100 * total.error_rate:.3g} % of the answers"
            lead = FilterLead(f"error and not {NOTHING_NOW}" if total.empty else "error")
            yield _make_item("errors", f"{total.errors:,}{share}", lead, "error")
        else:
            yield _make_item("errors", "none")
        if total.empty:
            text = f"{total.empty:,} answers say that there is nothing now, which is no error"
            yield _make_item("nothing yet", text, FilterLead(NOTHING_NOW))
        if total.unanswered:
            lead = FilterLead("role == request and not partner")
            yield _make_item("never answered", f"{total.unanswered:,} requests", lead, "warning")
            for each in self._facts.waiting:
                text = f"No. {each.row + 1} had waited {duration(each.waited)} when its connection was last heard of"
                yield ViewLine((*_make_title(""), ("value", text)), MessageLead(each.row), ("waiting", each.row))
        else:
            yield _make_item("never answered", "none")
        if total.orphans:
            lead = FilterLead("role == response and not partner")
            yield _make_item("no request seen", f"of {total.orphans:,} answers", lead, "warning")

    def _make_table_lines(self, width: int) -> Iterator[ViewLine]:
        state = ViewState()
        head = "".join(title for title, _ in self._table.make_head(width - 1, state))
        yield ViewLine((("head", f" {head}"),))
        for item in self._table.make_lines(width - 1, state):
            yield item._replace(line=(("", " "), *item.line))

    def _make_view_lines(self) -> Iterator[ViewLine]:
        for name, most in self._others:
            yield ViewLine((*_make_title(name.lower()), ("value", most)), ViewLead(name), name)


def _make_title(text: str) -> Line:
    return (("dim", f" {text:<{TITLE_WIDTH - 1}}"),)


def _make_item(title: str, text: str, lead: Lead | None = None, style: str = "value") -> ViewLine:
    return ViewLine((*_make_title(title), (style, text)), lead, title)


def _make_operation_table(groups: Sequence[Group]) -> TableView:
    """Each operation of each protocol."""
    labels = [(group.key[0], group.key[1]) for group in groups]
    condition = make_label_filters(labels)
    operations = [
        operation or ("raw" if group.figures.raw == group.figures.messages else NOTHING)
        for group, (_, operation) in zip(groups, labels, strict=True)
    ]
    columns = [
        make_name_column(operations, "operation"),
        make_name_column([protocol for protocol, _ in labels], "protocol", rank=2),
    ]
    table = SortableTable([*columns, *make_metric_columns(groups)], [group.figures.messages for group in groups])
    return TableView("", table, labels, lambda row: FilterLead(condition(labels[row])))


def summarise_groups(groups: Sequence[Group], place: int) -> str:
    """How many there are, and the first few by name; place: of the name in a key."""
    few = [f"{format_key(group.key[place])} {count(group.figures.messages)}" for group in groups[:4]]
    return safe_text(f"{len(groups):,}: {', '.join(few)}", 300)
