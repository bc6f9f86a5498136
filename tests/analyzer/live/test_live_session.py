"""A capture and the session that reads it: its runs, what they are called, how they end.

The capturing process is played here; tests/analyzer/cli/test_sniff.py has the real one.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from analyzer.capture.succession import FileSuccession
from analyzer.errors import CaptureError, UserError
from analyzer.live.capture import LiveCapture, RunHealth
from analyzer.live.live_session import LiveSession
from analyzer.session import Session

CAPTURE = Path(__file__).parents[3] / "captures" / "mixed.pcapng"
SPOOL = "spool.pcapng"


class Played:
    """Captures the same packets in every run, all of them at once, and goes on until it is stopped."""

    interfaces, notes, problem = ("lo", "eth0"), (), None
    stubborn = False

    def __init__(self, folder: Path) -> None:
        self.stopped, self.closed = True, 0
        self.begun: list[str | None] = []
        self._folder = folder

    def begin(self, path: str | None, succession: FileSuccession) -> None:
        if path is not None and not Path(path).parent.exists():
            raise CaptureError(f"cannot write {path}")
        self.begun.append(path)
        self.stopped, self._succession = False, succession
        shutil.copy(CAPTURE, path or self._folder / SPOOL)
        succession.add_file(path or str(self._folder / SPOOL))

    def stop(self) -> None:
        if not self.stubborn and not self.stopped:
            self.stopped = True
            self._succession.finish()

    def health(self, read: int) -> RunHealth:
        return RunHealth(captured=1000, dropped=1, size=1, backlog=1000 - read, lag=0.5, files=1)

    def summary(self, read: int) -> str:
        return f"{read} packets read"

    def close(self) -> None:
        self.stop()
        self.closed += 1


@pytest.fixture
def played(tmp_path: Path) -> Played:
    return Played(tmp_path)


def sniffing(played: Played, write: str | None = None) -> LiveSession:
    return LiveSession(cast(LiveCapture, played), write, memory=1 << 28)


@pytest.fixture
def rows() -> Iterator[int]:
    with Session([CAPTURE]).load() as session:
        yield len(session.rows)


def test_a_run_is_read_to_its_end(played: Played, rows: int, tmp_path: Path) -> None:
    with sniffing(played, str(tmp_path / "a.pcapng")) as live:
        assert (live.state, live.title, live.memory, live.is_saved) == ("capturing", "live: lo, eth0", 1 << 28, True)
        growth = live.session.grow()
        next(growth)
        assert live.health().backlog == 1000 - live.packets_read < 1000
        live.stop()
        assert live.state == "stopped"
        for _ in growth:
            pass
        assert len(live.session.rows) == rows
        assert live.summary() == f"{live.packets_read} packets read"
        assert live.problem is None
    assert played.closed == 1


@pytest.mark.parametrize(
    ("write", "there", "written"),
    [
        ("a.pcapng", [], ["a.pcapng", "a-2.pcapng", "a-3.pcapng"]),
        ("a.pcapng", ["a-2.pcapng"], ["a.pcapng", "a-3.pcapng", "a-4.pcapng"]),
        ("a.pcapng", ["a.pcapng"], ["a.pcapng", "a-2.pcapng", "a-3.pcapng"]),
        ("a.b.cap", [], ["a.b.cap", "a.b-2.cap", "a.b-3.cap"]),
        ("plain", [], ["plain", "plain-2", "plain-3"]),
        (None, [], [None, None, None]),
    ],
)
def test_no_run_writes_over_an_earlier_one(
    played: Played, rows: int, tmp_path: Path, write: str | None, there: list[str], written: list[str | None]
) -> None:
    for name in there:
        (tmp_path / name).touch()
    with sniffing(played, None if write is None else str(tmp_path / write)) as live:
        for _ in range(2):
            before = live.session
            live.stop()
            before.load()
            assert len(before.rows) == rows
            assert live.restart() is live.session is not before
            assert (live.state, live.packets_read, len(live.session.rows)) == ("capturing", 0, 0)
            before.close()
    assert played.begun == [None if name is None else str(tmp_path / name) for name in written]


def test_what_still_captures_is_stopped_before_it_begins_anew(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analyzer.live.live_session.PATIENCE", 0.05)
    with sniffing(played) as live:
        first = live.session
        second = live.restart()
        assert first.load().ended
        first.close()
        played.stubborn = True
        with pytest.raises(UserError, match="does not stop"):
            live.restart()
        assert live.session is second
        assert live.state == "stopping"
        played.stubborn = False


def test_a_run_that_cannot_begin_leaves_the_one_before(played: Played, tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    with sniffing(played, str(folder / "a.pcapng")) as live:
        live.stop()
        shutil.rmtree(folder)
        before = live.session
        with pytest.raises(CaptureError):
            live.restart()
        assert live.session is before
    with pytest.raises(CaptureError):
        sniffing(played, str(folder / "a.pcapng"))


def test_what_nobody_keeps_can_be_saved(played: Played, rows: int, tmp_path: Path) -> None:
    with sniffing(played) as live:
        live.stop()
        live.session.load()
        assert live.save(str(tmp_path / "saved.pcapng"))
    with Session([tmp_path / "saved.pcapng"]).load() as session:
        assert len(session.rows) == rows
