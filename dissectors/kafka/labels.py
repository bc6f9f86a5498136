"""Labels of Kafka's numbers: names of errors and enums, times."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache, lru_cache
from typing import Any

from dissectors.field import Label
from dissectors.kafka.tables import table


@cache
def _names(enum: str) -> dict[int, str]:
    rows = table("errors") if enum == "error" else table("enums")[enum]
    return {int(number): name for number, name in rows.items()}


def error_names() -> Collection[str]:
    """Returns the names of all error codes."""
    return _names("error").values()


def error_name(code: int) -> str:
    """Returns the name of an error code; an unknown code keeps its number."""
    return _names("error").get(code) or f"UNKNOWN_{int(code)}"


_TIMES = ("timestamp", "milliseconds")


def _time_label(enum: str) -> Label:
    from dissectors.wire.times import milliseconds, timestamp  # brings datetime, which most messages do not need

    return timestamp if enum == "timestamp" else milliseconds


@lru_cache(maxsize=64)
def labels(enum: str) -> Label | None:
    """Returns the label function of an enum in the tables; a number without a name has none."""
    if enum in _TIMES:
        return _time_label(enum)
    if enum in _MADE:
        return _MADE[enum]
    names = _names(enum)
    if enum == "listOffsetsTimestamp":
        time = _time_label("timestamp")
        return lambda value: names.get(value) or time(value)
    return names.get


def _utf8(data: Any) -> str | None:
    """The text that bytes are; None where they are none."""
    try:
        return data.decode() if data else None
    except UnicodeDecodeError:
        return None


def format_authorized_operations(bits: int) -> str | None:
    """Formats the operations that a set of bits allows, by name; None for the least int32 (not requested).

    Bit n is the ACL operation n. One without a name keeps its number.
    """
    if bits == _NOT_REQUESTED:
        return None
    names = _names("aclOperation")
    allowed = [number for number in range(32) if bits >> number & 1]
    return ", ".join(names.get(number, str(number)) for number in allowed) or "none"


_NOT_REQUESTED = -(1 << 31)


@cache
def _sensitive() -> re.Pattern[str]:
    return re.compile(
        r"passw|passphrase|secret|credential|master\.key|sasl\.jaas\.config"
        r"|ssl\.keystore\.(key|certificate\.chain)$|ssl\.truststore\.certificates$"
        r"|(private|access|account|api)[._-]?key$|(^|[._-])token$|auth\.user\.info$",
        re.IGNORECASE,
    )


def is_sensitive(key: object) -> bool:
    """Returns whether Kafka never shows a configuration's value: keys of type PASSWORD, by name."""
    return isinstance(key, str) and _sensitive().search(key) is not None


@cache
def _operations() -> Mapping[int, str]:
    return {row["key"]: row["name"] for row in table("messages")["messages"]}


def find_operation_name(key: int) -> str | None:
    """Returns the name of an API key, None for a key that no release knows."""
    return _operations().get(key)


_MADE: Mapping[str, Label] = {
    "api": find_operation_name,
    "authorizedOperations": format_authorized_operations,
    "error": error_name,
    "utf8": _utf8,
}
"""Labels that are more than a name in a table."""
