"""Subscriptions of ZooKeeper's reports and checks: messages by name, and their common fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from dissectors.correlator import Handler, MessageEvent, MessageKind, Subscription, subscribe
from dissectors.message import Role
from dissectors.values import structs
from dissectors.wire.embedded import EmbeddedValue
from dissectors.zookeeper.labels import load_numbers
from dissectors.zookeeper.quorum.header import code_of

CLIENTS, QUORUM, ELECTION = "zookeeper", "zookeeper-quorum", "zookeeper-election"
"""Protocols."""

CONNECT, EVENT = "connect", 0
NONODE, AUTHFAILED = -101, -115
_CREATES = frozenset({"create", "create2", "createContainer", "createTTL"})
_DELETES = frozenset({"delete", "deleteContainer"})
_EPHEMERAL = frozenset({1, 3})

WRITES = (*sorted(_CREATES), *sorted(_DELETES), "setData", "setACL", "reconfig", "multi", "closeSession")
"""Operations that make a transaction."""

CONFIG = "/zookeeper/config"
"""The node that a reconfig writes."""


def on_requests(names: Iterable[str], handle: Handler, *paths: str) -> dict[MessageKind, Subscription]:
    """Makes subscriptions to clients' requests of some operations, with the fields that the handler reads."""
    return _on_clients(names, Role.REQUEST, handle, paths)


def on_answers(names: Iterable[str], handle: Handler, *paths: str) -> dict[MessageKind, Subscription]:
    """Subscribes a handler to the answers of requests of clients."""
    return _on_clients(names, Role.RESPONSE, handle, paths)


def _on_clients(
    names: Iterable[str], role: Role, handle: Handler, paths: Iterable[str]
) -> dict[MessageKind, Subscription]:
    found = load_numbers("operation")
    return subscribe([(CLIENTS, found[name], role) for name in names], handle, ((path,) for path in paths))


def on_quorum(names: str, handle: Handler, *paths: str) -> dict[MessageKind, Subscription]:
    """Makes subscriptions to quorum packets (names separated by spaces) in any role, with their fields."""
    roles = (Role.REQUEST, Role.RESPONSE, Role.ONEWAY)
    kinds = [(QUORUM, code_of(name), role) for name in names.split() for role in roles]
    return subscribe(kinds, handle, ((path,) for path in paths))


def session_of(event: MessageEvent) -> str:
    """Returns the session of a message; its connection if the session is unknown."""
    return event.client_name or f"stream {event.stream}"


class Write(NamedTuple):
    """A change of a node: it is created, deleted or set."""

    verb: str
    path: str
    ephemeral: bool = False


def writes(operation: str | None, values: Mapping[str, Any]) -> Iterator[Write | None]:
    """Returns what a request writes: one item for each operation of a multi, None for a read."""
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


def done(operation: str | None, requested: list[Write | None], values: Mapping[str, Any]) -> Iterator[Write]:
    """Returns what was written, by the answer: nothing if it has an error; created nodes by their final names."""
    if values.get("err"):
        return
    answers = structs(values.get("operations")) if operation == "multi" else [values]
    for write, answer in zip(requested, answers, strict=False):
        if write is not None and not answer.get("err") and answer.get("type") != "error":
            path = answer.get("path")
            yield write._replace(path=path) if isinstance(path, str) else write


def list_items(value: object) -> list[Any]:
    """Returns the items of an array; none of what is none."""
    return value if isinstance(value, list) else []


def read_packet_data(event: MessageEvent) -> Mapping[str, Any]:
    """Returns what the data of a packet holds; nothing if it was not decoded."""
    return inside(event.values.get("data"))


def inside(data: object) -> Mapping[str, Any]:
    """Returns the record that a bytes field holds."""
    content = data.value if isinstance(data, EmbeddedValue) else data
    return content if isinstance(content, dict) else {}
