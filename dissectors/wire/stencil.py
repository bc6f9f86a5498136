"""The third reader of a plan: a message to values with holes (dissectors.holes), for those that are like it.

Theory. It takes the same steps as emit.py and fields.py. Counts, tags and presence stay part of the shape; an integer,
a text, bytes become holes, and a size that encloses others an extent. What it does not know how to leave open it gives
as it is, or it gives up: the message then stands for itself, and is decoded by the other two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dissectors.holes import UVARINT, Extent, Shape, Shapeless, Term, plain
from dissectors.wire.dialect import Sized
from dissectors.wire.plan import Array, Keyed, Leaf, Plan, SecretBy, Step, Struct, Tags, When
from dissectors.wire.primitive import Fixed, Length
from dissectors.wire.varint import uvarint

MOST = 2000
"""Values of one message beyond which nothing is like it."""

_INTEGERS = frozenset("bBhHiIqQ")


@dataclass(slots=True)
class Cursor:
    """Reads `shape.data` up to `end`. Raises Shapeless, IndexError, struct.error or Unfit."""

    shape: Shape
    at: int
    end: int
    read: int = 0

    def number(self, length: Length) -> tuple[int, Term]:
        """A length, count or presence as on the wire, less its bias; and where it stands."""
        begin = self.at
        if length.code is None:
            value, self.at = uvarint(self.shape.data, begin)
            return value - length.bias, Term(begin, self.at - begin, UVARINT)
        value = length.layout.unpack_from(self.shape.data, begin)[0]
        self.at += length.layout.size
        return value - length.bias, Term(begin, length.layout.size, length.code)

    def take(self, size: int) -> int:
        """Passes over bytes that must be there; returns where they end."""
        if size < 0 or self.at + size > self.end:
            raise Shapeless
        self.at += size
        return self.at


def stencil_members(cursor: Cursor, plan: Plan) -> dict[str, Any]:
    """The values of a plan, with holes."""
    return _members(cursor, plan.steps)


def _members(cursor: Cursor, steps: tuple[Step, ...]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for step in steps:
        if isinstance(step, Tags):
            _tags(cursor, step, values)
        elif isinstance(step, Keyed):
            raise Shapeless  # keys in any order: hardly two messages are alike
        elif isinstance(step, When):
            if step.asks_for_more:
                raise Shapeless
            if step.holds(plain(values.get(step.member))):
                values[step.step.spec.name] = _member(cursor, step.step)
        else:
            if isinstance(step, Leaf) and step.secret_by is not None:
                _refuse_secret(step.secret_by, values)
            values[step.spec.name] = _member(cursor, step)
            for bits in step.bits if isinstance(step, Leaf) else ():
                values[bits.spec.name] = bits.read(plain(values[step.spec.name]))
    return values


def _refuse_secret(rule: SecretBy, values: dict[str, Any]) -> None:
    """What makes a value a secret becomes part of the shape. Raises Shapeless where it does."""
    if rule.sensitive(plain(values.get(rule.member))):
        raise Shapeless


def _member(cursor: Cursor, step: Leaf | Struct | Array) -> Any:
    if isinstance(step, Leaf):
        if step.spec.secret:
            raise Shapeless
        return _leaf(cursor, step)
    if isinstance(step, Array):
        return _array(cursor, step)
    if step.length is not None:
        size, term = cursor.number(step.length)
        before, begin = cursor.end, cursor.at
        cursor.end = begin + size
        cursor.shape.encloses(term, step.length.bias, begin, cursor.take(size))
        cursor.at = begin
        values = _members(cursor, step.steps)
        if cursor.at != cursor.end:
            raise Shapeless
        cursor.end = before
        return values
    if step.presence is not None and _is_null(cursor.number(step.presence)[0], True):
        return None
    return _members(cursor, step.steps)


def _is_null(number: int, nullable: bool) -> bool:
    """Whether a length, count or presence says null, and may."""
    if number < -1 or (number == -1 and not nullable):
        raise Shapeless
    return number == -1


def _array(cursor: Cursor, step: Array) -> list[Any] | None:
    if step.count is None:
        raise Shapeless
    count, _ = cursor.number(step.count)
    if _is_null(count, step.nullable):
        return None
    if count > MOST:
        raise Shapeless
    return [_member(cursor, step.element) for _ in range(count)]


def _leaf(cursor: Cursor, step: Leaf) -> Any:
    primitive, shape = step.primitive, cursor.shape
    cursor.read += 1
    if cursor.read > MOST:
        raise Shapeless
    if isinstance(primitive, Fixed):
        at, size = cursor.at, primitive.layout.size
        cursor.take(size)
        value = primitive.layout.unpack_from(shape.data, at)[0]
        if primitive.convert is not None:
            return primitive.convert(value)
        return shape.integer(Term(at, size, primitive.code), value) if primitive.code in _INTEGERS else value
    if not isinstance(primitive, Sized):
        raise Shapeless
    size, term = cursor.number(primitive.length)
    if _is_null(size, primitive.nullable):
        return None
    begin = cursor.at
    return _sized(shape, primitive, Extent(term, primitive.length.bias, begin, cursor.take(size)))


def _sized(shape: Shape, primitive: Sized, extent: Extent) -> Any:
    if primitive.nested is not None:
        if primitive.stencil is None:
            raise Shapeless
        return primitive.stencil(shape, extent)
    if primitive.convert is None:
        return shape.bytes(extent)
    if primitive.convert is not bytes.decode:
        raise Shapeless
    return shape.text(extent)


def _tags(cursor: Cursor, step: Tags, values: dict[str, Any]) -> None:
    unknown = []
    shape = cursor.shape
    count, cursor.at = uvarint(shape.data, cursor.at)
    for _ in range(count):
        tag, at = uvarint(shape.data, cursor.at)
        size, cursor.at = uvarint(shape.data, at)
        begin, end = cursor.at, cursor.at + size
        extent = Extent(Term(at, begin - at, UVARINT), 0, begin, end)
        member = step.steps.get(tag)
        if member is None:
            cursor.take(size)
            unknown.append({"tag": tag, "data": shape.bytes(extent)})
        else:
            shape.encloses(*extent)
            values[member.spec.name] = _member(cursor, member)
            if cursor.at != end:
                raise Shapeless
    if unknown:
        values["_unknownTaggedFields"] = unknown
