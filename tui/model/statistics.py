"""The views of statistics, in the order in which they can be computed: first those that need the index only.

Theory. analyzer.insight computes the metrics, as for `wireanalyze stats`. The index has most of them; errors need the
bodies of some answers, and topics, paths and groups need those of all messages that have any. So the generator yields
the views again and again, more of them each time. A view that is not computed yet says so.

The overview answers the first questions about an unknown capture, in this order: how much is it and when was it, is
anything wrong, which operations are there and how fast are they. Then it has a line for each of the other views with
their largest groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analyzer.columns.arrays import Ints
from analyzer.columns.text import safe_text
from analyzer.columns.values import format_iso_time
from analyzer.decode.rows import RowReader
from analyzer.insight.counts import Waiting, find_unanswered, longest
from analyzer.insight.metrics import Metrics
from analyzer.insight.statistics import GroupStatistics, Study
from analyzer.render.amounts import format_count, format_rate, format_size
from analyzer.render.durations import format_duration
from analyzer.render.lines import Line
from analyzer.render.sparkline import draw_sparkline, narrow_counts
from analyzer.session import Analysis
from tui.model.latency_and_rate import make_latency_view, make_rate_view
from tui.model.leads import NOTHING_NOW, FilterLead, Lead, MessageLead, ViewLead, make_label_filters, write_comparison
from tui.model.table import SortableTable
from tui.model.views import (
    NOTHING,
    TableView,
    TextView,
    View,
    ViewHeads,
    ViewLine,
    ViewState,
    ViewWork,
    format_key,
    make_group_view,
    make_metric_columns,
    make_name_column,
)

OVERVIEW, LATENCY, RATE, CLIENTS, ERRORS, CONNECTIONS = (
    "Overview",
    "Latency",
    "Rate",
    "Clients",
    "Errors",
    "Connections",
)
SUBJECTS: Mapping[str, str] = {"Topics": "topic", "Paths": "path", "Groups": "group"}
"""Views by subject, and the protocols' name of the subject."""

STATISTICS_VIEWS = (OVERVIEW, LATENCY, RATE, *SUBJECTS, CLIENTS, ERRORS, CONNECTIONS)

NOT_YET = "searching ..."


class StatisticsViews:
    """Collects the views as they are made."""

    def __init__(self) -> None:
        self._found: dict[str, View] = {name: TextView(name, NOT_YET) for name in STATISTICS_VIEWS}
        self._most: dict[str, str] = {}
        self._facts: OverviewFacts | None = None

    def add_view(self, view: View, most: str | None = None) -> None:
        """Adds a view.

        most: its largest groups, for the overview.
        """
        self._found[view.name] = view
        if most is not None:
            self._most[view.name] = most

    def update_overview(self, facts: OverviewFacts | None = None) -> None:
        """Makes the view `overview` again from `facts`, or from the latest facts if None."""
        self._facts = facts or self._facts
        if self._facts is not None:
            others = [(name, self._most[name]) for name in STATISTICS_VIEWS if name in self._most]
            self.add_view(OverviewView(OVERVIEW, self._facts, others, RATE))

    def list_views(self) -> list[View]:
        """Returns the views in their order."""
        self.update_overview()
        return list(self._found.values())


def make_statistics_views(session: Analysis, rows: Ints, work: ViewWork) -> Iterator[list[View]]:
    """Yields all views of some rows, more of them each time.

    Raises Cancellation if the work is not wanted any more.
    """
    reader, views = RowReader(session), StatisticsViews()
    if not len(rows):
        for name in STATISTICS_VIEWS:
            views.add_view(TextView(name, "there is no message to count"))
        yield views.list_views()
        return
    study = Study(reader, rows, with_errors=False)
    views.update_overview(OverviewFacts.from_study(study))
    yield views.list_views()
    work.raise_if_cancelled()
    views.add_view(make_latency_view(LATENCY, study))
    yield views.list_views()
    for _ in _add_index_views(views, study, work):
        yield views.list_views()
    work.subject = "errors"
    study = Study(reader, rows, looked=work.report_progress)
    views.update_overview(OverviewFacts.from_study(study))
    _add_errors(views, study)
    yield views.list_views()
    for _ in _add_index_views(views, study, work):
        yield views.list_views()
    for name, word in SUBJECTS.items():
        work.subject = name.lower()
        _add_subjects(views, study, name, word)
        yield views.list_views()


def _add_index_views(views: StatisticsViews, study: Study, work: ViewWork) -> Iterator[None]:
    """Adds the views that need only the index and errors."""
    work.raise_if_cancelled()
    views.add_view(make_rate_view(RATE, study))
    yield
    work.raise_if_cancelled()
    _add_grouped(views, study, CLIENTS, "client")
    yield
    work.raise_if_cancelled()
    _add_grouped(views, study, CONNECTIONS, "stream_id")
    yield


def _add_grouped(views: StatisticsViews, study: Study, name: str, field: str) -> None:
    groups = study.measure_by(field).groups

    def lead(key: tuple[Any, ...]) -> Lead:
        return FilterLead(write_comparison(field, key[0]))

    title = "client" if field == "client" else "connection"
    views.add_view(make_group_view(name, [title], groups, lead), summarise_groups(groups, 0))


def _add_errors(views: StatisticsViews, study: Study) -> None:
    groups = [group for group in study.measure_by("protocol", "operation", "error").groups if group.key[2] is not None]
    condition = make_label_filters((protocol, operation) for protocol, operation, _ in {group.key for group in groups})

    def lead(key: tuple[Any, ...]) -> Lead:
        return FilterLead(f"{condition(key[:2])} and {write_comparison('error', key[2])}")

    note = "" if groups else "no message reports an error"
    found = make_group_view(ERRORS, ["protocol", "operation", "error"], groups, lead, note)
    views.add_view(found, summarise_groups(groups, 2) if groups else None)


def _add_subjects(views: StatisticsViews, study: Study, name: str, word: str) -> None:
    """Adds the view of what messages are about; messages without one are counted."""
    groups = study.measure_by("protocol", word).groups
    some, silent = [], 0
    for group in groups:
        if group.key[1] is None:
            silent += group.metrics.messages
        else:
            some.append(group)
    views.add_view(_make_subject_view(name, word, some, silent), summarise_groups(some, 1) if some else None)


def _make_subject_view(name: str, word: str, groups: Sequence[GroupStatistics], silent: int) -> TableView:
    def lead(key: tuple[Any, ...]) -> Lead | None:
        return FilterLead(write_comparison(f"{key[0]}.{word}", key[1])) if isinstance(key[1], str) else None

    note = f"{silent:,} messages name no {word}; one that names several is counted in each"
    if not groups:
        note = f"no message names a {word}"
    return make_group_view(name, ["protocol", word], groups, lead, note)


OLDEST_REQUESTS, TITLE_WIDTH, LABEL_WIDTH = 3, 16, 34
"""The requests that are listed, the cells of a line's title, and those behind the chart."""


@dataclass(frozen=True, slots=True)
class OverviewFacts:
    """The metrics of all messages.

    over_time, slowest: messages in each `interval` (ns), and the 99th percentile of their latencies (ns).
    waiting: the requests that waited longest.
    """

    total: Metrics
    first: int | None
    last: int | None
    interval: int
    over_time: Sequence[int]
    slowest: Sequence[int]
    groups: Sequence[GroupStatistics]
    waiting: Sequence[Waiting]

    @classmethod
    def from_study(cls, study: Study) -> OverviewFacts:
        """Collects the metrics of a study."""
        rows: Ints = find_unanswered(study.reader.session, study.rows)
        each = [group.metrics for group in study.measure_by("time").groups]
        over_time, slowest = [one.messages for one in each], [one.p99_ns or 0 for one in each]
        groups = study.measure_by("protocol", "operation").groups
        parts = (study.total, study.first, study.last, study.intervals.length, over_time, slowest, groups)
        return cls(*parts, longest(study.reader.session, rows, OLDEST_REQUESTS))


class OverviewView(TextView):
    """The overview.

    others: names of other views, with their largest groups.
    """

    def __init__(self, name: str, facts: OverviewFacts, others: Sequence[tuple[str, str]], rate_name: str) -> None:
        super().__init__(name, "")
        self._facts, self._others, self._rate = facts, others, rate_name
        self._table = _make_operation_table(facts.groups)

    def make_lines(self, width: int, state: ViewState) -> Sequence[ViewLine]:
        """Returns the lines of amounts, problems, operations, and other views."""
        if not self._facts.total.messages:
            return [ViewLine((("warning", " there is no message to count"),))]
        found = [*self._make_amounts(width), *self._make_troubles(), ViewLine(())]
        return [*found, *self._make_table_lines(width), ViewLine(()), *self._make_view_lines()]

    def make_head(self, width: int, state: ViewState) -> ViewHeads:
        """Returns no titles: the table has its own."""
        return ()

    def _make_amounts(self, width: int) -> Iterator[ViewLine]:
        facts, total = self._facts, self._facts.total
        if facts.first is None or facts.last is None:
            return
        first, last = (format_iso_time(time)[:19].replace("T", " ") for time in (facts.first, facts.last))
        yield _make_item("time", f"{first} to {last[11:] if last[:10] == first[:10] else last} UTC")
        how_fast = "" if total.rate is None else f", {format_rate(total.rate)} messages/s"
        yield _make_item("took", f"{format_duration(facts.last - facts.first)}{how_fast}")
        kinds = ("requests", "answers", "oneway", "push", "raw")
        parts = [f"{getattr(total, kind):,} {kind}" for kind in kinds if getattr(total, kind)]
        yield _make_item("messages", f"{total.messages:,}, {format_size(total.bytes)}: {', '.join(parts)}")
        bars = narrow_counts(facts.over_time, max(width - TITLE_WIDTH - LABEL_WIDTH, 10))
        each = facts.interval * -(-len(facts.over_time) // len(bars))
        text = f"  each {format_duration(each)}, {max(bars):,} at most"
        spark: Line = (*_make_title("over time"), ("name", draw_sparkline(bars)), ("dim", text))
        yield ViewLine(spark, ViewLead(self._rate), "over time")
        if total.p99_ns is not None and any(facts.slowest):
            count = -(-len(facts.slowest) // len(bars))
            peaks = [max(facts.slowest[at : at + count]) for at in range(0, len(facts.slowest), count)]
            text = f"  p99 of each, {format_duration(max(peaks))} at most"
            spark = (*_make_title("latency"), ("warning", draw_sparkline(peaks)), ("dim", text))
            yield ViewLine(spark, ViewLead(self._rate), "latency")

    def _make_troubles(self) -> Iterator[ViewLine]:
        """Yields the lines of errors and of requests without an answer."""
        total = self._facts.total
        if total.errors is None:
            yield _make_item("errors", "searching ...", style="dim")
        elif total.errors:
            share = "" if total.error_rate is None else f", {100 * total.error_rate:.3g} % of the answers"
            lead = FilterLead(f"error and not {NOTHING_NOW}" if total.empty else "error")
            yield _make_item("errors", f"{total.errors:,}{share}", lead, "error")
        else:
            yield _make_item("errors", "none")
        if total.empty:
            text = f"{total.empty:,} answers only say that there is nothing new, which is not an error"
            yield _make_item("nothing yet", text, FilterLead(NOTHING_NOW))
        if total.unanswered:
            lead = FilterLead("role == request and not partner")
            yield _make_item("never answered", f"{total.unanswered:,} requests", lead, "warning")
            for each in self._facts.waiting:
                waited = format_duration(each.waited)
                text = f"No. {each.row + 1} had waited {waited} at the last packet of its connection"
                yield ViewLine((*_make_title(""), ("value", text)), MessageLead(each.row), ("waiting", each.row))
        else:
            yield _make_item("never answered", "none")
        if total.orphans:
            lead = FilterLead("role == response and not partner")
            yield _make_item("request missing", f"of {total.orphans:,} answers", lead, "warning")

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


def _make_operation_table(groups: Sequence[GroupStatistics]) -> TableView:
    """Makes the table of operations."""
    labels = [(group.key[0], group.key[1]) for group in groups]
    condition = make_label_filters(labels)
    operations = [
        operation or ("raw" if group.metrics.raw == group.metrics.messages else NOTHING)
        for group, (_, operation) in zip(groups, labels, strict=True)
    ]
    columns = [
        make_name_column(operations, "operation"),
        make_name_column([protocol for protocol, _ in labels], "protocol", rank=2),
    ]
    table = SortableTable([*columns, *make_metric_columns(groups)], [group.metrics.messages for group in groups])
    return TableView("", table, labels, lambda row: FilterLead(condition(labels[row])))


def summarise_groups(groups: Sequence[GroupStatistics], place: int) -> str:
    """Returns the number of groups, and the first few by name.

    place: of the name in a key.
    """
    few = [f"{format_key(group.key[place])} {format_count(group.metrics.messages)}" for group in groups[:4]]
    return safe_text(f"{len(groups):,}: {', '.join(few)}", 300)
