"""The packets of one message as lines that unfold: a line for each frame, its bytes beneath it, and missing bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from analyzer.columns.values import format_iso_time
from analyzer.decode.masking import Span
from analyzer.insight.frames import CapturedFrame, LostBytes
from analyzer.render.durations import format_duration
from analyzer.render.lines import Line
from tui.model.detail import HexRows
from tui.model.fold_list import FoldContents

HEAD: Line = (("title", f"{'No.':>9} {'Time':<15} {'Later':>7} {'Frame':>6} {'Flags':<11}   Brings"),)

COLUMNS = 80
"""The cells of a line of bytes: sixteen bytes."""

MOST_FRAMES = 256
"""The number of frames whose bytes are cached."""

_CLOCK = slice(11, -4)
"""The part of an ISO time without its date, in microseconds."""


class PacketLines(FoldContents):
    """The frames of a message as FoldContents.

    wish: requests the bytes of a frame by its index; add_bytes() takes them.
    """

    def __init__(
        self,
        frames: Sequence[CapturedFrame],
        lost: Sequence[LostBytes],
        *,
        from_client: bool,
        wish: Callable[[int], None],
    ) -> None:
        self.frames, self._lost, self._wish = frames, lost, wish
        self._arrow = ("name", "> ") if from_client else ("text", "< ")
        self._bytes: dict[int, tuple[HexRows, Span | None]] = {}
        self._wished: set[int] = set()
        super().__init__(1 + len(frames) + len(lost))

    def make_head(self, head: int) -> Line:
        """Returns the line of a frame, of missing bytes, or of the titles."""
        if not head:
            return HEAD
        if head > len(self.frames):
            return _make_lost_line(self._lost[head - 1 - len(self.frames)])
        frame = self.frames[head - 1]
        later = format_duration(frame.time - self.frames[head - 2].time) if head > 1 else ""
        tcp = frame.tcp
        flags = "" if tcp is None else tcp.names
        time = format_iso_time(frame.time)[_CLOCK]
        return (
            ("place", f"{frame.number:>9} "),
            ("", f"{time} {later:>7} {frame.original:>6,} {flags:<11} "),
            self._arrow,
            ("value", f"{frame.length:,} bytes at {frame.offset:,}"),
            *(("warning", f"  {texts}") for texts in _list_peculiarities(frame)),
            ("dim", "" if tcp is None else f"  seq {tcp.seq}  ack {tcp.ack}"),
        )

    def can_unfold(self, head: int) -> bool:
        """Returns whether a line is a frame, which has bytes."""
        return 0 < head <= len(self.frames)

    def unfold(self, head: int) -> int:
        """Unfolds the bytes of a frame; returns the number of lines that were added."""
        found = self._get_bytes(head - 1)
        return self.fold_list.unfold(head, 1 if found is None else found[0].lines)

    def add_bytes(self, place: int, data: bytes, masks: Sequence[Span]) -> int:
        """Adds the bytes of a frame; returns by how many lines there are more."""
        rows = HexRows.fit(data, masks, COLUMNS)
        self._wished.discard(place)
        self._bytes[place] = rows, _find_own_bytes(self.frames[place])
        if len(self._bytes) > MOST_FRAMES:
            del self._bytes[next(iter(self._bytes))]
        return 0 if self.fold_list.get_height(place + 1) is None else self.fold_list.unfold(place + 1, rows.lines)

    def make_child(self, head: int, at: int) -> Line:
        """Returns a line of a frame's bytes."""
        found = self._get_bytes(head - 1)
        return (("dim", "reading ..."),) if found is None else found[0].make_line(at, found[1])

    def _get_bytes(self, place: int) -> tuple[HexRows, Span | None] | None:
        """Returns the bytes of a frame; requests them if needed."""
        found = self._bytes.get(place)
        if found is None and place not in self._wished:
            self._wished.add(place)
            self._wish(place)
        return found


def _find_own_bytes(frame: CapturedFrame) -> Span | None:
    """Returns the message's bytes in a frame that has others, too."""
    if frame.tcp is None or frame.length >= frame.tcp.payload or frame.own is None:
        return None
    return frame.own, frame.own + frame.length


def _list_peculiarities(frame: CapturedFrame) -> list[str]:
    texts = ["retransmission"] if frame.again else []
    if frame.captured < frame.original:
        texts.append(f"cut: {frame.captured:,} of {frame.original:,} bytes were captured")
    if frame.tcp is None:
        texts.append("the last piece of a datagram, or not readable")
    return texts


def _make_lost_line(lost: LostBytes) -> Line:
    why = "were cut off when it was captured" if lost.cut else "are missing: no packet in the capture has them"
    return (("error", f"{'-':>9} {lost.length:,} bytes at {lost.offset:,} {why}"),)
