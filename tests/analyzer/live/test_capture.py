"""The analyzer's handle on a capture: what it hears and says, and that nothing is left behind, whoever dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analyzer.errors import CaptureError
from analyzer.live import capture as module
from analyzer.live import run_monitor
from analyzer.live.capture import LiveCapture, RunHealth
from analyzer.live.capture_request import CaptureRequest
from analyzer.live.channel import CountMessage, RunEndMessage
from analyzer.live.launcher import CaptureProcess, _popen
from analyzer.live.privilege import Identity
from analyzer.live.run_monitor import MOST_SAMPLES, RunMonitor
from tests.analyzer.live.worlds import ABLE, trial, world
from tests.namespaces import privileged
from tests.waiting import is_over, until

PATIENCE = 60.0

CHILD = """
import os, sys, time
from analyzer.live.channel import *
def say(line): sys.stdout.write(encode_message(line)); sys.stdout.flush()
def heard(): return decode_message(sys.stdin.readline())
def file(path):
    open(path, 'w').write('packets'); say(FileBegunMessage(path))
print('scapy says hello', flush=True)
"""


class Following:
    """What a succession is told, and whether a file was there then."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []

    def add_file(self, path: str) -> bool:
        self.heard.append(("begun", Path(path).read_text()))
        return True

    def remove_file(self, path: str) -> None:
        self.heard.append(("gone", os.path.basename(path)))

    def finish(self) -> None:
        self.heard.append(("ended", ""))


@pytest.fixture
def spools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where files go that nobody keeps."""
    folder = tmp_path / "spools"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@contextmanager
def capturing(script: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveCapture]:
    """A capture whose child runs a script, and which gives up nothing: it is in the tests' own process."""

    def started(asked: CaptureRequest, via: str) -> CaptureProcess:
        process, errors = _popen([sys.executable, "-c", CHILD + script])
        return CaptureProcess(process, errors, Identity("", 0, 0, None), ("a note",))

    monkeypatch.setattr(module, "start_capture_process", started)
    monkeypatch.setattr(module, "become", lambda who: None)
    with LiveCapture(CaptureRequest()) as found:
        yield found
    until("it", lambda: found._child.poll() is not None and not found._listener.is_alive())


RUN = """
say(ReadyMessage(('lo', 'eth0'), ('its note',)))
for n in range(3):
    start = heard()
    if start is None: break
    file(start.path)
    say(CountMessage(10, 1, 1000))
    print('noise', flush=True)
    assert isinstance(heard(), StopCommand)
    file(start.path + '.2'); say(FileRemovedMessage(start.path))
    say(RunEndMessage(20, 2, 2000, 'the disk is full' if n else None))
"""


def test_runs(spools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with capturing(RUN, monkeypatch) as capture:
        assert (capture.interfaces, capture.notes) == (("lo", "eth0"), ("a note", "its note"))
        assert (capture.stopped, capture.health(0), capture.summary(0)) == (True, RunHealth(), "nothing was captured")
        remaining, spooled = Following(), Following()
        capture.begin(str(tmp_path / "kept"), remaining)
        assert (capture.stopped, remaining.heard) == (False, [("begun", "packets")])
        with pytest.raises(RuntimeError):
            capture.begin(None, spooled)
        until("it", lambda: capture.health(0).captured)
        health = capture.health(4)
        assert (health.captured, health.dropped, health.size, health.backlog, health.files) == (10, 1, 1000, 6, 1)
        assert capture.health(10).lag == 0.0
        assert capture.summary(10) == f"10 packets captured to {tmp_path}/kept, 1 more were dropped by the kernel"
        capture.stop()
        until("it", lambda: capture.stopped)
        assert remaining.heard == [("begun", "packets")] * 2 + [("gone", "kept"), ("ended", "")]
        assert (capture.problem, list(spools.iterdir())) == (None, [])
        assert capture.summary(4) == (
            f"20 packets captured to 2 files, 1 of them kept, the last of them {tmp_path}/kept.2, "
            "2 more were dropped by the kernel, 16 of them were not read"
        )
        capture.begin(None, spooled)
        assert capture.health(0).files == 1
        (folder,) = spools.iterdir()
        assert (list(folder.iterdir()), folder.stat().st_mode & 0o777) == ([], 0o700)
        capture.stop()
        until("it", lambda: capture.stopped)
        assert (capture.problem, list(spools.iterdir())) == ("the disk is full", [])
        capture.stop()
        capture.close()
        capture.close()
        with pytest.raises(CaptureError):
            capture.begin(None, Following())
    assert list(spools.iterdir()) == []


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("say(FailureMessage('there is no interface x'))", "there is no interface x"),
        ("", "The capturing process ended with status 0 before it began."),
        ('print(\'{"say": "ready"\', flush=True); raise SystemExit(3)', "ended with status 3 before it began"),
        (
            "sys.stderr.write('one\\nsudo: a password is required\\n'); sys.exit(1)",
            r"1 \(sudo: a password is required\)",
        ),
        ("os.kill(os.getpid(), 9)", "The capturing process was ended by SIGKILL before it began."),
        ("sys.stdin.readline(); time.sleep(60)", "The capturing process does not answer before it began."),
    ],
)
def test_it_does_not_begin(script: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TO_OPEN", 0.3 if "sleep" in script else PATIENCE)
    monkeypatch.setattr(module, "PATIENCE", 0.2 if "sleep" in script else PATIENCE)
    with pytest.raises(CaptureError, match=expected), capturing(script, monkeypatch):
        pass


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("heard(); say(RunEndMessage(0, 0, 0, 'cannot write x'))", "cannot write x"),
        ("heard(); say(FailureMessage('no more'))", "no more"),
        ("heard(); os.kill(os.getpid(), 15)", "ended by SIGTERM. The packets that it wrote are kept."),
        ("heard(); time.sleep(60)", "The capturing process does not answer."),
        ("sys.exit(0)", "The capturing process ended with status 0. The packets that it wrote are kept."),
    ],
)
def test_a_run_does_not_begin(script: str, expected: str, spools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    following = Following()
    monkeypatch.setattr(module, "PATIENCE", 0.3 if "sleep" in script else PATIENCE)
    with (
        capturing(f"say(ReadyMessage()); {script}", monkeypatch) as capture,
        pytest.raises(CaptureError, match=expected),
    ):
        capture.begin(None, following)
    assert [what for what, _ in following.heard] in (["ended"], [])
    assert list(spools.iterdir()) == []


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("os.kill(os.getpid(), 9)", "The capturing process was ended by SIGKILL. The packets that it wrote are kept."),
        (
            "sys.exit('it broke')",
            "The capturing process ended with status 1 (it broke). The packets that it wrote are kept.",
        ),
    ],
)
def test_it_ends_in_a_run(script: str, expected: str, spools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    following = Following()
    child = "say(ReadyMessage()); path = heard().path; file(path); say(CountMessage(7, 0, 9)); "
    child += f"open(path + '.2', 'w'); {script}"
    with capturing(child, monkeypatch) as capture:
        capture.begin(None, following)
        until("it", lambda: capture.stopped)
        assert (capture.health(7).captured, following.heard[-1]) == (7, ("ended", ""))
        assert capture.problem == expected
        assert list(spools.iterdir()) == []
        with pytest.raises(CaptureError, match="ended"):
            capture.begin(None, Following())


def test_one_that_hangs_is_killed(spools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "import signal; signal.signal(15, signal.SIG_IGN)\nsay(ReadyMessage()); file(heard().path)\n"
    script += "while True: time.sleep(9)"
    following = Following()
    with capturing(script, monkeypatch) as capture:
        capture.begin(None, following)
        capture.stop()
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=partial(next, count())))  # each look: a second
    assert capture.stopped
    assert following.heard[-1] == ("ended", "")
    assert list(spools.iterdir()) == []


def test_one_that_still_writes_is_waited_for(spools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Longer than one that is silent: by a clock that each of its words moves on by half of that time."""
    script = (
        "say(ReadyMessage()); file(heard().path); sys.stdin.read()\n"
        "for n in range(1, 9): say(CountMessage(n, 0, 0)); time.sleep(0.05)\nsay(RunEndMessage(9, 0, 0))"
    )
    with capturing(script, monkeypatch) as capture:
        capture.begin(None, Following())
        run = capture._run
        assert run is not None
        clock = SimpleNamespace(monotonic=lambda: run.health.captured * module.PATIENCE / 2)
        monkeypatch.setattr(module, "time", clock)
    assert (capture.health(0).captured, capture.problem) == (9, None)


def test_there_is_no_place_for_a_spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with capturing("say(ReadyMessage()); heard()", monkeypatch) as capture:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
        with pytest.raises(CaptureError, match=r"Cannot write temporary files: No such file"):
            capture.begin(None, Following())
        assert capture.stopped


def test_how_far_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunMonitor("/x", Following())
    now = 1000.0
    monkeypatch.setattr(run_monitor, "time", SimpleNamespace(monotonic=lambda: now))
    for n in range(1, 4):
        run.count(CountMessage(n * 10, 0, 0), now - 40 + n * 10)
    assert [round(run.health_at(read).lag) for read in (0, 9, 10, 29)] == [30, 30, 20, 10]
    assert (run.health_at(30).lag, run.health_at(99).backlog) == (0.0, 0)
    for n in range(4 * MOST_SAMPLES):
        run.count(CountMessage(100 + n, 0, 0), now)
    assert len(run._samples) <= MOST_SAMPLES + 1
    run.count(RunEndMessage(9 * MOST_SAMPLES, 5, 6), now - 3)
    assert round(run.health_at(9 * MOST_SAMPLES - 1).lag) == 3
    assert run.health.dropped == 5


def held(place: Path, path: Path | None = None) -> subprocess.Popen[str]:
    """A trial that captures, and waits for a line."""
    script = f"export TMPDIR={place}; exec {ABLE} {trial('auto', path, hold=True)}"
    return subprocess.Popen(
        world(script), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd="/"
    )


def line_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    found: dict[str, Any] = json.loads(process.stdout.readline())
    return found


@privileged
@pytest.mark.parametrize(("victim", "remaining"), [("pid", False), ("child", False), ("child", True)])
def test_whoever_is_killed_the_other_ends_and_leaves_nothing(victim: str, remaining: bool, place: Path) -> None:
    with held(place, place / "kept" if remaining else None) as process:
        ready, holding = line_of(process), line_of(process)
        os.kill(ready[victim], signal.SIGKILL)
        if victim == "child":
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
            run = line_of(process)
            assert (run["captured"], run["read"]) == (20, 20)
            assert run["problem"] == "The capturing process was ended by SIGKILL. The packets that it wrote are kept."
        process.wait(PATIENCE)
        until("it", lambda: is_over(ready["pid"], *holding["below"]))
    assert not list(place.glob("wireanalyze-*"))
    assert (place / "kept0").exists() == remaining
    if remaining:
        assert (place / "kept0").stat().st_size > 20 * 100


def test_what_was_read_was_captured() -> None:
    """A killed process has not announced its last packets."""
    run = RunMonitor("kept", Following())
    run.count(CountMessage(10, 0, 1000), 0.0)
    assert (run.health_at(4).backlog, run.health_at(14).captured, run.health_at(14).backlog) == (6, 14, 0)
    assert run.summary(14) == "14 packets captured"


def test_no_message_names_files_that_the_user_did_not(spools: Path, tmp_path: Path) -> None:
    spool, remaining = RunMonitor(None, Following()), RunMonitor(str(tmp_path / "kept"), Following())
    text = spool.explain_problem(f"cannot write {spool.path}: No space left on device")
    assert text is not None
    assert "TMPDIR" in text
    assert str(spool.spool) not in text
    for run in (spool, remaining):
        for problem in (f"cannot write {remaining.path}: No space left on device", "eth0 is down", None):
            assert run.explain_problem(problem) == problem
    spool.remove_spool()
