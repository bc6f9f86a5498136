"""A million packets with little memory: none is lost, all rows come out, and neither process grows."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.live_soak import soaked
from benchmarks.wire import why_not
from tests.live.cables import listed, made, packets_of

pytestmark = [pytest.mark.slow, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]

PACKETS, TIMES, RATE = 20_000, 60, 20_000
MEMORY = 256 << 20
GROWTH = 4 << 20
"""Bytes that the capturing process may hold more at the end than after a third of the time."""


def test_memory_stands_still(tmp_path: Path) -> None:
    capture = made(tmp_path / "small.pcap", PACKETS)
    packets, rows = packets_of(capture), len(listed(capture))
    found = soaked(capture, packets * TIMES / RATE, f"{MEMORY >> 20}M", RATE)
    assert found.sent.packets == packets * TIMES
    assert f"{packets * TIMES:,} packets captured" in found.said
    assert "dropped" not in found.said
    assert found.rows == rows * TIMES
    assert max(look.anonymous for look in found.analyzer.looks) < MEMORY
    stored = [look.anonymous for look in found.capturer.looks]
    assert max(stored) - stored[0] < GROWTH
