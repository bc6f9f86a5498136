"""One line for people about a message: what went wrong, which path, how much of it.

Theory. ZooKeeper's records use few names for the same things, so one table of sayings serves all operations, in order
of importance. It looks only at what it finds; a new operation gets a line without a new row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from dissectors.api import Body, Context
from dissectors.wire.secret import Secret
from dissectors.zookeeper.labels import labels, owner, session

_SHOWN = 3
"""So many paths or operations before the rest is only counted."""

Say = Callable[[Any, Mapping[str, Any]], Iterable[str]]
"""What to say of a field: its value, and the record that it stands in."""


def info_line(body: Body, context: Context) -> str:
    """The line for a decoded message; empty for one that says nothing but its name."""
    error = [] if body.error is None else [body.error[1]]
    return ", ".join(error + sayings(body.values))


def sayings(values: Mapping[str, Any]) -> list[str]:
    """What a record says, the most telling first."""
    return [text for say, key in _known(tuple(values)) for text in say(values[key], values)]


@lru_cache(maxsize=512)
def _known(keys: tuple[str, ...]) -> list[tuple[Say, str]]:
    """What has something to say among these fields: there are few kinds of records, and many of each."""
    return [(_SAYINGS[key], key) for key in _SAYINGS if key in keys]


def count(number: int, noun: str) -> str:
    """`1 node`, `2 nodes`, `3 entries`."""
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number} {noun if number == 1 else plural}"


def _path(value: object, _: object) -> Iterable[str]:
    return (str(value),) if value is not None else ()


def _word(word: str, plain: object = None) -> Say:
    return lambda value, _: (f"{word} {value}",) if value is not None and value != plain else ()


def _label(enum: str, plain: object = None) -> Say:
    def say(value: Any, _: object) -> Iterable[str]:
        label = labels(enum)
        return ((label and label(value)) or str(value),) if value != plain else ()

    return say


def _size(value: object, _: object) -> Iterable[str]:
    if value is None:
        return ("no data",)
    return (count(len(value), "byte"),) if isinstance(value, bytes) else ()


def _children(items: Any, _: object) -> Iterable[str]:
    return () if items is None else ("1 child",) if len(items) == 1 else (f"{len(items)} children",)


def _counted(noun: str) -> Say:
    return lambda items, _: (count(len(items), noun),) if isinstance(items, list) else ()


def _paths(word: str) -> Say:
    def say(items: object, _: object) -> Iterable[str]:
        if not isinstance(items, list) or not items:
            return ()
        shown = [str(item) for item in items[:_SHOWN]]
        more = [f"{len(items) - _SHOWN} more"] if len(items) > _SHOWN else []
        return (f"{word} {', '.join(shown + more)}",)

    return say


def _stat(value: Any, _: object) -> Iterable[str]:
    if not isinstance(value, dict) or "version" not in value:
        return
    yield f"version {value['version']}"
    owned = owner(value.get("ephemeralOwner", 0))
    if owned is not None:
        yield owned


def _operations(items: Any, _: object) -> Iterable[str]:
    """`create /a, delete /b, 2 more`."""
    shown = [" ".join(str(part) for part in (item.get("type"), item.get("path")) if part) for item in items[:_SHOWN]]
    return (*shown, f"{len(items) - _SHOWN} more") if len(items) > _SHOWN else shown


def _connect(value: int, values: Mapping[str, Any]) -> Iterable[str]:
    if "timeOut" not in values:  # a request between servers names its session on every row
        return ()
    if value:
        return (f"session {session(value)}",)
    return ("new session",) if "lastZxidSeen" in values else ("no session: it has expired",)


def _first_line(value: object, _: object) -> Iterable[str]:
    line = str(value).strip().partition("\n")[0]
    return (line,) if line else ()


def _secret(word: str) -> Say:
    return lambda value, _: (f"{word}, {count(len(value), 'byte')}",) if isinstance(value, Secret) else ()


_SAYINGS: Mapping[str, Say] = {
    "path": _path,
    "prefixPath": _path,
    "operations": _operations,
    "sessionId": _connect,
    "type": lambda value, _: (value,) if isinstance(value, str) else (),
    "state": lambda value, _: (value,) if isinstance(value, str) else (),
    "scheme": _word("scheme"),
    "token": _secret("token"),
    "data": _size,
    "payload": _size,
    "flags": _label("createMode", 0),
    "mode": _label("addWatchMode"),
    "ttl": _word("time to live"),
    "timeOut": _word("timeout"),
    "version": _word("version", -1),
    "acl": _counted("ACL entry"),
    "children": _children,
    "totalNumber": _word("number"),
    "ephemerals": _counted("ephemeral node"),
    "clientInfo": _counted("identity"),
    "stat": _stat,
    "watch": lambda value, _: ("watch",) if value is True else (),
    "dataWatches": _paths("data"),
    "existWatches": _paths("exist"),
    "childWatches": _paths("child"),
    "persistentWatches": _paths("persistent"),
    "persistentRecursiveWatches": _paths("recursive"),
    "joiningServers": _word("joining"),
    "leavingServers": _word("leaving"),
    "newMembers": _word("members"),
    "traceMask": _word("mask"),
    "text": _first_line,
}
