"""Our fields of every frame of a recording, beside what Pulsar's own classes read from the same bytes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.brokers.kafka.recipe import COMPILER
from tests.brokers.kafka.vendor import counted
from tests.brokers.lab.java import Java, compiled
from tests.brokers.lab.maven import fetched
from tests.brokers.zookeeper.vendor import Row
from tests.golden.truth import Difference, differing

FOLDER = Path(__file__).parent
MAIN = "org.apache.pulsar.common.protocol.VendorJson"
WORDS = 2**64
RENAMED = {"TXN_TTL_SECONDS": "txn_ttl_millis"}
"""Milliseconds were meant from the start, and the proto of 5.0 says so; the number of the field stayed."""


def reader(server: Java, folder: Path) -> Java:
    """VendorJson, compiled against the classes of a release. Raises Missing."""
    return compiled([FOLDER / "VendorJson.java"], server, fetched(COMPILER, server.path), folder)


def expected(rows: Sequence[Row], messages: Sequence[bytes], vendor: Java) -> list[Row]:
    """What Pulsar's classes read from each frame, spelt as our rows spell it."""
    answers = vendor.run(MAIN, text="".join(f"{each.hex()}\n" for each in messages)).splitlines()
    reported = [json.loads(answer) for answer in answers]
    assert [each for each in reported if "_failed" in each] == []
    return [spelt(each, own(row)) for each, row in zip(reported, rows, strict=True)]


def own(row: Row) -> Row:
    """A row of ours as one of VendorJson's."""
    return {**row["fields"], "_operation": row["operation"], "_code": row["code"], "_left": 0}


def compare(rows: Sequence[Row], truth: Sequence[Row]) -> tuple[Difference, int]:
    """All differences, by cause, and how many single values were compared. What only we have is one, too."""
    found, values = Difference(), 0
    for row, reported in zip(rows, truth, strict=True):
        found.compared += 1
        values += counted(reported)
        mine = own(row)
        pairs = [
            *differing(mine, reported),
            *((f"ours alone {path}", sample) for path, sample in differing(reported, mine)),
        ]
        for path, sample in pairs:
            found.add(f"{row['role']} {row['operation']} {path}", f"row {row['number']}: {sample}")
    return found, values


def spelt(told: Any, ours: Any) -> Any:
    """What is told, with names and signs as ours has them.

    The classes have lost how the proto spells a name (`ledgerId`, `request_id`) and that a number has no sign: Java's
    have one.
    """
    if isinstance(told, dict):
        names = {_plain(name): name for name in ours} if isinstance(ours, dict) else {}
        spelling = {name: RENAMED.get(name) or names.get(_plain(name), name) for name in told}
        inner = ours if isinstance(ours, dict) else {}
        return {spelling[name]: spelt(value, inner.get(spelling[name])) for name, value in told.items()}
    if isinstance(told, list):
        others = ours if isinstance(ours, list) and len(ours) == len(told) else [None] * len(told)
        return [spelt(*pair) for pair in zip(told, others, strict=True)]
    same = type(told) is int and type(ours) is int and told % WORDS == ours % WORDS
    return ours if same else told


def _plain(name: str) -> str:
    """Equal for names that differ in their spelling alone; those that are no fields begin so and are kept."""
    return name if name.startswith("_") else name.replace("_", "").lower()
