"""The schema model: the fields of an operation and their versions. Data, made once from a protocol's tables.

Theory. A version is a row, not a branch: every field has the ranges of versions in which it exists, is nullable or is
tagged. Nothing here knows bytes: the dialect knows how a type looks on the wire, and plan.py which fields a version
has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dissectors.slotted import make_slotted
from dissectors.wire.dialect import Dialect

MORE = "..."
"""In the place of a member's name: whether bytes are left in the part."""


@make_slotted
class Versions:
    """An inclusive range; `low` > `high` is none."""

    low: int
    high: int

    @classmethod
    def parse(cls, text: str) -> Versions:
        """Reads `3`, `0-13`, `9+` or `none`."""
        if text == "none":
            return NONE
        if text.endswith("+"):
            return cls(int(text[:-1]), _OPEN)
        low, _, high = text.partition("-")
        return cls(int(low), int(high or low))

    def __contains__(self, version: int) -> bool:
        return self.low <= version <= self.high

    def __str__(self) -> str:
        if self.high == _OPEN:
            return f"{self.low}+"
        return f"{self.low}-{self.high}" if self.low < self.high else f"{self.low}"


_OPEN = 0x7FFF
NONE = Versions(0, -1)


@make_slotted(eq=False)
class FieldSchema:
    """One field. `type` names a primitive of the dialect; a struct has `fields` instead, and `array` holds many of it.

    `flexible` overrides the schema's own range (Kafka's client id is never compact). `enum` names the labels of its
    values, `entity` what kind of thing it names (a topic, a group). A `secret` field always is one; with `secret_by`
    only where the member of that name, read before it, says so: a configuration's value, by its key.

    bits: names and masks of what a number is made of. when: it is there only where the member of that name, read before
    it, has one of these values (None: any that is true); MORE: only where bytes are left. length: the type of the
    length in front of a struct. until_end: an array without a count, to the end of what it stands in. keyed: a struct
    whose members come in any order, each behind an unsigned varint, its tag, up to the end of what it stands in.
    """

    name: str
    type: str
    versions: Versions
    array: bool = False
    nullable: Versions = NONE
    flexible: Versions | None = None
    tag: int | None = None
    tagged: Versions = NONE
    enum: str | None = None
    entity: str | None = None
    secret: bool = False
    secret_by: str | None = None
    bits: tuple[tuple[str, int], ...] = ()
    when: tuple[str, frozenset[int] | None] | None = None
    length: str | None = None
    until_end: bool = False
    keyed: bool = False
    fields: tuple[FieldSchema, ...] | None = None

    @classmethod
    def parse(cls, row: Mapping[str, Any], parent: Versions) -> FieldSchema:
        """Parses one row of a table; a field without versions has those of its parent."""
        versions = Versions.parse(row["versions"]) if "versions" in row else parent
        kind: str = row["type"]
        array = kind.startswith("[]")
        members = row.get("fields")
        tag: int | None = row.get("tag")
        flexible = row.get("flexible")
        return cls(
            name=row["name"],
            type=kind[2:] if array else kind,
            versions=versions,
            array=array,
            nullable=Versions.parse(row.get("nullable", "none")),
            flexible=None if flexible is None else Versions.parse(flexible),
            tag=tag,
            tagged=NONE if tag is None else Versions.parse(row["tagged"]) if "tagged" in row else versions,
            enum=row.get("enum"),
            entity=row.get("entity"),
            secret=row.get("secret", False),
            secret_by=row.get("secretBy"),
            bits=tuple((name, int(mask, 0)) for name, mask in row.get("bits", {}).items()),
            when=_condition(row["when"]) if "when" in row else (MORE, None) if row.get("optional") else None,
            length=row.get("length"),
            until_end=row.get("count") == "end",
            keyed=row.get("keyed", False),
            fields=None if members is None else tuple(cls.parse(member, versions) for member in members),
        )


def _condition(when: str | Mapping[str, Iterable[int]]) -> tuple[str, frozenset[int] | None]:
    """`name`, or a name and the values that it must have one of."""
    if isinstance(when, str):
        return when, None
    ((name, values),) = when.items()
    return name, frozenset(values)


@make_slotted(eq=False)
class Schema:
    """The layout of one operation in all its versions, and the dialect in which it is encoded."""

    name: str
    dialect: Dialect
    versions: Versions
    flexible: Versions
    fields: tuple[FieldSchema, ...]

    @classmethod
    def parse(cls, name: str, row: Mapping[str, Any], dialect: Dialect) -> Schema:
        """Parses one entry of a table: `versions`, `flexible` (absent: never) and `fields`."""
        versions = Versions.parse(row["versions"])
        return cls(
            name=name,
            dialect=dialect,
            versions=versions,
            flexible=Versions.parse(row.get("flexible", "none")),
            fields=tuple(FieldSchema.parse(member, versions) for member in row["fields"]),
        )
