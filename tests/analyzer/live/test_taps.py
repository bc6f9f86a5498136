"""Many pieces of memory are written as if they were one."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from analyzer.live.taps import MOST, MemoryPieces

SIZE = 700
MEMORY = np.random.default_rng(7).integers(0, 256, 3 * MOST * SIZE, np.uint8)


def pieces(count: int) -> tuple[MemoryPieces, bytes]:
    """Every second one of its memory."""
    starts = np.arange(count) * SIZE
    rows = np.stack([starts + MEMORY.ctypes.data, np.full(count, SIZE // 2)], axis=1).astype(np.uintp)
    return MemoryPieces(rows, MEMORY), b"".join(MEMORY[at : at + SIZE // 2].tobytes() for at in starts.tolist())


@pytest.mark.parametrize("count", [0, 1, MOST, MOST + 1, 3 * MOST])
def test_all_of_them_come_in_order(count: int, tmp_path: Path) -> None:
    found, plain = pieces(count)
    with open(tmp_path / "a", "wb") as out:
        found.write(out.fileno())
    assert (tmp_path / "a").read_bytes() == plain


def test_a_call_that_takes_a_part_is_followed_by_the_rest() -> None:
    """A signal ends it anywhere: some thousand of them, while a pipe is full most of the time."""
    found, plain = pieces(2000)
    source, out = os.pipe()
    read: list[bytes] = []

    def reading() -> None:
        with open(source, "rb", buffering=0) as stream:
            while data := stream.read(1237):
                read.append(data)

    reader = threading.Thread(target=reading)
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
    try:
        reader.start()
        found.write(out)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        os.close(out)
        reader.join()
    assert b"".join(read) == plain


def test_a_full_disk_is_an_error() -> None:
    with open("/dev/full", "wb") as out, pytest.raises(OSError, match="No space"):
        pieces(2)[0].write(out.fileno())
