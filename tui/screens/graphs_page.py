"""The page of graphs: metrics over time by any field, and the heatmap of latencies.

Theory. The page is one of views. What is read once (errors, the groups of a field) is kept while only the field
changes. All views share one state, so lines that are drawn, the selected times and the scale stay from graph to graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.strip import Strip

from analyzer.insight.activity import TimeSpan
from analyzer.session import Session
from tui import keys
from tui.model.graph_source import NAMES, GraphSource
from tui.model.graphs import GraphView
from tui.model.heatmap import HeatmapView
from tui.model.row_sets import PageScope
from tui.model.time_axis import PlotPlace
from tui.model.views import ViewState
from tui.screens.file_lines import save_file
from tui.screens.views_page import FIXED, ViewPane, ViewsPage
from tui.theme import Palette
from tui.widgets.bars import BLANK, BarPart, ChartArea
from tui.widgets.painted import overlay_strip


class GraphPane(ViewPane):
    """The lines of a graph or of the heatmap."""

    BINDINGS: ClassVar[list[BindingType]] = keys.list_bindings("graphs")

    def make_line_strip(self, line: int, over: str) -> Strip:
        """Returns a painted line; the selected times of the heatmap are marked, and most in the line of the cursor."""
        strip = super().make_line_strip(line, over)
        assert isinstance(self.screen, GraphsPage)
        cells = self.screen.marked_cells if line < self.count else None
        return (
            strip if cells is None else overlay_strip(strip, [cells], self.palette_styles["byte" if over else "cursor"])
        )

    def handle_click(self, line: int, column: int) -> None:
        """Selects the cell of the heatmap; a click on the selected cell, or a line of a table, follows its lead."""
        assert isinstance(self.screen, GraphsPage)
        if not self.screen.select_cell(column):
            super().handle_click(line, column)


class GraphsPage(ViewsPage):
    """Graphs of the rows in a scope. scope: returns the present rows."""

    def __init__(self, palette: Palette, session: Session, scope: Callable[[], PageScope]) -> None:
        self._source = GraphSource(session)
        self._ask_rows, self._known = scope, scope()
        super().__init__(palette, "Graphs", NAMES, lambda: self._known, self._source.make_views)
        self.page = self.pane = GraphPane(palette, id="page")
        state = ViewState()
        self._states = dict.fromkeys(NAMES, state)

    @property
    def place(self) -> PlotPlace | None:
        """Where the intervals of the visible view are."""
        view, width = self.view, self.pane.inner.width
        return view.locate(width, self.state) if width and isinstance(view, (GraphView, HeatmapView)) else None

    @property
    def marked_cells(self) -> tuple[int, int] | None:
        """The cells of the heatmap that are selected."""
        place = self.place if isinstance(self.view, HeatmapView) else None
        return None if place is None else place.find_cells(self.state.times)

    def rebuild(self) -> None:
        """Shows the view for the present width, height and state."""
        self.state.height = self.size.height - FIXED
        super().rebuild()

    def show_chart(self) -> None:
        """Updates the plot for the selected line and times."""
        super().show_chart()
        place = self.place
        self._above.mark_cells(None if place is None else place.find_cells(self.state.times))

    def open_view(self, place: int) -> None:
        """Shows another view; the selected series stays selected."""
        before = self.view
        super().open_view(place)
        key = self._selected.get(before.name)
        if isinstance(before, GraphView) and isinstance(self.view, GraphView) and self.view is not before:
            self._selected[self.view.name] = key
            self.rebuild()

    def _show_page_keys(self) -> None:
        hints = [("Enter", "filter", "enter"), ("Tab", "view", "turn(1)"), ("b", "field", "choose_field")]
        hints.append(("← →", "time", "inward"))
        if not isinstance(self.view, HeatmapView):
            hints += [("Space", "line", "fold"), ("a", "log", "log")]
        hints += [("Esc", "back", "leave"), ("+ -", "scale", "more"), ("w", "save", "save"), ("r", "anew", "anew")]
        parts = [
            (BarPart("bar-key", key, name), BarPart("bar-dim", f" {text}", name), BLANK) for key, text, name in hints
        ]
        self._foot.show([BarPart("bar", " "), *(part for each in parts for part in each)])

    # What keys and the mouse do.

    def select_times(self, times: TimeSpan | None) -> None:
        """Selects a span of time, or none."""
        if times != self.state.times:
            self.state.times = times
            self.rebuild()

    def select_cell(self, column: int) -> bool:
        """Selects the interval at a column of the heatmap; returns False if it is selected, or elsewhere."""
        place = self.place
        found = (
            None if place is None or not isinstance(self.view, HeatmapView) else place.find_times(column, column + 1)
        )
        if found is None or found == self.state.times:
            return False
        self.select_times(found)
        return True

    def _move(self, by: int, *, extends: bool) -> None:
        place = self.place
        if place is not None:
            self.select_times(place.move(self.state.times, by, extends=extends))

    def _action_inward(self) -> None:
        self._move(1, extends=False)

    def _action_outward(self) -> None:
        self._move(-1, extends=False)

    def _action_extend(self, by: int) -> None:
        self._move(by, extends=True)

    def _action_more(self) -> None:
        self._change_scale(1)

    def _action_less(self) -> None:
        self._change_scale(-1)

    def _change_scale(self, by: int) -> None:
        """Takes a finer or a coarser scale than the one that fits the width."""
        state, most = self.state, self.view.zooms
        state.zoom = max(-most, min(state.zoom + by, most))
        self.rebuild()

    def _action_log(self) -> None:
        self.state.is_logarithmic = not self.state.is_logarithmic
        self.rebuild()

    def _action_leave(self) -> None:
        if self.state.times is not None and not self.state.order.words:
            self.select_times(None)
        else:
            super()._action_leave()

    def _action_anew(self) -> None:
        self._known = self._ask_rows()
        self.maker.begin()

    @on(ChartArea.CellClick)
    def _pick(self, message: ChartArea.CellClick) -> None:
        message.prevent_default()
        self._brush(message.cell, message.cell + 1)

    @on(ChartArea.CellsDrag)
    def _drag(self, message: ChartArea.CellsDrag) -> None:
        self._brush(message.first, message.end)

    def _brush(self, first: int, end: int) -> None:
        place = self.place
        found = None if place is None else place.find_times(first, end)
        if found is not None:
            self.select_times(found)
        self.pane.focus()

    def _action_save(self) -> None:
        view, width = self.view, self.pane.inner.width
        if isinstance(view, (GraphView, HeatmapView)) and self.place is not None:
            save_file(self, "NAME.svg", "graph.svg", lambda path: view.write_svg(width, self.state))

    # The field.

    def _action_choose_field(self) -> None:
        from tui.screens.field_choice import ask_field

        ask_field(self, self.take_field)

    def take_field(self, name: str | None) -> None:
        """Draws a line for each value of another field; None: one line."""
        self._source.by, self.state.opened = name, None
        self._selected.clear()
        self.maker.begin()
