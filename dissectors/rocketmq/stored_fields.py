"""Stored messages and batches to nodes: the twin of stored.py that keeps places, and says what is broken.

Theory. A body of which not even the first item makes sense stays bytes: brokers answer a query for a wrong offset with
whatever lies there. What was compressed is a source of its own; an inner batch lies in the body that holds it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

from dissectors.errors import DecodeError, Malformed
from dissectors.field import Field, FieldSpec
from dissectors.finding import Finding, Severity
from dissectors.rocketmq.labels import COMPRESSED, INNER_BATCH, codec
from dissectors.rocketmq.stored import (
    HEAD,
    ITEM_HEAD,
    ITEM_MINIMUM,
    MAGICS,
    checksum,
    form,
    inflated,
    item_plan,
    message_plan,
)
from dissectors.wire.fields import read_leaves
from dissectors.wire.plan import Leaf, Plan
from dissectors.wire.primitive import INT64
from dissectors.wire.reader import Reader
from dissectors.wire.specs import Layout, Many, Wrapping, element

UNCOMPRESSED = FieldSpec("bodyUncompressed", "bytes")
_MESSAGES = Many("messages", "array")
_CRC_VALID = FieldSpec("crcValid", "bool")
_QUEUE_OFFSET = FieldSpec("queueOffset", INT64.type)
_LENGTH = Layout("length", "int32")
_PROPERTIES_LENGTH = Layout("length", "int16")
_CRC_MASK = 0x7FFF_FFFF
_NAME_VALUE, _PROPERTY = b"\x01", b"\x02"


def can_be_stored(reader: Reader, stop: int) -> bool:
    """Whether a stored message may begin here, in a body that ends at `stop` even if fewer bytes were captured."""
    head = reader.data[reader.at : reader.at + 8]
    size, magic = ITEM_HEAD.unpack(head.ljust(8, b"\0"))
    return HEAD.size <= size <= stop - reader.at and (len(head) < 8 or magic in MAGICS)


def can_be_item(reader: Reader, stop: int) -> bool:
    """The same for an item of a batch."""
    head = reader.data[reader.at : reader.at + 4]
    return ITEM_MINIMUM <= int.from_bytes(head, signed=True) <= stop - reader.at


def read_messages(reader: Reader) -> None:
    """Reads stored messages up to the reader's end into a list of the node that is open."""
    _read_items(reader, _read_message)


def read_batch(reader: Reader, offset: int | None = None) -> None:
    """Reads a batch's items up to the reader's end into a list of the node that is open.

    offset: that of the first item in its queue, where there is one.
    """
    _read_items(reader, partial(_read_item, offset=offset))


def _read_items(reader: Reader, read: Callable[[Reader, int], None]) -> None:
    """What says its size first, again and again; `read` gets the index of each. What breaks stays in its item."""
    end, index = reader.end, 0
    reader.enter(_MESSAGES)
    while reader.at < end:
        reader.need(ITEM_HEAD.size, reader.at, f"[{index}]")
        size = ITEM_HEAD.unpack_from(reader.data, reader.at)[0]
        stop = reader.at + size
        if size < ITEM_MINIMUM:
            raise Malformed(reader.path(f"[{index}]"), reader.at, f"has size {size}, the least is {ITEM_MINIMUM}")
        reader.enter(element(index, "struct"))
        reader.guard(partial(_read_whole, read=read, index=index, stop=stop), min(stop, end))
        reader.leave()
        index += 1
    reader.leave()


def _read_whole(reader: Reader, read: Callable[[Reader, int], None], index: int, stop: int) -> None:
    read(reader, index)
    if reader.at != stop:
        raise Malformed(reader.path(), reader.at, f"ends {stop - reader.at} bytes before its size")


def _read_item(reader: Reader, index: int, offset: int | None) -> None:
    plan = item_plan()
    if offset is not None:
        reader.leaf(_QUEUE_OFFSET, offset + index, reader.at)
    read_leaves(reader, _leaves(plan, None, "properties"))
    _read_properties(reader, plan)


def _read_message(reader: Reader, _: int) -> None:
    magic, flag = _form_of(reader)
    plan = message_plan(*form(magic, flag))
    read_leaves(reader, _leaves(plan, None, "topic"))
    nodes = {node.spec.name: node for node in reader.into}
    body = nodes["body"]
    _check(reader, nodes["bodyCRC"], checksum(body.value))
    _read_body(reader, body, flag, nodes["queueOffset"].value)
    read_leaves(reader, _leaves(plan, "topic", "properties"))
    _read_properties(reader, plan)


def _form_of(reader: Reader) -> tuple[int, int]:
    """Magic and sysFlag of the message that begins here; a sysFlag that is cut off matters no more."""
    magic = int.from_bytes(reader.data[reader.at + 4 : reader.at + 8])
    if magic not in MAGICS:
        raise Malformed(reader.path("magicCode"), reader.at + 4, f"is {magic:#x}, which is none")
    at = reader.at + HEAD.size - 4
    return magic, int.from_bytes(reader.data[at : at + 4], signed=True)


@lru_cache(maxsize=64)
def _leaves(plan: Plan, first: str | None, last: str | None) -> tuple[Leaf, ...]:
    """The steps of a plan from `first` on, before `last`."""
    steps = [step for step in plan.steps if isinstance(step, Leaf)]
    names = [step.spec.name for step in steps]
    return tuple(steps[names.index(first) if first else 0 : names.index(last) if last else len(steps)])


def _read_properties(reader: Reader, plan: Plan) -> None:
    """The properties of an item: one value, and below it a leaf for each of them."""
    read_leaves(reader, _leaves(plan, "properties", None))
    node = reader.into[-1]
    if not isinstance(node.value, dict) or not node.value:
        return
    at, end = node.offset + node.head, node.offset + node.length
    node.children.append(Field(_PROPERTIES_LENGTH, end - at, node.offset, node.head, node.source))
    for item in reader.data[at:end].split(_PROPERTY):
        name, value_at, value = item.partition(_NAME_VALUE)
        length = min(len(item) + 1, end - at)
        if length:
            spec = Wrapping(name.decode(), "property")
            head = len(name) + len(value_at)
            node.children.append(Field(spec, value.decode(), at, length, node.source, head))
        at += length


def _check(reader: Reader, node: Field, computed: int) -> None:
    valid = node.value == computed
    node.children.append(Field(_CRC_VALID, valid, node.offset, node.length, node.source, bits=_CRC_MASK))
    if not valid:
        said = f"{reader.path(node.spec.name)} is {node.value}, the bytes have {computed}"
        found = Finding(Severity.WARNING, "crc-mismatch", said, reader.source, node.offset, node.length)
        reader.tree.findings.append(found)


def _read_body(reader: Reader, node: Field, flag: int, offset: int) -> None:
    """What is in the body read last: uncompressed, an inner batch, or just itself."""
    if not node.value:
        return
    if flag & COMPRESSED:
        inner = uncompressed(reader, node, flag)
        if inner is not None and flag & INNER_BATCH:
            _read_inner_batch(_within(inner, inner.into[-1]), offset)
    elif flag & INNER_BATCH:
        inner = _within(reader, node)
        inner.leaf(_LENGTH, len(node.value), node.offset + node.head)
        _read_inner_batch(inner, offset)


def _within(reader: Reader, node: Field) -> Reader:
    """A reader of what the leaf added last covers: what it reads are parts of that."""
    source = reader.tree.sources[reader.source]
    inner = Reader(reader.tree, source, node.children, (*reader.above, *reader.open, node), reader.budget)
    inner.at, inner.end = node.offset, node.offset + node.length
    return inner


def _read_inner_batch(reader: Reader, offset: int) -> None:
    reader.guard(partial(read_batch, offset=offset), reader.end)


def uncompressed(reader: Reader, node: Field, flag: int) -> Reader | None:
    """Adds what the body added last holds, as a source of its own; None where it can't be decompressed."""
    try:
        plain = inflated(flag, node.value, reader.budget, node.offset + node.head)
    except DecodeError as error:
        reader.find(error)
        return None
    inner = reader.below(node, f"{reader.path(node.spec.name)}, {codec(flag)}", plain)
    inner.leaf(UNCOMPRESSED, plain, len(plain))
    return inner
