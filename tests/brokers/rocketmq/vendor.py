"""Our fields of every frame of a recording, beside what RocketMQ's own classes read from the same bytes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from dissectors.rocketmq.codes import find_version_name, operations
from tests.brokers.kafka.recipe import COMPILER
from tests.brokers.kafka.vendor import counted
from tests.brokers.lab.java import Java, compiled
from tests.brokers.lab.maven import fetched
from tests.brokers.zookeeper.vendor import Row
from tests.golden.truth import Difference, differing

FOLDER = Path(__file__).parent
MAIN = "VendorJson"
WRAPPED = {3442: 200050}
"""POP_MESSAGE, the one request of these recordings whose code does not fit."""


def reader(server: Java, folder: Path) -> Java:
    """VendorJson, compiled against the classes of a release. Raises Missing."""
    return compiled([FOLDER / "VendorJson.java"], server, fetched(COMPILER, server.path), folder)


def expected(rows: Sequence[Row], messages: Sequence[bytes], vendor: Java) -> list[Row]:
    """What RocketMQ's classes read from each frame; which class a header is of is said by our tables."""
    requested = [_asked(row, message) for row, message in zip(rows, messages, strict=True)]
    reported = [
        json.loads(answer) for answer in vendor.run(MAIN, text="".join(requested)).splitlines() if answer[:1] == "{"
    ]
    failed = [each["_failed"] for each in reported if "_failed" in each]
    assert failed == [], failed[:5]
    return [spelt(each, row) for each, row in zip(reported, rows, strict=True)]


def spelt(told: Row, row: Row) -> Row:
    """What is told, as we spell it where RocketMQ's classes lose something of a binary header.

    An empty value is none to them, and a code of more than two bytes is what is left of it.
    """
    if told["serialize"] != "ROCKETMQ":
        return told
    code = WRAPPED.get(told["_code"], told["_code"]) if told["_role"] != "response" else told["_code"]
    fields = {name: "" if value is None else value for name, value in told["extFields"].items()}
    found = {**told, "_code": code, "extFields": fields}
    if "header" in told:
        known = row["fields"]["header"]
        found["header"] = told["header"] | {
            name: "" for name, value in told["extFields"].items() if value is None and name in known
        }
    return found


def own(row: Row) -> Row:
    """A row of ours as one of VendorJson's."""
    code = row["code"] if row["role"] != "response" else row["error"]["code"] if row["error"] else 0
    version = (
        row["client"].rpartition(" ")[2] if row["role"] != "response" else find_version_name(row["fields"]["version"])
    )
    reported = {"_role": row["role"], "_code": code, "_opaque": row["correlation"], "_version": version}
    return {**row["fields"], **reported}


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


def _asked(row: Row, message: bytes) -> str:
    operation = operations().get(row["code"])
    name = operation and (operation.response if row["role"] == "response" else operation.request)
    return f"{row['code']} {name or '-'} {message.hex()}\n"
