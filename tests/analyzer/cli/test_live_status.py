"""What is said on stderr of a capture as it goes on."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from analyzer.cli import live_status
from analyzer.cli.live_status import LiveStatus
from analyzer.live.capture import RunHealth
from analyzer.live.live_session import LiveSession

WELL = RunHealth(captured=1000, files=1)
LATE = replace(WELL, backlog=400, lag=4.0)


class Played:
    """A capture of which each look finds the next state; the last one stays."""

    title, state = "live: lo", "capturing"

    session = SimpleNamespace(rows=range(300), engine=SimpleNamespace(guesses=None))

    def __init__(self, states: Iterable[RunHealth]) -> None:
        self._states = list(states)
        self.all_seen, self.stopped = threading.Event(), threading.Event()

    def health(self) -> RunHealth:
        if len(self._states) > 1:
            return self._states.pop(0)
        self.all_seen.set()
        return self._states[0]

    def stop(self) -> None:
        self.stopped.set()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def told(states: Iterable[RunHealth], out: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> LiveStatus:
    """A status that has seen all states."""
    monkeypatch.setattr(live_status, "TICK", 0.001)
    played = Played(states)
    with LiveStatus(cast(LiveSession, played), out) as status:
        assert played.all_seen.wait(30)
    return status


DROPPING = "wireanalyze: warning: The kernel dropped {} packets. Give a narrower -f, a shorter -s or"
BEHIND = "wireanalyze: warning: Rows are 4.0 s (400 packets) behind. No packets are lost."
CAUGHT_UP = "wireanalyze: Rows have caught up with the capture."


@pytest.mark.parametrize(
    ("states", "said"),
    [
        ([WELL] * 3, []),
        ([WELL, *[replace(WELL, dropped=7)] * 3, replace(WELL, dropped=9)], [DROPPING.format(7)]),
        ([WELL, replace(LATE, lag=1.0), WELL], []),
        ([WELL, LATE, LATE, replace(LATE, lag=1.0)], [BEHIND]),
        ([LATE, replace(LATE, lag=1.0), WELL, WELL, LATE, WELL], [BEHIND, CAUGHT_UP, BEHIND, CAUGHT_UP]),
    ],
)
def test_news_are_reported_once(states: list[RunHealth], said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    told([*states, states[-1]], out, monkeypatch)
    lines = out.getvalue().splitlines()
    assert len(lines) == len(said)
    assert all(line.startswith(text) for line, text in zip(lines, said, strict=True))


@pytest.mark.parametrize(
    ("health", "line"),
    [
        (WELL, "capturing lo: 1,000 packets, 300 messages"),
        (replace(WELL, dropped=5), "capturing lo: 1,000 packets, 300 messages, 5 dropped by the kernel"),
        (LATE, "capturing lo: 1,000 packets, 300 messages, 4.0 s (400 packets) behind"),
    ],
)
def test_a_terminal_has_one_line(health: RunHealth, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    out = Terminal()
    told([health] * 3, out, monkeypatch)
    before, *lines, end = out.getvalue().split(live_status.WIPE)
    assert (before, end) == ("", "")
    assert set(lines) == {line}


@pytest.mark.parametrize(
    ("states", "printed", "said"),
    [
        ([WELL] * 2, 300, ""),
        ([WELL] * 2, 100, "200 of them were not printed"),
        (
            [WELL, replace(LATE, lag=1.5), LATE, replace(LATE, lag=2.0, backlog=900), WELL],
            300,
            "rows were at most 4.0 s (400 packets) behind",
        ),
    ],
)
def test_the_end_reports_how_the_reader_kept_up(
    states: list[RunHealth], printed: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = told(states, io.StringIO(), monkeypatch)
    status.printed = printed
    assert status.summary() == said
    monkeypatch.setattr(Played.session.engine, "guesses", SimpleNamespace(skipped=1200))
    unguessed = "1,200 responses without requests were not guessed"
    assert status.summary() == (f"{said}; {unguessed}" if said else unguessed)


def as_stdout(descriptor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.FileIO(descriptor, "w", closefd=False)))


@pytest.mark.parametrize("reads", [True, False])
def test_a_capture_for_nobody_ends(reads: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    as_stdout(writer, monkeypatch)
    if not reads:
        os.close(reader)
    monkeypatch.setattr(live_status, "TICK", 0.001)
    played = Played([WELL] * 20)
    with LiveStatus(cast(LiveSession, played), io.StringIO()) as status:
        waited: Callable[[float], bool] = played.all_seen.wait if reads else played.stopped.wait
        assert waited(30)
    assert status.left_alone is not reads
    assert played.stopped.is_set() is not reads
    os.close(writer)
    if reads:
        os.close(reader)


def test_rows_take_the_line_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """And it does not come back while they are printed."""
    out = Terminal()
    monkeypatch.setattr(live_status, "TICK", 0.001)
    monkeypatch.setattr(sys, "stdout", Terminal())
    played = Played([WELL] * 10)
    with LiveStatus(cast(LiveSession, played), out) as status:
        assert played.all_seen.wait(30)
        with status.hide_status():
            before = out.getvalue()
            played.all_seen.clear()
            played.all_seen.wait(0.05)
            assert out.getvalue() == before
            assert before.endswith(live_status.WIPE)
