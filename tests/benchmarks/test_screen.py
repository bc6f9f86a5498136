"""What is played back: by itself a table, and beside tmux the same text for the same bytes."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.keys import complete, opened
from benchmarks.screen import Screen, Unknown
from tests.tui.driving import KAFKA

COLUMNS, LINES = 20, 4
CASES = {
    "text at a place": ("\x1b[2;3Hab\x1b[Hc", ["c", "  ab"]),
    "lines end": ("a\r\nb\nc\rd", ["a", "b", "dc"]),
    "the last line scrolls": ("1\r\n2\r\n3\r\n4\r\n5", ["2", "3", "4", "5"]),
    "wide characters take two cells": ("漢字\x1b[1;5Hx", ["漢字x"]),
    "what has no width goes with its character": ("e\u0301x\x1b[1;3Hy", ["e\u0301xy"]),
    "a line is erased from here": ("abcdef\x1b[1;4H\x1b[K", ["abc"]),
    "and up to here": ("abcdef\x1b[1;4H\x1b[1K", ["    ef"]),
    "a whole line": ("abc\x1b[2K\x1b[1;2Hx", [" x"]),
    "cells are erased": ("abcdef\x1b[1;2H\x1b[2X", ["a  def"]),
    "the screen below": ("a\r\nb\r\nc\x1b[2;1H\x1b[J", ["a"]),
    "all of it": ("a\r\nb\x1b[2Jc", ["", " c"]),
    "moves": ("\x1b[3;5H\x1b[A\x1b[2Dx\x1b[B\x1b[Cy\x1b[10Gz\x1b[1dw", ["          w", "  x", "    y    z"]),
    "a title and modes paint nothing": ("\x1b]0;title\x07\x1b]22;default\x1b\\\x1b[?25l\x1b[?2026ha\x1b[?2026l", ["a"]),
    "styles paint nothing": ("\x1b[1;38;2;1;2;3;48;5;7ma\x1b[0;7mb\x1b[m", ["ab"]),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_text(name: str, size: int) -> None:
    written, shown = CASES[name]
    screen, data = Screen(COLUMNS, LINES), written.encode()
    for at in range(0, len(data), size):
        screen.feed(data[at : at + size])
    assert screen.shown().rstrip("\n").split("\n") == shown


@pytest.mark.parametrize(
    ("written", "looks"),
    [
        ("\x1b[48;2;1;2;3mab\x1b[49mc", ["2;1;2;3", "2;1;2;3", ""]),
        ("\x1b[41ma\x1b[1;38;5;9mb\x1b[0mc", ["41", "41", ""]),
        ("\x1b[7ma\x1b[48;5;4mb\x1b[27mc", ["R", "5;4R", "5;4"]),
        ("\x1b[38;2;48;5;48;100ma\x1b[m", ["100"]),
        ("\x1b[44m\x1b[3X", ["44", "44", "44"]),
    ],
)
def test_looks(written: str, looks: list[str]) -> None:
    screen = Screen(COLUMNS, LINES)
    screen.feed(written.encode())
    assert screen.looks[0][: len(looks)] == looks


@pytest.mark.parametrize("written", ["\x1b[2S", "\x1bM", "\x1b[3@"])
def test_what_is_not_known_is_not_passed_over(written: str) -> None:
    with pytest.raises(Unknown):
        Screen(COLUMNS, LINES).feed(written.encode())


Played = Callable[[bytes, int, int], Callable[[], str]]


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Played]:
    """Shows bytes in tmux; the function that comes of it says what stands there now."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    server = ["tmux", "-u", "-S", str(tmp_path / "s"), "-f", os.devnull]

    def run(*arguments: str) -> str:
        environment = {key: value for key, value in os.environ.items() if key != "TMUX"} | {"LC_ALL": "C.UTF-8"}
        done = subprocess.run([*server, *arguments], capture_output=True, check=True, env=environment, timeout=60)
        return done.stdout.decode()

    def show(data: bytes, columns: int, lines: int) -> Callable[[], str]:
        (tmp_path / "data").write_bytes(data)
        command = f"stty raw -echo; cat {shlex.quote(str(tmp_path / 'data'))}; exec sleep 60"
        run("new-session", "-d", "-x", str(columns), "-y", str(lines), command)
        return lambda: "\n".join(line.rstrip() for line in run("capture-pane", "-p").split("\n")[:lines])

    try:
        yield show
    finally:
        if (tmp_path / "s").exists():
            run("kill-server")


def same(screen: Screen, shown: Callable[[], str]) -> None:
    end = time.monotonic() + 60
    while (theirs := shown()) != screen.shown() and time.monotonic() < end:
        time.sleep(0.05)
    assert theirs == screen.shown()


@pytest.mark.parametrize("name", CASES)
def test_tmux_shows_the_same(name: str, played: Played) -> None:
    screen, data = Screen(COLUMNS, LINES), CASES[name][0].encode()
    screen.feed(data)
    same(screen, played(data, COLUMNS, LINES))


def test_tmux_shows_the_same_of_our_program(played: Played, tmp_path: Path) -> None:
    size = 120, 40
    with opened(KAFKA, tmp_path / "home", size) as terminal:
        terminal.until(complete)
        terminal.settle(0.3)
        for key in (b"v", b"\x1b[6~", b"\x1b[6~", b"\x1b[B", b"\t", b"="):
            terminal.pressed(key)
        data = b"".join(each.data for each in terminal.output)
    screen = Screen(*size)
    screen.feed(data)
    assert "▌" in screen.shown()
    same(screen, played(data, *size))
