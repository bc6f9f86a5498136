"""Our fields of every message of a recording, beside what ZooKeeper's own classes read from the same bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from analyzer.decode.content import read_message
from analyzer.decode.rows import ROW_KEYS, RowReader
from analyzer.session import Session
from tests.brokers.kafka.recipe import COMPILER
from tests.brokers.kafka.vendor import counted
from tests.brokers.lab.java import Java, compiled
from tests.brokers.lab.maven import fetched
from tests.golden.truth import COMPLETE, Difference, differing

KEYS = (*ROW_KEYS, "fields")
FOLDER = Path(__file__).parent
ELECTION = ("state", "leader", "zxid", "electionEpoch", "peerEpoch")

Row = dict[str, Any]


def reader(server: Java, folder: Path) -> Java:
    """VendorJson, compiled against the classes of a release. Raises Missing."""
    sources = [FOLDER / f"{name}.java" for name in ("JsonArchive", "VendorJson")]
    return compiled(sources, server, fetched(COMPILER, server.path), folder)


def decoded(capture: Path) -> tuple[list[Row], list[bytes]]:
    """All rows of a capture with nothing masked and nothing cut, and the bytes of each."""
    with Session([capture]).load() as session:
        count = len(session.rows)
        columns = RowReader(session).read_columns(KEYS, np.arange(count))
        cells = (dict(zip(KEYS, row, strict=True)) for row in zip(*columns, strict=True))
        rows = [json.loads(COMPLETE.format_line(each)) for each in cells]
        return rows, [bytes(read_message(session, index)) for index in range(count)]


def expected(rows: Sequence[Row], messages: Sequence[bytes], vendor: Java) -> list[Row | None]:
    """What ZooKeeper's classes read from each message; None for text, which none reads, and for what is not whole."""
    requested = [_asked(row, message) for row, message in zip(rows, messages, strict=True)]
    main = "org.apache.zookeeper.server.quorum.VendorJson"
    answers = iter(vendor.run(main, text="".join(f"{each}\n" for each in requested if each)).splitlines())
    return [_ours(json.loads(next(answers))) if each else None for each in requested]


def compare(rows: Sequence[Row], truth: Sequence[Row | None]) -> tuple[Difference, int]:
    """All differences, by cause, and how many single values were compared."""
    found, values = Difference(), 0
    for row, reported in zip(rows, truth, strict=True):
        if reported is None:
            continue
        found.compared += 1
        values += counted(reported)
        own = {**row["fields"], "_xid": row["correlation"], "_code": row["code"], "_operation": row["operation"]}
        own |= {"_left": 0, "_same": True}
        if row["operation"] == "SNAPSHOT":
            # The class that holds a tree writes nodes in an order of its own.
            own["nodes"] = sorted(own["nodes"], key=lambda node: node["path"])
        for path, sample in differing(own, reported):
            found.add(f"{row['role']} {row['operation']} {path}", f"row {row['number']}: {sample}")
    return found, values


def _asked(row: Row, message: bytes) -> str | None:
    """The line that asks for a message to be read; of a framed one without its length."""
    side = "c" if row["from_client"] else "s"
    match row["protocol"], row["operation"]:
        case _, _ if row["state"] != "complete":
            return None
        case "zookeeper", "connect":
            return f"connect {side} {message[4:].hex()}"
        case "zookeeper", _ if row["correlation"] is None:
            return None
        case "zookeeper", _ if row["role"] == "request":
            return f"request {side} {message[4:].hex()}"
        case "zookeeper", _:
            return f"reply {row['code']} {message[4:].hex()}"
        case _, "QuorumAuthPacket":
            return f"authentication {side} {message.hex()}"
        case "zookeeper-quorum", "SNAPSHOT":
            return f"snapshot {side} {message.hex()}"
        case "zookeeper-quorum", _:
            return f"packet {side} {message.hex()}"
        case "zookeeper-election", "InitialMessage":
            return f"initial {side} {message.hex()}"
        case "zookeeper-election", "Notification":
            fields = row["fields"]
            config = (fields.get("config") or "").encode().hex()
            return f"notification {','.join(str(fields[name]) for name in ELECTION)},{config} {message[4:].hex()}"
    raise AssertionError(f"row {row['number']} is of no known kind: {row}")


def _ours(told: Row) -> Row:
    """The same by the names that we have for a tree, which jute writes as pairs."""
    if "_tree" not in told:
        return told
    found: Row = {name: value for name, value in told.items() if name != "_tree"}
    found["acls"], found["nodes"] = [], []
    for name, value in told["_tree"]:
        if name == "long":
            found["acls"].append({"key": value})
        elif name == "acls":
            found["acls"][-1]["acl"] = value
        elif name == "path":
            path = value
        elif name == "node":
            found["nodes"].append({"path": path, **{_NODE.get(key, key): each for key, each in value.items()}})
    found["nodes"].sort(key=lambda node: node["path"])
    return found


_NODE: Mapping[str, str] = {"statpersisted": "stat"}
