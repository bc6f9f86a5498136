"""Labels of ZooKeeper's numbers: names, times, sessions, transaction ids, permissions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

from dissectors.field import Label
from dissectors.wire.times import milliseconds, timestamp
from dissectors.zookeeper.tables import table

_CONTAINER = -1 << 63
_TTL_TOP, _TTL_TOP_353 = 0xFF0000, 0x800000
_TTL_MASK = (1 << 40) - 1


@cache
def load_names(enum: str) -> Mapping[int, str]:
    """Returns the names of an enum in the tables, by number."""
    if enum == "operation":
        return {row["code"]: row["name"] for row in table("operations")["operations"]}
    if enum == "packet":
        return {row["code"]: row["name"] for row in table("packets")["packets"]}
    return {int(number): name for number, name in table("enums")[enum].items()}


@cache
def load_numbers(enum: str) -> Mapping[str, int]:
    """Returns the numbers of an enum in the tables, by name."""
    return {name: number for number, name in load_names(enum).items()}


def error_name(code: int) -> str:
    """Returns the name of an error code; one that no release knows keeps its number."""
    return load_names("error").get(code) or f"UNKNOWN_{code}"


def session(value: int) -> str:
    """Formats a session id as ZooKeeper's logs and commands do."""
    return hex(value & 0xFFFF_FFFF_FFFF_FFFF)


def zxid(value: int) -> str | None:
    """Formats a transaction id: the leader's epoch in the upper 32 bits, a counter in the lower; None for none."""
    return hex(value) if value > 0xFFFF_FFFF else None


def transaction(value: int) -> str | None:
    """Formats a transaction id with its epoch and counter."""
    text = zxid(value)
    return text and f"{text}: epoch {value >> 32}, counter {value & 0xFFFF_FFFF}"


def owner(value: int) -> str | None:
    """Formats an ephemeralOwner: the session that owns the node, a container, or a node with a time to live.

    Facts (EphemeralType). The highest byte is the number of the server that made the session; 255 is kept for nodes
    with a time to live, 5 bytes behind two zero ones. 3.5.3 set only the highest bit for them, as for containers, which
    is also server 128; but a session's next bytes are a time, and not zero.
    """
    if value == 0:
        return None
    if value == _CONTAINER:
        return "container"
    if value >> 40 & 0xFFFFFF in (_TTL_TOP, _TTL_TOP_353):
        return f"time to live {value & _TTL_MASK} ms"
    return f"session {session(value)}"


def permissions(value: int) -> str | None:
    """Returns the rights that an ACL entry gives, as zkCli.sh shows them: `cdrwa` is all."""
    rights = load_names("perms")
    letters = "".join(name[0].lower() for bit, name in rights.items() if value & bit)
    unknown = value & ~sum(rights)
    return " and ".join(filter(None, (letters, hex(unknown & 0xFFFF_FFFF) if unknown else ""))) or "none"


def error_text(code: int) -> str:
    """Names an error code that a transaction carries. It is no error of the message itself."""
    return error_name(code)


_MADE: Mapping[str, Callable[[Any], str | None]] = {
    "error": error_name,
    "errorText": error_text,
    "timestamp": timestamp,
    "milliseconds": milliseconds,
    "session": session,
    "zxid": transaction,
    "owner": owner,
    "perms": permissions,
}


@lru_cache(maxsize=64)
def labels(enum: str) -> Label | None:
    """Returns the label function of an enum; a number without a name has none."""
    return _MADE.get(enum) or load_names(enum).get
