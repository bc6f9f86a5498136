"""What a client of Pulsar says that it sent and got, and how one is run.

A client is a program of its own that prints its journal line by line: a word and JSON. It tells what its library told
it and what it gave its library, bytes as hexadecimal. Topics are named in full, with the part of a partition.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Self

from tests.brokers.lab.leash import leashed

ROOT = Path(__file__).parents[3]

TOPICS = "persistent://public/default/"


class Id(NamedTuple):
    """Where a message is stored; `batch` is -1 where its entry is not a batch."""

    ledger: int
    entry: int
    batch: int


class Sent(NamedTuple):
    """A message that the broker took. `payload`: None where it is null. `sealed`: the key that encrypted it."""

    topic: str
    producer: str
    sequence: int
    id: Id
    payload: str | None
    key: str | None = None
    sealed: str | None = None


class Got(NamedTuple):
    """A message that a consumer's user was given, so many times before."""

    topic: str
    consumer: str
    id: Id
    payload: str | None
    key: str | None
    redelivered: int
    sealed: str | None = None


class Acked(NamedTuple):
    """An acknowledgement of one message, or of all up to it."""

    topic: str
    consumer: str
    id: Id
    cumulative: bool = False


class Failed(NamedTuple):
    """What a broker refused: the command by its name, and how the library calls the error."""

    operation: str
    error: str


@dataclass(slots=True)
class Journal:
    """What one client did, each kind in its order. `told`: other things that a library tells, by their names."""

    sent: list[Sent] = field(default_factory=list)
    got: list[Got] = field(default_factory=list)
    acked: list[Acked] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, printed: str) -> Self:
        """Of all that a client printed; lines that are not of a journal are no harm."""
        found = cls()
        for line in printed.splitlines():
            word, _, rest = line.partition(" ")
            match word:
                case "SENT":
                    found.sent.append(Sent(**_placed(rest)))
                case "GOT":
                    found.got.append(Got(**_placed(rest)))
                case "ACKED":
                    found.acked.append(Acked(**_placed(rest)))
                case "FAILED":
                    found.failed.append(Failed(**json.loads(rest)))
                case "TOLD":
                    found.told.append(json.loads(rest))
        return found


def _placed(line: str) -> dict[str, object]:
    values = json.loads(line)
    return {**values, "id": Id(*values["id"])}


def ran(command: Sequence[str], log: Path, timeout: float) -> Journal:
    """Runs a client to its end. Fails where it does, or takes longer than so many seconds."""
    with log.open("w") as complaints:
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=complaints, text=True)
    with process, leashed(process):
        try:
            printed, _ = process.communicate(timeout=timeout)
        finally:
            process.kill()
    assert process.returncode == 0, f"{printed[-2000:]}\n{log.read_text()[-4000:]}"
    return Journal.read(printed)


def of_python(module: str, *arguments: str) -> list[str]:
    """The command of one of the clients beside this module: apart, for its threads and warnings are not ours."""
    return [sys.executable, "-m", f"tests.brokers.pulsar.{module}", *arguments]
