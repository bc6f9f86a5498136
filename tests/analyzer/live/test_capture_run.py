"""Packets of several taps come out by time, none too early and none twice."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from analyzer.capture.pcapng_format import InterfaceDescription, encode_header, encode_packet
from analyzer.live.capture_run import HOLD, BatchMerger
from analyzer.live.taps import PacketBatch
from tests.analyzer.capture.writers import T0
from tests.analyzer.live.wires import frames_in

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
