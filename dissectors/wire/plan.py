"""A schema in one version: a short tuple of steps that both decoders follow.

Theory. Whatever depends on the version is decided here, once: which fields are there, which primitive writes them,
what may be null, what is tagged. What remains is a straight line, so the decoders never ask for a version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeAlias

from dissectors.field import FieldSpec
from dissectors.slotted import slotted
from dissectors.wire.dialect import Primitive
from dissectors.wire.primitive import Length
from dissectors.wire.schema import FieldSchema, Schema
from dissectors.wire.secret import Secret
from dissectors.wire.specs import Many


@slotted(eq=False)
class SecretBy:
    """Where a value is a secret: the member that says so, the question to ask of it, and the spec if it is one."""

    member: str
    sensitive: Callable[[object], bool]
    spec: FieldSpec

    def hide(self, key: object, value: bytes | str | None) -> Secret | bytes | str | None:
        """The value, masked where the key asks for it."""
        return Secret(value) if value is not None and self.sensitive(key) else value


@slotted(eq=False)
class Leaf:
    """A primitive value; `secret_by` has one that is secret only where another member says so."""

    spec: FieldSpec
    primitive: Primitive
    enum: str | None = None
    secret_by: SecretBy | None = None

    @property
    def minimum(self) -> int:
        """The fewest bytes on the wire."""
        return self.primitive.size


@slotted(eq=False)
class Struct:
    """Members in a row. `presence` stands in front of one that may be null."""

    spec: FieldSpec
    steps: tuple[Step, ...]
    presence: Length | None = None

    @property
    def minimum(self) -> int:
        """The fewest bytes on the wire."""
        return sum(step.minimum for step in self.steps) if self.presence is None else self.presence.size


@slotted(eq=False)
class Array:
    """A count and that many elements; the names of its elements are their indexes."""

    spec: FieldSpec
    count: Length
    nullable: bool
    element: Leaf | Struct

    @property
    def minimum(self) -> int:
        """The fewest bytes on the wire."""
        return self.count.size


@slotted(eq=False)
class Tags:
    """The tagged section that ends a flexible struct: a count, then tag, size and value each."""

    steps: Mapping[int, Leaf | Struct | Array]

    @property
    def minimum(self) -> int:
        """The fewest bytes on the wire."""
        return 1


Step: TypeAlias = Leaf | Struct | Array | Tags


@slotted(eq=False)
class Plan:
    """The steps of one schema in one version. Its identity is the key under which what is made of it is kept."""

    name: str
    version: int
    steps: tuple[Step, ...]


def leaves(layout: Mapping[str, Primitive]) -> tuple[Leaf, ...]:
    """Primitive values in a row, by name: the layout of a struct without a schema, for protocols read by hand."""
    return tuple(Leaf(FieldSpec(name, primitive.type), primitive) for name, primitive in layout.items())


@lru_cache(maxsize=1024)
def resolve(schema: Schema, version: int) -> Plan:
    """The plan of a schema in a version; the caller sees to it that the version is one of the schema's."""
    return Plan(schema.name, version, _members(schema, schema.fields, version))


def _members(schema: Schema, fields: tuple[FieldSchema, ...], version: int) -> tuple[Step, ...]:
    steps: list[Step] = []
    tags: dict[int, Leaf | Struct | Array] = {}
    for field in fields:
        if version not in field.versions:
            continue
        step = _step(schema, field, version)
        if field.tag is not None and version in field.tagged:
            tags[field.tag] = step
        else:
            steps.append(step)
    if version in schema.flexible:
        steps.append(Tags(tags))
    return tuple(steps)


def _step(schema: Schema, field: FieldSchema, version: int) -> Leaf | Struct | Array:
    dialect = schema.dialect
    flexible = version in (schema.flexible if field.flexible is None else field.flexible)
    nullable = version in field.nullable
    if field.array:
        spec = Many(field.name, dialect.array(flexible, nullable))
        return Array(spec, dialect.count(flexible), nullable, _single(schema, field, version, flexible, False))
    return _single(schema, field, version, flexible, nullable)


def _single(schema: Schema, field: FieldSchema, version: int, flexible: bool, nullable: bool) -> Leaf | Struct:
    dialect = schema.dialect
    if field.fields is not None:
        tagged = field.tag is not None and version in field.tagged
        presence = dialect.presence(tagged) if nullable else None
        return Struct(FieldSpec(field.name, "struct"), _members(schema, field.fields, version), presence)
    primitive = dialect.primitive(field.type, flexible, nullable)
    label = None if field.enum is None else dialect.labels(field.enum)
    spec = FieldSpec(field.name, primitive.type, label, field.secret)
    secret_by = None
    if field.secret_by is not None:
        masked = FieldSpec(field.name, primitive.type, label, True)
        secret_by = SecretBy(field.secret_by, dialect.sensitive, masked)
    return Leaf(spec, primitive, field.enum, secret_by)
