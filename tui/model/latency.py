"""How long answers took: a line for each operation, and beneath it how its latencies are distributed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from analyzer.insight.percentiles import ROUND
from analyzer.insight.statistics import Study
from analyzer.render.amounts import count, share
from analyzer.render.durations import duration
from tui.model.charts import draw_bar
from tui.model.figures import NOTHING, make_name_column
from tui.model.leads import FilterLead, make_label_filters, write_latency_range
from tui.model.table import GAP, LEAST_BAR, MOST_BAR, SortableTable, TableColumn
from tui.model.views import TableLines, TableView, ViewHeads, ViewLine, ViewState

OPEN_MARK, FOLDED_MARK, INDENT = "▾ ", "▸ ", "  "
BOUNDS_WIDTH, METRIC_WIDTH = 18, 10
"""Cells of the bounds of a bucket, and of a figure of it."""

PERCENTILES = (("p50", 500), ("p95", 950), ("p99", 990))


class LatencyView(TableView):
    """Operations that were answered; beneath those that are unfolded, buckets of their latencies."""

    def __init__(
        self, name: str, table: SortableTable, conditions: Sequence[str], counts: Sequence[Sequence[int]]
    ) -> None:
        super().__init__(name, table, conditions, lambda row: FilterLead(conditions[row]))
        self._conditions, self._counts = conditions, counts
        self.foldable, self.opened = conditions, frozenset(conditions[:1])
        self.text = "" if conditions else "no answer has a request here, so none has a latency"

    def make_head(self, width: int, state: ViewState) -> ViewHeads:
        """See View."""
        return [(INDENT, ""), *super().make_head(width - len(INDENT), state)] if self._conditions else ()

    def make_lines(self, width: int, state: ViewState) -> Sequence[ViewLine]:
        """See View."""
        listed = super().make_lines(width - len(INDENT), state)
        if not isinstance(listed, TableLines) or not self._conditions:
            return listed
        opened = state.get_opened(self)
        found: list[ViewLine] = []
        for row, item in zip(listed.rows, listed[: len(listed.rows)], strict=True):
            is_open = item.key in opened
            found.append(item._replace(line=(("type", OPEN_MARK if is_open else FOLDED_MARK), *item.line), folds=True))
            if is_open:
                found += self._buckets(row, width)
        return [*found, *listed.behind]

    def find_line(self, key: Hashable, lines: Sequence[ViewLine]) -> int | None:
        """See View."""
        return next((place for place, item in enumerate(lines) if item.key == key), None)

    def _buckets(self, row: int, width: int) -> list[ViewLine]:
        """Those from the first one that has any latency to the last."""
        counts = self._counts[row]
        there = [bucket for bucket, many in enumerate(counts) if many]
        total, most, sum_of = sum(counts), max(counts), 0
        room = min(width - len(INDENT) - BOUNDS_WIDTH - 3 * METRIC_WIDTH - GAP, MOST_BAR)
        found = []
        for bucket in range(there[0], there[-1] + 1):
            low, high, many = int(ROUND[bucket]), int(ROUND[bucket + 1]), counts[bucket]
            sum_of += many
            cells = [f"{count(many):>{METRIC_WIDTH}}", f"{share(many / total):>{METRIC_WIDTH}}"]
            upto = f"{share(sum_of / total):>{METRIC_WIDTH}}"
            line = (
                ("dim", INDENT * 2 + f"{format_bounds(low, high):<{BOUNDS_WIDTH - len(INDENT)}}"),
                ("value", "".join(cells)),
                ("dim", upto + " " * GAP),
                ("name", draw_bar(many, most, room) if room >= LEAST_BAR else ""),
            )
            condition = f"{self._conditions[row]} and {write_latency_range(low, high)}"
            found.append(ViewLine(line, FilterLead(condition) if many else None, condition))
        return found


def format_bounds(low: int, high: int) -> str:
    """`1ms to 2ms`; `below 1us`."""
    return f"{_format_bound(low)} to {_format_bound(high)}" if low else f"below {_format_bound(high)}"


def _format_bound(nanoseconds: int) -> str:
    text = duration(nanoseconds)
    return text.replace(".00s", "s")


def make_latency_view(name: str, study: Study) -> LatencyView:
    """Of all operations that were answered, those with most answers first."""
    grouped = study.grouped(("protocol", "operation"))
    found, counts = study.figures(grouped), study.latencies(grouped, ROUND)
    percentiles = [study.percentile(grouped, thousandths) for _, thousandths in PERCENTILES]
    condition = make_label_filters(grouped.labels)
    timed = sorted((row for row, each in enumerate(found) if each.timed), key=lambda row: -found[row].timed)
    labels = [grouped.labels[row] for row in timed]
    columns = [
        make_name_column([operation or NOTHING for _, operation in labels], "operation"),
        make_name_column([protocol for protocol, _ in labels], "protocol", rank=1),
        TableColumn("answers", [found[row].timed for row in timed], count),
        *(
            TableColumn(title, [each[row] for row in timed], duration)
            for (title, _), each in zip(PERCENTILES, percentiles, strict=True)
        ),
        TableColumn("max", [found[row].max_ns for row in timed], duration),
    ]
    table = SortableTable(columns, [found[row].timed for row in timed])
    return LatencyView(name, table, [condition(label) for label in labels], [counts[row].tolist() for row in timed])
