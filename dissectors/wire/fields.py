"""The field decoder: the steps of a plan, walked with a cursor that keeps where every value lies.

Theory. It is the twin of what emit.py writes out, made from the same plan: slower, since it asks at every step what
that step is, but it can stop anywhere and tell where and why. So the fast decoder never explains itself: what it
cannot read is read again here. tests/dissectors/wire hold the two equal.
"""

from __future__ import annotations

from typing import Any

from dissectors.errors import Malformed, Truncated
from dissectors.field import FieldSpec
from dissectors.wire.dialect import Primitive, Scanned, Sized
from dissectors.wire.emit import FAILURES
from dissectors.wire.plan import Array, Leaf, SecretBy, Step, Struct, Tags
from dissectors.wire.primitive import Fixed
from dissectors.wire.reader import Reader
from dissectors.wire.secret import Secret
from dissectors.wire.specs import COUNT, LENGTH, NUM_TAGGED, PRESENT, TAG, Many, element, unknown_tag


def read_members(reader: Reader, steps: tuple[Step, ...]) -> None:
    """Reads the members of a struct into the node that is open."""
    for step in steps:
        if isinstance(step, Tags):
            _tags(reader, step)
        else:
            _member(reader, step, reader.at)


def read_leaves(reader: Reader, row: tuple[Leaf, ...]) -> list[Any]:
    """Reads values in a row, and returns them."""
    for leaf in row:
        _leaf(reader, leaf.spec, leaf.primitive, reader.at)
    return [node.value for node in reader.into[len(reader.into) - len(row) :]]


def read_array(reader: Reader, name: str, count: int, steps: tuple[Step, ...]) -> None:
    """Reads an array of structs whose count stands elsewhere; none of them if so many do not fit."""
    if count < 0:
        raise Malformed(reader.path(name), reader.at, f"has count {count}")
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
    elif isinstance(step, Array):
        _array(reader, step, at)
    else:
        _struct(reader, step, step.spec, at)


def _spec_by(reader: Reader, rule: SecretBy, plain: FieldSpec) -> FieldSpec:
    """The spec of a value that a member read before it may make a secret."""
    key = next((node.value for node in reader.into if node.spec.name == rule.member), None)
    return rule.spec if rule.sensitive(key) else plain


def _leaf(reader: Reader, spec: FieldSpec, primitive: Primitive, at: int) -> None:
    plain: object
    if isinstance(primitive, Fixed):
        stop = at + primitive.layout.size
        if stop > reader.end:
            reader.need(stop - at, at, spec.name)
        plain = primitive.layout.unpack_from(reader.data, at)[0]
        if primitive.convert is not None:
            plain = primitive.convert(plain)
    elif isinstance(primitive, Scanned):
        plain, stop = _scanned(reader, spec, primitive, at)
    else:
        size, content = reader.number(primitive.length, at, spec.name)
        if size < 0:
            if not primitive.nullable:
                raise Malformed(reader.path(spec.name), at, "is null where none may be")
            reader.leaf(spec, None, content, content - reader.at)
            return
        if primitive.unfold is not None:
            _unfold(reader, spec, primitive, content, size)
            return
        reader.need(size, content, spec.name)
        at, stop = content, content + size
        plain = _converted(reader.data[at:stop], primitive)
    if spec.secret:
        assert isinstance(plain, (bytes, str))
        plain = Secret(plain)
    reader.leaf(spec, plain, stop, at - reader.at)


def _scanned(reader: Reader, spec: FieldSpec, primitive: Scanned, at: int) -> tuple[object, int]:
    try:
        plain, stop = primitive.scan(reader.data, at)
    except FAILURES as error:
        raise Malformed(reader.path(spec.name), at, f"is no {primitive.type}") from error
    reader.need(stop - at, at, spec.name)
    return plain, stop


def _converted(content: bytes, primitive: Sized) -> object:
    if primitive.convert is None:
        return content
    try:
        return primitive.convert(content)
    except UnicodeDecodeError:
        return content


def _unfold(reader: Reader, spec: FieldSpec, primitive: Sized, at: int, size: int) -> None:
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
        raise Truncated(reader.path(spec.name), at, size, available)


def _struct(reader: Reader, step: Struct, spec: FieldSpec, at: int) -> None:
    content = at
    if step.presence is not None:
        present, content = reader.number(step.presence, at, spec.name)
        if present < 0:
            reader.leaf(spec, None, content, content - reader.at)
            return
    tagged = at > reader.at
    reader.enter(spec)
    if tagged:
        reader.leaf(TAG, reader.uvarint(reader.at, "tag")[0], at)
    if step.presence is not None:
        reader.leaf(PRESENT[step.presence.type], present, content)
    read_members(reader, step.steps)
    reader.leave()


def _array(reader: Reader, step: Array, at: int) -> None:
    spec = step.spec
    count, content = reader.number(step.count, at, spec.name)
    if count <= 0:
        if count < 0 and not step.nullable:
            raise Malformed(reader.path(spec.name), at, "is null where none may be")
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
        reader.room(count, spec.name)
        for index in range(count):
            _leaf(reader, element(index, kind, label, secret), inner.primitive, reader.at)
    else:
        for index in range(count):
            _struct(reader, inner, element(index, kind, label, secret), reader.at)
    reader.leave()


def _tags(reader: Reader, step: Tags) -> None:
    count, at = reader.uvarint(reader.at, "numTaggedFields")
    reader.need(count * 2, at, f"numTaggedFields ({count})")
    reader.room(count, "numTaggedFields")
    reader.leaf(NUM_TAGGED, count, at)
    for _ in range(count):
        _tagged(reader, step)


def _tagged(reader: Reader, step: Tags) -> None:
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
        raise Malformed(reader.path(name), at, f"takes {reader.at - at} of the {size} bytes of its tag")
    reader.end = before
