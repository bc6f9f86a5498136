"""One line for people about what servers tell each other.

Theory. What a packet is about stands in its data: a transaction or a request, said in the words of clients' lines, or
numbers of servers, sessions and epochs.

Facts (Leader, Learner). The zxid of a packet that begins an epoch has the epoch in its upper half, nothing below; in
FOLLOWERINFO it is the one that the learner accepted last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dissectors.api import Body, Context
from dissectors.wire.cut import length_of
from dissectors.wire.embedded import Embedded
from dissectors.zookeeper.labels import error_name, names
from dissectors.zookeeper.phrases import DONE, NOTHING, Values, count, duration, session_text, some, zxid_text
from dissectors.zookeeper.sayings import sayings

_EPOCHS = frozenset({"FOLLOWERINFO", "OBSERVERINFO", "LEADERINFO", "NEWLEADER"})
"""Packets of which the zxid says an epoch."""

_PLACES = frozenset({"DIFF", "TRUNC", "SNAP", "UPTODATE"})
"""Packets that are about their zxid, also if it is 0."""

_COUNTER = 0xFFFF_FFFF


def info_line(body: Body, context: Context) -> str:
    """The operation that a packet carries and what it is about; else its zxid."""
    values = body.values
    if "nodes" in values:
        return ", ".join([*_counted(values, "nodes", "node"), *_counted(values, "sessions", "session")])
    if "token" in values:
        return ", ".join(filter(None, [names("authStatus").get(values.get("status", 0), ""), *sayings(values)]))
    data = values.get("data")
    inside = data.value if isinstance(data, Embedded) and isinstance(data.value, dict) else NOTHING
    return ", ".join([*_inside(inside), *_zxid(values), *_whose(inside)])


def _zxid(values: Values) -> Iterator[str]:
    number = values.get("zxid")
    kind = values.get("type")
    if not isinstance(number, int) or number < 0:
        return
    if kind in _EPOCHS:
        yield f"epoch {number >> 32}"
    if kind in _PLACES or (number > 0 and (kind not in _EPOCHS or number & _COUNTER)):
        yield zxid_text(number)


def _counted(values: Values, key: str, noun: str) -> list[str]:
    """How many, also of a list that was not made to its end."""
    items = values.get(key)
    return [count(length_of(items), noun)] if isinstance(items, list) else []


def _inside(data: Values) -> Iterator[str]:
    """What the data of a packet says."""
    code = data["header"].get("type") if isinstance(data.get("header"), dict) else data.get("opcode")
    if code is not None:
        record = data.get("txn", data.get("request"))
        yield " ".join([names("operation").get(code, f"opcode {code}"), *_first(record)])
        yield from _rest(record)
    if "serverid" in data:
        yield f"server {data['serverid']}"
    if "epoch" in data:
        yield f"epoch {data['epoch']}"
    if "designatedLeader" in data:
        yield f"leader {data['designatedLeader']}"
    if isinstance(data.get("config"), str):
        yield count(data["config"].count("server."), "server")
    yield from _counted(data, "sessions", "session")


def _whose(data: Values) -> Iterator[str]:
    """The session that a packet is about, or that asked for what it carries."""
    number = data["header"].get("clientId") if isinstance(data.get("header"), dict) else data.get("sessionId")
    if isinstance(number, int) and number != 0:
        valid = "" if "valid" not in data else " valid" if data["valid"] else " not valid"
        yield session_text(number) + valid
    yield from duration("timeout", data.get("timeout"))


def _first(record: object) -> Iterable[str]:
    """What stands right behind an operation: a path, an error, the items of a multi."""
    return _words(record)[:1]


def _rest(record: object) -> Iterable[str]:
    return _words(record)[1:]


def _words(record: object) -> list[str]:
    if not isinstance(record, Mapping):
        return []
    for items in (record.get("txns"), record.get("operations")):
        if isinstance(items, list):
            return [some([_item(each) for each in items])]
    error = [error_name(record["err"])] if isinstance(record.get("err"), int) else []
    return [*error, *sayings(record, DONE)]


def _item(item: Mapping[str, Any]) -> str:
    """`create /a`, of a multi's request or transaction."""
    kind, data = item.get("type"), item.get("data")
    name = kind if isinstance(kind, str) else names("operation").get(kind or 0, f"type {kind}")
    inside = data.value if isinstance(data, Embedded) and isinstance(data.value, dict) else item
    return " ".join([f"{name}", *(f"{inside[key]}" for key in ("path",) if inside.get(key)), *_failure(inside)])


def _failure(record: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(record.get("err"), int) and "path" not in record:
        yield error_name(record["err"])
