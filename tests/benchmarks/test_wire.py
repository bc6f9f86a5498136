"""The wire that live captures are measured on: what is sent is what comes, and nothing stays behind."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.live_soak import FEWEST, HOUR, growth
from benchmarks.measure import Failed
from benchmarks.sender import frames, repeated
from benchmarks.sniffed import Look
from benchmarks.wire import Wire, why_not

CAPTURE = Path(__file__).parents[2] / "captures" / "kafka.pcap"
MEBIBYTE = 1 << 20

on_linux = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


def looks(*sizes: float) -> list[Look]:
    """One a minute."""
    return [Look(60.0 * number, 0.0, int(size * MEBIBYTE)) for number, size in enumerate(sizes)]


@pytest.mark.parametrize(
    ("sizes", "slope"),
    [((50, 50, 50, 50), 0), ((50, 51, 52, 53), 60), ((9, 8, 7, 6, 5), -60), ((50, 52, 50, 52, 50, 52, 50), 0)],
)
def test_growth_is_a_straight_line(sizes: tuple[float, ...], slope: float) -> None:
    found = growth(looks(*sizes))
    assert found.slope / MEBIBYTE == pytest.approx(slope, abs=1e-6)
    assert found.last == sizes[-1] * MEBIBYTE


def test_what_is_before_the_warm_up_does_not_count() -> None:
    found = looks(1, 30, 40, 40, 40, 40)
    assert growth(found).slope > MEBIBYTE
    assert growth(found, warm=120.0).slope == pytest.approx(0)
    assert HOUR > 120.0
    with pytest.raises(Failed, match="too few"):
        growth(found, warm=60.0 * (len(found) - FEWEST + 1))


def test_each_round_has_hosts_of_its_own() -> None:
    first = [memoryview(each) for each in (bytes(12) + b"\x08\x00" + bytes(30), bytes(12) + b"\x86\xdd" + bytes(50))]
    sent = repeated(first)
    rounds = [[bytes(next(sent)) for _ in first] for _ in range(3)]
    addresses = [(each[0][26:30], each[0][30:34]) for each in rounds]
    assert addresses == [(bytes([0, times, 0, 0]),) * 2 for times in range(3)]
    assert len({each[1] for each in rounds}) == 1


def test_frames_are_those_of_the_capture() -> None:
    content = CAPTURE.read_bytes()
    found = list(frames(memoryview(content)))
    assert sum(len(each) + 16 for each in found) + 24 == len(content)
    assert Counter(bytes(each[12:14]) for each in found).most_common(1)[0][0] in (b"\x08\x00", b"\x86\xdd")


@on_linux
@pytest.mark.parametrize("own", [True, False])
def test_what_is_sent_comes(own: bool) -> None:
    with Wire() as wire:
        assert wire.counted().packets == 0
        sent = wire.send(CAPTURE, 20_000, 2_000, own=own, head=100 if own else 0).wait()
        found = wire.counted()
        assert (sent.packets, sent.size) == (2_000, found.size)
        assert (found.packets, found.dropped) == (2_000, 0)
        with pytest.raises(Failed, match="nobody listened"):
            wire.ready(patience=0.1)
