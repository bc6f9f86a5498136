"""A resolved field path: its name, the kind of its values, and their source.

Theory. A row has values of four kinds: its keys, most of which are in the index; the fields of its body; aliases that
any message of a protocol may have (a topic, a group); and other programs' names for these. A name without a protocol
stands for the fields of that name in all protocols. A path is checked before any row is read, so a typing mistake is an
error and not an empty result.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from functools import lru_cache
from typing import TypeAlias

from dissectors.api import Role
from dissectors.catalog import Alias, FieldAlias
from dissectors.message import Path
from dissectors.slotted import make_slotted
from dissectors.wire.times import milliseconds, timestamp


class FieldKind(Enum):
    """The kind of a field's values, which decides how they are compared; ANY: it depends on the value."""

    NUMBER = "number"
    DURATION = "duration"
    TIME = "time"
    TEXT = "text"
    FLAG = "true or false"
    BYTES = "bytes"
    ADDRESS = "address"
    STRUCT = "struct"
    ANY = "any"
    PRESENCE = "presence"


@make_slotted
class RowKey:
    """A key of a row, or a field derived from one: an entry of analyzer.query.fields.keys."""

    name: str


@make_slotted
class BodyField:
    """A field in the bodies of an operation; roles: those whose layout has it. An empty path is the whole body."""

    protocol: str
    operation: str | None
    roles: frozenset[Role] | None
    path: Path


@make_slotted
class AliasedField:
    """A field that means the same in all messages of a protocol, such as `kafka.topic`."""

    protocol: str
    short: FieldAlias


@make_slotted
class AliasField:
    """Another program's name for a field."""

    protocol: str
    alias: Alias


@make_slotted
class SharedField:
    """A name in several protocols, such as `topic`, with the field of each of them."""

    fields: tuple[FieldPath, ...]


Origin: TypeAlias = RowKey | BodyField | AliasedField | AliasField | SharedField
Label: TypeAlias = Callable[[int], str | None]


@make_slotted
class FieldPath:
    """A checked path. repeated: a row may have several values. label: names its numbers, if they have names.

    scale: nanoseconds of one unit of a number that counts time, else None. A TIME with a scale counts from 1970.
    is_cheap: the index has its values, so no message is read. is_large: a value may be as large as a message, or is
    seen only by decoding one.
    """

    name: str
    kind: FieldKind
    origin: Origin
    repeated: bool = False
    label: Label | None = None
    about: str | None = None
    scale: int | None = None
    is_cheap: bool = False
    is_large: bool = False


def expand_field(field: FieldPath) -> tuple[FieldPath, ...]:
    """Returns the fields of each protocol for a shared field, or else the field itself."""
    return field.origin.fields if isinstance(field.origin, SharedField) else (field,)


_KINDS = {
    **dict.fromkeys(("boolean", "bool", "json_boolean"), FieldKind.FLAG),
    **dict.fromkeys(("bytes", "buffer", "records", "undecoded", "gap"), FieldKind.BYTES),
    **dict.fromkeys(("struct", "map", "array", "message", "json_object", "json_array"), FieldKind.STRUCT),
    **dict.fromkeys(("float", "float32", "float64", "double", "long", "int", "short", "byte"), FieldKind.NUMBER),
    **dict.fromkeys(("varint", "varlong", "uvarint", "json_number"), FieldKind.NUMBER),
    **dict.fromkeys(("string", "ustring", "uuid", "text", "json_string"), FieldKind.TEXT),
}
_UNITS = {"Ms": 10**6, "_ms": 10**6, "Millis": 10**6, "_millis": 10**6, "MilliSec": 10**6}


def find_kind(type_: str) -> FieldKind:
    """Returns the kind of a protocol's type; ANY for a type that is not in the table."""
    plain = type_.removeprefix("compact_").removeprefix("nullable_")
    found = _KINDS.get(plain)
    if found is None and plain.removeprefix("u").removeprefix("s").startswith(("int", "fixed")):
        return FieldKind.NUMBER
    return FieldKind.ANY if found is None else found


def find_scale(name: str) -> int | None:
    """Returns the nanoseconds of one unit of a number, if its name says that it is a time."""
    return next((scale for suffix, scale in _UNITS.items() if name.endswith(suffix)), None)


def is_time(label: Label | None) -> bool:
    """Returns whether a number's label formats a time or a duration in ms, and is no name."""
    return label in (timestamp, milliseconds)


@lru_cache(maxsize=256)
def find_names(label: Label | None) -> frozenset[str] | None:
    """Returns the names that a label gives to numbers; None if they do not come from a table."""
    if label is None:
        return None
    table = getattr(label, "__self__", None)
    if isinstance(table, dict):
        return frozenset(table.values())
    nobody = label(_NOBODY)
    if nobody is not None and not _UNKNOWN.fullmatch(nobody):
        return None
    named = (label(number) for number in range(-_MOST_NAMED, _MOST_NAMED))
    return frozenset(name for name in named if name is not None and not _UNKNOWN.fullmatch(name))


_NOBODY, _MOST_NAMED = 32_749, 2048
_UNKNOWN = re.compile("UNKNOWN_-?[0-9]+")
"""The label of a number without name, from a function that labels every number."""
