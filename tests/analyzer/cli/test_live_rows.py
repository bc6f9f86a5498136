"""Rows of a live capture on standard output: what is printed, what leaves, what ends it."""

from __future__ import annotations

import io
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import cast

import pytest

from analyzer.cli import live_rows
from analyzer.cli.live_rows import print_live, print_live_problems
from analyzer.cli.live_status import LiveStatus
from analyzer.cli.options import compile_filter_option
from analyzer.decode.jsonable import Limits
from analyzer.errors import UserError
from analyzer.insight.diagnosis import diagnose
from analyzer.insight.root_causes import find_problems
from analyzer.live.capture import RunHealth
from analyzer.live.live_session import LiveSession
from analyzer.render.printer import RowPrinter
from analyzer.render.problems import is_retried
from analyzer.session import Session

CAPTURE = Path(__file__).parents[3] / "captures" / "kafka.pcap"
FRAGMENT = 100


class Played:
    """A capture that has ended, of which the packets come in small portions."""

    title, state = "live: lo", "stopped"

    def __init__(
        self, memory: int | None = None, then: Callable[[], None] = lambda: None, capture: Path = CAPTURE
    ) -> None:
        self.session, self.memory, self._then = Session([capture], block=FRAGMENT), memory, then
        self.stopped = 0
        grow = self.session.grow

        def growing() -> Iterator[range]:
            for rows in grow():
                yield rows
                self._then()

        self.session.grow = growing  # type: ignore[method-assign]

    def health(self) -> RunHealth:
        return RunHealth()

    def stop(self) -> None:
        self.stopped += 1


def printed(played: Played, wanted: str | None = None) -> LiveStatus:
    printer = RowPrinter(["number", "operation"], "csv", False, Limits())
    status = LiveStatus(cast(LiveSession, played), io.StringIO())
    with played.session:
        print_live(
            cast(LiveSession, played), printer, None if wanted is None else compile_filter_option(wanted), status
        )
    return status


@pytest.mark.parametrize("memory", [None, 1 << 30, 1])
@pytest.mark.parametrize("wanted", [None, "role == response"])
def test_all_rows_are_printed_whatever_leaves(
    memory: int | None, wanted: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out))
    played = Played(memory)
    status = printed(played, wanted)
    numbers = [int(line.split(b",")[0]) for line in out.getvalue().splitlines()[1:]]
    count = len(played.session.rows)
    assert status.printed == count
    assert numbers == list(range(1, count + 1)) if wanted is None else 0 < len(numbers) < count
    assert numbers == sorted(set(numbers))


def without_reader() -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.mark.parametrize(
    ("opened", "error"),
    [(without_reader, BrokenPipeError), (lambda: os.open("/dev/full", os.O_WRONLY), UserError)],
    ids=["nobody reads", "no room"],
)
def test_who_cannot_print_ends(
    opened: Callable[[], int], error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = os.fdopen(opened(), "w")
    monkeypatch.setattr(sys, "stdout", out)
    with pytest.raises(error):
        printed(Played())
    monkeypatch.undo()
    with suppress(OSError):
        out.close()


def test_a_second_signal_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both come while packets do; the first one alone changes nothing but that the capture is asked to stop."""
    monkeypatch.setattr(live_rows, "AGAIN", 0.0)
    parts = iter(range(1000))

    def interrupt() -> None:
        if next(parts) in (2, 4):
            os.kill(os.getpid(), signal.SIGINT)

    played = Played(then=interrupt)
    before = signal.getsignal(signal.SIGINT)
    with tempfile.TemporaryFile("w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        with pytest.raises(KeyboardInterrupt):
            printed(played)
        monkeypatch.undo()
    assert signal.getsignal(signal.SIGINT) is before
    assert played.stopped == 1


def test_problems_are_printed_once_when_they_are_known(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    capture = CAPTURE.with_name("zookeeper-ensemble.pcap.zst")
    played = Played(capture=capture)
    status = LiveStatus(cast(LiveSession, played), io.StringIO())
    with played.session, Session([capture]).load() as session:
        print_live_problems(cast(LiveSession, played), "table", status)
        expected = find_problems(session, diagnose(session))
    lines = capsysbinary.readouterr().out.decode().splitlines()
    labels = [line[12:].split()[1] for line in lines]
    assert {each.label for each in expected if not is_retried(each)} <= set(labels)
    assert len(set(lines)) == len(lines)
    assert all(line[2] == line[5] == ":" for line in lines)
