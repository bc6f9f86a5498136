"""Tables at the widths of terminals, beside what stands in snapshots; no line is wider, and no number is split.

`SNAPSHOTS=write` writes them anew; what changed is then read in the diff.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from analyzer.cli import terminal
from analyzer.decode.jsonable import Limits
from analyzer.decode.rows import RowReader
from analyzer.render.fitting import count_cells
from analyzer.render.printer import TOGETHER, RowPrinter
from analyzer.session import Session
from tests.analyzer.cli.conftest import Call

ROOT = Path(__file__).parents[3]
FOLDER = Path(__file__).parent / "snapshots"
WRITES = os.environ.get("SNAPSHOTS") == "write"
WIDTHS = (80, 100, 120, 200)
KAFKA, MIXED, PULSAR = "captures/kafka.pcap", "captures/mixed.pcapng", "captures/pulsar.pcap.zst"
ZOOKEEPER = "captures/zookeeper.pcap.zst"
COMMANDS: dict[str, tuple[str, ...]] = {
    "list": ("list", KAFKA, "--head", "60"),
    "list-mixed": ("list", MIXED, "--tail", "60"),
    "list-columns": ("list", KAFKA, "--columns", "kafka", "--head", "30"),
    "stats": ("stats", MIXED),
    "stats-by": ("stats", MIXED, "--by", "operation,client", "--top", "12"),
    "stats-time": ("stats", KAFKA, "--by", "time", "--interval", "1s"),
    "stats-conversations": ("stats", MIXED, "--conversations", "--top", "12"),
    "stats-endpoints": ("stats", MIXED, "--endpoints", "--top", "12"),
    "stats-counts": ("stats", MIXED, "--counts"),
    "report": ("report", PULSAR),
    "report-sessions": ("report", "sessions", ZOOKEEPER),
    "report-producers": ("report", "producers", PULSAR),
    "doctor": ("doctor", ZOOKEEPER),
}
_NUMBER = re.compile(r"\d[\d.,:]*(?:ns|us|ms|s|[KMGT]iB|B|%)?(?![A-Za-z])")


@cache
def numbers_in(text: str) -> frozenset[str]:
    return frozenset(each.rstrip(".,:") for each in _NUMBER.findall(text))


@pytest.fixture
def at_width(monkeypatch: pytest.MonkeyPatch, call: Call) -> Call:
    """Runs a command as on a terminal: (width, arguments)."""
    monkeypatch.chdir(ROOT)

    def called(*arguments: str) -> tuple[int, str, str]:
        width, *rest = arguments
        monkeypatch.setenv("COLUMNS", width)
        monkeypatch.setattr(terminal, "is_terminal", lambda: True)
        return call(*rest)

    return called


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", COMMANDS)
def test_lines_fit(name: str, at_width: Call) -> None:
    _, wide, _ = at_width("80", *COMMANDS[name], "--wide")
    known = numbers_in(wide)
    for width in WIDTHS:
        status, printed, _ = at_width(str(width), *COMMANDS[name])
        assert status == 0
        lines = printed.splitlines()
        assert [line for line in lines if count_cells(line) > width] == []
        if name != "stats":  # whose intervals and counts of what is left out depend on the width
            odd = [line for line in lines if not numbers_in(line) <= known and "-w shows all columns" not in line]
            assert odd == [], width
        path = FOLDER / str(width) / f"{name}.txt"
        if WRITES:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(printed)
        assert path.read_text() == printed


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_pipe_gets_all(name: str, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the width of a terminal that is somewhere; only the one screen of `stats` asks for COLUMNS."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "120")
    piped = call(*COMMANDS[name])
    assert piped[1].count("\n") > 1
    if name != "stats":
        assert call(*COMMANDS[name], "-w") == piped
        monkeypatch.setenv("COLUMNS", "60")
        assert call(*COMMANDS[name]) == piped


class Kept:
    """Keeps what is printed."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes, /) -> None:
        self.data += data

    def writelines(self, lines: object, /) -> None:
        assert hasattr(lines, "__iter__")
        self.data += b"".join(lines)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("width", [80, 100, 150])
def test_both_ways_of_writing_rows_give_the_same(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are written together, and one by one."""
    printed = []
    with Session([str(ROOT / MIXED)]).load() as session:
        for way in range(2):
            if way:
                monkeypatch.setattr("analyzer.render.table.TableForm.make_frame", lambda *_: None)
            out = Kept()
            printer = RowPrinter((), "table", False, Limits(), out=out, width=width)
            printer.print_head()
            printer.print_rows(RowReader(session), np.arange(len(session.rows)))
            printed.append(out.data.decode().splitlines())
    assert len(session.rows) < TOGETHER
    assert printed[0] == printed[1]
    assert max(map(count_cells, printed[0])) <= width


def on_terminal(*arguments: str, width: int = 80, encoding: str = "utf-8") -> str:
    leader, follower = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(width), "PYTHONIOENCODING": encoding, "TERM": "xterm"}
    with subprocess.Popen(
        [sys.executable, "-m", "analyzer.cli", *arguments],
        stdout=follower,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        env=environment,
        cwd=ROOT,
    ) as process:
        os.close(follower)
        found = b""
        try:
            while piece := os.read(leader, 65_536):
                found += piece
        except OSError:  # how a pseudo terminal says that its other side has gone
            pass
        os.close(leader)
        process.wait()
    return found.decode(encoding)


@pytest.mark.parametrize(
    ("arguments", "encoding", "mark"),
    [(("list", KAFKA, "--head", "9"), "utf-8", "…"), (("report", PULSAR), "ascii", "~")],
)
def test_a_real_terminal(arguments: tuple[str, ...], encoding: str, mark: str) -> None:
    lines = on_terminal(*arguments, encoding=encoding).splitlines()
    assert any(line.endswith(mark) for line in lines)
    assert max(map(len, lines)) <= 80
