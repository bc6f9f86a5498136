"""What a client of RocketMQ says that it sent and got, and how one is run.

A client is a program of its own that prints its journal line by line: a word and JSON. It tells what its library told
it and what it gave its library, bodies as hexadecimal. Lines that are not of a journal are no harm: libraries talk.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

from tests.brokers.lab.leash import leashed

ROOT = Path(__file__).parents[3]

UNTOLD = -1
"""A queue and an offset of what was sent without waiting for an answer."""


class Sent(NamedTuple):
    """A message that the broker took. `place`: where it put it, by its own name for that; None of one in a batch."""

    topic: str
    queue: int
    offset: int
    id: str
    place: str | None
    keys: str | None
    tag: str | None
    body: str


class Got(NamedTuple):
    """A message that a consumer's user was given, by the topic that it was sent to, and so many times before."""

    topic: str
    queue: int
    offset: int
    id: str
    keys: str | None
    tag: str | None
    body: str
    group: str
    reconsumed: int


class Failed(NamedTuple):
    """What a server refused: the request by its name, and the answer's code."""

    operation: str
    code: int


class Told(NamedTuple):
    """Something else that a library said."""

    what: str
    answer: Any


@dataclass(slots=True)
class Journal:
    """What one client did, each kind in its order."""

    sent: list[Sent] = field(default_factory=list)
    got: list[Got] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)

    @classmethod
    def read(cls, printed: str) -> Self:
        """Of all that a client printed."""
        found = cls()
        for line in printed.splitlines():
            word, _, rest = line.partition(" ")
            match word:
                case "SENT":
                    found.sent.append(Sent(**json.loads(rest)))
                case "GOT":
                    found.got.append(Got(**json.loads(rest)))
                case "FAILED":
                    found.failed.append(Failed(**json.loads(rest)))
                case "TOLD":
                    found.told.append(Told(**json.loads(rest)))
        return found

    def answer(self, what: str) -> list[Any]:
        """All that was told of this."""
        return [each.answer for each in self.told if each.what == what]


def ran(command: Sequence[str], log: Path, timeout: float) -> Journal:
    """Runs a client to its end. Fails where it does, or takes longer than so many seconds."""
    with log.open("w") as complaints:
        process = subprocess.Popen(command, cwd=log.parent, stdout=subprocess.PIPE, stderr=complaints, text=True)
    with process, leashed(process):
        try:
            printed, _ = process.communicate(timeout=timeout)
        finally:
            process.kill()
    assert process.returncode == 0, f"{printed[-2000:]}\n{log.read_text()[-4000:]}"
    return Journal.read(printed)
