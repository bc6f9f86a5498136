"""The definition of a schema, which is a bytes field: JSON, or the two schemas of a KeyValue.

Facts. Avro and JSON schemas are defined in Avro's JSON, Protocol Buffers likewise or (ProtobufNative) by a JSON object
with the descriptors in base64; primitive ones have no definition. A KeyValue has that of the key and that of the value,
each behind its size as a big-endian int32, -1 for none (KeyValueSchemaInfo).

Bytes that are not surely one of these stay bytes.
"""

from __future__ import annotations

from functools import partial

from dissectors.errors import DecodeError
from dissectors.field import Field, FieldSpec, Tree
from dissectors.wire.budget import Budget
from dissectors.wire.json_strict import is_json
from dissectors.wire.json_text import read_json
from dissectors.wire.primitive import INT32
from dissectors.wire.reader import Read, Reader
from dissectors.wire.specs import LENGTH, TAG, Parted

SCHEMA_DATA = "schema_data"

LARGEST = 256 * 1024
"""Bytes of a definition that is looked at: its nodes take a hundred times as much."""

_KEY_VALUE = "KeyValue"
_DEFINITION = FieldSpec("definition", "bytes")


def open_schema(tree: Tree, node: Field, beside: list[Field], above: tuple[Field, ...]) -> None:
    """Gives the leaf of a definition nodes for what is in it; `beside`: the schema's other fields."""
    data = node.value
    if not isinstance(data, bytes) or not 0 < len(data) <= LARGEST or node.children:
        return
    kind = next((each.value for each in beside if each.spec.name == "type"), None)
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
    node.spec = Parted(spec.name, spec.type, spec.label, spec.secret)


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
