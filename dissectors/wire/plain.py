"""A dialect for protocols whose tables say at each field how it is written, and have no wire types of their own.

Types: int8 to int64, uint8 to uint64 (big-endian), bool, uvarint; string and bytes with the type of their length behind
a colon (`string:uint16`, `bytes:uvarint`); text and rest, which take everything left of a part or message, as UTF-8 and
as bytes. An array has a count of four bytes unless its row has `"count": "end"`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from dissectors.field import Label
from dissectors.wire.dialect import Dialect, Primitive, Rest, SizedBytes, Varint
from dissectors.wire.primitive import INT8, INT16, INT32, INT64, LENGTHS, UINT8, UINT16, UINT32, UINT64, FixedWidth

_PLAIN: Mapping[str, Primitive] = {
    **{each.type: each for each in (INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64)},
    "bool": FixedWidth("bool", "?"),
    "uvarint": Varint(),
    "text": Rest("string", bytes.decode),
    "rest": Rest(),
}
_CONVERT: Mapping[str, Callable[[bytes], object] | None] = {"string": bytes.decode, "bytes": None}


@cache
def _primitive(name: str, flexible: bool, nullable: bool) -> Primitive:
    if name in _PLAIN:
        return _PLAIN[name]
    kind, _, length = name.partition(":")
    return SizedBytes(kind, LENGTHS[length], nullable, _CONVERT[kind])


def plain_dialect(enums: Mapping[str, Mapping[int, str]] | None = None) -> Dialect:
    """Returns the dialect of a protocol with these names of numbers, by enum."""
    labels: dict[str, Label] = {enum: names.get for enum, names in (enums or {}).items()}
    return Dialect(
        primitive=_primitive,
        count=lambda flexible: LENGTHS["int32"],
        presence=lambda tagged: LENGTHS["uvarint"],
        array=lambda flexible, nullable: "array",
        labels=labels.get,
    )
