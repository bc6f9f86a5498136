"""The packets that brought the selected message, and their bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import on
from textual.message import Message

from analyzer.decode.masking import Span
from analyzer.insight.frames import Frame, Lost, frame_bytes, frames_of, lost_in
from analyzer.messages.index import FROM_CLIENT
from analyzer.session import Session
from tui.model.accordion import Spot
from tui.model.packets import PacketLines
from tui.model.scope import Scope
from tui.screens.folding import FoldingPage
from tui.screens.page import Deed
from tui.theme import Palette
from tui.widgets.bar import Part


class _Shown(PacketLines):
    """Lines that lead nowhere: Enter unfolds them."""

    def deed(self, spot: Spot) -> Deed | None:
        """See Contents."""
        return None


class FramesRead(Message):
    """The capture has been read for the frames of the message."""

    def __init__(self, frames: Sequence[Frame], lost: Sequence[Lost]) -> None:
        super().__init__()
        self.frames, self.lost = frames, lost


class BytesRead(Message):
    """The bytes of a frame, and the spans of them to hide."""

    def __init__(self, frame: Frame, place: int, data: bytes, masks: Sequence[Span]) -> None:
        super().__init__()
        self.frame, self.place, self.data, self.masks = frame, place, data, masks


class PacketsPage(FoldingPage):
    """The page of one row."""

    HINTS = (("Enter", "its bytes"), ("= -", "all, none"), ("r", "anew"), ("Esc", "back"))

    def __init__(
        self, palette: Palette, session: Session, row: int, scope: Callable[[], Scope], *, show_secrets: bool
    ) -> None:
        super().__init__(palette, f"Packets of message {row + 1}")
        self._session, self._row, self._scope, self._show_secrets = session, row, scope, show_secrets
        self._lines: _Shown | None = None

    def begin(self) -> None:
        """See FoldingPage."""
        session, row = self._session, self._row
        self.pane.say("working ...")
        self.say_title()
        self._worker.ask("frames", lambda: FramesRead(frames_of(session, row), lost_in(session, row)))

    @on(FramesRead)
    def _read(self, message: FramesRead) -> None:
        client = self._session.rows.cell("side", self._row) == FROM_CLIENT
        self._lines = _Shown(message.frames, message.lost, from_client=client, wish=self._wish)
        self.pane.show(self._lines, 1)
        packets, again = (len({each.number for each in some}) for some in (message.frames, _again(message.frames)))
        missing = sum(each.length for each in message.lost)
        parts = [Part("bar", f"  {packets:,} packet{'' if packets == 1 else 's'}")]
        if again:
            parts.append(Part("bar-warning", f"  {again:,} retransmitted"))
        if missing:
            parts.append(Part("bar-error", f"  {missing:,} bytes missing"))
        if not self._scope().ended:
            parts.append(Part("bar-dim", "   (so far)"))
        self.say_title(*parts)

    def _wish(self, place: int) -> None:
        assert self._lines is not None
        session, row, frame, rows = self._session, self._row, self._lines.frames[place], self._scope().rows
        secrets = self._show_secrets

        def work() -> BytesRead:
            return BytesRead(frame, place, *frame_bytes(session, row, frame, rows, show_secrets=secrets))

        self._worker.ask(f"frame {place}", work)

    @on(BytesRead)
    def _show_bytes(self, message: BytesRead) -> None:
        lines = self._lines
        if lines is not None and lines is self.pane.contents and lines.frames[message.place] is message.frame:
            line = lines.accordion.line_of(message.place + 1)
            self.pane.grown(line, lines.put(message.place, message.data, message.masks))


def _again(frames: Sequence[Frame]) -> list[Frame]:
    return [each for each in frames if each.again]
