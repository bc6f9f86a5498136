"""Files of a capture: when one ends and another begins, which stay, and what is left of one that cannot be written."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from analyzer.capture.packets import PacketReader
from analyzer.capture.pcapng_format import InterfaceDescription, encode_header, encode_packet, encode_statistics
from analyzer.capture.records import InterfaceStatistics
from analyzer.errors import CaptureError
from analyzer.live import rotation as module
from analyzer.live.capture_request import CaptureBounds
from analyzer.live.channel import ChannelMessage, FileBegunMessage, FileRemovedMessage
from analyzer.live.rotation import GRACE, STATISTICS, FileRotation, make_ring_name
from analyzer.live.taps import PacketBatch
from tests.analyzer.capture.writers import T0
from tests.analyzer.live.wires import frames_in

LO = [InterfaceDescription("lo", 1)]
HEAD = len(encode_header(LO))
BODY = 60
ONE = BODY + 32
ENDLESS = CaptureBounds()
END = len(encode_statistics(0, T0, 0, 0, T0))


def frame(number: int) -> bytes:
    return number.to_bytes(4) * (BODY // 4)


def taken(first: int, count: int) -> PacketBatch:
    blocks = [encode_packet(0, T0 + number, frame(number), BODY) for number in range(first, first + count)]
    ends = np.arange(1, count + 1) * ONE
    return PacketBatch(count, count * ONE, T0 + first + count - 1, b"".join(blocks), ends)


@pytest.fixture(autouse=True)
def without_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too many goes at once, but where that is the question."""
    monkeypatch.setattr(module, "GRACE", 0.0)


class Written:
    """A rotation that is fed packets in takes of some sizes."""

    def __init__(self, path: Path, ring: CaptureBounds, until: CaptureBounds = ENDLESS) -> None:
        self.said: list[ChannelMessage] = []
        self.dropped = 0
        self.rotation = FileRotation(str(path), LO, ring, until, self.said.append, lambda: [(99, self.dropped)])
        self.fed = 0

    def feed(self, *takes: int) -> None:
        for count in takes:
            self.rotation.write(taken(self.fed, count))
            self.fed += count

    def files(self) -> list[Path]:
        removed = {line.path for line in self.said if isinstance(line, FileRemovedMessage)}
        return [
            Path(line.path) for line in self.said if isinstance(line, FileBegunMessage) and line.path not in removed
        ]

    def counts(self) -> list[int]:
        return [len(frames_in(path)) for path in self.files()]


@pytest.mark.parametrize("takes", [(10,), (1,) * 10, (3, 7), (9, 1)], ids=str)
@pytest.mark.parametrize(
    ("ring", "until", "counts"),
    [
        (CaptureBounds(), CaptureBounds(), [10]),
        (CaptureBounds(packets=4), CaptureBounds(), [4, 4, 2]),
        (CaptureBounds(packets=5), CaptureBounds(), [5, 5]),
        (CaptureBounds(packets=3, files=2), CaptureBounds(), [3, 1]),
        (CaptureBounds(packets=3, files=1), CaptureBounds(), [1]),
        (CaptureBounds(size=HEAD + 3 * ONE), CaptureBounds(), [3, 3, 3, 1]),
        (CaptureBounds(size=HEAD + 4 * ONE - 1), CaptureBounds(), [3, 3, 3, 1]),
        (CaptureBounds(size=1), CaptureBounds(), [1] * 10),
        (CaptureBounds(size=HEAD + 5 * ONE, packets=4), CaptureBounds(), [4, 4, 2]),
        (CaptureBounds(), CaptureBounds(packets=7), [7]),
        (CaptureBounds(packets=3), CaptureBounds(packets=7), [3, 3, 1]),
        (CaptureBounds(packets=3), CaptureBounds(files=2), [3, 3]),
        (CaptureBounds(packets=2, files=1), CaptureBounds(files=3), [2]),
        (CaptureBounds(), CaptureBounds(size=HEAD + 6 * ONE + 5), [6]),
        (CaptureBounds(packets=2), CaptureBounds(size=2 * HEAD + END + 3 * ONE), [2, 1]),
    ],
    ids=str,
)
def test_bounds(
    ring: CaptureBounds, until: CaptureBounds, counts: list[int], takes: tuple[int, ...], tmp_path: Path
) -> None:
    """However packets come in, they are divided in the same way, and none is lost at a border."""
    found = Written(tmp_path / "trace.pcapng", ring, until)
    found.feed(*takes)
    found.rotation.finish()
    assert found.counts() == counts
    assert found.rotation.over == bool(until)
    remaining = [each for path in found.files() for each in frames_in(path)]
    last = found.rotation.packets
    assert remaining == [frame(number) for number in range(last - sum(counts), last)]
    assert sorted(found.files()) == sorted(tmp_path.iterdir())
    if not any(isinstance(line, FileRemovedMessage) for line in found.said):
        assert found.rotation.size == sum(path.stat().st_size for path in found.files())


def test_a_file_stays_until_whoever_follows_can_have_opened_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GRACE", GRACE)
    found = Written(tmp_path / "trace.pcapng", CaptureBounds(packets=1, files=1))
    found.feed(1, 1, 1)
    assert len(found.files()) == len(list(tmp_path.iterdir())) == 3
    now = time.monotonic()
    assert found.rotation.deadline is not None
    assert now < found.rotation.deadline <= now + GRACE
    found.rotation.tick(now + GRACE)
    assert found.counts() == [1]
    found.feed(1)
    found.rotation.finish()
    assert [path.exists() for path in found.files()] == [True]


@pytest.mark.parametrize(
    ("moments", "counts"),
    [
        ([0, 10, 20, 30, 40], [2, 2, 1]),
        ([0, 10, 5, 30, 40], [3, 2]),
        ([0, 10, 20, 5, 40, 50], [4, 2]),
        ([0, 10**9, 5, 6, 7], [2, 2, 1]),
    ],
)
def test_packets_that_changed_places_are_of_one_file(moments: list[int], counts: list[int], tmp_path: Path) -> None:
    """But a clock that was set back ends no file later."""
    found = Written(tmp_path / "trace.pcapng", CaptureBounds(packets=2))
    times = T0 + np.array(moments)
    blocks = b"".join(encode_packet(0, moment, frame(0), BODY) for moment in times.tolist())
    ends = np.arange(1, len(times) + 1) * ONE
    found.rotation.write(PacketBatch(len(times), len(blocks), int(times[-1]), blocks, ends, times))
    found.rotation.finish()
    assert found.counts() == counts


def test_every_file_is_whole_by_itself(tmp_path: Path) -> None:
    found = Written(tmp_path / "trace.pcapng", CaptureBounds(packets=4))
    found.dropped = 5
    found.feed(10)
    found.rotation.finish()
    for path, count in zip(found.files(), [4, 4, 2], strict=True):
        with PacketReader([path]) as packets:
            list(packets.blocks())
            assert packets.counts.packets == count
            assert [each.name for each in packets.files[0].interfaces] == ["lo"]
            assert packets.files[0].statistics == {0: InterfaceStatistics(received=99, dropped=5)}


def test_time_ends_a_file_that_has_packets_and_no_other(tmp_path: Path) -> None:
    found = Written(tmp_path / "trace.pcapng", CaptureBounds(seconds=10.0))
    assert found.rotation.deadline is None
    found.rotation.tick(time.monotonic() + 100)
    assert len(found.files()) == 1
    found.feed(1, 1)
    assert found.rotation.deadline is not None
    found.rotation.tick(found.rotation.deadline - 1)
    assert len(found.files()) == 1
    found.rotation.tick(found.rotation.deadline)
    assert found.counts() == [2, 0]
    assert found.rotation.deadline is None
    found.rotation.finish()


def test_counters_are_written_meanwhile_when_they_change(tmp_path: Path) -> None:
    found = Written(tmp_path / "a", CaptureBounds())
    now = time.monotonic()
    for later, dropped, blocks in ((1, 3, 0), (STATISTICS, 3, 1), (2 * STATISTICS, 3, 1), (3 * STATISTICS, 4, 2)):
        found.dropped = dropped
        found.rotation.tick(now + later + 1)
        assert (tmp_path / "a").stat().st_size == HEAD + blocks * END
        now += 1
    found.rotation.finish()
    assert found.rotation.size == (tmp_path / "a").stat().st_size == HEAD + 3 * END


@contextmanager
def room(size: int) -> Iterator[None]:
    """No file of this process may become larger."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("takes", [(10,), (1,) * 10, (6, 4)], ids=str)
@pytest.mark.parametrize("over", [0, 1, ONE - 1])
def test_a_file_that_takes_no_more_is_cut_back(over: int, takes: tuple[int, ...], tmp_path: Path) -> None:
    found = Written(tmp_path / "a", CaptureBounds())
    with room(HEAD + 7 * ONE + over), pytest.raises(CaptureError) as raised:
        found.feed(*takes)
    assert str(raised.value) == f"Cannot write {tmp_path / 'a'}: File too large. The 7 packets before are kept."
    assert found.rotation.packets == 7
    assert found.rotation.size == (tmp_path / "a").stat().st_size == HEAD + 7 * ONE
    assert frames_in(tmp_path / "a") == [frame(number) for number in range(7)]


def test_a_file_that_takes_no_counters_is_cut_back(tmp_path: Path) -> None:
    found = Written(tmp_path / "a", CaptureBounds())
    found.feed(2)
    with room(HEAD + 2 * ONE + 9), pytest.raises(CaptureError, match="2 packets before are kept"):
        found.rotation.finish()
    assert (tmp_path / "a").stat().st_size == HEAD + 2 * ONE


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/no/such/folder/x", "Cannot write /no/such/folder/x: No such file or directory."),
        ("/dev/full", "Cannot write /dev/full: No space left on device."),
    ],
)
def test_one_that_cannot_be_begun_is_a_sentence(path: str, text: str) -> None:
    with pytest.raises(CaptureError) as raised:
        Written(Path(path), CaptureBounds())
    assert str(raised.value) == text


def test_names_are_those_of_dumpcap() -> None:
    moment = time.mktime((2026, 11, 22, 12, 42, 25, 0, 0, -1))
    assert make_ring_name("/x/trace.pcapng", 1, moment) == "/x/trace_00001_20261122124225.pcapng"
    assert make_ring_name("trace", 100_000, moment) == "trace_100000_20261122124225"
