"""The field decoder: the steps of a plan, walked with a cursor that keeps where every value lies.

Theory. This is the reference implementation of emit.py, made from the same plan. It is slower, because it examines
every step, but it can stop anywhere and report the place and the reason. So the fast decoder needs no error messages:
bytes that it cannot read are read again here. tests/dissectors/wire compares the two.
"""

from __future__ import annotations

from collections import Counter
from itertools import count as counting
from typing import Any

from dissectors.errors import MalformedField, TruncatedField
from dissectors.field import FieldSpec
from dissectors.wire.dialect import Primitive, Rest, ScannedValue, SizedBytes, Varint
from dissectors.wire.embedded import Holder
from dissectors.wire.emit import FAILURES
from dissectors.wire.plan import Array, KeyedMembers, Leaf, SecretBy, Step, Struct, Switch, Tags, When
from dissectors.wire.primitive import FixedWidth, Length
from dissectors.wire.reader import Reader
from dissectors.wire.secret import Secret
from dissectors.wire.specs import COUNT, LENGTH, NUM_TAGGED, PRESENT, TAG, Many, RepeatedSpec, element, unknown_tag


def read_members(reader: Reader, steps: tuple[Step, ...]) -> None:
    """Reads the members of a struct into the node that is open."""
    for step in steps:
        if isinstance(step, Tags):
            _tags(reader, step)
        elif isinstance(step, KeyedMembers):
            _read_pairs(reader, step)
        elif isinstance(step, Switch):
            read_members(reader, step.choose(reader.data, reader.at, reader.end, reader.path).steps)
        elif not isinstance(step, When):
            _member(reader, step, reader.at)
        elif reader.at < reader.end if step.needs_remaining_bytes else step.holds(_value_of(reader, step.member)):
            _member(reader, step.step, reader.at)


def _value_of(reader: Reader, member: str) -> object:
    """The value of a member of the open node, or of some bits of one; None where it is not there."""
    for node in reversed(reader.into):
        if node.spec.name == member:
            return node.value
        for child in node.children:
            if child.bits is not None and child.spec.name == member:
                return child.value
    return None


def read_leaves(reader: Reader, row: tuple[Leaf, ...]) -> list[Any]:
    """Reads values in a row, and returns them."""
    for leaf in row:
        _leaf(reader, leaf.spec, leaf.primitive, reader.at)
    return [node.value for node in reader.into[len(reader.into) - len(row) :]]


def read_array(reader: Reader, name: str, count: int, steps: tuple[Step, ...]) -> None:
    """Reads an array of structs whose count stands elsewhere; none of them if so many do not fit."""
    if count < 0:
        raise MalformedField(reader.path(name), reader.at, f"has count {count}")
    least = max(sum(step.minimum for step in steps), 1)
    reader.need(count * least, reader.at, f"{name} ({count} elements)")
    reader.enter(Many(name, "array"))
    for index in range(count):
        reader.enter(element(index, "struct"))
        read_members(reader, steps)
        reader.leave()
    reader.leave()


def _member(reader: Reader, step: Leaf | Struct | Array, at: int) -> None:
    """Reads a member whose node begins at the cursor; its content begins at `at`, behind the tag if it has one."""
    if isinstance(step, Leaf):
        spec = step.spec if step.secret_by is None else _spec_by(reader, step.secret_by, step.spec)
        _leaf(reader, spec, step.primitive, at)
        for bits in step.bits:
            reader.bits(bits.spec, bits.show(reader.into[-1].value), bits.mask)
        for derived in step.derived:
            derived.show(reader)
    elif isinstance(step, Array):
        _array(reader, step, at)
    else:
        _struct(reader, step, step.spec, at)


def _spec_by(reader: Reader, rule: SecretBy, plain: FieldSpec) -> FieldSpec:
    """The spec of a value that a member read before it may make a secret."""
    return rule.spec if rule.sensitive(_value_of(reader, rule.member)) else plain


def _leaf(reader: Reader, spec: FieldSpec, primitive: Primitive, at: int) -> None:
    plain: object
    if isinstance(primitive, FixedWidth):
        stop = at + primitive.layout.size
        if stop > reader.end:
            reader.need(stop - at, at, spec.name)
        plain = primitive.layout.unpack_from(reader.data, at)[0]
        if primitive.convert is not None:
            plain = primitive.convert(plain)
    elif isinstance(primitive, ScannedValue):
        plain, stop = _scan(reader, spec, primitive, at)
    elif isinstance(primitive, Varint):
        plain, stop = reader.uvarint(at, spec.name)
    elif isinstance(primitive, Rest):
        stop = reader.end
        plain = _convert(reader.data[at:stop], primitive)
    else:
        size, content = reader.number(primitive.length, at, spec.name)
        if size < 0:
            if not primitive.nullable:
                raise MalformedField(reader.path(spec.name), at, "is null where none may be")
            reader.leaf(spec, None, content, content - reader.at)
            return
        if primitive.unfold is not None:
            _unfold(reader, spec, primitive, content, size)
            return
        reader.need(size, content, spec.name)
        at, stop = content, content + size
        plain = _convert(reader.data[at:stop], primitive)
    if spec.secret:
        assert isinstance(plain, (bytes, str))
        plain = Secret(plain)
    reader.leaf(spec, plain, stop, at - reader.at)


def _scan(reader: Reader, spec: FieldSpec, primitive: ScannedValue, at: int) -> tuple[object, int]:
    try:
        plain, stop = primitive.scan(reader.data, at)
    except FAILURES as error:
        raise MalformedField(reader.path(spec.name), at, f"is no {primitive.type}") from error
    reader.need(stop - at, at, spec.name)
    return plain, stop


def _convert(content: bytes, primitive: SizedBytes | Rest) -> object:
    if primitive.convert is None:
        return content
    try:
        return primitive.convert(content)
    except UnicodeDecodeError:
        return content


def _unfold(reader: Reader, spec: FieldSpec, primitive: SizedBytes, at: int, size: int) -> None:
    """A value with an inner structure. One that the source cuts short is shown as far as it goes."""
    unfold = primitive.unfold
    assert unfold is not None
    available = reader.end - at
    stop = at + min(size, available)
    reader.enter(Many(spec.name, spec.type))
    reader.leaf(LENGTH[primitive.length.type], size, at)
    reader.guard(lambda inside: unfold(inside, stop), stop)
    reader.leave()
    if size > available:
        raise TruncatedField(reader.path(spec.name), at, size, available)


def _struct(reader: Reader, step: Struct, spec: FieldSpec, at: int) -> None:
    content = at
    if step.presence is not None:
        present, content = reader.number(step.presence, at, spec.name)
        if present < 0:
            reader.leaf(spec, None, content, content - reader.at)
            return
    if step.length is not None and step.apart is not None:
        size, content = reader.number(step.length, at, spec.name)
        if size < 0:
            reader.leaf(spec, None, content, content - reader.at)
            return
    tagged = at > reader.at
    reader.enter(spec)
    if tagged:
        reader.leaf(TAG, reader.uvarint(reader.at, "tag")[0], at)
    if step.presence is not None:
        reader.leaf(PRESENT[step.presence.type], present, content)
    if step.length is None:
        read_members(reader, step.steps)
    else:
        _part(reader, step, step.length)
    reader.leave()


def _part(reader: Reader, step: Struct, length: Length) -> None:
    """The length of a struct, and its members, which must take just so many bytes; one that is cut as far as it is."""
    size, at = reader.number(length, reader.at, "length")
    reader.leaf(LENGTH[length.type], size, at)
    before, stop = reader.end, at + size
    available = before - at
    reader.end = min(stop, before)
    if isinstance(step.spec, Holder):
        reader.open[-1].value = reader.data[at : reader.end]
    try:
        if step.apart is not None and size <= available:
            reader.guard(lambda inside: _read_apart(inside, step.steps, step.apart or ""), stop)
            return
        read_members(reader, step.steps)
    finally:
        reader.end = before
    if size > available:
        raise TruncatedField(reader.path(), at, size, available)
    if reader.at != stop:
        raise MalformedField(reader.path(), at, f"takes {reader.at - at} of the {size} bytes that it has")


def _read_apart(reader: Reader, steps: tuple[Step, ...], behind: str) -> None:
    read_members(reader, steps)
    reader.rest(behind)


def _read_pairs(reader: Reader, step: KeyedMembers) -> None:
    """Pairs of a key and a value up to the end; of those that may come again each unbroken run is a node."""
    seen: Counter[str] = Counter()
    while reader.at < reader.end:
        key, at = reader.uvarint(reader.at, "key")
        member = step.steps.get(key)
        if member is None:
            raise MalformedField(reader.path(f"key {key}"), reader.at, "is in no table")
        name, spec = member.spec.name, member.spec
        many = name in step.many
        if many:
            reader.enter(RepeatedSpec(name, "array"))
            spec = element(seen[name], spec.type, spec.label, spec.secret)
        if isinstance(member, Leaf):
            _leaf(reader, spec, member.primitive, at)
        else:
            _struct(reader, member, spec, at)
        if many:
            reader.leave()
        seen[name] += 1


def _array(reader: Reader, step: Array, at: int) -> None:
    spec = step.spec
    if step.count is None:
        _until_end(reader, step)
        return
    count, content = reader.number(step.count, at, spec.name)
    if count <= 0:
        if count < 0 and not step.nullable:
            raise MalformedField(reader.path(spec.name), at, "is null where none may be")
        reader.leaf(spec, None if count < 0 else [], content, content - reader.at)
        return
    inner = step.element
    reader.need(count * max(inner.minimum, 1), content, f"{spec.name} ({count} elements)")
    tagged = at > reader.at
    reader.enter(spec)
    if tagged:
        reader.leaf(TAG, reader.uvarint(reader.at, "tag")[0], at)
    reader.leaf(COUNT[step.count.type], count, content)
    kind, label, secret = inner.spec.type, inner.spec.label, inner.spec.secret
    if isinstance(inner, Leaf):
        reader.require_nodes(count, spec.name)
        for index in range(count):
            _leaf(reader, element(index, kind, label, secret), inner.primitive, reader.at)
    else:
        for index in range(count):
            _struct(reader, inner, element(index, kind, label, secret), reader.at)
    reader.leave()


def _until_end(reader: Reader, step: Array) -> None:
    """Elements up to the last, or to the end of what they stand in."""
    inner, last = step.element, step.last
    reader.enter(step.spec)
    for index in counting():
        if last is not None:
            reader.need(last.struct.minimum, reader.at, f"[{index}]")
        if reader.at >= reader.end if last is None else reader.data[reader.at + last.mark]:
            break
        before, spec = reader.at, element(index, inner.spec.type, inner.spec.label, inner.spec.secret)
        if isinstance(inner, Leaf):
            reader.require_nodes(1, spec.name)
            _leaf(reader, spec, inner.primitive, reader.at)
        else:
            _struct(reader, inner, spec, reader.at)
        if reader.at == before:
            raise MalformedField(reader.path(spec.name), before, "takes no bytes")
    if last is not None:
        _struct(reader, last.struct, last.struct.spec, reader.at)
    reader.leave()


def _tags(reader: Reader, step: Tags) -> None:
    count, at = reader.uvarint(reader.at, "numTaggedFields")
    reader.need(count * 2, at, f"numTaggedFields ({count})")
    reader.require_nodes(count, "numTaggedFields")
    reader.leaf(NUM_TAGGED, count, at)
    for _ in range(count):
        _read_tagged(reader, step)


def _read_tagged(reader: Reader, step: Tags) -> None:
    """One tagged field: its tag, its size, and a value that must take exactly that size."""
    tag, at = reader.uvarint(reader.at, "tag")
    member = step.steps.get(tag)
    name = f"_tag{tag}" if member is None else member.spec.name
    size, at = reader.uvarint(at, name)
    reader.need(size, at, name)
    stop = at + size
    if member is None:
        reader.leaf(unknown_tag(tag), reader.data[at:stop], stop, at - reader.at)
        return
    before, reader.end = reader.end, stop
    _member(reader, member, at)
    if reader.at != stop:
        raise MalformedField(reader.path(name), at, f"takes {reader.at - at} of the {size} bytes of its tag")
    reader.end = before
