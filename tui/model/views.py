"""The views of a page about the whole capture: lines that may lead somewhere; and tables of metrics as views.

Theory. Another thread makes a view, and the view never changes. The user's sorting, narrowing and unfolding is kept
beside it in a ViewState. So a newer view of the same data is shown in the same way. A line has a key, by which the
selection finds it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any, NamedTuple, Protocol, overload

import numpy as np

from analyzer.columns.values import TimeColumn
from analyzer.insight.activity import TimeSpan
from analyzer.insight.statistics import GroupStatistics
from analyzer.render.lines import Line
from analyzer.render.metrics_text import SHOWN, format_value, select_metrics
from tui.model.leads import Lead
from tui.model.table import SortableTable, TableColumn, TableFit, TableOrder

ViewHeads = Sequence[tuple[str, str]]
"""Titles with padding, and each title alone; "" for what is no column."""


class ViewLine(NamedTuple):
    """A line of a view.

    folds: whether it can be unfolded.
    """

    line: Line
    lead: Lead | None = None
    key: Hashable = None
    folds: bool = False


@dataclass(slots=True)
class ViewState:
    """The user's view of a View.

    opened: keys of unfolded lines, None before the first choice. zoom: how often the user has zoomed in. times: the
    selected span of a plot. is_logarithmic: the value axis of a plot is. height: the
    lines of the page.
    """

    order: TableOrder = field(default_factory=TableOrder)
    opened: frozenset[Hashable] | None = None
    zoom: int = 0
    times: TimeSpan | None = None
    is_logarithmic: bool = False
    height: int = 0

    def get_opened(self, view: View) -> frozenset[Hashable]:
        """Returns the keys of the unfolded lines of a view."""
        return view.opened if self.opened is None else self.opened


class View(Protocol):
    """Lines for one aspect of the capture.

    sorts: whether columns can sort it. foldable: keys of lines that can be unfolded; opened: those that are unfolded at
    first. zooms: the number of zoom steps. enter: what Enter does, for the footer.
    """

    name: str
    sorts: bool
    foldable: Sequence[Hashable]
    opened: frozenset[Hashable]
    zooms: int
    enter: str

    def make_head(self, width: int, state: ViewState) -> ViewHeads:
        """Returns the titles above the lines."""

    def make_lines(self, width: int, state: ViewState) -> Sequence[ViewLine]:
        """Returns the lines for a width in cells."""

    def find_line(self, key: Hashable, lines: Sequence[ViewLine]) -> int | None:
        """Returns the line of a key, or the nearest one."""

    def make_chart(self, width: int, height: int, state: ViewState, key: Hashable) -> Sequence[Line]:
        """Returns the lines of the chart above the titles.

        height: the lines of the page. key: of the selected line.
        """

    def find_key(self, cell: int, width: int, state: ViewState) -> Hashable:
        """Returns the key of the line for a cell of the chart, or None."""


class TextView:
    """A view of one line of text, and the base of other views."""

    def __init__(self, name: str, note: str) -> None:
        self.name, self.text = name, note
        self.sorts = False
        self.foldable: Sequence[Hashable] = ()
        self.opened: frozenset[Hashable] = frozenset()
        self.zooms = 0
        self.enter = "filter"

    def make_head(self, width: int, state: ViewState) -> ViewHeads:
        """Returns no titles: a text has no columns."""
        return ()

    def make_lines(self, width: int, state: ViewState) -> Sequence[ViewLine]:
        """Returns the text as the only line."""
        return [ViewLine((("dim", f" {self.text}"),))]

    def find_line(self, key: Hashable, lines: Sequence[ViewLine]) -> int | None:
        """Returns the line of a key, or None."""
        return next((place for place, item in enumerate(lines) if item.key == key), None)

    def make_chart(self, width: int, height: int, state: ViewState, key: Hashable) -> Sequence[Line]:
        """Returns no lines: a view of text has no chart."""
        return ()

    def find_key(self, cell: int, width: int, state: ViewState) -> Hashable:
        """Returns None: there is no chart."""
        return None


PROGRESS_INTERVAL = 0.1
"""Seconds between two reports of progress."""


class Cancellation(Exception):
    """Raised inside work that is not wanted any more."""


class ViewWork:
    """The connection between work and its page.

    say: gets the progress. subject: what is being examined.
    """

    def __init__(self, say: Callable[[str], None], what: str = "") -> None:
        self.subject = what
        self._say, self._last_report_time = say, 0.0
        self._cancelled = Event()

    @property
    def is_wanted(self) -> bool:
        """Whether the work is still wanted."""
        return not self._cancelled.is_set()

    def cancel(self) -> None:
        """Tells the worker thread to stop; its next raise_if_cancelled() raises Cancellation."""
        self._cancelled.set()

    def raise_if_cancelled(self) -> None:
        """Raises Cancellation if the work was cancelled."""
        if self._cancelled.is_set():
            raise Cancellation

    def report_progress(self, done: int, total: int) -> None:
        """Reports that `done` of `total` messages were examined. Raises Cancellation if the work was cancelled."""
        self.raise_if_cancelled()
        now = time.monotonic()
        if now > self._last_report_time + PROGRESS_INTERVAL:
            self._last_report_time = now
            self._say(f"{self.subject}: {done:,} of {total:,} examined")


class TableView(TextView):
    """A table.

    keys: of its rows. lead: returns the lead of a row. note: a line behind the rows.
    """

    def __init__(
        self,
        name: str,
        table: SortableTable,
        keys: Sequence[Hashable],
        lead: Callable[[int], Lead | None],
        note: str = "",
    ) -> None:
        super().__init__(name, note)
        self.table, self.keys, self.lead = table, keys, lead
        self.sorts = True

    def make_head(self, width: int, state: ViewState) -> ViewHeads:
        """Returns the titles of the columns that fit."""
        return self.table.make_head(self.table.fit(width), state.order)

    def make_lines(self, width: int, state: ViewState) -> Sequence[ViewLine]:
        """Returns the visible rows in their order, and a line behind them."""
        rows, note = self.table.sort_rows(state.order), self.text
        if state.order.words:
            note = f"{len(rows):,} of {len(self.table):,} have {' '.join(state.order.words)}; / narrows, Esc shows all"
        fit = self.table.fit(width)
        return TableLines(self, fit, rows, [ViewLine((("dim", note),))] if note else [])

    def find_line(self, key: Hashable, lines: Sequence[ViewLine]) -> int | None:
        """Returns the line of a row's key, or None."""
        if key is None or not isinstance(lines, TableLines):
            return None
        return next((place for place, row in enumerate(lines.rows) if self.keys[row] == key), None)


class TableLines(Sequence[ViewLine]):
    """The lines of the visible rows, made on demand, and further lines behind them."""

    def __init__(self, view: TableView, fit: TableFit, rows: Sequence[int], behind: Sequence[ViewLine]) -> None:
        self.view, self.rows, self.behind = view, rows, behind
        self._fit = fit

    def __len__(self) -> int:
        return len(self.rows) + len(self.behind)

    @overload
    def __getitem__(self, place: int) -> ViewLine: ...
    @overload
    def __getitem__(self, place: slice) -> list[ViewLine]: ...
    def __getitem__(self, place: int | slice) -> ViewLine | list[ViewLine]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        if place >= len(self.rows):
            return self.behind[place - len(self.rows)]
        row, view = self.rows[place], self.view
        return ViewLine(view.table.make_line(self._fit, row), view.lead(row), view.keys[row])


RANKS: Mapping[str, int] = {
    name: rank
    for rank, name in enumerate(
        ("max_ns", "unanswered", "bytes", "p50_ns", "rate", "empty", "error_rate", "p90_ns", "p999_ns", "min_ns"), 1
    )
}
"""The order in which metrics are kept if not all fit."""

NO_NAME, NOTHING = '""', "-"
"""The texts of an empty name, and of a missing one."""

STYLES: Mapping[str, str] = {"errors": "error", "error_rate": "error", "unanswered": "warning"}


def make_metric_columns(groups: Sequence[GroupStatistics]) -> list[TableColumn]:
    """Makes the columns of metrics that have values."""
    return [
        TableColumn(
            SHOWN[name][0],
            [getattr(group.metrics, name) for group in groups],
            SHOWN[name][1],
            rank=RANKS.get(name, 0),
            style=STYLES.get(name, "value"),
        )
        for name in select_metrics(groups)
    ]


def make_name_column(
    values: Sequence[Any], title: str, show: Callable[[Any], str] | None = None, rank: int = 0
) -> TableColumn:
    """Makes the column of a grouping key."""
    return TableColumn(title, values, show or format_key, is_name=True, rank=rank, style="")


def format_key(value: Any) -> str:
    """Formats the value by which a statistic groups messages; an empty text becomes NO_NAME."""
    return value or NO_NAME if isinstance(value, str) else format_value(value)


def format_clocks(times: Sequence[int], digits: int) -> list[str]:
    """Formats times (ns since 1970) with so many decimals; with dates if they are of several days."""
    stop = 19 + (digits + 1 if digits else 0)
    texts: list[str] = [text[:stop].replace("T", " ") for text in TimeColumn(np.array(times, np.int64)).values()]
    return texts if len({text[:10] for text in texts}) > 1 else [text[11:] for text in texts]


def make_group_view(
    name: str,
    titles: Sequence[str],
    groups: Sequence[GroupStatistics],
    lead: Callable[[tuple[Any, ...]], Lead | None],
    note: str = "",
) -> TableView:
    """Makes the view of groups.

    titles: of the parts of their keys. lead: returns the lead of a key.
    """
    keys = [group.key for group in groups]
    parts = [
        make_name_column([NOTHING if key[place] is None else key[place] for key in keys], title)
        for place, title in enumerate(titles)
    ]
    table = SortableTable([*parts, *make_metric_columns(groups)], [group.metrics.messages for group in groups])
    return TableView(name, table, keys, lambda row: lead(keys[row]), note)
