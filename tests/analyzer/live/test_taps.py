"""Packets of several taps come out by time, and many pieces of memory are written as if they were one."""

from __future__ import annotations

import os
import random
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from analyzer.capture.pcapng_format import InterfaceDescription, encode_header, encode_packet
from analyzer.live.capture_run import HOLD, BatchMerger
from analyzer.live.taps import MOST, MemoryPieces, PacketBatch
from tests.analyzer.capture.writers import T0
from tests.analyzer.live.wires import frames_in

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


# ---- packets of several taps come out by time, none too early and none twice


NOW = T0 + 10 * HOLD


def taken(tap: int, times: list[int]) -> PacketBatch:
    """Packets that say whose they are and when they came."""
    blocks = [encode_packet(tap, time, f"{time - T0:015} {tap}".encode(), 99) for time in times]
    ends = np.cumsum([len(each) for each in blocks])
    return PacketBatch(len(times), int(ends[-1]), times[-1], b"".join(blocks), ends, np.array(times))


def content(found: PacketBatch | None, path: Path) -> list[bytes]:
    if found is None:
        return []
    with open(path, "wb") as out:
        out.write(encode_header([InterfaceDescription("a", 1), InterfaceDescription("b", 1)]))
        out.flush()
        found.write(out.fileno())
    return frames_in(path)


def test_what_another_tap_may_still_come_before_is_retained(tmp_path: Path) -> None:
    merging = BatchMerger(2)
    merging.add(0, taken(0, [T0 + 1, T0 + 5]))
    assert merging.take_due(T0 + 6) is None
    merging.add(1, taken(1, [T0 + 2, T0 + 3]))
    times = [int(each.split()[0]) for each in content(merging.take_due(T0 + 6), tmp_path / "a")]
    assert times == [1, 2, 3]
    assert merging
    assert merging.take_due(T0 + 6 + HOLD, {1}) is None, "the other one has more at hand, which may be older"
    assert len(content(merging.take_due(T0 + 6 + HOLD), tmp_path / "a")) == 1
    assert not merging


def test_whatever_taps_give_it_comes_by_time(tmp_path: Path) -> None:
    chance = random.Random(3)
    merging, found, moment = BatchMerger(2), [], T0
    for step in range(60):
        times = sorted(moment + chance.randrange(HOLD // 4) for _ in range(chance.randrange(1, 9)))
        merging.add(step % 2, taken(step % 2, times))
        moment += HOLD // 4 if step % 2 else 0
        found += content(merging.take_due(moment), tmp_path / "a")
    found += content(merging.take_rest(), tmp_path / "a")
    assert found == sorted(found)
    assert len(set(found)) == len(found)
    assert not merging
