"""What the data of a packet holds: parts that stand one after the other and end with it.

Theory. A part is a record, or one of four that no record describes: a transaction (txn.py), the request of the opcode
that stands before it, sessions up to the end, the text of a configuration. What is usual has a
layout (layouts.py), which is as fast for values as it can be; here stand the tree of all data, also of what breaks, and
the values of the rest: multis, older records, fields with content of their own.
"""

from __future__ import annotations

from typing import Any

from dissectors.errors import TruncatedField
from dissectors.field import FieldSpec
from dissectors.wire.budget import Budget
from dissectors.wire.embedded import Holder
from dissectors.wire.emit import values_decoder
from dissectors.wire.fields import read_members
from dissectors.wire.reader import Reader
from dissectors.wire.specs import LENGTH, Many, element
from dissectors.wire.varint import Unfit
from dissectors.zookeeper.forms import find_form
from dissectors.zookeeper.jute import LENGTH as INT_LENGTH
from dissectors.zookeeper.nested import OPENED
from dissectors.zookeeper.nested.opened import open_values
from dissectors.zookeeper.quorum.txn import txn_fields, txn_values
from dissectors.zookeeper.schemas import operations, plan_by_size, plan_of

_CONFIG = FieldSpec("config", "string")
_SESSIONS = Many("sessions", "array")
_REQUEST = FieldSpec("request", "struct")
_UNKNOWN_REQUEST = FieldSpec("request", "bytes")


def data_values(parts: tuple[str, ...], data: bytes) -> dict[str, Any]:
    """The values of data that ends with a transaction or a request and has no layout.

    Raises one of emit.FAILURES where they do not fit exactly, or where the data ends otherwise.
    """
    *records, last = parts
    values: dict[str, Any] = {}
    at = 0
    for name in records:
        members, at = values_decoder(plan_of(name))(data, at, Budget())
        values |= members
    if last == "txn":
        return values | txn_values(data, at)
    operation = operations().get(values["opcode"]) if last == "request" else None
    if operation is None:
        raise Unfit
    values["request"], at = find_form(operation.request).read(data, at, Budget())
    if operation.code in OPENED:
        open_values(values["request"])
    if at != len(data):
        raise Unfit
    return values


def data_fields(reader: Reader, parts: tuple[str, ...], name: str | None) -> None:
    """Data that holds something: a node with its bytes as value, and below it what they say."""
    spec = Holder("data", "buffer", holds=name)
    size, at = reader.number(INT_LENGTH, reader.at, "data")
    if size < 0:
        reader.leaf(spec, None, at, at - reader.at)
        return
    available = reader.end - at
    reader.enter(spec)
    reader.open[-1].value = reader.data[at : at + min(size, available)]
    reader.leaf(LENGTH["int"], size, at)
    if size > available:
        _parts(reader, parts)
        raise TruncatedField(reader.path(), at, size, available)
    reader.guard(lambda inside: _whole_parts(inside, parts), at + size)
    reader.leave()


def _whole_parts(reader: Reader, parts: tuple[str, ...]) -> None:
    _parts(reader, parts)
    reader.rest("behind what the data of this packet holds")


def _parts(reader: Reader, parts: tuple[str, ...]) -> None:
    for part in parts:
        if part == "txn":
            txn_fields(reader)
        elif part == "sessions":
            _session_fields(reader)
        elif part == "config":
            _config(reader)
        elif part == "request":
            _request(reader, reader.into[-1].value)
        else:
            read_members(reader, plan_by_size(part, reader.end - reader.at).steps)


def _session_fields(reader: Reader) -> None:
    index = 0
    reader.enter(_SESSIONS)
    while reader.at < reader.end:
        reader.enter(element(index, "struct"))
        read_members(reader, plan_of("SessionTimeout").steps)
        reader.leave()
        index += 1
    reader.leave()


def _config(reader: Reader) -> None:
    content = reader.data[reader.at : reader.end]
    try:
        text: str | bytes = content.decode()
    except UnicodeDecodeError:
        text = content
    reader.leaf(_CONFIG, text, reader.end)


def _request(reader: Reader, opcode: int) -> None:
    operation = operations().get(opcode)
    if operation is None:
        reader.leaf(_UNKNOWN_REQUEST, reader.data[reader.at : reader.end], reader.end)
        return
    reader.enter(_REQUEST)
    find_form(operation.request).unfold(reader)
    reader.leave()
