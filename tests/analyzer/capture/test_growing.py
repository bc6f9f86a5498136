"""A file that somebody else is writing: what is held of it, when it rests, when it is closed, when it is looked at."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest

from analyzer.capture import feed as module
from analyzer.capture import growing
from analyzer.capture.feed import COLLECT, ENOUGH, IDLE, IDLE_LOOK, LITTLE, LITTLE_COLLECT, LOOK, GrowthFeeder
from analyzer.capture.growing import GrowingFile
from analyzer.capture.inputs import open_capture
from analyzer.capture.packets import PacketReader
from analyzer.capture.succession import FileSuccession
from tests.analyzer.capture.reading import rows
from tests.analyzer.capture.writers import T0, Ng, segment

NG = Ng()
DATA = bytes(range(256)) * 4


def source(path: Path, data: bytes = DATA) -> GrowingFile:
    path.write_bytes(data)
    return GrowingFile(open_capture(str(path)), str(path))


def test_it_has_the_size_that_was_found(tmp_path: Path) -> None:
    one = source(tmp_path / "a", DATA[:100])
    assert (one.size(), one.count_waiting()) == (0, 100)
    one.grow()
    with open(tmp_path / "a", "ab") as file:
        file.write(DATA[100:])
    assert (one.size(), one.count_waiting()) == (100, 924)
    assert bytes(one.window(90, 50)) == DATA[90:100]
    one.grow()
    assert (one.size(), one.count_waiting()) == (1024, 0)
    assert bytes(one.window(10, 200)) == DATA[10:210], "from the file"
    assert bytes(one.window(1000, 200)) == DATA[1000:]
    one.close()


@pytest.mark.parametrize("state", ["held", "settled", "resting"])
def test_rows_of_bytes(tmp_path: Path, state: str) -> None:
    one = source(tmp_path / "a", DATA[:100])
    one.grow()
    one.window(64, 9)
    (tmp_path / "a").write_bytes(DATA)
    one.grow()
    if state != "held":
        one.settle()
    if state == "resting":
        one.release_descriptor()
    assert one.size() == 1024
    for places in ([70, 64, 1022], [3, 70, 1000], [1, 2], [], [1023, 2000]):
        found = one.gather(np.array(places, np.int64), 8)
        assert [bytes(row) for row in found] == [DATA[at : at + 8].ljust(8, b"\0") for at in places]
    again = one.duplicate()
    assert os.pread(again, 8, 5) == DATA[5:13]
    os.close(again)
    one.close()
    assert one.gather(np.array([1]), 4).tolist() == [[0] * 4]
    assert bytes(one.window(3, 5)) == b""
    with pytest.raises(FileNotFoundError):
        one.duplicate()


def test_what_rests_is_no_other_file_of_that_name(tmp_path: Path) -> None:
    one, other = source(tmp_path / "a"), source(tmp_path / "b")
    for each in (one, other):
        each.grow()
        each.settle()
    (tmp_path / "b").unlink()
    before = len(os.listdir("/dev/fd"))
    one.release_descriptor()
    other.release_descriptor()
    assert len(os.listdir("/dev/fd")) == before - 1, "without its name it could not be found again"
    assert bytes(other.window(0, 9)) == DATA[:9]
    (tmp_path / "a").rename(tmp_path / "c")
    (tmp_path / "a").write_bytes(b"something else")
    assert bytes(one.window(0, 9)) == b""
    with pytest.raises(FileNotFoundError):
        one.duplicate()
    one.close()
    other.close()


def test_a_record_longer_than_what_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "AT_ONCE", 512)
    payloads = [bytes([number]) * size for number, size in enumerate((10, 4000, 10, 10, 600, 20_000, 1))]
    blocks = [NG.enhanced(segment(payload, seq=number), T0 // 1000) for number, payload in enumerate(payloads)]
    (tmp_path / "a").write_bytes(NG.section() + NG.interface() + b"".join(blocks))
    files = FileSuccession()
    files.add_file(str(tmp_path / "a"))
    files.finish()
    with PacketReader(files) as packets:
        assert [packet.payload for packet in rows(packets)] == payloads
        assert packets.findings == []


class Clocked:
    """A source that has bytes waiting, and a clock that only moves when somebody sleeps."""

    def __init__(self, waiting: list[tuple[float, int]]) -> None:
        self.now, self.taken, self.looks = 100.0, 0, 0
        self._waiting = waiting

    def count_waiting(self) -> int:
        self.looks += 1
        return sum(size for since, size in self._waiting if self.now >= 100 + since) - self.taken

    def grow(self) -> None:
        self.taken += self.count_waiting()

    def settle(self) -> None:
        pass

    def sleep(self, seconds: float) -> None:
        self.now += seconds


WHEN = {
    "after a silence, at once": ([(0, 9), (5, 9)], [0, 5]),
    "while few packets flow, collected": ([(0, 9), (0.01, 9), (0.02, 9), (0.5, 9)], [0, LITTLE_COLLECT, 0.5]),
    "while many flow, longer": ([(0, 9), (0.01, LITTLE), (0.02, 9), (0.5, 9)], [0, COLLECT, 0.5]),
    "much, at once": ([(0, 9), (0.005, ENOUGH)], [0, 0.005]),
}


@pytest.mark.parametrize("name", WHEN)
def test_when_what_has_come_is_given(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting, expected = WHEN[name]
    clocked = Clocked(waiting)
    monkeypatch.setattr(module.time, "monotonic", lambda: clocked.now)
    monkeypatch.setattr(module.time, "sleep", clocked.sleep)
    one = GrowthFeeder(clocked, threading.Event())  # type: ignore[arg-type]
    for moment in expected:
        assert one.fill()
        assert 100 + moment <= clocked.now < 100 + moment + (IDLE_LOOK if moment > IDLE else LOOK) + 1e-6
    assert clocked.count_waiting() == 0
