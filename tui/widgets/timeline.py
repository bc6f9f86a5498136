"""The left pane: streams with their messages folded beneath, or the flat timeline."""

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
from tui.model.cells import BodyCells, CellReader, StreamCells
from tui.model.marks import JumpHistory
from tui.model.timeline import ListPlace, Timeline
from tui.theme import Palette
from tui.widgets.cutting import Spans
from tui.widgets.lines import ListLine, ReadRequest, ResultTaker, RowLines
from tui.widgets.listing import StandardColumns, make_stream_spans
from tui.widgets.pane import Pane

if TYPE_CHECKING:
    from tui.widgets.chosen_line import CustomColumns


class TimelinePane(Pane):
    """Shows a Timeline; reads cells for the lines on the screen and no others.

    `following`: the cursor is at the end and stays there as rows come in. Who follows from the beginning sees the flat
    timeline: a folded stream would hide what comes.
    """

    BINDINGS: ClassVar[list[BindingType]] = keys.list_bindings("list")

    class Selected(Message):
        """Another line is selected; None: there is none."""

        def __init__(self, place: ListPlace | None) -> None:
            super().__init__()
            self.place = place

    class Entered(Message):
        """Enter on a message: its tree is wanted."""

    class Wanting(Message):
        """Rows are on the screen whose bodies are too long to be decoded in passing."""

        def __init__(self, rows: list[int]) -> None:
            super().__init__()
            self.rows = rows

    class Wants(Message):
        """Another thread is to read something for lines on the screen; `take` gets it."""

        def __init__(self, want: ReadRequest) -> None:
            super().__init__()
            self.want = want

    class Widened(Message):
        """The columns have become wider."""

    class Followed(Message):
        """The cursor stays at the end from now on, or does so no longer."""

    def __init__(
        self, palette: Palette, session: Session, *, following: bool, id: str, lore: Lore | None = None
    ) -> None:
        super().__init__(palette, id=id)
        self.timeline = Timeline(lambda rows: session.rows.column("stream")[rows])
        self.cells = CellReader(session, lore)
        self.said = RowLines(session, self.cells, palette.covers)
        self.jumps = JumpHistory()
        self.timeline.flat = self._following = following
        self.selected: ListPlace | None = None
        self.aim: ListPlace | None = None
        """What was selected before rows were hidden: it, or the next one shown, is to be, until the cursor is moved."""
        self.settled = True
        self._painted: dict[int, ListLine] = {}

    @property
    def following(self) -> bool:
        """Whether the cursor stays at the end."""
        return self._following

    @following.setter
    def following(self, following: bool) -> None:
        if following is not self._following:
            self._following = following
            self.post_message(self.Followed())

    @property
    def count(self) -> int:
        """See Pane."""
        return self.timeline.lines

    @property
    def around(self) -> int:
        """The row at which the user is, or was: of a stream, its first one."""
        place = self.selected or self.aim
        if place is None:
            return self.timeline.first
        return self.timeline.begin(place.stream) if place.row is None else place.row

    @property
    def ignored(self) -> set[int]:
        """Rows that are to be left out wherever rows are looked at."""
        return self.said.marks.ignored

    @property
    def columns(self) -> StandardColumns | CustomColumns:
        """The columns that fit, or that were chosen."""
        timeline = self.timeline
        return self.said.columns(self.inner.width, timeline.rows, timeline.streams if timeline.flat else 0)

    def spans(self, line: int) -> Spans:
        """See Pane."""
        return self._line(line).spans

    def spans_over(self, line: int) -> Spans:
        """See Pane."""
        return self._line(line).over

    def made(self, size: Size) -> list[Strip]:
        """See Painted; lines that were made before a column became wider are made again."""
        strips = super().made(size)
        if self.said.widened:
            self.said.widened = False
            self._strips.clear()
            self._painted.clear()
            self.post_message(self.Widened())
            strips = super().made(size)
        return strips

    def _line(self, line: int) -> ListLine:
        """Reads all that the screen lacks at once when it meets a line that has not been read."""
        found = self._painted.get(line)
        if found is None:
            self._read_screen(line)
            found = self._painted[line]
        return found

    def _read_screen(self, line: int) -> None:
        """Makes the lines of the screen that are not made yet, and `line` in any case; lets go of others."""
        top, end = min(self.top, line), max(self.top + self.inner.height, line + 1)
        stay = {number: made for number, made in self._painted.items() if top <= number < end}
        first = next(number for number in range(top, end) if number not in stay)
        last = next(number for number in range(end - 1, first - 1, -1) if number not in stay) + 1
        before = self.timeline.at(first - 1) or ListPlace(-1)
        places = self.timeline.window(first, last - first)
        read = self.said.read([before, *places], self.columns)
        self._painted = stay | {
            number: self._stream(place.stream) if place.row is None else read[place.row]
            for number, place in enumerate(places, first)
        }
        self._want(list(read))

    def _want(self, rows: list[int]) -> None:
        """Has another thread read what rows on the screen lack."""
        ignored = self.said.marks.ignored
        bodies = [row for row in self.cells.wanting(rows) if row not in ignored]
        if bodies:
            self.post_message(self.Wanting(bodies))
        if self.said.wants(rows):
            self.call_after_refresh(self._want_more)

    def _want_more(self) -> None:
        """What is only put on top of lines waits until they have been painted."""
        places = self.timeline.window(self.top, self.inner.height)
        for want in self.said.wants([place.row for place in places if place.row is not None]):
            self.post_message(self.Wants(want))

    def take(self, take: ResultTaker) -> None:
        """Another thread has read what was wanted; what a newer screen lacks is asked for now."""
        for row in take():
            self.paint_row(row)
        self._want_more()

    def _stream(self, stream: int) -> ListLine:
        timeline = self.timeline
        cells = self.stream_cells(stream)
        spans = make_stream_spans(cells, len(str(timeline.streams - 1)), opened=timeline.is_open(stream))
        return ListLine(spans, spans)

    def stream_cells(self, stream: int) -> StreamCells:
        """What there is to say of a stream."""
        timeline = self.timeline
        kept = None if timeline.kept is None else timeline.count(stream)
        return self.cells.stream(stream, timeline.messages(stream), kept, timeline.left(stream))

    def keep(self, said: dict[int, BodyCells]) -> None:
        """Long bodies have been decoded."""
        self.cells.keep(said)
        self.anew()

    def name_anew(self) -> None:
        """Names have been learned."""
        self.said.forget()
        self.anew()

    def end(self) -> None:
        """The input has ended: rules and fields that read messages may know more by now."""
        self.said.read_again()
        self.anew()

    def anew(self) -> None:
        """See Pane."""
        self._painted.clear()
        super().anew()

    def grow(self, rows: int, streams: int) -> None:
        """More has been announced. What is selected stays where it is on the screen, or the end stays selected."""
        first = self.timeline.lines == 0
        self.timeline.grow(rows, streams)
        if self.said.colouring is not None:
            self.said.colouring.grow(rows, self.timeline.first)
        self._changed(first)

    def leave(self, before: int) -> None:
        """The rows before one leave; if what is selected is among them, the first one that stays takes its place."""
        self.timeline.leave(before)
        self.said.leave(before)
        if self.aim is not None and self.aim.row is not None and self.aim.row < before:
            self.aim = None
        self._changed(False)

    def show_rows(self, kept: Ints | None, *, settled: bool) -> None:
        """Only these rows, rising, have a line; None: all. settled: no others of those announced will come."""
        first = self.timeline.lines == 0
        self.timeline.keep(kept)
        self.settled = settled
        self._changed(first)
        if settled and self.count:
            self.aim = None

    def hold(self) -> None:
        """Rows will be hidden or come back: what is selected stays so, or the next one that is shown."""
        self.aim = self.selected or self.aim

    def _changed(self, first: bool) -> None:
        """There are other lines; first: there were none before."""
        timeline = self.timeline
        if first and self.count and not timeline.flat and self.aim is None:
            timeline.fold(timeline.window(0, 1)[0].stream, opened=True)
        if self.following and self.count:
            self._relaid(timeline.at(self.count - 1))
        elif first and self.count and timeline.rows and self.aim is None:
            self.cursor = 0 if timeline.flat else min(1, self.count - 1)  # the first stream's first message
            self._relaid(timeline.at(self.cursor))
        else:
            self._relaid(self._unfolded(self.aim or self.selected))

    def _unfolded(self, place: ListPlace | None) -> ListPlace | None:
        """The place, or the next one shown, with its stream unfolded if it is a row."""
        near = None if place is None else self.timeline.near(place)
        if near is not None and near.row is not None and not self.timeline.flat:
            self.timeline.fold(near.stream, opened=True)
        return near

    def _relaid(self, place: ListPlace | None) -> None:
        """The lines were counted anew: `place`, or the next one shown, is selected, and what was selected keeps its
        height on the screen.
        """
        height = self.cursor - self.top
        self.recount()
        place = None if place is None else self.timeline.near(place)
        if place is not None:
            line = self.timeline.line_of(place)
            self.cursor = line
            self._scroll(line - max(height, 0))
            self.place_cursor(line)
        self._tell()

    def _tell(self) -> None:
        place = self.timeline.at(self.cursor)
        if place != self.selected:
            self.selected = place
            self.post_message(self.Selected(place))

    def moved(self) -> None:
        """See Pane."""
        self.aim = None
        self.following = self.settled and self.cursor == self.count - 1
        self._tell()

    def select_row(self, row: int) -> None:
        """Selects a row, which must be shown, and unfolds its stream if needed; the way back is remembered."""
        before = self.around
        self.go_to_row(row)
        self._jumped(before)

    def go_to_row(self, row: int) -> None:
        """The same, and nothing is remembered."""
        place = self.place_of(row)
        if not self.timeline.flat and not self.timeline.is_open(place.stream):
            self.timeline.fold(place.stream, opened=True)
            self._relaid(self.selected)
        self.place_cursor(self.timeline.line_of(place))
        self.aim, self.following = None, False
        self._tell()

    def _jumped(self, before: int) -> None:
        if self.around != before:
            self.jumps.jumped(before, self.around)

    def _action_top(self) -> None:
        before = self.around
        super()._action_top()
        self._jumped(before)

    def _action_bottom(self) -> None:
        before = self.around
        super()._action_bottom()
        self._jumped(before)

    def place_of(self, row: int) -> ListPlace:
        """Where a row belongs."""
        return ListPlace(self.cells.stream_of(row), row)

    def show_partner(self, row: int | None) -> None:
        """Marks the partner of what is selected."""
        before, self.said.partner = self.said.partner, row
        if row != before:
            self.paint_row(before)
            self.paint_row(row)

    def paint_row(self, row: int | None) -> None:
        """A row's line says something else now."""
        if row is not None and self.timeline.first <= row < self.timeline.rows and self.timeline.shows(row):
            line = self.timeline.line_of(self.place_of(row))
            if self._painted.pop(line, None) is not None:
                self.say_anew(line)

    def switch(self) -> None:
        """The other view; a selected message stays selected, unfolded if needed."""
        place = self.selected
        if place is not None and place.row is None and not self.timeline.flat:
            place = ListPlace(place.stream, self.timeline.first_row(place.stream))
        self.timeline.flat = not self.timeline.flat
        if place is not None and not self.timeline.flat:
            self.timeline.fold(place.stream, opened=True)
        self._relaid(place)
        self.following = self.following and self.cursor == self.count - 1

    def _fold(self, stream: int, *, opened: bool) -> None:
        if not self.timeline.flat and self.timeline.is_open(stream) != opened:
            self.timeline.fold(stream, opened=opened)
            self._relaid(self.selected)
            if opened:
                self.show_below(self.timeline.count(stream))

    def clicked(self, line: int, column: int) -> None:
        """See Pane: a click on a stream's mark folds it."""
        if column < 2 and self.selected is not None and self.selected.row is None:
            self._action_fold()

    def _action_enter(self) -> None:
        if self.selected is not None and self.selected.row is not None:
            self.post_message(self.Entered())
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
        elif self.timeline.count(place.stream):
            self.go(self.cursor + 1)

    def _action_outward(self) -> None:
        place = self.selected
        if place is None or self.timeline.flat:
            return
        if place.row is not None:
            self.go(self.timeline.line_of(ListPlace(place.stream)))
        else:
            self._fold(place.stream, opened=False)

    def _action_unfold_all(self) -> None:
        self._fold_all(opened=True)

    def _action_fold_all(self) -> None:
        self._fold_all(opened=False)

    def _fold_all(self, *, opened: bool) -> None:
        if not self.timeline.flat:
            self.timeline.fold_all(opened=opened)
            self._relaid(self.selected)
