"""What people read beside a node: by its name, by the nodes beside it, or by what is in it.

Facts. Message ids and transactions are printed as MessageId and TxnID do it. An ack set is a bit set of indexes in a
batch, lowest word first (java.util.BitSet.toLongArray); a set bit is a message that is not acknowledged. The version
of a schema is a big-endian number (LongSchemaVersion). Keys that were bytes are base64. Hashes of segments are
hexadecimal in their names. Properties of clients and brokers: RetryMessageUtil, and the replicator's.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dissectors.field import Field
from dissectors.pulsar.info.phrases import MOST, message_id, signed, version_number
from dissectors.pulsar.tables import table
from dissectors.wire.amounts import duration_text, size_text

_LONGEST = 200
"""Characters of a payload's text beside it."""

_MOST_RUNS = 20
"""Runs of indexes that are named of an ack set."""

_UTF8 = getincrementaldecoder("utf-8")
_LAYOUT = str.maketrans("", "", "\t\r\n")

Beside = Callable[[str], Any]
"""The value of a node beside, by name; None where there is none."""

Text = Callable[[Any, Beside], "str | None"]


def text_of(node: Field, nodes: list[Field]) -> str | None:
    """The text for a node among `nodes`; None where its value says all."""
    if node.children and node.value is None:
        return _of_container(node)
    say = _TEXTS.get(node.spec.name)
    return None if say is None or node.value is None else say(node.value, lambda name: _beside(nodes, name))


def _beside(nodes: Iterable[Field], name: str) -> Any:
    return next((node.value for node in nodes if node.spec.name == name), None)


# ---- containers


def _of_container(node: Field) -> str | None:
    if node.spec.name == "ack_set":
        return ack_set_text([child.value for child in node.children if child.spec.name.startswith("[")])
    names = {child.spec.name for child in node.children[:_MOST_PARTS]}
    if "ledgerId" in names or "ledger_id" in names:
        return message_id({_IDS.get(child.spec.name, child.spec.name): child.value for child in node.children})
    return None


_MOST_PARTS = 4
"""Among so many first nodes is a ledger, where there is one: behind tag and length, in any order with the entry."""

_IDS = {"ledger_id": "ledgerId", "entry_id": "entryId"}
"""Names in markers."""


def ack_set_text(words: list[Any]) -> str | None:
    """`batch indexes 0-3, 7 not acknowledged`."""
    runs = list(_runs(word for word in words if isinstance(word, int)))
    if not runs:
        return "all acknowledged"
    shown = [f"{first}-{last}" if first < last else f"{first}" for first, last in runs[:_MOST_RUNS]]
    more = [f"{len(runs) - _MOST_RUNS} more"] if len(runs) > _MOST_RUNS else []
    noun = "index" if len(runs) == 1 and runs[0][0] == runs[0][1] else "indexes"
    return f"batch {noun} {', '.join(shown + more)} not acknowledged"


def _runs(words: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The first and last of set bits that stand side by side."""
    at = first = -1
    for at, bit in enumerate(f"{word & (1 << 64) - 1:064b}"[63 - place] for word in words for place in range(64)):
        if bit == "1" and first < 0:
            first = at
        elif bit == "0" and first >= 0:
            yield first, at - 1
            first = -1
    if first >= 0:
        yield first, at


# ---- values


def printable(data: Any, _: Beside | None = None) -> str | None:
    """Bytes that are text, up to a length."""
    if not isinstance(data, bytes) or not data:
        return None
    head = data[: 4 * _LONGEST]
    try:
        text = _UTF8().decode(head, final=len(head) == len(data))
    except UnicodeDecodeError:
        return None
    if not text.translate(_LAYOUT).isprintable():
        return None
    return f'"{text}"' if len(text) <= _LONGEST and len(head) == len(data) else f'"{text[:_LONGEST]}"...'


def _key(value: Any, beside: Beside) -> str | None:
    """What a key in base64 stands for."""
    if beside("partition_key_b64_encoded") is not True or not isinstance(value, str):
        return None
    try:
        data = b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None
    return printable(data) or (data[:_LONGEST].hex() or None)


def _negative(value: Any, _: Beside) -> str | None:
    return signed(value) if isinstance(value, int) and value > MOST else None


def _size(value: Any, _: Beside) -> str | None:
    return size_text(value) if isinstance(value, int) and value >= 1024 else None


def _version(value: Any, _: Beside) -> str | None:
    number = version_number(value)
    return None if number is None else f"version {number}"


def _transaction(value: Any, beside: Beside) -> str | None:
    return f"transaction ({beside('txnid_most_bits') or 0},{value})"


def _chunk(value: Any, beside: Beside) -> str | None:
    count = beside("num_chunks_from_msg")
    return f"chunk {value + 1} of {count}" if isinstance(value, int) and isinstance(count, int) else None


def _hash(value: Any, _: Beside) -> str | None:
    return f"{value:#06x}" if isinstance(value, int) else None


def _seconds(value: Any, _: Beside) -> str | None:
    return duration_text(value * 1000) if isinstance(value, int) and 0 < value <= MOST else None


def _property(value: Any, _: Beside) -> str | None:
    known: Mapping[str, str] = table("lines")["properties"]
    return known.get(value) if isinstance(value, str) else None


_TEXTS: Mapping[str, Text] = {
    **dict.fromkeys(("payload", "content", "ordering_key", "schema_id"), printable),
    **dict.fromkeys(("ledgerId", "entryId", "ledger_id", "entry_id", "request_id", "highest_sequence_id"), _negative),
    **dict.fromkeys(("uncompressed_size", "total_chunk_msg_size", "max_message_size", "payload_size"), _size),
    **dict.fromkeys(("hash_start", "hash_end"), _hash),
    "schema_version": _version,
    "partition_key": _key,
    "txnid_least_bits": _transaction,
    "chunk_id": _chunk,
    "start_message_rollback_duration_sec": _seconds,
    "key": _property,
}
