"""What people are told of a field: a word or two, in one table for all records of all three protocols.

Theory. ZooKeeper's records use few names for the same things, so one table of sayings serves all operations, in order
of importance; a new operation gets a line without a new row. Values may be missing, in a body that breaks, and may be
holes (dissectors.holes): a saying compares as little as it can, and prints the rest by `made`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from dissectors.holes import made
from dissectors.wire.amounts import length_text, size_text
from dissectors.wire.embedded import Embedded
from dissectors.wire.secret import Secret
from dissectors.zookeeper.access import acl, clients, user
from dissectors.zookeeper.figures import figures
from dissectors.zookeeper.labels import owner
from dissectors.zookeeper.modes import MODE, WATCH, WATCHERS, mode
from dissectors.zookeeper.phrases import ALONE, About, Say, Values, count, duration, said, some, when


def sayings(values: Values, about: About = ALONE) -> list[str]:
    """What a record says, the most telling first."""
    return [text for say, key in _known(tuple(values)) for text in say(values[key], values, about)]


@lru_cache(maxsize=512)
def _known(keys: tuple[str, ...]) -> list[tuple[Say, str]]:
    """What has something to say among these fields: there are few kinds of records, and many of each."""
    return [(_SAYINGS[key], key) for key in _SAYINGS if key in keys]


def _path(value: Any, values: Values, about: About) -> Iterable[str]:
    """A path; of a node with a number behind its name also what was asked for. That of an event stands behind it."""
    if "state" in values:
        return
    asked, flags = about.asked.get("path"), about.asked.get("flags")
    kind = mode(flags) if flags is not None else ""
    if asked is not None and "seq" in kind:
        yield f"{asked} {kind} -> {value}"
    elif value:
        yield f"{value}"
        yield from (kind,) if kind else ()


def _size(value: Any, *_: object) -> Iterable[str]:
    """How much there is; of a configuration, how many servers it names, and since when."""
    if isinstance(value, Embedded) and isinstance(value.value, Mapping) and "servers" in value.value:
        since = value.value.get("version")
        number = (f"version {since:#x}",) if isinstance(since, int) else ()
        return (count(len(value.value["servers"]), "server"), *number)
    content = value.data if isinstance(value, Embedded) else value
    if content is None:
        return ("no data",)
    return (length_text(content),) if isinstance(content, (bytes, Secret)) else ()


def _version(value: Any, values: Values, about: About) -> Iterable[str]:
    """The version that is expected; in a transaction the one that there is now."""
    if value == -1:
        return ()
    return (f"version {value}",) if about.done else (f"if version {value}",)


def _stat(value: Any, values: Values, about: About) -> Iterable[str]:
    """Beside what was asked for: the version, and whose node it is; of a node alone also how large it is."""
    if not isinstance(value, dict) or not {"version", "aversion"} <= value.keys() or values.keys() & _OWN_STAT:
        return
    if about.asked.keys() & {"watch"} and "data" not in values:
        yield made(size_text, value.get("dataLength", 0))
    if "acl" in values or "acl" in about.asked:
        yield f"ACL version {value['aversion']}"
    elif value["version"] >= 0:  # the node of the configuration counts otherwise
        yield f"version {value['version']}"
    if "data" not in values and "watch" in about.asked and value.get("numChildren", 0) > 0:
        yield made(_children_text, value["numChildren"])
    if value.get("ephemeralOwner", 0) != 0:
        yield made(lambda number: owner(number) or "", value["ephemeralOwner"])


def _children_text(number: int) -> str:
    return "1 child" if number == 1 else f"{number:,} children"


def _children(items: Any, *_: object) -> Iterable[str]:
    return () if items is None else (_children_text(len(items)),)


def _paths(noun: str, none: str = "") -> Say:
    """`3 data watches /a, /b, /c`; `none` is what is said of an empty list."""

    def say(items: Any, *_: object) -> Iterable[str]:
        if isinstance(items, list) and (items or none):
            yield f"{count(len(items), noun)} {some(items)}" if items else none

    return say


def _event(value: Any, values: Values, _: About) -> Iterable[str]:
    """What happened to a node; what happened to the session is the state."""
    kind = values.get("state") if value == "None" else value if isinstance(value, str) else f"event {value}"
    path = values.get("path")
    yield f"{kind} {path}" if path else f"{kind}"


_OWN_STAT = frozenset({"path", "children"})
"""Beside these a Stat says nothing that people ask for: a node just made, and children that are counted."""


def _type(value: Any, values: Values, about: About) -> Iterable[str]:
    """Of an event, or of the watches of a path."""
    if "state" in values:
        return _event(value, values, about)
    return WATCHERS(value, values, about) if "path" in values else ()


def _token(value: object, values: Values, _: About) -> Iterable[str]:
    """What a token says. A server that knows no SASL answers with none, and with no error."""
    if value is None and values.get("err") == 0:
        return ("no token",)
    from dissectors.zookeeper.inside.tokens import token_words  # few messages have one

    return token_words(value)


_SAYINGS: Mapping[str, Say] = {
    "path": _path,
    "prefixPath": _path,
    "type": _type,
    "scheme": said("{}"),
    "auth": user,
    "token": _token,
    "flags": MODE,
    "ephemeral": when("ephemeral"),
    "mode": WATCH,
    "totalNumber": lambda value, *_: (f"{value} below",),
    "data": _size,
    "payload": _size,
    "ttl": lambda value, *_: duration("time to live", value),
    "timeOut": lambda value, *_: duration("timeout", value),
    "version": _version,
    "acl": acl,
    "children": _children,
    "ephemerals": _paths("ephemeral node", "no ephemeral nodes"),
    "paths2Delete": _paths("ephemeral node"),
    "clientInfo": clients,
    "stat": _stat,
    "watch": when("watch"),
    "dataWatches": _paths("data watch"),
    "existWatches": _paths("exist watch"),
    "childWatches": _paths("child watch"),
    "persistentWatches": _paths("persistent watch"),
    "persistentRecursiveWatches": _paths("recursive watch"),
    "joiningServers": said("joining {}", ""),
    "leavingServers": said("leaving {}", ""),
    "newMembers": said("members {}", ""),
    "traceMask": said("mask {}"),
    "text": figures,
}
