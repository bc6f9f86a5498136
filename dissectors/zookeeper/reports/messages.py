"""Which messages stories ask for, by name, and what is alike in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from dissectors.api import Role
from dissectors.lesson import Path
from dissectors.old_report import MessageEvent, What
from dissectors.wire.embedded import Embedded
from dissectors.zookeeper.labels import numbers
from dissectors.zookeeper.quorum.packets import code_of

CLIENTS, QUORUM, ELECTION = "zookeeper", "zookeeper-quorum", "zookeeper-election"
"""Protocols."""

CONNECT, EVENT = "connect", 0
NONODE, AUTHFAILED = -101, -115
DATA: frozenset[Path] = frozenset({("data",)})
"""Of a packet: all that its data holds."""

_CREATES = frozenset({"create", "create2", "createContainer", "createTTL"})
_DELETES = frozenset({"delete", "deleteContainer"})
_EPHEMERAL = frozenset({1, 3})

WRITES = (*sorted(_CREATES), *sorted(_DELETES), "setData", "setACL", "reconfig", "multi", "closeSession")
"""Operations that make a transaction."""

CONFIG = "/zookeeper/config"
"""The node that a reconfig writes."""


def of_clients(operations: Iterable[str], role: Role, *paths: str) -> dict[What, frozenset[Path]]:
    """Requests, or answers, of some operations, and their fields."""
    found = numbers("operation")
    return {(CLIENTS, found[name], role): frozenset((path,) for path in paths) for name in operations}


def of_quorum(names: Iterable[str], paths: Iterable[Path] = ()) -> dict[What, frozenset[Path]]:
    """Packets, whatever they are in their exchange, and their fields."""
    roles = (Role.REQUEST, Role.RESPONSE, Role.ONEWAY)
    return {(QUORUM, code_of(name), role): frozenset(paths) for name in names for role in roles}


class Write(NamedTuple):
    """What becomes of a node: it is created, deleted or set."""

    verb: str
    path: str
    ephemeral: bool = False


def writes(operation: str | None, values: Mapping[str, Any]) -> Iterator[Write | None]:
    """What a request writes; of a multi one for each of its operations, None for one that writes nothing."""
    if operation == "multi":
        for each in structs(values.get("operations")):
            yield next(writes(str(each.get("type")), each), None)
        return
    path = values.get("path")
    if operation == "reconfig":
        yield Write("set", CONFIG)
    elif not isinstance(path, str):
        return
    elif operation in _CREATES:
        yield Write("created", path, values.get("flags") in _EPHEMERAL)
    elif operation in _DELETES:
        yield Write("deleted", path)
    elif operation == "setData":
        yield Write("set", path)


def done(operation: str | None, asked: list[Write | None], values: Mapping[str, Any]) -> Iterator[Write]:
    """What was written, by the answer: nothing where it has an error; created nodes by the names that they got."""
    if values.get("err"):
        return
    answers = structs(values.get("operations")) if operation == "multi" else [values]
    for write, answer in zip(asked, answers, strict=False):
        if write is not None and not answer.get("err") and answer.get("type") != "error":
            path = answer.get("path")
            yield write._replace(path=path) if isinstance(path, str) else write


def structs(value: object) -> list[Mapping[str, Any]]:
    """The structs of an array; nothing of what is none, or was not read."""
    return [each for each in listed(value) if isinstance(each, dict)]


def listed(value: object) -> list[Any]:
    """The items of an array; none of what is none."""
    return value if isinstance(value, list) else []


def number(values: Mapping[str, Any], name: str, missing: int = 0) -> int:
    """An integer field, or what stands for one that was not read."""
    found = values.get(name)
    return found if isinstance(found, int) else missing


def content(told: MessageEvent) -> Mapping[str, Any]:
    """What the data of a packet holds; nothing where that was not read."""
    return inside(told.values.get("data"))


def inside(data: object) -> Mapping[str, Any]:
    """What bytes hold that are a record."""
    held = data.value if isinstance(data, Embedded) else data
    return held if isinstance(held, dict) else {}


def host(endpoint: str) -> str:
    """An address without its port."""
    return endpoint.rpartition(":")[0]
