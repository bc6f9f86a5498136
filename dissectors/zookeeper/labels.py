"""What people read beside ZooKeeper's numbers: names, times, sessions, transaction ids, permissions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

from dissectors.wire.primitive import Label
from dissectors.wire.times import milliseconds, timestamp
from dissectors.zookeeper.tables import table

_CONTAINER = -1 << 63
_TTL_TOP = 0xFF
_TTL_MASK = (1 << 40) - 1


@cache
def names(enum: str) -> Mapping[int, str]:
    """The names of an enum in the tables, by number."""
    if enum == "operation":
        return {row["code"]: row["name"] for row in table("operations")["operations"]}
    if enum == "packet":
        return {row["code"]: row["name"] for row in table("packets")["packets"]}
    return {int(number): name for number, name in table("enums")[enum].items()}


@cache
def numbers(enum: str) -> Mapping[str, int]:
    """The same the other way round."""
    return {name: number for number, name in names(enum).items()}


def error_name(code: int) -> str:
    """The name of an error code; one that no release knows keeps its number."""
    return names("error").get(code) or f"UNKNOWN_{code}"


def session(value: int) -> str:
    """A session id as ZooKeeper's logs and commands show it."""
    return hex(value & 0xFFFF_FFFF_FFFF_FFFF)


def zxid(value: int) -> str | None:
    """A transaction id: the leader's epoch above, a counter below; None for none."""
    return hex(value) if value > 0xFFFF_FFFF else None


def owner(value: int) -> str | None:
    """What an ephemeralOwner says: the session that owns the node, a container, or one with a time to live."""
    if value == 0:
        return None
    if value == _CONTAINER:
        return "container"
    if value >> 56 & 0xFF == _TTL_TOP:
        return f"time to live {value & _TTL_MASK} ms"
    return f"session {session(value)}"


def permissions(value: int) -> str | None:
    """The rights that an ACL entry gives."""
    found = [name for bit, name in names("perms").items() if value & bit]
    return "|".join(found) or None


def error_text(code: int) -> str:
    """The same of an error that a message tells of, and does not report itself: that of a transaction."""
    return error_name(code)


_MADE: Mapping[str, Callable[[Any], str | None]] = {
    "error": error_name,
    "errorText": error_text,
    "timestamp": timestamp,
    "milliseconds": milliseconds,
    "session": session,
    "zxid": zxid,
    "owner": owner,
    "perms": permissions,
}


@lru_cache(maxsize=64)
def labels(enum: str) -> Label | None:
    """The label function of an enum; a number without a name has none."""
    return _MADE.get(enum) or names(enum).get
