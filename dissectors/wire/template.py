"""The third reader of a plan: one message to symbolic values (dissectors.symbolic), for all that are similar.

Theory. This decoder takes the same steps as emit.py and fields.py. Counts, tags and presence must be equal in all
messages; an integer, a text and bytes become symbolic, and a size that encloses others becomes an extent. A value that
cannot be symbolic is returned as it is. If that is impossible, the decoder gives up, and the other two decode the
message.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, cast

from dissectors.api import Body, Context
from dissectors.finding import Finding
from dissectors.slotted import make_slotted
from dissectors.symbolic import MessageTemplate, NotTemplatable, TemplateBuilder
from dissectors.symbolic_values import UVARINT, Checksum, Extent, Term, plain
from dissectors.wire.dialect import SizedBytes
from dissectors.wire.embedded import EmbeddedValue, Holder
from dissectors.wire.message import error_of
from dissectors.wire.message_template import build_message_template
from dissectors.wire.plan import (
    Array,
    KeyedMembers,
    LastElement,
    Leaf,
    Plan,
    RestChecksum,
    SecretBy,
    Step,
    Struct,
    Switch,
    Tags,
    When,
)
from dissectors.wire.primitive import FixedWidth, Length
from dissectors.wire.specs import LayoutSpec
from dissectors.wire.varint import uvarint

MOST = 2000
"""Values of one message beyond which nothing is like it."""


@make_slotted(eq=False)
class MessageLayout:
    """The layout of all bytes of a message.

    plan: from `start` on. length: of the prefix at the first byte; what stands between it and `start` is no part of the
    values. error: the code of the error that a message reports, by its values. longest: what the prefix may say of
    messages of which nothing is to be said because of their length.
    """

    plan: Plan
    length: FixedWidth | None = None
    start: int = 0
    error: Callable[[dict[str, Any]], Any] | None = None
    longest: int | None = None


LayoutOf: TypeAlias = Callable[[bytes, Context], MessageLayout | None]
"""The layout of a message; None for one that stands for itself. All bytes that it depends on must be read by a leaf
with a conversion, which keeps them as they are, or by one that others ask (plan.When)."""

Template: TypeAlias = Callable[[bytes, Context, tuple[bytes, Context] | None], MessageTemplate | None]


def template(
    layout_of: LayoutOf,
    error_name: Callable[[int], str | None] | None = None,
    list_doubts: Callable[[Context], tuple[Finding, ...]] = lambda _: (),
) -> Template:
    """Returns the template decoder of a layout (Dissector.template).

    list_doubts: what is to be said of the choice of the layout.
    """

    def read_message(builder: TemplateBuilder, begin: int, end: int, context: Context) -> Body:
        message = builder.data[begin:end]
        values, error = _message(builder, begin, message, layout_of(message, context))
        return Body(values, error_of(error, error_name), list_doubts(context))

    return partial(build_message_template, read_message)


def _message(
    builder: TemplateBuilder, begin: int, message: bytes, layout: MessageLayout | None
) -> tuple[dict[str, Any], int]:
    """The values of the message that begins at `begin`, and the error that it reports."""
    if layout is None:
        raise NotTemplatable
    start, end = begin + layout.start, begin + len(message)
    if layout.length is not None:
        behind = begin + layout.length.size
        if layout.length.layout.unpack_from(message)[0] != end - behind:
            raise NotTemplatable
        size = builder.encloses(Term(begin, layout.length.size, layout.length.code), 0, behind, end)
        if layout.longest is not None and size > layout.longest:
            raise NotTemplatable
        builder.leave_open(behind, start)
    cursor = Cursor(builder, start, end)
    values = _members(cursor, layout.plan.steps)
    if cursor.at != end:
        raise NotTemplatable
    return values, plain(layout.error(values)) if layout.error is not None else 0


class _Untold:
    """Bytes that only decoders may read; any other use raises TypeError, as for a symbolic value."""


_INTEGERS = frozenset("bBhHiIqQ")


@dataclass(slots=True)
class Cursor:
    """Reads `builder.data` up to `end`. Raises NotTemplatable, IndexError, struct.error or Unfit."""

    builder: TemplateBuilder
    at: int
    end: int
    read: int = 0

    def number(self, length: Length) -> tuple[int, Term]:
        """Reads a length, count or presence mark less its bias; returns it with its place."""
        begin = self.at
        if length.code is None:
            value, self.at = uvarint(self.builder.data, begin)
            return value - length.bias, Term(begin, self.at - begin, UVARINT)
        value = length.layout.unpack_from(self.builder.data, begin)[0]
        self.at += length.layout.size
        return value - length.bias, Term(begin, length.layout.size, length.code)

    def take(self, size: int) -> int:
        """Passes over bytes that must be there; returns where they end."""
        if size < 0 or self.at + size > self.end:
            raise NotTemplatable
        self.at += size
        return self.at


def template_members(cursor: Cursor, plan: Plan) -> dict[str, Any]:
    """Returns the symbolic values of a plan."""
    return _members(cursor, plan.steps)


def _members(cursor: Cursor, steps: tuple[Step, ...]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for step in steps:
        if isinstance(step, Tags):
            _tags(cursor, step, values)
        elif isinstance(step, KeyedMembers) or (isinstance(step, Switch) and not step.decided_by):
            raise NotTemplatable  # keys in any order, members that bytes tell: hardly two messages are alike
        elif isinstance(step, Switch):
            cursor.builder.pin(cursor.at - step.decided_by, cursor.at)
            chosen = step.choose(cursor.builder.data, cursor.at, cursor.end, str)
            values.update(_members(cursor, chosen.steps))
        elif isinstance(step, When):
            more = (
                step.needs_remaining_bytes
            )  # others have bytes left where this one has: what is around them has a size
            if cursor.at < cursor.end if more else step.holds(plain(values.get(step.member))):
                values[step.step.spec.name] = _member(cursor, step.step)
        else:
            if isinstance(step, Leaf) and step.secret_by is not None:
                _refuse_secret(step.secret_by, values)
            value = _member(cursor, step)
            if isinstance(step, Leaf) and step.bits:
                value = plain(value)
            if not isinstance(step.spec, LayoutSpec):
                values[step.spec.name] = value
            if isinstance(step, Leaf):
                _add_parts(cursor, step, value, values)
    return values


def _add_parts(cursor: Cursor, leaf: Leaf, value: Any, values: dict[str, Any]) -> None:
    """What stands beside a leaf: whether it is the checksum of what follows, and its bits."""
    for each in leaf.derived:
        if isinstance(each, RestChecksum):
            from dissectors.wire.checksum import crc32c  # few messages have one

            if each.compute is not crc32c:
                raise NotTemplatable
            cursor.builder.checksums.append(Checksum(cursor.at - leaf.minimum, cursor.at, cursor.end))
            values[each.valid.name] = True
    for bits in leaf.bits:
        values[bits.spec.name] = bits.extract(value)


def _refuse_secret(rule: SecretBy, values: dict[str, Any]) -> None:
    """The value that makes another one a secret must be the same. Raises NotTemplatable if it is symbolic."""
    if rule.sensitive(plain(values.get(rule.member))):
        raise NotTemplatable


def _member(cursor: Cursor, step: Leaf | Struct | Array) -> Any:
    if isinstance(step, Leaf):
        if step.spec.secret:
            raise NotTemplatable
        return _leaf(cursor, step)
    if isinstance(step, Array):
        return _array(cursor, step)
    if step.length is not None:
        size, term = cursor.number(step.length)
        before, begin = cursor.end, cursor.at
        cursor.end = begin + size
        cursor.builder.encloses(term, step.length.bias, begin, cursor.take(size))
        cursor.at = begin
        values = _members(cursor, step.steps)
        if cursor.at != cursor.end:
            raise NotTemplatable
        cursor.end = before
        return EmbeddedValue(cast("bytes", _Untold()), values) if isinstance(step.spec, Holder) else values
    if step.presence is not None and _is_null(cursor.number(step.presence)[0], True):
        return None
    return _members(cursor, step.steps)


def _is_null(number: int, nullable: bool) -> bool:
    """Whether a length, count or presence says null, and may."""
    if number < -1 or (number == -1 and not nullable):
        raise NotTemplatable
    return number == -1


def _array(cursor: Cursor, step: Array) -> list[Any] | None:
    if step.count is None:
        return _until_end(cursor, step.element, step.last)
    count, _ = cursor.number(step.count)
    if _is_null(count, step.nullable):
        return None
    if count > MOST:
        raise NotTemplatable
    return [_member(cursor, step.element) for _ in range(count)]


def _until_end(cursor: Cursor, element: Leaf | Struct, last: LastElement | None) -> list[Any]:
    """Elements up to the last one or to the end of what they stand in, each of which takes some bytes."""
    items, before, data = [], -1, cursor.builder.data
    while before < cursor.at < cursor.end and (last is None or not data[cursor.at + last.mark]):
        before = cursor.at
        items.append(_member(cursor, element))
    if last is not None:
        _member(cursor, last.struct)
    return items


def _leaf(cursor: Cursor, step: Leaf) -> Any:
    primitive, builder = step.primitive, cursor.builder
    cursor.read += 1
    if cursor.read > MOST:
        raise NotTemplatable
    if isinstance(primitive, FixedWidth):
        at, size = cursor.at, primitive.layout.size
        cursor.take(size)
        value = primitive.layout.unpack_from(builder.data, at)[0]
        if primitive.convert is not None:
            return primitive.convert(value)
        return builder.integer(Term(at, size, primitive.code), value) if primitive.code in _INTEGERS else value
    if not isinstance(primitive, SizedBytes):
        raise NotTemplatable
    size, term = cursor.number(primitive.length)
    if _is_null(size, primitive.nullable):
        return None
    begin = cursor.at
    return _template_sized(builder, primitive, Extent(term, primitive.length.bias, begin, cursor.take(size)))


def _template_sized(builder: TemplateBuilder, primitive: SizedBytes, extent: Extent) -> Any:
    if primitive.nested is not None:
        if primitive.template is None:
            raise NotTemplatable
        return primitive.template(builder, extent)
    if primitive.convert is None:
        return builder.bytes(extent)
    if primitive.convert is not bytes.decode:
        raise NotTemplatable
    data = builder.data[extent.begin : extent.end]
    return builder.text(extent) if data.isascii() else data.decode()


def _tags(cursor: Cursor, step: Tags, values: dict[str, Any]) -> None:
    unknown = []
    builder = cursor.builder
    count, cursor.at = uvarint(builder.data, cursor.at)
    for _ in range(count):
        tag, at = uvarint(builder.data, cursor.at)
        size, cursor.at = uvarint(builder.data, at)
        begin, end = cursor.at, cursor.at + size
        extent = Extent(Term(at, begin - at, UVARINT), 0, begin, end)
        member = step.steps.get(tag)
        if member is None:
            cursor.take(size)
            unknown.append({"tag": tag, "data": builder.bytes(extent)})
        else:
            builder.encloses(*extent)
            values[member.spec.name] = _member(cursor, member)
            if cursor.at != end:
                raise NotTemplatable
    if unknown:
        values["_unknownTaggedFields"] = unknown
