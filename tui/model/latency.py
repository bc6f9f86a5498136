"""How long answers took: a line for each operation, and beneath it how its latencies are distributed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from analyzer.insight.percentiles import ROUND
from analyzer.insight.statistics import Study
from analyzer.render.amounts import count, share
from analyzer.render.durations import duration
from tui.model.charts import bar
from tui.model.figures import NOTHING, names
from tui.model.leads import Shows, condition_of, latency_within
from tui.model.table import BAR, BARS, GAP, Column, Table
from tui.model.views import Heads, Item, Lines, State, Tabled

OPEN, FOLDED, INDENT = "▾ ", "▸ ", "  "
BOUNDS, FIGURES = 18, 10
"""Cells of the bounds of a bucket, and of a figure of it."""

PERCENTILES = (("p50", 500), ("p95", 950), ("p99", 990))


class Latencies(Tabled):
    """Operations that were answered; beneath those that are unfolded, buckets of their latencies."""

    def __init__(self, name: str, table: Table, conditions: Sequence[str], counts: Sequence[Sequence[int]]) -> None:
        super().__init__(name, table, conditions, lambda row: Shows(conditions[row]))
        self._conditions, self._counts = conditions, counts
        self.foldable, self.opened = conditions, frozenset(conditions[:1])
        self.said = "" if conditions else "no answer has a request here, so none has a latency"

    def head(self, width: int, state: State) -> Heads:
        """See View."""
        return [(INDENT, ""), *super().head(width - len(INDENT), state)] if self._conditions else ()

    def lines(self, width: int, state: State) -> Sequence[Item]:
        """See View."""
        listed = super().lines(width - len(INDENT), state)
        if not isinstance(listed, Lines) or not self._conditions:
            return listed
        opened = state.unfolded(self)
        found: list[Item] = []
        for row, item in zip(listed.rows, listed[: len(listed.rows)], strict=True):
            is_open = item.key in opened
            found.append(item._replace(line=(("type", OPEN if is_open else FOLDED), *item.line), folds=True))
            if is_open:
                found += self._buckets(row, width)
        return [*found, *listed.behind]

    def place(self, key: Hashable, lines: Sequence[Item]) -> int | None:
        """See View."""
        return next((place for place, item in enumerate(lines) if item.key == key), None)

    def _buckets(self, row: int, width: int) -> list[Item]:
        """Those from the first one that has any latency to the last."""
        counts = self._counts[row]
        there = [bucket for bucket, many in enumerate(counts) if many]
        total, most, sum_of = sum(counts), max(counts), 0
        room = min(width - len(INDENT) - BOUNDS - 3 * FIGURES - GAP, BARS)
        found = []
        for bucket in range(there[0], there[-1] + 1):
            low, high, many = int(ROUND[bucket]), int(ROUND[bucket + 1]), counts[bucket]
            sum_of += many
            cells = [f"{count(many):>{FIGURES}}", f"{share(many / total):>{FIGURES}}"]
            upto = f"{share(sum_of / total):>{FIGURES}}"
            line = (
                ("dim", INDENT * 2 + f"{bounds(low, high):<{BOUNDS - len(INDENT)}}"),
                ("value", "".join(cells)),
                ("dim", upto + " " * GAP),
                ("name", bar(many, most, room) if room >= BAR else ""),
            )
            condition = f"{self._conditions[row]} and {latency_within(low, high)}"
            found.append(Item(line, Shows(condition) if many else None, condition))
        return found


def bounds(low: int, high: int) -> str:
    """`1ms to 2ms`; `below 1us`."""
    return f"{_short(low)} to {_short(high)}" if low else f"below {_short(high)}"


def _short(nanoseconds: int) -> str:
    text = duration(nanoseconds)
    return text.replace(".00s", "s")


def latency_view(name: str, study: Study) -> Latencies:
    """Of all operations that were answered, those with most answers first."""
    grouped = study.grouped(("protocol", "operation"))
    found, counts = study.figures(grouped), study.latencies(grouped, ROUND)
    percentiles = [study.percentile(grouped, thousandths) for _, thousandths in PERCENTILES]
    condition = condition_of(grouped.labels)
    timed = sorted((row for row, each in enumerate(found) if each.timed), key=lambda row: -found[row].timed)
    labels = [grouped.labels[row] for row in timed]
    columns = [
        names([operation or NOTHING for _, operation in labels], "operation"),
        names([protocol for protocol, _ in labels], "protocol", rank=1),
        Column("answers", [found[row].timed for row in timed], count),
        *(
            Column(title, [each[row] for row in timed], duration)
            for (title, _), each in zip(PERCENTILES, percentiles, strict=True)
        ),
        Column("max", [found[row].max_ns for row in timed], duration),
    ]
    table = Table(columns, [found[row].timed for row in timed])
    return Latencies(name, table, [condition(label) for label in labels], [counts[row].tolist() for row in timed])
