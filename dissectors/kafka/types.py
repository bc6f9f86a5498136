"""Kafka's primitive types: the encoding of a schema's type names, plain or flexible.

Facts (protocol guide, "Protocol Primitive Types"; KIP-482 for the compact forms): a string has an int16 length, bytes
and arrays an int32, -1 is null. In flexible versions all of them have an unsigned varint of length + 1, 0 is null. A
nullable struct has an int8 in front, negative for null; a tagged one an unsigned varint, 0 for null.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from dissectors.api import load
from dissectors.kafka.labels import is_sensitive, labels
from dissectors.wire.dialect import Dialect, SizedBytes
from dissectors.wire.nonfinite import float_value
from dissectors.wire.primitive import INT8, INT16, INT32, INT64, UINT16, UINT32, FixedWidth, Length

_URL_SAFE = bytes.maketrans(b"+/", b"-_")


@lru_cache(maxsize=4096)
def uuid_text(raw: bytes) -> str:
    """Formats sixteen bytes as Kafka prints a Uuid: base64url without padding, 22 characters."""
    return b2a_base64(raw)[:22].translate(_URL_SAFE).decode("ascii")


_FIXED = {
    **{each.type: each for each in (INT8, INT16, UINT16, INT32, UINT32, INT64)},
    "float64": FixedWidth("float64", "d", float_value),
    "bool": FixedWidth("bool", "?"),
    "uuid": FixedWidth("uuid", "16s", uuid_text),
}

_INT8 = Length("int8", "b")
_INT16 = Length("int16", "h")
_INT32 = Length("int32", "i")
_UVARINT = Length("uvarint", None, bias=1)


def _load_later(target: str) -> Callable[..., Any]:
    """What reads records, which is loaded when it is first called: a message without records does not pay for it."""

    @cache
    def find() -> Any:
        return load(f"dissectors.kafka.records.{target}")

    def call(*given: Any) -> Any:
        return find()(*given)

    return call


def _make_sized(name: str, flexible: bool, nullable: bool) -> SizedBytes:
    full = f"{'compact_' if flexible else ''}{'nullable_' if nullable and name != 'records' else ''}{name}"
    if name == "string":
        return SizedBytes(full, _UVARINT if flexible else _INT16, nullable, bytes.decode)
    length = _UVARINT if flexible else _INT32
    if name == "bytes":
        return SizedBytes(full, length, nullable)
    return SizedBytes(
        full,
        length,
        nullable,
        nested=_load_later("values:record_values"),
        unfold=_load_later("fields:unfold_records"),
        template=_load_later("template:template_records"),
        swells=_load_later("values:may_inflate"),
    )


_SIZED = {
    (name, flexible, nullable): _make_sized(name, flexible, nullable)
    for name in ("string", "bytes", "records")
    for flexible in (False, True)
    for nullable in (False, True)
}


def _primitive(name: str, flexible: bool, nullable: bool) -> FixedWidth | SizedBytes:
    return _FIXED.get(name) or _SIZED[name, flexible, nullable]


KAFKA = Dialect(
    primitive=_primitive,
    count=lambda flexible: _UVARINT if flexible else _INT32,
    presence=lambda tagged: _UVARINT if tagged else _INT8,
    array=lambda flexible, nullable: "compact_array" if flexible else "array",
    labels=labels,
    sensitive=is_sensitive,
)
