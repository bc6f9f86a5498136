"""The packets that brought the selected message, and their bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from analyzer.decode.masking import Span
from analyzer.insight.frames import Frame, Lost, frame_bytes, frames_of, lost_in
from analyzer.messages.index import FROM_CLIENT
from analyzer.session import Session
from tui.model.packets import PacketLines
from tui.model.scope import PageScope
from tui.screens.folding import FoldingPage
from tui.theme import Palette
from tui.widgets.bar import BarPart


class PacketsPage(FoldingPage):
    """The page of one row."""

    HINTS = (("Enter", "its bytes"), ("= -", "all, none"), ("r", "anew"), ("Esc", "back"))

    def __init__(
        self, palette: Palette, session: Session, row: int, scope: Callable[[], PageScope], *, show_secrets: bool
    ) -> None:
        super().__init__(palette, f"Packets of message {row + 1}")
        self._session, self._row, self._scope, self._show_secrets = session, row, scope, show_secrets
        self._lines: PacketLines | None = None

    def begin(self) -> None:
        """See FoldingPage."""
        session, row = self._session, self._row
        self.pane.show_text("working ...")
        self.show_title()
        self._worker.submit("frames", lambda: (frames_of(session, row), lost_in(session, row)), self._show_frames)

    def _show_frames(self, read: tuple[Sequence[Frame], Sequence[Lost]]) -> None:
        frames, lost = read
        client = self._session.rows.cell("side", self._row) == FROM_CLIENT
        self._lines = PacketLines(frames, lost, from_client=client, wish=self._request)
        self.pane.show_contents(self._lines, 1)
        packets, again = (
            len({each.number for each in some}) for some in (frames, [each for each in frames if each.again])
        )
        missing = sum(each.length for each in lost)
        parts = [BarPart("bar", f"  {packets:,} packet{'' if packets == 1 else 's'}")]
        if again:
            parts.append(BarPart("bar-warning", f"  {again:,} retransmitted"))
        if missing:
            parts.append(BarPart("bar-error", f"  {missing:,} bytes missing"))
        if not self._scope().ended:
            parts.append(BarPart("bar-dim", "   (so far)"))
        self.show_title(*parts)

    def _request(self, place: int) -> None:
        assert self._lines is not None
        session, row, frame, rows = self._session, self._row, self._lines.frames[place], self._scope().rows
        work = partial(frame_bytes, session, row, frame, rows, show_secrets=self._show_secrets)
        self._worker.submit(f"frame {place}", work, partial(self._show_bytes, frame, place))

    def _show_bytes(self, frame: Frame, place: int, read: tuple[bytes, Sequence[Span]]) -> None:
        lines = self._lines
        if lines is not None and lines is self.pane.contents and lines.frames[place] is frame:
            self.pane.add_lines(lines.fold_list.find_line(place + 1), lines.add_bytes(place, *read))
