"""The list pane: streams with their messages folded beneath, or the flat timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from analyzer.columns.arrays import Ints
from analyzer.decode.name_resolver import Lore
from analyzer.session import Session
from tui import keys
from tui.model.drawing import Spans
from tui.model.row_cells import BodyCells, CellReader, StreamCells
from tui.model.row_lines import ListLine, ReadRequest, ResultTaker, RowLines
from tui.model.row_sets import JumpHistory
from tui.model.row_spans import StandardColumns, make_stream_spans
from tui.model.timeline import ListPlace, Timeline
from tui.theme import Palette
from tui.widgets.pane import Pane

if TYPE_CHECKING:
    from tui.model.list_columns import CustomColumns


class TimelinePane(Pane):
    """Shows a Timeline; reads cells for the lines on the screen and no others.

    `following`: the cursor is at the end and stays there as rows come in. Who follows from the beginning sees the flat
    timeline: a folded stream would hide what comes.
    """

    BINDINGS: ClassVar[list[BindingType]] = keys.list_bindings("list")

    class LineSelection(Message):
        """Another line is selected; None: there is none."""

        def __init__(self, place: ListPlace | None) -> None:
            super().__init__()
            self.place = place

    class TreeRequest(Message):
        """Enter on a message: its tree is wanted."""

    class BodiesRequest(Message):
        """Rows are on the screen whose bodies are too long to be decoded in passing."""

        def __init__(self, rows: list[int]) -> None:
            super().__init__()
            self.rows = rows

    class LinesRequest(Message):
        """Another thread is to read something for lines on the screen; `take` gets it."""

        def __init__(self, want: ReadRequest) -> None:
            super().__init__()
            self.want = want

    class ColumnGrowth(Message):
        """The columns have become wider."""

    class FollowToggle(Message):
        """The cursor stays at the end from now on, or does so no longer."""

    def __init__(
        self, palette: Palette, session: Session, *, following: bool, id: str, lore: Lore | None = None
    ) -> None:
        super().__init__(palette, id=id)
        self.timeline = Timeline(lambda rows: session.rows.column("stream")[rows])
        self.cells = CellReader(session, lore)
        self.row_lines = RowLines(session, self.cells, palette.has_background)
        self.jumps = JumpHistory()
        self.timeline.flat = self._following = following
        self.selected: ListPlace | None = None
        self.target: ListPlace | None = None
        """What was selected before rows were hidden: it, or the next one shown, is to be, until the cursor is moved."""
        self.is_settled = True
        self._lines_read: dict[int, ListLine] = {}

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
        """See Pane."""
        return self.timeline.lines

    @property
    def current_row(self) -> int:
        """The row at which the user is, or was: of a stream, its first one."""
        place = self.selected or self.target
        if place is None:
            return self.timeline.first
        return self.timeline.find_begin(place.stream) if place.row is None else place.row

    @property
    def ignored(self) -> set[int]:
        """Rows that are to be left out wherever rows are looked at."""
        return self.row_lines.marks.ignored

    @property
    def columns(self) -> StandardColumns | CustomColumns:
        """The columns that fit, or that were chosen."""
        timeline = self.timeline
        return self.row_lines.fit_columns(self.inner.width, timeline.rows, timeline.streams if timeline.flat else 0)

    def get_spans(self, line: int) -> Spans:
        """See Pane."""
        return self._get_line(line).spans

    def get_cursor_spans(self, line: int) -> Spans:
        """See Pane."""
        return self._get_line(line).cursor_spans

    def make_strips(self, size: Size) -> list[Strip]:
        """See Painted; lines that were made before a column became wider are made again."""
        strips = super().make_strips(size)
        if self.row_lines.has_widened:
            self.row_lines.has_widened = False
            self._strips.clear()
            self._lines_read.clear()
            self.post_message(self.ColumnGrowth())
            strips = super().make_strips(size)
        return strips

    def _get_line(self, line: int) -> ListLine:
        """Reads all that the screen lacks at once when it meets a line that has not been read."""
        found = self._lines_read.get(line)
        if found is None:
            self._read_screen(line)
            found = self._lines_read[line]
        return found

    def _read_screen(self, line: int) -> None:
        """Makes the lines of the screen that are not made yet, and `line` in any case; lets go of others."""
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
        self._request_bodies(list(read))

    def _request_bodies(self, rows: list[int]) -> None:
        """Has another thread read what rows on the screen lack."""
        ignored = self.row_lines.marks.ignored
        bodies = [row for row in self.cells.list_missing(rows) if row not in ignored]
        if bodies:
            self.post_message(self.BodiesRequest(bodies))
        if self.row_lines.list_requests(rows):
            self.call_after_refresh(self._request_more)

    def _request_more(self) -> None:
        """What is only put on top of lines waits until they have been painted."""
        places = self.timeline.list_places(self.top, self.inner.height)
        for want in self.row_lines.list_requests([place.row for place in places if place.row is not None]):
            self.post_message(self.LinesRequest(want))

    def apply_result(self, take: ResultTaker) -> None:
        """Another thread has read what was wanted; what a newer screen lacks is asked for now."""
        for row in take():
            self.refresh_row(row)
        self._request_more()

    def _make_stream_line(self, stream: int) -> ListLine:
        timeline = self.timeline
        cells = self.read_stream(stream)
        spans = make_stream_spans(cells, len(str(timeline.streams - 1)), opened=timeline.is_open(stream))
        return ListLine(spans, spans)

    def read_stream(self, stream: int) -> StreamCells:
        """What there is to say of a stream."""
        timeline = self.timeline
        kept = None if timeline.matches is None else timeline.count_rows(stream)
        return self.cells.read_stream(stream, timeline.count_messages(stream), kept, timeline.count_evicted(stream))

    def cache_bodies(self, said: dict[int, BodyCells]) -> None:
        """Long bodies have been decoded."""
        self.cells.cache_bodies(said)
        self.invalidate()

    def clear_names(self) -> None:
        """Names have been learned."""
        self.row_lines.clear()
        self.invalidate()

    def finish(self) -> None:
        """The input has ended: rules and fields that read messages may know more by now."""
        self.row_lines.clear_read()
        self.invalidate()

    def invalidate(self) -> None:
        """See Pane."""
        self._lines_read.clear()
        super().invalidate()

    def grow(self, rows: int, streams: int) -> None:
        """More has been announced. What is selected stays where it is on the screen, or the end stays selected."""
        first = self.timeline.lines == 0
        self.timeline.grow(rows, streams)
        if self.row_lines.colour_rules is not None:
            self.row_lines.colour_rules.grow(rows, self.timeline.first)
        self._update_lines(first)

    def evict(self, before: int) -> None:
        """The rows before one leave; if what is selected is among them, the first one that stays takes its place."""
        self.timeline.evict(before)
        self.row_lines.evict(before)
        if self.target is not None and self.target.row is not None and self.target.row < before:
            self.target = None
        self._update_lines(False)

    def show_rows(self, kept: Ints | None, *, settled: bool) -> None:
        """Only these rows, rising, have a line; None: all. settled: no others of those announced will come."""
        first = self.timeline.lines == 0
        self.timeline.filter_rows(kept)
        self.is_settled = settled
        self._update_lines(first)
        if settled and self.count:
            self.target = None

    def hold_selection(self) -> None:
        """Rows will be hidden or come back: what is selected stays so, or the next one that is shown."""
        self.target = self.selected or self.target

    def _update_lines(self, first: bool) -> None:
        """There are other lines; first: there were none before."""
        timeline = self.timeline
        if first and self.count and not timeline.flat and self.target is None:
            timeline.fold(timeline.list_places(0, 1)[0].stream, opened=True)
        if self.following and self.count:
            self._select_place(timeline.find_place(self.count - 1))
        elif first and self.count and timeline.rows and self.target is None:
            self.cursor = 0 if timeline.flat else min(1, self.count - 1)  # the first stream's first message
            self._select_place(timeline.find_place(self.cursor))
        else:
            self._select_place(self._find_unfolded(self.target or self.selected))

    def _find_unfolded(self, place: ListPlace | None) -> ListPlace | None:
        """The place, or the next one shown, with its stream unfolded if it is a row."""
        near = None if place is None else self.timeline.find_nearest(place)
        if near is not None and near.row is not None and not self.timeline.flat:
            self.timeline.fold(near.stream, opened=True)
        return near

    def _select_place(self, place: ListPlace | None) -> None:
        """The lines were counted anew: `place`, or the next one shown, is selected, and what was selected keeps its
        height on the screen.
        """
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
        """See Pane."""
        self.target = None
        self.following = self.is_settled and self.cursor == self.count - 1
        self._post_selection()

    def select_row(self, row: int) -> None:
        """Selects a row, which must be shown, and unfolds its stream if needed; the way back is remembered."""
        before = self.current_row
        self.go_to_row(row)
        self._add_jump(before)

    def go_to_row(self, row: int) -> None:
        """The same, and nothing is remembered."""
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

    def _action_top(self) -> None:
        before = self.current_row
        super()._action_top()
        self._add_jump(before)

    def _action_bottom(self) -> None:
        before = self.current_row
        super()._action_bottom()
        self._add_jump(before)

    def find_place(self, row: int) -> ListPlace:
        """Where a row belongs."""
        return ListPlace(self.cells.find_stream(row), row)

    def show_partner(self, row: int | None) -> None:
        """Marks the partner of what is selected."""
        before, self.row_lines.partner = self.row_lines.partner, row
        if row != before:
            self.refresh_row(before)
            self.refresh_row(row)

    def refresh_row(self, row: int | None) -> None:
        """A row's line says something else now."""
        if row is not None and self.timeline.first <= row < self.timeline.rows and self.timeline.is_shown(row):
            line = self.timeline.find_line(self.find_place(row))
            if self._lines_read.pop(line, None) is not None:
                self.invalidate_line(line)

    def switch_view(self) -> None:
        """The other view; a selected message stays selected, unfolded if needed."""
        place = self.selected
        if place is not None and place.row is None and not self.timeline.flat:
            place = ListPlace(place.stream, self.timeline.find_first_row(place.stream))
        self.timeline.flat = not self.timeline.flat
        if place is not None and not self.timeline.flat:
            self.timeline.fold(place.stream, opened=True)
        self._select_place(place)
        self.following = self.following and self.cursor == self.count - 1

    def _fold(self, stream: int, *, opened: bool) -> None:
        if not self.timeline.flat and self.timeline.is_open(stream) != opened:
            self.timeline.fold(stream, opened=opened)
            self._select_place(self.selected)
            if opened:
                self.show_below(self.timeline.count_rows(stream))

    def handle_click(self, line: int, column: int) -> None:
        """See Pane: a click on a stream's mark folds it."""
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
        if place is None or place.row is not None or self.timeline.flat:
            return
        if not self.timeline.is_open(place.stream):
            self._fold(place.stream, opened=True)
        elif self.timeline.count_rows(place.stream):
            self.move_cursor(self.cursor + 1)

    def _action_outward(self) -> None:
        place = self.selected
        if place is None or self.timeline.flat:
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
        if not self.timeline.flat:
            self.timeline.fold_all(opened=opened)
            self._select_place(self.selected)
