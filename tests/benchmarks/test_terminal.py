"""Programs on a terminal: questions are answered, frames end where they say, what never comes is a failure."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from benchmarks.measure import Failed
from benchmarks.opening import started
from benchmarks.terminal import CONTROL, FRAME_END, Output, Terminal

RAW = (
    "import os, sys, time, tty; tty.setraw(0); write = lambda data: os.write(1, data); read = lambda: os.read(0, 99); "
)


def program(code: str, home: Path) -> Terminal:
    return Terminal([sys.executable, "-c", RAW + code], home)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (r"\x1b[?2026$p", r"\x1b[?2026;2$y"),
        (r"\x1b[?2048$p", r"\x1b[?2048;0$y"),
        (r"\x1b[6n", r"\x1b[1;1R"),
        (r"text\x1b[c", r"\x1b[?62;22c"),
    ],
)
def test_questions_are_answered(asked: str, answer: str, tmp_path: Path) -> None:
    with program(f"write(b'{asked}'); write(b'yes' if read() == b'{answer}' else b'no'); read()", tmp_path) as terminal:
        terminal.until(lambda shown: shown.endswith((b"yes", b"no")))
        assert terminal.output[-1].data.endswith(b"yes")


def test_a_question_in_two_pieces_is_answered_once(tmp_path: Path) -> None:
    code = r"write(b'\x1b[?20'); time.sleep(0.1); write(b'26$p'); time.sleep(0.2); write(b'%d' % len(read())); read()"
    with program(code, tmp_path) as terminal:
        terminal.until(lambda shown: shown == b"11")


def test_what_a_key_brings_about_is_read_until_it_is_quiet(tmp_path: Path) -> None:
    code = "write(b'ready'); read(); write(b'one'); time.sleep(0.03); write(b'two'); time.sleep(60)"
    with program(code, tmp_path) as terminal:
        terminal.until(lambda shown: shown == b"ready")
        terminal.pressed(b"x", quiet=1)
        (key,) = terminal.keys
        assert b"".join(each.data for each in terminal.output[key.place :]) == b"onetwo"
        assert terminal.output[-1].time - key.time >= 0.03


def test_a_key_that_paints_nothing_is_a_failure_that_says_what_stood_there(tmp_path: Path) -> None:
    with program("write(b'nothing doing'); time.sleep(60)", tmp_path) as terminal:
        terminal.until(lambda shown: b"doing" in shown)
        with pytest.raises(Failed, match=r"painted nothing.*nothing doing"):
            terminal.pressed(b"x", patience=0.1)


def test_what_does_not_happen_is_a_failure(tmp_path: Path) -> None:
    with program("write(b'hello'); time.sleep(60)", tmp_path) as terminal:
        terminal.until(lambda shown: b"hello" in shown)
        with pytest.raises(Failed, match="hello"):
            terminal.until(lambda shown: False, 0.1)


def test_another_standard_input(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"piped")
    os.close(writing)
    with open(reading, "rb") as stdin:
        command = [sys.executable, "-c", "print(input(), open('/dev/tty').isatty())"]
        with Terminal(command, tmp_path, stdin=stdin) as terminal:
            terminal.until(lambda shown: b"piped True" in shown)


@pytest.mark.parametrize(
    ("chunks", "frames"),
    [
        ([b"\x1b[?2026ha" + FRAME_END], [(0, "a")]),
        ([b"\x1b[?2026ha", b"b" + FRAME_END + b"\x1b[?2026hc" + FRAME_END], [(1, "ab"), (1, "c")]),
        ([b"\x1b[?2026ha" + FRAME_END + b"\x1b[?2026hb", b"c"], [(0, "a"), (1, "bc")]),
        ([b"plain", b"text"], [(0, "plain"), (1, "text")]),
    ],
)
def test_frames_are_seen_when_they_end(chunks: list[bytes], frames: list[tuple[int, str]], tmp_path: Path) -> None:
    with program("time.sleep(60)", tmp_path) as terminal:
        terminal.output = [Output(float(moment), data) for moment, data in enumerate(chunks)]
        found = [(each.time, CONTROL.sub(b"", each.data).decode()) for each in terminal.frames()]
    assert found == frames


# ---- waiting for the first paint and the first row: found behind control sequences, and not waited for in vain


PAINTS = (
    "import os, time, tty; tty.setraw(0); os.write(1, b'title\\x1b[6n'); os.read(0, 99)\n"
    "os.write(1, b'{}'); time.sleep(600)"
)
"""What is painted first is read before the row comes: it asks something, and waits for the answer."""


@pytest.mark.parametrize("row", ["10.0.0.7", "\\x1b[1;3H\\x1b[38;5;7m10.1.\\x1b[0m0.3", "\\x1b]0;10\\x0710.0.0.1"])
def test_the_clock_stops_at_an_address(row: str, tmp_path: Path) -> None:
    found = started([sys.executable, "-c", PAINTS.format(row)], tmp_path / "home")
    assert 0 < found.painted < found.rows


def test_a_program_has_a_terminal_of_its_own_and_a_home(tmp_path: Path) -> None:
    asks = "import os; open('/dev/tty').close(); size = os.get_terminal_size(); home = os.environ['HOME']"
    prints = f"print('10.0.0.1' if (*size, home) == {(200, 40, str(tmp_path))} else 0)"
    assert started([sys.executable, "-c", f"{asks}; {prints}"], tmp_path).rows > 0


def test_a_program_that_ends_without_a_row_is_no_figure(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="no such file"):
        started([sys.executable, "-c", "print('no such file')"], tmp_path)
