"""Captures in which somebody wrote comments onto packets, and names of hosts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.analyzer.capture.writers import Frame, Ng

NG = Ng("<")
NANOSECONDS = (9, b"\x09")


def commented(
    path: Path, frames: Iterable[Frame], comments: Mapping[int, Sequence[bytes]], *names: tuple[str, bytes], ng: Ng = NG
) -> Path:
    """`comments`: by packet number in this file, from 1; `names`: address and names, a block each behind them."""
    blocks = [ng.section(), ng.interface(NANOSECONDS)]
    for number, frame in enumerate(frames, 1):
        pairs = [(1, text) for text in comments.get(number, ())]
        blocks.append(ng.enhanced(frame.data, frame.time, *pairs, original=frame.wire))
    path.write_bytes(b"".join([*blocks, *(ng.names(name) for name in names)]))
    return path
