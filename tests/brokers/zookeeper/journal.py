"""What a client of ZooKeeper says that it did and saw, step by step, and how one is run.

A client is a program of its own that prints its journal line by line: `SESSION` and its number, then `STEP` or `EVENT`
and JSON. It uses the names of ZooKeeper's records for what its library took and gave, and prints nothing that it did
not learn from its library. At `HOLD` it waits for a line, so that something may happen to the servers.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

from tests.brokers.lab.leash import leashed

ROOT = Path(__file__).parents[3]


class Step(NamedTuple):
    """One operation: what was asked and what came back, as far as the library tells; `error` is ZooKeeper's code."""

    operation: str
    asked: dict[str, Any] = {}  # noqa: RUF012 - never changed
    error: int = 0
    answer: dict[str, Any] = {}  # noqa: RUF012 - never changed


class Event(NamedTuple):
    """What a watch told."""

    type: str
    state: str
    path: str


@dataclass(slots=True)
class Journal:
    """What one client did in one session."""

    session: str = ""
    steps: list[Step] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def read(self, line: str) -> None:
        """Takes in a line that a client printed; others than those of journals are no harm."""
        kind, _, rest = line.strip().partition(" ")
        if kind == "SESSION":
            self.session = rest
        elif kind == "STEP":
            self.steps.append(Step(**json.loads(rest)))
        elif kind == "EVENT":
            self.events.append(Event(**json.loads(rest)))


@dataclass(slots=True)
class Client:
    """A client under way."""

    process: subprocess.Popen[str]
    log: Path
    journal: Journal

    @classmethod
    def started(cls, command: Sequence[str], log: Path) -> Self:
        """Runs one; what it has to complain goes into `log`."""
        with log.open("w") as complaints:
            pipe = subprocess.PIPE
            process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=complaints, text=True)
        return cls(process, log, Journal())

    def hold(self) -> None:
        """Reads what it says until it waits. Fails where it ends before."""
        assert any(line.strip() == "HOLD" for line in self._lines()), self.log.read_text()[-4000:]

    def finish(self) -> Journal:
        """Lets it go on, to its end."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        for _ in self._lines():
            pass
        assert self.process.wait(10) == 0, self.log.read_text()[-4000:]
        return self.journal

    def _lines(self) -> Iterator[str]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.journal.read(line)
            yield line


@contextmanager
def client(command: Sequence[str], log: Path) -> Iterator[Client]:
    """A client that ends with us, however far it got."""
    found = Client.started(command, log)
    with found.process as process:
        try:
            with leashed(process):
                yield found
        finally:
            process.kill()


def of_python(module: str, *arguments: str) -> list[str]:
    """The command of one of the clients beside this module: apart, for its threads and warnings are not ours."""
    return [sys.executable, "-m", f"tests.brokers.zookeeper.{module}", *arguments]
