"""Record data to plain values, by the layouts of layout.py.

This is the fast decoder: anything unusual raises one of emit.FAILURES, and fields.py, which makes nodes of the same
bytes, reports the problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from dissectors.kafka.codecs import CODECS
from dissectors.kafka.nested.structures import detect_control
from dissectors.kafka.records import layout
from dissectors.kafka.records.batches import read_batches
from dissectors.wire.budget import Budget
from dissectors.wire.codecs import decompress
from dissectors.wire.embedded import embed
from dissectors.wire.emit import values_decoder
from dissectors.wire.plan import find_places
from dissectors.wire.varint import Unfit

_CODEC_AT = {2: layout.BATCH_AT["attributes"][0] + 1} | {
    magic: find_places(plan.steps)["attributes"][0] for magic, plan in layout.MESSAGES.items()
}
"""Where in an entry the byte of the attributes stands that names a codec, by magic."""

_GLANCE, _GLANCES = max(_CODEC_AT.values()) + 1, 64
"""Bytes of an entry, and entries, that are looked at to see whether any is compressed."""

DEPTH = 2
"""A message set within a wrapper is legal, one within that is not."""


def choose_decoder(codec: str, magic: int) -> str:
    """Returns the name of a codec for wire.codecs."""
    return "lz4-legacy" if codec == "lz4" and magic == 0 else codec


def record_values(data: bytes, budget: Budget) -> list[dict[str, Any]]:
    """Returns the entries of a records field. Raises one of emit.FAILURES where they are broken in any way.

    Where the budget says so, the records of batches are left for `fill`.
    """
    found: list[Found] = [] if budget.later is None else budget.later
    entries = _entries(data, budget, 1, found)
    if budget.later is None:
        fill(found)
    return entries


def fill(found: Sequence[Found]) -> None:
    """Reads the records of batches into their entries. Raises one of emit.FAILURES where any are broken."""
    if not found:
        return
    entries, bodies, heads = zip(*found, strict=True)
    for entry, records in zip(entries, read_batches(bodies, heads), strict=True):
        entry["records"] = [_controlling(record) for record in records] if entry["control"] else records


Found: TypeAlias = tuple[dict[str, Any], bytes | memoryview, layout.Head]
"""The entry of a batch, whose records are not read yet, their bytes, and its head: all are read together."""


def _entries(data: bytes, budget: Budget, depth: int, found: list[Found]) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    for at, stop, magic in layout.iterate_entries(data, 0, len(data)):
        if magic == layout.CUT:
            entries.append({"partial": True, "length": stop - at})
        elif magic == 2 and depth == 1:
            found.append(_batch(data[at:stop], budget))
            entries.append(found[-1][0])
        elif magic in layout.MESSAGES:
            entries.append(_message(data[at:stop], magic, budget, depth, found))
        else:
            raise Unfit
    return entries


def may_inflate(data: bytes, at: int, size: int) -> bool:
    """Returns whether any of these entries may be compressed."""
    stop = at + size
    for _ in range(_GLANCES):
        if at + _GLANCE > stop:
            return at + layout.MAGIC_AT < stop
        if data[at + _CODEC_AT.get(data[at + layout.MAGIC_AT], _CODEC_AT[0])] & layout.COMPRESSION:
            return True
        at += layout.ENTRY.size + int.from_bytes(data[at + layout.LENGTH_AT : at + layout.ENTRY.size])
    return True


def _batch(data: bytes, budget: Budget) -> Found:
    entry, at = values_decoder(layout.BATCH)(data, 0, budget)
    head = layout.Head.from_values(entry)
    body: bytes | memoryview = memoryview(data)[at:]
    if entry["compression"] != CODECS[0] and (head.total or at < len(data)):
        body = decompress(entry["compression"], data[at:], budget, "records", at)
    if not budget.take(head.total):
        raise Unfit  # the annotated way shows as many as a tree may have
    entry["records"] = None
    return entry, body, head


def _controlling(record: dict[str, Any]) -> dict[str, Any]:
    """A record of a control batch, with what its key and value hold."""
    pair = zip(("key", "value"), detect_control(record["key"], record["value"]), strict=True)
    found = {name: embed(record[name], fit.values, fit.decoder.name) for name, fit in pair if fit is not None}
    return record | found


def _message(data: bytes, magic: int, budget: Budget, depth: int, found: list[Found]) -> dict[str, Any]:
    values, at = values_decoder(layout.MESSAGES[magic])(data, 0, budget)
    message = {"offset": values["offset"], "magic": magic} | values
    if at != len(data) or not -layout.FAR < message["offset"] < layout.FAR:
        raise Unfit
    codec, value = message["compression"], message["value"]
    if codec != CODECS[0]:
        if depth == DEPTH or value is None or codec == "zstd":
            raise Unfit
        content = decompress(choose_decoder(codec, magic), value, budget, "value", at)
        message["messages"] = _entries(content, budget, depth + 1, found)
        _settle(message)
    return message


def _settle(wrapper: dict[str, Any]) -> None:
    """Gives messages in a wrapper of magic 1 their absolute offsets, and the wrapper's time where the log set it."""
    messages = [message for message in wrapper["messages"] if "magic" in message]
    if wrapper["magic"] != 1 or not messages:
        return
    base = wrapper["offset"] - messages[-1]["offset"] if wrapper["offset"] else 0
    for message in messages:
        message["offset"] += base
        if wrapper["timestampType"] == layout.TIMESTAMP_TYPES[1] and message["magic"] == 1:
            message["timestampType"] = layout.TIMESTAMP_TYPES[1]
            message["timestamp"] = wrapper["timestamp"]
