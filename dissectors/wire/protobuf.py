"""Protocol Buffers: messages as tables.

Theory (protobuf.dev, "Encoding"). A message is a run of fields in any order. Each begins with a varint, its tag: the
field's number and, in the lowest three bits, the wire type, which tells the length of the value. Only the table tells
the meaning of a value. So a row of it becomes an action under its tag, and decoding is one lookup for each field. A
repeated number may come as many fields or packed into one; both are read. Absent fields stay absent; the reader applies
defaults.

protobuf_values.py decodes bytes to plain values, protobuf_fields.py to nodes with their places.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct
from typing import Any, TypeAlias

from dissectors.field import FieldSpec, Label
from dissectors.slotted import field, make_slotted
from dissectors.wire.nonfinite import float_value
from dissectors.wire.secret import Secret
from dissectors.wire.specs import RepeatedSpec
from dissectors.wire.varint import zigzag

VARINT, FIXED64, BYTES, GROUP, END_GROUP, FIXED32 = range(6)
"""Wire types; 6 and 7 are none."""

DEPTH = 64
"""Messages within messages; the vendors' own readers stop at a hundred."""

Convert: TypeAlias = Callable[[Any], object]


def _sign(bits: int) -> Convert:
    """The number that the lowest `bits` of an unsigned one are in two's complement: -1 is written in ten bytes."""
    half, whole = 1 << bits - 1, 1 << bits
    return lambda value: value if value < half else (value + half) % whole - half


class EnumNames(dict[int, str]):
    """The names of an enum by number; a number without a name stays one, of 32 bits."""

    def __missing__(self, number: int) -> int | str:
        narrow = (number + 0x8000_0000) % 0x1_0000_0000 - 0x8000_0000
        return self.get(narrow, narrow)


_VARINTS: Mapping[str, Convert | None] = {
    "uint64": None,
    "int64": _sign(64),
    "uint32": lambda value: value & 0xFFFF_FFFF,
    "int32": _sign(32),
    "sint32": lambda value: zigzag(value & 0xFFFF_FFFF),
    "sint64": zigzag,
    "bool": bool,
}
_FIXED: Mapping[str, tuple[int, Struct, Convert | None]] = {
    "double": (FIXED64, Struct("<d"), float_value),
    "fixed64": (FIXED64, Struct("<Q"), None),
    "sfixed64": (FIXED64, Struct("<q"), None),
    "float": (FIXED32, Struct("<f"), float_value),
    "fixed32": (FIXED32, Struct("<I"), None),
    "sfixed32": (FIXED32, Struct("<i"), None),
}


@make_slotted(eq=False)
class ProtoField:
    """One row of a message's table.

    spec: what its nodes share; `many` the spec of all occurrences together where it is repeated. wire: the wire type of
    one value. message: what is in it, if it is one. layout: of a value of fixed width. convert: bytes or number to the
    plain value, None if they are it.
    """

    number: int
    name: str
    wire: int
    spec: FieldSpec
    many: RepeatedSpec | None = None
    required: bool = False
    message: MessageType | None = None
    layout: Struct | None = None
    convert: Convert | None = None

    @classmethod
    def parse(cls, row: Mapping[str, Any], library: Library) -> ProtoField:
        """Parses a row: number, name, type, label, `of` (a message or enum), secret, shown."""
        kind, name, secret = row["type"], row["name"], row.get("secret", False)
        message: MessageType | None = None
        layout: Struct | None = None
        convert: Convert | None = None
        label: Label | None = library.labels(row["shown"]) if "shown" in row else None
        shown = kind
        if kind == "message":
            wire, shown, message = BYTES, "struct", library.message(row["of"])
        elif kind == "enum":
            names = library.enums[row["of"]]
            wire, convert, label = VARINT, names.__getitem__, _numbers(names)
        elif kind in ("string", "bytes"):
            wire, convert = BYTES, _content(kind, secret)
        elif kind in _VARINTS:
            wire, convert = VARINT, _VARINTS[kind]
        else:
            wire, layout, convert = _FIXED[kind]
        return cls(
            number=row["number"],
            name=name,
            wire=wire,
            spec=FieldSpec(name, shown, label, secret),
            many=RepeatedSpec(name, "array") if row["label"] == "repeated" else None,
            required=row["label"] == "required",
            message=message,
            layout=layout,
            convert=convert,
        )


def _numbers(names: Mapping[int, str]) -> Label:
    """An enum's value is its name; beside it stands the number."""
    numbers = {name: str(number) for number, name in names.items()}
    return numbers.get


def _content(kind: str, secret: bool) -> Convert | None:
    if kind == "bytes":
        return Secret if secret else None
    return (lambda data: Secret(data.decode())) if secret else bytes.decode


NUMBER, TEXT, MESSAGE, STRUCT, PACKED = range(5)
MANY = 8
"""Actions: how a value is read. MANY is added where it is one of several."""


@make_slotted(eq=False)
class MessageType:
    """A message's table: `fields` by number, and what follows from them, filled when all tables are there.

    former: by tag, fields of numbers that mean something else now, in another wire type. actions: by tag, what to do
    with a value, the field's name, and what that needs. required: names. sensitive: a secret is among its fields, or
    deeper: then what no table knows may be one, too.
    """

    name: str
    fields: dict[int, ProtoField] = field(default_factory=dict)
    former: dict[int, ProtoField] = field(default_factory=dict)
    actions: dict[int, tuple[int, str, Any]] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    sensitive: bool = False

    def row(self, tag: int) -> ProtoField | None:
        """Returns the field of a tag; None if the number or its wire type is not in the table."""
        found = self.fields.get(tag >> 3)
        if found is not None and (tag & 7 == found.wire or (tag & 7 == BYTES and found.many is not None)):
            return found
        return self.former.get(tag)

    def add(self, row: ProtoField, former: bool = False) -> None:
        """Takes a field into the table, or one whose number means something else now."""
        tag, several = row.number << 3, MANY if row.many is not None else 0
        if former:
            self.former[tag | row.wire] = row
        else:
            self.fields[row.number] = row
        if row.required:
            self.required.add(row.name)
        step: tuple[int, object]
        if row.message is not None:
            step = (MESSAGE, row.message)
        elif row.layout is not None:
            step = (STRUCT, row)
        else:
            step = (NUMBER if row.wire == VARINT else TEXT, row.convert)
        self.actions[tag | row.wire] = (step[0] | several, row.name, step[1])
        if several and row.wire != BYTES:
            self.actions[tag | BYTES] = (PACKED, row.name, row)


Rows: TypeAlias = Mapping[str, list[Mapping[str, Any]]]
"""The rows of messages, by name."""


def _has_secret(name: str, messages: Rows, above: frozenset[str] = frozenset()) -> bool:
    rows, around = messages.get(name, ()), above | {name}
    inside = {row["of"] for row in rows if row["type"] == "message"} - around
    return any(row.get("secret") for row in rows) or any(_has_secret(each, messages, around) for each in inside)


class Library:
    """All messages and enums of a protocol, by name; they may refer to each other.

    messages: rows by message name; one that is `former` has a number that another row has now. enums: names by number
    by enum name. labels: the label function of `shown`. made: messages of another library, by the names that rows here
    have for them.
    """

    def __init__(
        self,
        messages: Rows,
        enums: Mapping[str, Mapping[str, str]],
        labels: Callable[[str], Label | None],
        made: Mapping[str, MessageType] | None = None,
    ) -> None:
        self.enums = {
            name: EnumNames({int(number): text for number, text in row.items()}) for name, row in enums.items()
        }
        self.labels = labels
        own = {name: MessageType(name, sensitive=_has_secret(name, messages)) for name in messages}
        self._messages = {**(made or {}), **own}
        for name, rows in messages.items():
            for row in rows:
                self._messages[name].add(ProtoField.parse(row, self), row.get("former", False))

    def message(self, name: str) -> MessageType:
        """Returns a message by its name. Raises KeyError."""
        return self._messages[name]
