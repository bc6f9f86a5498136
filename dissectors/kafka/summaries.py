"""Functions for Kafka's phrases: records, and the meaning of special numbers.

Theory. Special values (an epoch of -1, say) are found by comparison. Numbers that differ between messages are passed to
functions by text_of, and counts of records by number_of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dissectors.kafka.codecs import CODECS
from dissectors.kafka.labels import error_name, labels
from dissectors.wire.amounts import count_text
from dissectors.wire.condition import condition, number_of
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.secret import Secret
from dissectors.wire.summary import Formatter, Summaries, has_items, length_of, text_of, wire_size

OF_NONE: Mapping[str, tuple[str, bool]] = {
    "all": ("all topics", True),
    "null": ("all topics", False),
    "every": ("every", True),
    "cancelled": ("cancelled", False),
}
"""Formatters about a list that is null: what it means, and whether the same is meant by an empty one."""

_IDS = 6
"""Numbers of replicas that are said, before the rest is only counted."""

_CODECS: Mapping[str | None, int] = {name: number for number, name in enumerate(CODECS)}
_CONTROL = 8
"""Added to the number of a codec."""


def _untold(value: Any, _: str) -> str | None:
    """Bytes of which nothing else is said."""
    return None if isinstance(value, EmbeddedValue) and value.value else length_of(value)


def _payload(value: Any, _: str) -> str | None:
    size = length_of(value)
    return f"token, {size}" if size and isinstance(value, Secret) else size


def _time(value: Any, _: str) -> str | None:
    if not isinstance(value, int) or value < 0:
        return None
    label = labels("timestamp")
    return text_of(lambda time: (label and label(time)) or f"{time}", value)


def _format_offset_time(value: Any, _: str) -> str | None:
    """What ListOffsets asks for: a time, or one of the names below zero."""
    if not isinstance(value, int) or value >= 0:
        return _time(value, "")
    label = labels("listOffsetsTimestamp")
    return ((label and label(value)) or f"{value}").lower()


_ONE = condition("firstOffset <= lastOffset and lastOffset <= firstOffset")


def _span(value: Any, _: str) -> str | None:
    """The offsets that a struct names, the first and the last, where these are two."""
    first, last = value.get("firstOffset"), value.get("lastOffset")
    if first is None or last is None:
        return None
    return f"{first}" if _ONE(value) else f"{first}-{last}"


def _alive(value: Any, _: str) -> str | None:
    """What a controller says of a broker; behind an error the fields mean nothing."""
    if value.get("errorCode") or "isCaughtUp" not in value:
        return None
    words = ["caught up" if value["isCaughtUp"] else "behind"]
    words += ["fenced"] if value.get("isFenced") else []
    words += ["may shut down"] if value.get("shouldShutDown") else []
    return ", ".join(words)


def _ids(value: Any, _: str) -> str | None:
    if not isinstance(value, list) or not value:
        return None
    text = "/".join([f"{number}" for number in value[:_IDS]])
    return f"{text} and {len(value) - _IDS} more" if len(value) > _IDS else text


def _codec(value: Any, _: str) -> str | None:
    label = labels("compression")
    return ((label and label(value)) or f"codec {value}").lower() if value else None


def _format_opened_session(value: Any, _: str) -> str | None:
    """A fetch session's epoch, where it has none yet."""
    return "opens a session" if value == 0 else None


def _session(value: Any, _: str) -> str | None:
    """The epoch of a share session."""
    return _special(value, {0: "opens the session", -1: "ends the session"}, "session epoch")


def _epoch(value: Any, _: str) -> str | None:
    """The epoch of a group's member."""
    return _special(value, {0: "joins", -1: "leaves", -2: "leaves for a while"}, "epoch")


def _special(value: Any, meanings: Mapping[int, str], word: str) -> str:
    if value <= 0:
        return meanings.get(int(value)) or f"{word} {value}"
    return f"{word} {value}"


def _format_empty_assignment(value: Any, _: str) -> str | None:
    return "assigned nothing" if isinstance(value, dict) and value.get("topicPartitions") == [] else None


# ---- records


def _records(value: Any, _: str) -> str | None:
    return _format_records(value, False)


def _format_records(value: Any, fetched: bool) -> str | None:
    """`12 records from 42, 3100 bytes, zstd` of a records field.

    The bytes are those on the wire, as a plain number: hardly two fields take as many, and each would be a text.
    """
    if not has_items(value):
        return None
    size = wire_size(lambda entries: sum(map(_count_entry_bytes, entries)), value)
    count = count_text(number_of(_count, value), "record")
    beginning = f" from {number_of(_first, value)}" if fetched else ""
    return f"{count}{beginning}, {size} bytes{text_of(_codec_text, number_of(_kind, value))}"


def _count(entries: Sequence[Mapping[str, Any]]) -> int:
    """How many records there are, of what could be read."""
    return sum(_inside(entry) for entry in entries)


def _inside(entry: Mapping[str, Any]) -> int:
    if "count" in entry:
        count: int = entry["count"]
        return count
    if "messages" in entry:
        return _count(entry["messages"])
    return 1 if "magic" in entry else 0


def _first(entries: Sequence[Mapping[str, Any]]) -> int:
    entry = entries[0]
    while entry.get("messages"):
        entry = entry["messages"][0]
    return next((entry[name] for name in ("baseOffset", "offset") if name in entry), -1)


def _count_entry_bytes(entry: Mapping[str, Any]) -> int:
    """Bytes of an entry; of one before batches, all but what its key and value do not take, which is nothing."""
    from dissectors.kafka.records.layout import ENTRY, MESSAGE_MINIMUM  # a message without records needs none

    if "length" in entry:
        length: int = entry["length"]
        return length if "partial" in entry else length + ENTRY.size
    payload_bytes = sum(len(entry[name]) for name in ("key", "value") if entry.get(name))
    return ENTRY.size + MESSAGE_MINIMUM.get(entry.get("magic", 0), 0) + payload_bytes


def _kind(entries: Sequence[Mapping[str, Any]]) -> int:
    """The number of the first codec, and whether all records are the broker's own."""
    first = entries[0]
    codec = _CODECS.get(first.get("compression"), 0)
    return codec + _CONTROL if first.get("control") and all(each.get("control") for each in entries) else codec


def _codec_text(kind: int) -> str:
    number = kind % _CONTROL
    return (f", {CODECS[number]}" if number else "") + (", control" if kind >= _CONTROL else "")


FORMATTERS: Mapping[str, Formatter] = {
    "alive": _alive,
    "codec": _codec,
    "committed": lambda value, _: f"at {value}" if value >= 0 else "at none",
    "emptied": _format_empty_assignment,
    "epoch": _epoch,
    "fetched": lambda value, _: _format_records(value, True),
    "full": lambda value, _: "all partitions" if value == 2 else None,
    "ids": _ids,
    "leader": lambda value, _: f"leader {value}" if value >= 0 else "no leader",
    "newest": lambda value, _: "the end" if value == -1 else f"{value}",
    "opened": _format_opened_session,
    "payload": _payload,
    "records": _records,
    "session": _session,
    "span": _span,
    "time": _time,
    "untold": _untold,
    "when": _format_offset_time,
}

_NO_ID = "A" * 22
"""A UUID of zeros, as it is printed."""

SUMMARIES = Summaries(
    labels,
    error_name,
    FORMATTERS,
    OF_NONE,
    frozenset({"records", "fetched"}),
    dict.fromkeys(("topicId", "clientInstanceId", "voterDirectoryId"), _NO_ID),
)
