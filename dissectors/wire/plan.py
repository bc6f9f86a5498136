"""A schema in one version: a short tuple of steps that both decoders follow.

Theory. Everything that depends on the version is decided here, once: the fields, their primitives, nullable and tagged
ones. The result is a straight line of steps, so decoders never test a version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from dissectors.field import FieldSpec
from dissectors.slotted import make_slotted
from dissectors.wire.dialect import Primitive
from dissectors.wire.primitive import LENGTHS, FixedWidth, Length
from dissectors.wire.schema import MORE, FieldSchema, Schema
from dissectors.wire.secret import Secret
from dissectors.wire.specs import Many

if TYPE_CHECKING:
    from dissectors.wire.budget import Budget
    from dissectors.wire.reader import Reader


@make_slotted(eq=False)
class SecretBy:
    """Makes a value secret by another member: which member, the condition on it, and the secret spec."""

    member: str
    sensitive: Callable[[object], bool]
    spec: FieldSpec

    def hide(self, key: object, value: bytes | str | None) -> Secret | bytes | str | None:
        """Returns the value, masked where the key asks for it."""
        return Secret(value) if value is not None and self.sensitive(key) else value


@make_slotted(eq=False)
class Bits:
    """Some bits of a number, as a member next to it: a number, a flag for a single bit, or one of `names`."""

    spec: FieldSpec
    mask: int
    names: tuple[str, ...] = ()

    @property
    def shift(self) -> int:
        """How far to the right they belong."""
        return (self.mask & -self.mask).bit_length() - 1

    def extract(self, number: int) -> int | bool | str:
        """Returns the value of these bits in a number. Raises IndexError if they have no name."""
        found = (number & self.mask) >> self.shift
        if self.names:
            return self.names[found]
        return bool(found) if self.spec.type == "bool" else found

    def show(self, number: int) -> int | bool | str:
        """Returns the value, also of bits without a name."""
        try:
            return self.extract(number)
        except IndexError:
            return f"unknown-{(number & self.mask) >> self.shift}"


class DerivedStep:
    """A value that is derived from a leaf when the leaf is read. derived.py has those that any protocol may use."""

    __slots__ = ()

    def add(self, values: dict[str, Any], budget: Budget) -> None:
        """Adds to the values of the struct, when all of them are read. Raises one of emit.FAILURES."""

    def show(self, reader: Reader) -> None:
        """Adds nodes and Findings, when the leaf was added."""


@make_slotted(eq=False)
class RestChecksum(DerivedStep):
    """Whether a leaf of 32 bits is the checksum of all bytes behind it, up to the end of its part."""

    valid: FieldSpec
    compute: Callable[[bytes], int]

    def show(self, reader: Reader) -> None:
        """Adds the verdict to the checksum, with a Finding if it is wrong."""
        node, computed = reader.into[-1], self.compute(reader.data[reader.at : reader.end])
        reader.bits(self.valid, node.value == computed, 0xFFFF_FFFF)
        if node.value != computed:
            text = f"{reader.path(node.spec.name)} is {node.value:#010x}, the bytes have {computed:#010x}"
            reader.warn("crc-mismatch", text, node.offset, reader.at)


@make_slotted(eq=False)
class Leaf:
    """A primitive value. secret_by: it is secret only if another member says so; bits: its groups of bits.

    The values of the struct do not have a leaf whose spec is a Layout.
    """

    spec: FieldSpec
    primitive: Primitive
    enum: str | None = None
    secret_by: SecretBy | None = None
    bits: tuple[Bits, ...] = ()
    derived: tuple[DerivedStep, ...] = ()

    @property
    def minimum(self) -> int:
        """The fewest bytes on the wire."""
        return self.primitive.size


@make_slotted(eq=False)
class Struct:
    """Members in a row. `presence` stands in front of one that may be null, `length` in front of one that says how many
    bytes it takes, all of which its members must take. Where the spec is a Holder, its value is these bytes with what
    they hold (wire.embedded).

    apart: of one with a length, behind what bytes are that its members leave. Then it may be null, and what breaks in
    it breaks nothing behind it.
    """

    spec: FieldSpec
    steps: tuple[Step, ...]
    presence: Length | None = None
    length: Length | None = None
    apart: str | None = None

    @property
    def minimum(self) -> int:
        """The fewest bytes on the wire."""
        front = self.presence or self.length
        return sum(step.minimum for step in self.steps) if front is None else front.size


@make_slotted(eq=False)
class LastElement:
    """What ends an array that has no count: a struct in which the byte at `mark` is not zero."""

    struct: Struct
    mark: int


@make_slotted(eq=False)
class Array:
    """A count and that many elements; the names of its elements are their indexes. count None: elements up to `last`,
    or else to the end of the message, or of the part with a length that it stands in.
    """

    spec: FieldSpec
    count: Length | None
    nullable: bool
    element: Leaf | Struct
    last: LastElement | None = None

    @property
    def minimum(self) -> int:
        """The fewest bytes on the wire."""
        return 0 if self.count is None else self.count.size


@make_slotted(eq=False)
class Tags:
    """The tagged section that ends a flexible struct: a count, then tag, size and value each."""

    steps: Mapping[int, Leaf | Struct | Array]

    @property
    def minimum(self) -> int:
        """The fewest bytes on the wire."""
        return 1


@make_slotted(eq=False)
class When:
    """A member that is there only where another one, read before it in the same struct, has one of some values.

    values: these; None for any that is true. Where `member` is MORE, only where bytes are left in the part.
    """

    member: str
    values: frozenset[int] | None
    step: Leaf | Struct | Array

    @property
    def minimum(self) -> int:
        """The fewest bytes on the wire."""
        return 0

    def holds(self, value: object) -> bool:
        """Returns whether the member exists, by the value of the other member."""
        return bool(value) if self.values is None else value in self.values

    @property
    def needs_remaining_bytes(self) -> bool:
        """Whether the member exists only if bytes remain."""
        return self.member == MORE


@make_slotted(eq=False)
class KeyedMembers:
    """Pairs of a key and a value, as many as there are bytes up to the end of the part: members by their keys.

    A key is an unsigned varint. many: names of those that may come again, which are lists.
    """

    steps: Mapping[int, Leaf | Struct]
    many: frozenset[str]

    @property
    def minimum(self) -> int:
        """The fewest bytes on the wire."""
        return 0


@make_slotted(eq=False)
class Switch:
    """Members whose layout is told by their bytes, or by those before them.

    choose: gets the data, where the members begin, where the part ends, and what makes a name a path. It returns one of
    a few plans, or raises a DecodeError. decided_by: number of bytes before the members on which the choice depends,
    and on nothing else; 0: it may depend on other bytes, and only values and trees are made of the members.
    """

    choose: Callable[[bytes, int, int, Callable[[str], str]], Plan]
    decided_by: int = 0

    @property
    def minimum(self) -> int:
        """The fewest bytes on the wire."""
        return 0


Step: TypeAlias = Leaf | Struct | Array | Tags | When | KeyedMembers | Switch
Group: TypeAlias = Tags | When | KeyedMembers | Switch
"""Steps without a name, whose members are those of the struct around them."""


def inside(step: Step) -> tuple[Step, ...]:
    """Returns the steps that are directly in a step; none for a leaf, and for members that their bytes tell."""
    if isinstance(step, Leaf | Switch):
        return ()
    if isinstance(step, Array):
        return (step.element,)
    if isinstance(step, When):
        return (step.step,)
    return step.steps if isinstance(step, Struct) else tuple(step.steps.values())


def leaves_of(steps: Iterable[Step]) -> Iterator[Leaf]:
    """Yields all primitive values of a layout."""
    for step in steps:
        if isinstance(step, Leaf):
            yield step
        yield from leaves_of(inside(step))


def members_of(steps: Iterable[Step]) -> Iterator[Leaf | Struct | Array]:
    """Yields the members of a struct, also those that may be absent."""
    for step in steps:
        if isinstance(step, Leaf | Struct | Array):
            yield step
        else:
            yield from members_of(inside(step))


def follow_path(
    steps: Iterable[Step], path: tuple[str, ...]
) -> Iterator[tuple[Leaf | Struct | Array, tuple[str, ...]]]:
    """Yields the members of a layout that a path leads to, each with the names that go on behind it.

    A path through bits ends at their leaf, and one that goes on behind a leaf, or an array of leaves, there.
    """
    name, *names = path
    rest = tuple(names)
    for step in steps:
        if isinstance(step, Group):
            yield from follow_path(inside(step), path)
        elif isinstance(step, Leaf) and any(bits.spec.name == name for bits in step.bits):
            yield step, rest
        elif step.spec.name == name:
            element = step.element if isinstance(step, Array) else step
            if rest and not isinstance(element, Leaf):
                yield from follow_path(element.steps, rest)
            else:
                yield step, rest


def find_places(steps: Iterable[Step]) -> dict[str, tuple[int, str]]:
    """Maps the members of fixed width that a layout begins with to their offset and kind, such as i4 for an int32."""
    places, at = {}, 0
    for step in steps:
        if not isinstance(step, Leaf) or not isinstance(step.primitive, FixedWidth):
            break
        size, code = step.primitive.size, step.primitive.code
        places[step.spec.name] = at, f"{'u' if code.isupper() else 'i'}{size}"
        at += size
    return places


@make_slotted(eq=False)
class Plan:
    """The steps of a schema in one version. Caches of what is compiled from it use its identity as key."""

    name: str
    version: int
    steps: tuple[Step, ...]


def leaves(layout: Mapping[str, Primitive]) -> tuple[Leaf, ...]:
    """Primitive values in a row, by name: the layout of a struct without a schema, for protocols read by hand."""
    return tuple(Leaf(FieldSpec(name, primitive.type), primitive) for name, primitive in layout.items())


@lru_cache(maxsize=1024)
def resolve(schema: Schema, version: int) -> Plan:
    """Returns the plan of a schema in a version; the caller sees to it that the version is one of the schema's."""
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
        elif field.when is not None:
            steps.append(When(*field.when, step))
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
        count = None if field.until_end else dialect.count(flexible)
        return Array(spec, count, nullable, _single(schema, field, version, flexible, False))
    return _single(schema, field, version, flexible, nullable)


def _single(schema: Schema, field: FieldSchema, version: int, flexible: bool, nullable: bool) -> Leaf | Struct:
    dialect = schema.dialect
    if field.fields is not None:
        tagged = field.tag is not None and version in field.tagged
        presence = dialect.presence(tagged) if nullable else None
        length = None if field.length is None else LENGTHS[field.length]
        steps = _members(schema, field.fields, version) if not field.keyed else _resolve_keyed(schema, field, version)
        return Struct(FieldSpec(field.name, "struct"), steps, presence, length)
    primitive = dialect.primitive(field.type, flexible, nullable)
    label = None if field.enum is None else dialect.labels(field.enum)
    spec = FieldSpec(field.name, primitive.type, label, field.secret)
    secret_by = None
    if field.secret_by is not None:
        masked = FieldSpec(field.name, primitive.type, label, True)
        secret_by = SecretBy(field.secret_by, dialect.sensitive, masked)
    bits = tuple(Bits(FieldSpec(name, bits_type(mask), dialect.labels(name)), mask) for name, mask in field.bits)
    return Leaf(spec, primitive, field.enum, secret_by, bits)


def bits_type(mask: int) -> str:
    """Returns the type of what some bits say."""
    return "bool" if mask & mask - 1 == 0 else f"uint{mask.bit_count()}"


def _resolve_keyed(schema: Schema, field: FieldSchema, version: int) -> tuple[KeyedMembers]:
    """The one step of a struct whose members come as pairs of key and value."""
    rows = [row for row in field.fields or () if version in row.versions]
    steps = {row.tag: _single(schema, row, version, False, False) for row in rows if row.tag is not None}
    return (KeyedMembers(steps, frozenset(row.name for row in rows if row.array)),)
