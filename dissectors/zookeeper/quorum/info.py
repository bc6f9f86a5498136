"""One line for people about what servers tell each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dissectors.api import Body, Context
from dissectors.wire.embedded import Embedded
from dissectors.zookeeper.info import count, sayings
from dissectors.zookeeper.labels import error_name, names, session


def info_line(body: Body, context: Context) -> str:
    """The operation that a packet carries and what it is about; else its zxid."""
    values = body.values
    if "nodes" in values:
        return ", ".join([count(len(values["nodes"]), "node"), *_counted(values, "sessions", "session")])
    if "token" in values:
        return ", ".join([names("authStatus").get(values.get("status", 0), ""), *sayings(values)]).strip(", ")
    data = values.get("data")
    inside = data.value if isinstance(data, Embedded) and isinstance(data.value, dict) else {}
    number = values.get("zxid")
    zxid = [f"zxid {number:#x}"] if isinstance(number, int) and number > 0 else []
    return ", ".join([*_inside(inside), *zxid])


def _counted(values: Mapping[str, Any], key: str, noun: str) -> list[str]:
    items = values.get(key)
    return [count(len(items), noun)] if isinstance(items, list) else []


def _inside(data: Mapping[str, Any]) -> Iterator[str]:
    """What the data of a packet says."""
    header = data.get("header")
    if isinstance(header, dict):
        code = header.get("type")
        yield names("operation").get(code or 0, f"type {code}") if code is not None else "transaction"
    if "opcode" in data:
        yield names("operation").get(data["opcode"], f"opcode {data['opcode']}")
    for key in ("txn", "request"):
        yield from _record(data.get(key))
    if "serverid" in data:
        yield f"server {data['serverid']}"
    if "epoch" in data:
        yield f"epoch {data['epoch']}"
    if "designatedLeader" in data:
        yield f"leader {data['designatedLeader']}"
    if isinstance(data.get("config"), str):
        yield count(data["config"].count("server."), "server")
    if "sessionId" in data and "opcode" not in data:
        yield f"session {session(data['sessionId'])}"
    if "valid" in data:
        yield "valid" if data["valid"] else "not valid"
    yield from _counted(data, "sessions", "session")


def _record(record: object) -> Iterator[str]:
    if not isinstance(record, dict):
        return
    if isinstance(record.get("txns"), list):
        yield count(len(record["txns"]), "operation")
    if isinstance(record.get("err"), int):
        yield error_name(record["err"])
    yield from sayings(record)
