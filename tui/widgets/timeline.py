"""The list pane: streams with their messages folded beneath, or the flat timeline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from analyzer.columns.arrays import Ints
from analyzer.decode.name_resolver import NameResolver
from analyzer.session import Session
from tui import keys
from tui.model.drawing import Spans
from tui.model.row_cells import BodyCells, CellReader, StreamCells
from tui.model.row_lines import ListLine, ReadRequest, ResultTaker, RowLines
from tui.model.row_sets import JumpHistory, RowSorting
from tui.model.row_spans import StandardColumns
from tui.model.stream_activity import ActivityReader
from tui.model.stream_groups import FIRST_ROWS, make_stream_spans
from tui.model.timeline import ListPlace, Timeline
from tui.theme import Palette
from tui.widgets.pane import Pane

if TYPE_CHECKING:
    from tui.model.list_columns import CustomColumns


class TimelinePane(Pane):
    """Shows a Timeline; reads cells only for the lines on the screen.

    following: the cursor stays at the end as rows come in. If it follows from the start, the view is flat, because a
    folded stream would hide new rows.
    """

    BINDINGS: ClassVar[list[BindingType]] = keys.list_bindings("list")

    @dataclass
    class LineSelection(Message):
        """Another line is selected; None: there is none."""

        place: ListPlace | None

    class TreeRequest(Message):
        """Enter was pressed on a message: the focus should go to its tree."""

    @dataclass
    class BodiesRequest(Message):
        """Visible rows have bodies that are too long to be decoded here."""

        rows: list[int]

    @dataclass
    class LinesRequest(Message):
        """Visible lines need work of another thread; apply_result() gets its result."""

        want: ReadRequest

    class ColumnGrowth(Message):
        """The columns have become wider."""

    class OrderLoss(Message):
        """Other rows became visible, so the rows must be sorted again."""

    @dataclass
    class WindowChange(Message):
        """Other lines are visible; has_other_rows: the list has other rows than before."""

        has_other_rows: bool

    class FollowToggle(Message):
        """The cursor begins or ceases to follow the end."""

    def __init__(
        self, palette: Palette, session: Session, *, following: bool, id: str, resolver: NameResolver | None = None
    ) -> None:
        super().__init__(palette, id=id)
        self.timeline = Timeline(lambda rows: session.rows.column("stream")[rows])
        self.cells = CellReader(session, resolver)
        self.row_lines = RowLines(session, self.cells, palette.has_background)
        self.activity = ActivityReader(session, self.timeline.list_rows)
        self.jumps = JumpHistory()
        self.sorting: RowSorting | None = None
        self.timeline.flat = self._following = following
        self.selected: ListPlace | None = None
        self.target: ListPlace | None = None
        """The selection before rows were hidden; it, or the next visible row, is selected until the cursor moves."""
        self.is_settled = True
        self._lines_read: dict[int, ListLine] = {}
        self._window: tuple[int, ...] = ()
        self._rows_shown: tuple[int, int, Ints | None] = 0, 0, None

    @property
    def following(self) -> bool:
        """Whether the cursor stays at the end."""
        return self._following

    @following.setter
    def following(self, following: bool) -> None:
        if following is not self._following:
            self._following = following
            self.post_message(self.FollowToggle())

    @property
    def count(self) -> int:
        """The number of lines of the packet list, for the scroll bar."""
        return self.timeline.lines

    @property
    def current_row(self) -> int:
        """The row of the selection; of a stream its first row."""
        place = self.selected or self.target
        if place is None:
            return self.timeline.first
        return self.timeline.find_begin(place.stream) if place.row is None else place.row

    @property
    def ignored(self) -> set[int]:
        """The rows that the user ignores."""
        return self.row_lines.marks.ignored

    @property
    def columns(self) -> StandardColumns | CustomColumns:
        """The columns of the list, standard or custom."""
        timeline = self.timeline
        return self.row_lines.fit_columns(self.inner.width, timeline.rows, timeline.streams if timeline.flat else 0)

    def get_spans(self, line: int) -> Spans:
        """Returns the line of a row or stream."""
        return self._get_line(line).spans

    def get_cursor_spans(self, line: int) -> Spans:
        """Returns the line of a row or stream without the background of its colour rule."""
        return self._get_line(line).cursor_spans

    def make_strips(self, size: Size) -> list[Strip]:
        """Returns the visible lines; makes them again if a column has become wider meanwhile."""
        strips = super().make_strips(size)
        if self.row_lines.has_widened:
            self.row_lines.has_widened = False
            self._strips.clear()
            self._lines_read.clear()
            self.post_message(self.ColumnGrowth())
            strips = super().make_strips(size)
        self._post_window()
        return strips

    def _post_window(self) -> None:
        """Posts that the visible lines have changed, or the rows of the list."""
        timeline = self.timeline
        window = self.top, self.inner.height, timeline.lines
        rows = timeline.rows, timeline.first, timeline.matches
        before, self._rows_shown = self._rows_shown, rows
        has_other_rows = rows[:2] != before[:2] or rows[2] is not before[2]
        if has_other_rows or window != self._window:
            self._window = window
            self.post_message(self.WindowChange(has_other_rows))

    def _get_line(self, line: int) -> ListLine:
        """Returns a line; reads all missing lines of the screen at once."""
        found = self._lines_read.get(line)
        if found is None:
            self._read_screen(line)
            found = self._lines_read[line]
        return found

    def _read_screen(self, line: int) -> None:
        """Makes the missing lines of the screen, and `line` in any case; drops others."""
        top, end = min(self.top, line), max(self.top + self.inner.height, line + 1)
        stay = {number: made for number, made in self._lines_read.items() if top <= number < end}
        first = next(number for number in range(top, end) if number not in stay)
        last = next(number for number in range(end - 1, first - 1, -1) if number not in stay) + 1
        before = self.timeline.find_place(first - 1) or ListPlace(-1)
        places = self.timeline.list_places(first, last - first)
        read = self.row_lines.make_lines([before, *places], self.columns)
        self._lines_read = stay | {
            number: self._make_stream_line(place.stream) if place.row is None else read[place.row]
            for number, place in enumerate(places, first)
        }
        self._request_data(list(read), [place.stream for place in places if place.row is None])

    def _request_data(self, rows: list[int], streams: list[int]) -> None:
        """Requests long bodies and other data of visible rows and streams."""
        ignored = self.row_lines.marks.ignored
        bodies = [row for row in self.cells.list_missing(rows) if row not in ignored]
        if bodies:
            self.post_message(self.BodiesRequest(bodies))
        if streams or self.row_lines.list_requests(rows):
            self.call_after_refresh(self._request_more)

    def _request_more(self) -> None:
        """Requests data of rules, custom columns and sparklines, after the lines have been painted."""
        places = self.timeline.list_places(self.top, self.inner.height)
        wants = self.row_lines.list_requests([place.row for place in places if place.row is not None])
        for want in (*wants, *self._request_activity([place.stream for place in places if place.row is None])):
            self.post_message(self.LinesRequest(want))

    def _request_activity(self, streams: list[int]) -> Iterator[ReadRequest]:
        activity, edition = self.activity, self.activity.edition
        work = activity.prepare(streams, self.timeline.first, self.timeline.rows)
        if work is None:
            return

        def read_activity() -> ResultTaker:
            found = work()
            return lambda: self._take_activity(activity.add(edition, found))

        yield ReadRequest("activity", read_activity)

    def _take_activity(self, streams: Sequence[int]) -> Sequence[int]:
        """Makes the lines of streams again; returns no rows."""
        for stream in streams:
            self.refresh_line(ListPlace(stream))
        return ()

    def apply_result(self, take: ResultTaker) -> None:
        """Applies the result of another thread, and requests what newer lines need."""
        for row in take():
            self.refresh_row(row)
        self._request_more()

    def _make_stream_line(self, stream: int) -> ListLine:
        timeline = self.timeline
        spans = make_stream_spans(
            self.read_stream(stream),
            len(str(timeline.streams - 1)),
            opened=timeline.is_open(stream),
            activity=self.activity.get_activity(stream),
            width=self.inner.width,
        )
        return ListLine(spans, spans)

    def read_stream(self, stream: int) -> StreamCells:
        """Returns the cells of a stream."""
        timeline = self.timeline
        matching = None if timeline.matches is None else timeline.count_rows(stream)
        first_rows = timeline.list_rows(stream)[:FIRST_ROWS]
        return self.cells.read_stream(
            stream, timeline.count_messages(stream), matching, timeline.count_evicted(stream), first_rows.tolist()
        )

    def cache_bodies(self, decoded: dict[int, BodyCells]) -> None:
        """Takes cells of long bodies from the thread that decoded them, by row, and paints the list again."""
        self.cells.cache_bodies(decoded)
        self.invalidate()

    def clear_names(self) -> None:
        """Reads bodies again, because names were resolved."""
        self.row_lines.clear()
        self.invalidate()

    def finish(self) -> None:
        """Reads rules, fields and sparklines again, because the input has ended."""
        self.row_lines.clear_read()
        self.activity.clear()
        self.invalidate()

    def invalidate(self) -> None:
        """Discards all cached lines, so that they are made and painted again."""
        self._lines_read.clear()
        super().invalidate()

    def grow(self, rows: int, streams: int) -> None:
        """Takes the numbers of announced rows and streams; the selection keeps its place, or stays at the end."""
        first = self.timeline.lines == 0
        self.timeline.grow(rows, streams)
        self.activity.grow(rows)
        self._check_order()
        if self.row_lines.colour_rules is not None:
            self.row_lines.colour_rules.grow(rows, self.timeline.first)
        self._update_lines(first)

    def evict(self, before: int) -> None:
        """Drops the rows before one; a selection among them moves to the first row that stays."""
        self.timeline.evict(before)
        self.row_lines.evict(before)
        if self.target is not None and self.target.row is not None and self.target.row < before:
            self.target = None
        self._update_lines(False)

    def show_rows(self, matching: Ints | None, *, settled: bool) -> None:
        """Shows only these rows, ascending; None: all rows.

        settled: no more of the announced rows will match.
        """
        first = self.timeline.lines == 0
        self.row_lines.peeked = None
        self.timeline.filter_rows(matching)
        self.is_settled = settled
        self._check_order()
        self._update_lines(first)
        if settled and self.count:
            self.target = None

    def peek(self, row: int) -> None:
        """Shows a row that the filter hides, beside the rows that match; instead of the last such row."""
        matches = self.timeline.matches
        if matches is None:
            return
        if (before := self.row_lines.peeked) is not None:
            matches = np.setdiff1d(matches, [before])
        self.row_lines.peeked = row
        self.timeline.filter_rows(np.union1d(matches, [row]))
        self._check_order()
        self._update_lines(False)

    def _check_order(self) -> None:
        """Asks that rows are sorted again if their order was lost."""
        if self.sorting is not None and self.timeline.order is None:
            self.post_message(self.OrderLoss())

    def show_order(self, order: Ints | None) -> None:
        """Shows the visible rows in another order, as a flat list; None: in that of time. The selection stays."""
        if order is not None and not self.timeline.flat:
            self.timeline.flat = True
        self.timeline.order_rows(order)
        self.following = False
        self._select_place(self.selected or self.target)

    def hold_selection(self) -> None:
        """Keeps the selection, or the next visible row, while rows are hidden or shown."""
        self.target = self.selected or self.target

    def _update_lines(self, first: bool) -> None:
        """Updates the selection after lines have changed; first: there were none before."""
        timeline = self.timeline
        if first and self.count and not timeline.flat and self.target is None:
            timeline.fold(timeline.list_places(0, 1)[0].stream, opened=True)
        if self.following and self.count:
            self._select_place(timeline.find_place(self.count - 1))
        elif first and self.count and timeline.rows and self.target is None:
            self.cursor = 0 if timeline.flat else min(1, self.count - 1)  # the first stream's first message
            place = timeline.find_place(self.cursor)
            if place is not None and place.row is None and len(rows := timeline.visible_rows[:1]):
                place = self._find_unfolded(self.find_place(int(rows[0])))  # the first streams have no messages
            self._select_place(place)
        else:
            self._select_place(self._find_unfolded(self.target or self.selected))

    def _find_unfolded(self, place: ListPlace | None) -> ListPlace | None:
        """Returns the place, or the next visible one, and unfolds its stream if it is a row."""
        near = None if place is None else self.timeline.find_nearest(place)
        if near is not None and near.row is not None and not self.timeline.flat:
            self.timeline.fold(near.stream, opened=True)
        return near

    def _select_place(self, place: ListPlace | None) -> None:
        """Selects a place, or the next visible one, at the same height on the screen."""
        height = self.cursor - self.top
        self.update_count()
        place = None if place is None else self.timeline.find_nearest(place)
        if place is not None:
            line = self.timeline.find_line(place)
            self.cursor = line
            self._scroll(line - max(height, 0))
            self.place_cursor(line)
        self._post_selection()

    def _post_selection(self) -> None:
        place = self.timeline.find_place(self.cursor)
        if place != self.selected:
            self.selected = place
            self.post_message(self.LineSelection(place))

    def handle_move(self) -> None:
        """Updates following, and posts the selection."""
        self.target = None
        self.following = self.is_settled and self.cursor == self.count - 1
        self._post_selection()

    def select_row(self, row: int) -> None:
        """Selects a visible row, and unfolds its stream if needed; adds a jump to the history."""
        before = self.current_row
        self.go_to_row(row)
        self._add_jump(before)

    def go_to_row(self, row: int) -> None:
        """Selects a visible row without adding a jump."""
        place = self.find_place(row)
        if not self.timeline.flat and not self.timeline.is_open(place.stream):
            self.timeline.fold(place.stream, opened=True)
            self._select_place(self.selected)
        self.place_cursor(self.timeline.find_line(place))
        self.target, self.following = None, False
        self._post_selection()

    def _add_jump(self, before: int) -> None:
        if self.current_row != before:
            self.jumps.add_jump(before, self.current_row)

    def go_to_top(self) -> None:
        """Selects the first line, as a jump."""
        before = self.current_row
        super()._action_top()
        self._add_jump(before)

    _action_top = go_to_top

    def _action_bottom(self) -> None:
        before = self.current_row
        super()._action_bottom()
        self._add_jump(before)

    def find_place(self, row: int) -> ListPlace:
        """Returns the place of a row."""
        return ListPlace(self.cells.find_stream(row), row)

    def show_partner(self, row: int | None) -> None:
        """Marks the partner of the selection."""
        before, self.row_lines.partner = self.row_lines.partner, row
        if row != before:
            self.refresh_row(before)
            self.refresh_row(row)

    def refresh_row(self, row: int | None) -> None:
        """Makes the line of a row again."""
        if row is not None and self.timeline.first <= row < self.timeline.rows and self.timeline.is_shown(row):
            self.refresh_line(self.find_place(row))

    def refresh_line(self, place: ListPlace) -> None:
        """Makes the line of a visible row or stream again."""
        line = self.timeline.find_line(place)
        if self._lines_read.pop(line, None) is not None:
            self.invalidate_line(line)

    def switch_view(self) -> None:
        """Switches between the fold view and the flat view; the selected message stays selected."""
        place = self.selected
        if place is not None and place.row is None and not self.timeline.flat:
            place = ListPlace(place.stream, self.timeline.find_first_row(place.stream))
        self.timeline.flat = not self.timeline.flat
        self.sorting, self.timeline.order = None, None
        if place is not None and not self.timeline.flat:
            self.timeline.fold(place.stream, opened=True)
        self._select_place(place)
        self.following = self.following and self.cursor == self.count - 1

    def _can_fold(self) -> bool:
        """Whether the view has streams to fold; posts why not."""
        if self.timeline.flat:
            self.post_message(self.Refusal("the list is one flat timeline: v shows streams, which fold"))
        return not self.timeline.flat

    def _fold(self, stream: int, *, opened: bool) -> None:
        if self._can_fold() and self.timeline.is_open(stream) != opened:
            self.timeline.fold(stream, opened=opened)
            self._select_place(self.selected)
            if opened:
                self.show_below(self.timeline.count_rows(stream))

    def handle_click(self, line: int, column: int) -> None:
        """Folds or unfolds a stream if its mark was clicked."""
        if column < 2 and self.selected is not None and self.selected.row is None:
            self._action_fold()

    def _action_enter(self) -> None:
        if self.selected is not None and self.selected.row is not None:
            self.post_message(self.TreeRequest())
        else:
            self._action_fold()

    def _action_fold(self) -> None:
        if self.selected is not None:
            stream = self.selected.stream
            self._fold(stream, opened=not self.timeline.is_open(stream))

    def _action_inward(self) -> None:
        place = self.selected
        if place is None or not self._can_fold():
            return
        if place.row is not None:
            self.post_message(self.Refusal("nothing folds beneath a message: Enter goes to its fields"))
        elif not self.timeline.is_open(place.stream):
            self._fold(place.stream, opened=True)
        elif self.timeline.count_rows(place.stream):
            self.move_cursor(self.cursor + 1)

    def _action_outward(self) -> None:
        place = self.selected
        if place is None or not self._can_fold():
            return
        if place.row is not None:
            self.move_cursor(self.timeline.find_line(ListPlace(place.stream)))
        else:
            self._fold(place.stream, opened=False)

    def _action_unfold_all(self) -> None:
        self._fold_all(opened=True)

    def _action_fold_all(self) -> None:
        self._fold_all(opened=False)

    def _fold_all(self, *, opened: bool) -> None:
        if self._can_fold():
            self.timeline.fold_all(opened=opened)
            self._select_place(self.selected)
