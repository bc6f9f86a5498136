"""Labels beside Pulsar's values in a tree, and the schemas in its bytes fields.

Theory. The meaning of many values depends on others beside them: whether a key is base64, which two numbers are a
transaction. So a finished tree is walked once, and nodes get texts and children. Values do not change, so a tree folds
to the same as before.

Facts. Avro and JSON schemas are defined in Avro's JSON, Protocol Buffers likewise or (ProtobufNative) by a JSON object
with the descriptors in base64; primitive ones have no definition. A KeyValue has the definitions of key and value, each
behind its size as a big-endian int32, -1 for none (KeyValueSchemaInfo). Bytes that are not certainly one of these stay
bytes.

Facts. Message ids and transactions are printed as MessageId and TxnID do it. An ack set is a bit set of indexes in a
batch, lowest word first (java.util.BitSet.toLongArray); a set bit is a message that is not acknowledged. The version of
a schema is a big-endian number (LongSchemaVersion). Properties of clients and brokers: RetryMessageUtil, and the
replicator's.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping
from functools import partial
from typing import Any

from dissectors.errors import DecodeError
from dissectors.field import Field, FieldSpec, Tree
from dissectors.pulsar.summaries import MOST, decode_schema_version, format_message_id, format_signed
from dissectors.pulsar.tables import table
from dissectors.wire.amounts import duration_text, size_text
from dissectors.wire.budget import Budget
from dissectors.wire.json_strict import is_json
from dissectors.wire.json_text import read_json
from dissectors.wire.primitive import INT32
from dissectors.wire.reader import Read, Reader
from dissectors.wire.specs import LENGTH, TAG, PartedSpec
from dissectors.wire.texts import FindSibling, TextFormatter, format_by_siblings, printable, runs_text, with_text

SCHEMA_DATA = "schema_data"

LARGEST = 256 * 1024
"""Bytes of a definition that is looked at: its nodes take a hundred times as much."""

_KEY_VALUE = "KeyValue"
_DEFINITION = FieldSpec("definition", "bytes")


def open_schema(tree: Tree, node: Field, siblings: list[Field], above: tuple[Field, ...]) -> None:
    """Gives the leaf of a definition nodes for what is in it; `find_siblinggs`: the schema's other fields."""
    data = node.value
    if not isinstance(data, bytes) or not 0 < len(data) <= LARGEST or node.children:
        return
    kind = next((each.value for each in siblings if each.spec.name == "type"), None)
    if kind != _KEY_VALUE:
        if _is_definition(data):
            _open_leaf(tree, node, above, _read_definition)
    elif (sizes := _read_sizes(data)) is not None:
        _open_leaf(tree, node, above, partial(_read_key_value, sizes=sizes))


def _is_definition(data: bytes) -> bool:
    return data.lstrip()[:1] in (b"{", b"[", b'"') and is_json(data)


def _open_leaf(tree: Tree, node: Field, above: tuple[Field, ...], read: Read) -> None:
    """Tag and length of the field become nodes of their own."""
    reader = Reader(tree, tree.sources[node.source], node.children, (*above, node), Budget())
    reader.at, reader.end = node.offset, node.offset + node.length
    tag, length_at = reader.uvarint(reader.at, SCHEMA_DATA)
    reader.leaf(TAG, tag >> 3, length_at)
    reader.leaf(LENGTH["uvarint"], len(node.value), node.offset + node.head)
    try:
        read(reader)
    except DecodeError:
        node.children.clear()
        return
    spec, node.head = node.spec, 0
    node.spec = PartedSpec(spec.name, spec.type, spec.label, spec.secret)


def _read_definition(reader: Reader) -> None:
    read_json(reader, _DEFINITION.name)


def _read_sizes(data: bytes) -> tuple[int, int] | None:
    """How long both definitions are, -1 for none; None where they do not fill the data."""
    if len(data) < 2 * INT32.layout.size:
        return None
    (first,) = INT32.layout.unpack_from(data)
    behind = INT32.layout.size + max(first, 0)
    if first < -1 or behind + INT32.layout.size > len(data):
        return None
    (second,) = INT32.layout.unpack_from(data, behind)
    return (first, second) if second >= -1 and behind + INT32.layout.size + max(second, 0) == len(data) else None


def _read_key_value(reader: Reader, sizes: tuple[int, int]) -> None:
    end = reader.end
    for name, size in zip(("key", "value"), sizes, strict=True):
        reader.enter(FieldSpec(name, "struct"))
        reader.take(LENGTH["int32"], INT32)
        reader.end = reader.at + max(size, 0)
        if _is_definition(reader.data[reader.at : reader.end]):
            _read_definition(reader)
        elif size > 0:
            reader.leaf(_DEFINITION, reader.data[reader.at : reader.end], reader.end)
        reader.end = end
        reader.leave()


_LONGEST = 200
"""Digits of a key beside it."""


def format_text(node: Field, nodes: list[Field]) -> str | None:
    """Returns the text for a node among `nodes`; None where its value says all."""
    if node.children and node.value is None:
        return _format_container(node)
    say = _TEXTS.get(node.spec.name)
    return None if say is None or node.value is None else format_by_siblings(say, node, nodes)


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
    """Formats as `batch indexes 0-3, 7 not acknowledged`."""
    bits = (f"{word & (1 << 64) - 1:064b}"[::-1] for word in words if isinstance(word, int))
    numbers, many = runs_text("".join(bits))
    return f"batch {'indexes' if many else 'index'} {numbers} not acknowledged" if numbers else "all acknowledged"


# ---- values


def _format_key(value: Any, find_sibling: FindSibling) -> str | None:
    """What a key in base64 stands for."""
    if find_sibling("partition_key_b64_encoded") is not True or not isinstance(value, str):
        return None
    try:
        data = b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None
    return printable(data) or (data[:_LONGEST].hex() or None)


def _format_negative(value: Any, _: FindSibling) -> str | None:
    return format_signed(value) if isinstance(value, int) and value > MOST else None


def _format_size(value: Any, _: FindSibling) -> str | None:
    return size_text(value) if isinstance(value, int) and value >= 1024 else None


def _format_version(value: Any, _: FindSibling) -> str | None:
    number = decode_schema_version(value)
    return None if number is None else f"version {number}"


def _format_chunk(value: Any, find_sibling: FindSibling) -> str | None:
    count = find_sibling("num_chunks_from_msg")
    return f"chunk {value + 1} of {count}" if isinstance(value, int) and isinstance(count, int) else None


def _format_hash(value: Any, _: FindSibling) -> str | None:
    return f"{value:#06x}" if isinstance(value, int) else None


def _format_seconds(value: Any, _: FindSibling) -> str | None:
    return duration_text(value * 1000) if isinstance(value, int) and 0 < value <= MOST else None


def _format_property(value: Any, _: FindSibling) -> str | None:
    known: Mapping[str, str] = table("summaries")["properties"]
    return known.get(value) if isinstance(value, str) else None


_TEXTS: Mapping[str, TextFormatter] = {
    **dict.fromkeys(("payload", "content", "ordering_key", "schema_id"), lambda data, _: printable(data)),
    **dict.fromkeys(
        ("ledgerId", "entryId", "ledger_id", "entry_id", "request_id", "highest_sequence_id"), _format_negative
    ),
    **dict.fromkeys(("uncompressed_size", "total_chunk_msg_size", "max_message_size", "payload_size"), _format_size),
    **dict.fromkeys(("hash_start", "hash_end"), _format_hash),
    "schema_version": _format_version,
    "partition_key": _format_key,
    "txnid_least_bits": lambda value, find_sibling: f"transaction ({find_sibling('txnid_most_bits') or 0},{value})",
    "chunk_id": _format_chunk,
    "start_message_rollback_duration_sec": _format_seconds,
    "key": _format_property,
}


def open_tree(tree: Tree) -> Tree:
    """Adds texts and the content of schemas to a tree, and returns it."""
    _open_nodes(tree, tree.fields, ())
    return tree


def _open_nodes(tree: Tree, nodes: list[Field], above: tuple[Field, ...]) -> None:
    for node in nodes:
        if node.spec.secret:
            continue
        if node.spec.name == SCHEMA_DATA:
            open_schema(tree, node, nodes, above)
        elif node.children:
            _open_nodes(tree, node.children, (*above, node))
        text = None if node.spec.label is not None else format_text(node, nodes)
        if text is not None:
            node.spec = with_text(node.spec, text)
