"""What people read beside Kafka's numbers: names of errors and enums, times."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

from dissectors.kafka.tables import table
from dissectors.wire.primitive import Label


@cache
def _names(enum: str) -> dict[int, str]:
    rows = table("errors") if enum == "error" else table("enums")[enum]
    return {int(number): name for number, name in rows.items()}


def error_name(code: int) -> str:
    """The name of an error code; one that no release knows keeps its number."""
    return _names("error").get(code) or f"UNKNOWN_{code}"


_TIMES = ("timestamp", "milliseconds")


def _time_label(enum: str) -> Label:
    from dissectors.wire.times import milliseconds, timestamp  # brings datetime, which most messages do not need

    return timestamp if enum == "timestamp" else milliseconds


@lru_cache(maxsize=64)
def labels(enum: str) -> Label | None:
    """The label function of an enum in the tables; a number without a name has none."""
    if enum in _TIMES:
        return _time_label(enum)
    if enum == "error":
        return error_name
    if enum == "api":
        return _api
    names = _names(enum)
    if enum == "listOffsetsTimestamp":
        time = _time_label("timestamp")
        return lambda value: names.get(value) or time(value)
    return names.get


@cache
def _sensitive() -> re.Pattern[str]:
    return re.compile(
        r"password|secret|credential|master\.key|sasl\.jaas\.config|ssl\.keystore\.(key|certificate\.chain)$|ssl\.truststore\.certificates$",
        re.IGNORECASE,
    )


def is_sensitive(key: object) -> bool:
    """Whether a configuration's value is one that Kafka itself never tells: the keys of type PASSWORD, by name."""
    return isinstance(key, str) and _sensitive().search(key) is not None


def _api(key: Any) -> str | None:
    from dissectors.kafka.schemas import operation  # the schemas are made with these labels

    return operation(key)
