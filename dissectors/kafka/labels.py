"""What people read beside Kafka's numbers: names of errors and enums, times."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

from dissectors.kafka.tables import table
from dissectors.wire.primitive import Label
from dissectors.wire.times import milliseconds, timestamp


@cache
def _names(enum: str) -> dict[int, str]:
    rows = table("errors") if enum == "error" else table("enums")[enum]
    return {int(number): name for number, name in rows.items()}


def error_name(code: int) -> str:
    """The name of an error code; one that no release knows keeps its number."""
    return _names("error").get(code) or f"UNKNOWN_{code}"


@lru_cache(maxsize=64)
def labels(enum: str) -> Label | None:
    """The label function of an enum in the tables; a number without a name has none."""
    if enum == "timestamp":
        return timestamp
    if enum == "milliseconds":
        return milliseconds
    if enum == "error":
        return error_name
    if enum == "api":
        return _api
    names = _names(enum)
    if enum == "listOffsetsTimestamp":
        return lambda value: names.get(value) or timestamp(value)
    return names.get


_SENSITIVE = re.compile(
    r"password|secret|credential|master\.key|sasl\.jaas\.config|ssl\.keystore\.(key|certificate\.chain)$|ssl\.truststore\.certificates$",
    re.IGNORECASE,
)


def is_sensitive(key: object) -> bool:
    """Whether a configuration's value is one that Kafka itself never tells: the keys of type PASSWORD, by name."""
    return isinstance(key, str) and _SENSITIVE.search(key) is not None


def _api(key: Any) -> str | None:
    from dissectors.kafka.schemas import operation  # the schemas are made with these labels

    return operation(key)
