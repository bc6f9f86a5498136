"""`wireanalyze open`, where it must refuse, and on a terminal of its own."""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from analyzer.cli.memory import PROGRAM
from analyzer.cli.open import DRIVER
from analyzer.cli.program import run
from tui.inputs import StartOptions

KAFKA = Path(__file__).parent.parent.parent.parent / "captures" / "kafka.pcap"
OPEN = [sys.executable, "-m", "analyzer.cli", "open"]
PATIENCE = 60


@pytest.mark.parametrize("arguments", [[str(KAFKA)], ["-"], []])
def test_without_a_terminal_it_says_so(arguments: list[str]) -> None:
    done = subprocess.run([*OPEN, *arguments], capture_output=True, input=b"", timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("wireanalyze: open needs a terminal")
    assert "wireanalyze list" in line


@pytest.mark.parametrize(("said", "tables"), [([], None), (["--memory", "1G"], (1 << 30) - PROGRAM)], ids=str)
def test_memory(said: list[str], tables: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing leaves unless that is said."""
    requested: list[StartOptions] = []
    monkeypatch.setenv(DRIVER, "of a browser's page")
    monkeypatch.setattr("tui.run", lambda _, opened: requested.append(opened))
    assert run(["open", str(KAFKA), *said]) == 0
    assert requested[0].memory == tables


class Terminal:
    """A pseudo terminal with the program on it."""

    def __init__(self, descriptor: int, process: subprocess.Popen[bytes]) -> None:
        self.descriptor, self.process = descriptor, process
        self.seen = b""

    def wait(self, text: bytes) -> None:
        """Until the program has written a text since it was asked for the last time."""
        end = time.monotonic() + PATIENCE
        while text not in self.seen:
            assert time.monotonic() < end, self.seen[-2000:]
            if select.select([self.descriptor], [], [], 0.1)[0]:
                self.seen += os.read(self.descriptor, 1 << 16)

    def type(self, keys: bytes) -> None:
        self.seen = b""
        os.write(self.descriptor, keys)

    def ended(self) -> int:
        """The exit status; what is still written is read, or the program would wait for a reader."""
        try:
            while select.select([self.descriptor], [], [], PATIENCE)[0] and (part := os.read(self.descriptor, 1 << 16)):
                self.seen += part
        except OSError:  # nobody has the terminal open any more
            pass
        return self.process.wait(PATIENCE)


BECOME = "import fcntl, os, sys, termios; fcntl.ioctl(1, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"
"""Makes the terminal the session's own, so that /dev/tty is it, and becomes the command."""


@contextmanager
def terminal(command: list[str], stdin: int | None = None, **environment: str) -> Iterator[Terminal]:
    """A command on a terminal of its own, with another standard input if one is given; ended at the end."""
    settings = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLORFGBG")}
    settings |= {"TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40", **environment}
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", BECOME, *command],
        stdin=theirs if stdin is None else stdin, stdout=theirs, stderr=theirs,
        start_new_session=True, env=settings,
    )  # fmt: skip
    os.close(theirs)
    try:
        yield Terminal(ours, process)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def test_open_and_quit() -> None:
    with terminal([*OPEN, str(KAFKA)]) as shown:
        shown.wait(b"648")
        shown.type(b"q")
        assert shown.ended() == 0
        assert b"\x1b[?1049l" in shown.seen  # the terminal is as it was


def test_the_first_rows_are_there_at_once_and_early_keys_are_retained() -> None:
    with terminal(["sh", "-c", shlex.join([*OPEN, str(KAFKA)]) + "; stty -a"]) as shown:
        shown.wait(b"ApiVersions")
        assert not termios.tcgetattr(shown.descriptor)[3] & termios.ECHO
        os.write(shown.descriptor, b"jjj")
        shown.wait(b"kafka Metadata v13 response")
        first = shown.seen.split(b"\x1b[?1049h")[1]  # what comes before Textual enters the screen, too
        assert (b"ApiVersions" in first, b"clientSoftwareName" in first) == (True, False)
        shown.type(b"q")
        assert shown.ended() == 0
        left = shown.seen.rpartition(b"\x1b[?1049l")[2]
        assert b" echo " in left
        assert b" icanon " in left


def test_keys_come_from_the_terminal_while_the_capture_comes_through_a_pipe() -> None:
    command = f"cat {KAFKA} | {' '.join(OPEN)} -"
    with terminal(["sh", "-c", command]) as shown:
        shown.wait(b"648")
        shown.wait(b"standard input")
        shown.type(b"p")
        shown.wait(b"response")
        shown.type(b"q")
        assert shown.ended() == 0


@pytest.mark.sampled(1)
@pytest.mark.parametrize("sent", [b"", KAFKA.read_bytes()[:30_000]], ids=["nothing came", "some rows came"])
def test_quit_while_the_pipe_is_silent(sent: bytes) -> None:
    reading, writing = os.pipe()
    os.write(writing, sent)
    try:
        with terminal([*OPEN, "-"], stdin=reading) as shown:
            shown.wait(b"reading")
            shown.wait(b"Enter")
            shown.type(b"q")
            assert shown.ended() == 0  # an end that waits for the pipe never comes
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["/nowhere.pcap"], b"Cannot open /nowhere.pcap:"),
        (["-"], b"input is the keyboard. Pipe"),
        ([], b"No capture was given."),
        ([str(KAFKA), "-d", "9092=smtp"], b"smtp"),
        ([str(KAFKA), str(KAFKA), "--follow"], b"--follow reads one file,"),
        ([str(KAFKA), "--follow", "--reader", "scapy"], b"reads one file, with the native reader."),
    ],
)
def test_what_it_refuses_on_a_terminal(arguments: list[str], said: bytes) -> None:
    with terminal([*OPEN, *arguments]) as shown:
        assert shown.ended() == 2
        assert said in shown.seen
        assert b"\x1b[?1049h" not in shown.seen


def test_a_file_that_is_still_being_written(tmp_path: Path) -> None:
    whole, path = KAFKA.read_bytes(), tmp_path / "growing.pcap"
    path.write_bytes(whole[:20_000])
    with terminal([*OPEN, "--follow", str(path)]) as shown:
        shown.wait(rb"reading")
        assert b"648" not in shown.seen
        with path.open("ab") as file:
            file.write(whole[20_000:])
        shown.wait(rb"648")
        shown.type(b"q")
        assert shown.ended() == 0


def test_no_color_means_no_colour() -> None:
    with terminal([*OPEN, str(KAFKA)], NO_COLOR="1") as shown:
        shown.wait(b"complete")
        shown.type(b"j\t")
        shown.wait(b"response")
        os.write(shown.descriptor, b"q")
        assert shown.ended() == 0
        colours = {number for found in re.findall(rb"\x1b\[([0-9;]+)m", shown.seen) for number in found.split(b";")}
        assert colours <= {b"0", b"1", b"2", b"4", b"7", b"39", b"49"}
