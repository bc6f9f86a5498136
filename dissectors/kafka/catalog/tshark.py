"""tshark's names for what is in Kafka's messages (tables/tshark.json), so that its filters mean the same here.

Theory. A field of tshark's is a key of the row, or a place in the body found as field aliases are. It has names of its
own for the batches of magic 2 and for the messages before them, and numbers for what our values say by name, so of an
entry of records something is made, or nothing where it is of the other format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from dissectors.api import Role
from dissectors.catalog import Alias
from dissectors.kafka.catalog.places import Row, paths
from dissectors.kafka.codecs import CODECS
from dissectors.kafka.labels import labels
from dissectors.kafka.tables import table

_BATCH = 2


@cache
def aliases() -> Mapping[str, Alias]:
    """By tshark's name."""
    return {f"kafka.{row['name']}": _alias(number, row) for number, row in enumerate(table("tshark")["rows"])}


def _alias(number: int, row: Row) -> Alias:
    return Alias(
        f"kafka.{row['name']}",
        row["type"],
        row.get("key"),
        frozenset(Role[name] for name in row["roles"]) if "roles" in row else None,
        None if "key" in row else partial(paths, "tshark", number),
        labels(row["enum"]) if "enum" in row else None,
        "tshark's name",
        row.get("add", 0),
        _MADE[row["of"]] if "of" in row else _drop_empty_list,
    )


def _drop_empty_list(value: Any) -> Any:
    """A list without elements is no field of tshark's."""
    return None if value == [] else value


def _read_message_value(value: Any) -> Any:
    """What a message holds, but for one that holds others."""
    if isinstance(value, Mapping):
        value = None if value.get("magic") == _BATCH or "messages" in value else value.get("value")
    return _drop_empty_list(value)


def _make_entry_reader(name: str, batch: bool, number: Callable[[Any], int | None]) -> Callable[[Any], int | None]:
    """What is made of an entry: the number of a value that it has, if it is a batch, or if it is none."""

    def read_entry(entry: Any) -> int | None:
        if not isinstance(entry, Mapping) or (entry.get("magic") == _BATCH) is not batch:
            return None  # no records, or of the other format
        value = entry.get(name)
        return None if value is None else number(value)

    return read_entry


def _codec(name: str) -> int | None:
    return CODECS.index(name) if name in CODECS else None


def _timestamp_type(name: str) -> int:
    from dissectors.kafka.records.values import TIMESTAMP_TYPES  # brings codecs and checksums

    return TIMESTAMP_TYPES.index(name)


_NUMBERS: tuple[tuple[str, str, Callable[[Any], int | None]], ...] = (
    ("crc", "crc", int),
    ("codec", "compression", _codec),
    ("timestamp_type", "timestampType", _timestamp_type),
)
_MADE: Mapping[str, Callable[[Any], Any]] = {
    "message_value": _read_message_value,
    **{
        f"{kind}_{what}": _make_entry_reader(name, kind == "batch", number)
        for kind in ("batch", "message")
        for what, name, number in _NUMBERS
    },
}
