"""What people read beside a node: by its name, by the nodes beside it, or by what is in it.

Facts. Message ids and transactions are printed as MessageId and TxnID do it. An ack set is a bit set of indexes in a
batch, lowest word first (java.util.BitSet.toLongArray); a set bit is a message that is not acknowledged. The version
of a schema is a big-endian number (LongSchemaVersion). Keys that were bytes are base64. Hashes of segments are
hexadecimal in their names. Properties of clients and brokers: RetryMessageUtil, and the replicator's.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dissectors.field import Field
from dissectors.pulsar.summaries import MOST, decode_schema_version, format_message_id, format_signed
from dissectors.pulsar.tables import table
from dissectors.wire.amounts import duration_text, size_text
from dissectors.wire.texts import printable, runs_text

_LONGEST = 200
"""Digits of a key beside it."""

FindBeside = Callable[[str], Any]
"""The value of a node beside, by name; None where there is none."""

TextFormatter = Callable[[Any, FindBeside], "str | None"]


def format_text(node: Field, nodes: list[Field]) -> str | None:
    """The text for a node among `nodes`; None where its value says all."""
    if node.children and node.value is None:
        return _format_container(node)
    say = _TEXTS.get(node.spec.name)
    return None if say is None or node.value is None else say(node.value, lambda name: _find_beside(nodes, name))


def _find_beside(nodes: Iterable[Field], name: str) -> Any:
    return next((node.value for node in nodes if node.spec.name == name), None)


# ---- containers


def _format_container(node: Field) -> str | None:
    if node.spec.name == "ack_set":
        return format_ack_set([child.value for child in node.children if child.spec.name.startswith("[")])
    names = {child.spec.name for child in node.children[:_MOST_PARTS]}
    if "ledgerId" in names or "ledger_id" in names:
        return format_message_id({_IDS.get(child.spec.name, child.spec.name): child.value for child in node.children})
    return None


_MOST_PARTS = 4
"""Among so many first nodes is a ledger, where there is one: behind tag and length, in any order with the entry."""

_IDS = {"ledger_id": "ledgerId", "entry_id": "entryId"}
"""Names in markers."""


def format_ack_set(words: list[Any]) -> str | None:
    """`batch indexes 0-3, 7 not acknowledged`."""
    bits = (f"{word & (1 << 64) - 1:064b}"[::-1] for word in words if isinstance(word, int))
    said, many = runs_text("".join(bits))
    return f"batch {'indexes' if many else 'index'} {said} not acknowledged" if said else "all acknowledged"


# ---- values


def _format_printable(data: Any, _: FindBeside) -> str | None:
    return printable(data)


def _format_key(value: Any, beside: FindBeside) -> str | None:
    """What a key in base64 stands for."""
    if beside("partition_key_b64_encoded") is not True or not isinstance(value, str):
        return None
    try:
        data = b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None
    return printable(data) or (data[:_LONGEST].hex() or None)


def _format_negative(value: Any, _: FindBeside) -> str | None:
    return format_signed(value) if isinstance(value, int) and value > MOST else None


def _format_size(value: Any, _: FindBeside) -> str | None:
    return size_text(value) if isinstance(value, int) and value >= 1024 else None


def _format_version(value: Any, _: FindBeside) -> str | None:
    number = decode_schema_version(value)
    return None if number is None else f"version {number}"


def _format_transaction(value: Any, beside: FindBeside) -> str | None:
    return f"transaction ({beside('txnid_most_bits') or 0},{value})"


def _format_chunk(value: Any, beside: FindBeside) -> str | None:
    count = beside("num_chunks_from_msg")
    return f"chunk {value + 1} of {count}" if isinstance(value, int) and isinstance(count, int) else None


def _format_hash(value: Any, _: FindBeside) -> str | None:
    return f"{value:#06x}" if isinstance(value, int) else None


def _format_seconds(value: Any, _: FindBeside) -> str | None:
    return duration_text(value * 1000) if isinstance(value, int) and 0 < value <= MOST else None


def _format_property(value: Any, _: FindBeside) -> str | None:
    known: Mapping[str, str] = table("summaries")["properties"]
    return known.get(value) if isinstance(value, str) else None


_TEXTS: Mapping[str, TextFormatter] = {
    **dict.fromkeys(("payload", "content", "ordering_key", "schema_id"), _format_printable),
    **dict.fromkeys(
        ("ledgerId", "entryId", "ledger_id", "entry_id", "request_id", "highest_sequence_id"), _format_negative
    ),
    **dict.fromkeys(("uncompressed_size", "total_chunk_msg_size", "max_message_size", "payload_size"), _format_size),
    **dict.fromkeys(("hash_start", "hash_end"), _format_hash),
    "schema_version": _format_version,
    "partition_key": _format_key,
    "txnid_least_bits": _format_transaction,
    "chunk_id": _format_chunk,
    "start_message_rollback_duration_sec": _format_seconds,
    "key": _format_property,
}
