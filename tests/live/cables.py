"""A wire of a test's own (benchmarks/wire.py), and a capture with a known answer that is sent over it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from analyzer.capture.packets import PacketReader
from benchmarks.captures import write
from benchmarks.kafka import KINDS
from benchmarks.sniffed import sniff
from benchmarks.wire import Wire
from tests.waiting import until

ROOT = Path(__file__).parents[2]
PROGRAM = (sys.executable, "-m", "analyzer.cli")
PATIENCE = 60.0
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}

Row = dict[str, Any]


class Running:
    """A `sniff --headless` whose rows and words go to files of `folder`."""

    def __init__(self, wire: Wire, folder: Path, *options: str, before: Sequence[str] = ()) -> None:
        self.folder = folder
        command = wire.sniffing(*before, *sniff("--headless", "--format", "ndjson", *options))
        with open(folder / "rows", "wb") as rows, open(folder / "said", "wb") as text:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=rows, stderr=text, cwd=folder, env=ENVIRONMENT
            )

    def why(self) -> str | None:
        """What it said, where it has ended."""
        return None if self.process.poll() is None else f"it ended with {self.process.returncode}: {self.said}"

    @property
    def lines(self) -> int:
        """Rows that are printed by now."""
        return (self.folder / "rows").read_bytes().count(b"\n")

    @property
    def rows(self) -> list[Row]:
        """All of them, after its end; the last one may be cut where it was killed."""
        whole = (self.folder / "rows").read_text().rpartition("\n")[0]
        return [json.loads(line) for line in whole.splitlines()]

    @property
    def said(self) -> str:
        """Its standard error."""
        return (self.folder / "said").read_text()

    @property
    def child(self) -> int:
        """The capturing process."""
        (found,) = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(found)

    def end(self, number: int) -> int:
        """Its status behind a signal."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        """Its status."""
        return self.process.wait(PATIENCE)


@contextmanager
def running(wire: Wire, folder: Path, *options: str, before: Sequence[str] = ()) -> Iterator[Running]:
    """One that captures, and is not left behind. before: a command that runs it."""
    found = Running(wire, folder, *options, before=before)
    try:
        until("the capture", lambda: any(each.stat().st_size for each in folder.rglob("*.pcapng")) or before, found.why)
        yield found
    finally:
        if found.process.poll() is None:
            found.process.kill()
        found.process.wait()


def made(path: Path, packets: int) -> Path:
    """A capture of small messages."""
    write(path, KINDS["small"], packets=packets)
    return path


def packets_of(*paths: Path) -> int:
    """Packets that are whole in these files, which must have nothing wrong with them."""
    with PacketReader(sorted(paths)) as packets:
        found = sum(map(len, packets.blocks()))
        assert not packets.findings
    return found


def listed(*paths: Path) -> list[Row]:
    """The rows of `list`."""
    command = [*PROGRAM, "list", "--format", "ndjson", *map(str, sorted(paths))]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT)
    return [json.loads(line) for line in done.stdout.splitlines()]


def alike(rows: list[Row], *but: str) -> list[Row]:
    """Rows without what a live request can't know yet, and without these keys."""
    later = {"partner", "partner_id", "client"}
    return [
        {key: cell for key, cell in row.items() if key not in but and (row["role"] != "request" or key not in later)}
        for row in rows
    ]
