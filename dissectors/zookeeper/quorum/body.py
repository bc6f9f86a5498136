"""Decodes one message of a quorum connection, and the data that a packet carries.

Theory. The type of a packet determines its data; for some types also whether it is an answer (Context.role), which is
read here, too. A message without a code is a SASL packet or a snapshot.

Theory. A part is a record, or one of four things that no record describes: a transaction (layouts.py), the request of
the opcode before it, sessions up to the end, the text of a configuration. Usual packets have a layout (layouts.py) that
their first numbers determine, the fastest way to their values. Here is the layout of all packets, in which more depends
on the bytes: it gives trees, and the values of multis, older records, and fields with content of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any

from dissectors.api import Body, Context, Role, Window
from dissectors.field import FieldSpec, Tree
from dissectors.finding import Finding, Severity
from dissectors.wire.budget import Budget
from dissectors.wire.dialect import Rest
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.emit import FAILURES, values_decoder
from dissectors.wire.fields import read_members
from dissectors.wire.message import fold_tree, read_unframed
from dissectors.wire.plan import Leaf, Plan, Step, Struct, Switch
from dissectors.wire.varint import Unfit
from dissectors.zookeeper import sasl
from dissectors.zookeeper.nested import OPENED
from dissectors.zookeeper.nested.content import open_tree, open_values
from dissectors.zookeeper.nested.hidden import hide_unframed, names_scheme
from dissectors.zookeeper.quorum import snapshot
from dissectors.zookeeper.quorum.header import HEAD, packets
from dissectors.zookeeper.quorum.layouts import UNRECORDED, find_layout, make_packet_plan, txn_steps
from dissectors.zookeeper.schemas import INT, find_steps, operations, plan_by_size

_UNKNOWN_REQUEST = Plan("request", 0, (Leaf(FieldSpec("request", "bytes"), Rest("bytes")),))


def decode_values(message: bytes, context: Context) -> Body:
    """Returns the fields of a message by their names; no packet reports an error."""
    if sasl.is_packet(message):
        return sasl.decode_values(message)
    if context.code is None:
        return snapshot.decode_values(message)
    try:
        return Body(_values(message, context), None)
    except FAILURES:
        return fold_tree(decode_tree(message, context))


def stream_values(message: Window, context: Context) -> Body | None:
    """Decodes a snapshot piece by piece; None for other messages, which are packets."""
    is_snapshot = context.code is None and not sasl.is_packet(message.read_bytes(0, HEAD.size))
    return snapshot.stream_values(message) if is_snapshot else None


def decode_tree(message: bytes, context: Context) -> Tree:
    """Decodes a message of the quorum port to an annotated tree."""
    if sasl.is_packet(message):
        return sasl.decode_tree(message)
    if context.code is None:
        return snapshot.decode_tree(message)
    doubts = []
    if context.code not in packets():
        doubts.append(Finding(Severity.NOTE, "unknown-operation", f"packet type {context.code} is not in the tables"))
    steps = _find_plan(message, context.role is Role.RESPONSE).steps
    tree = read_unframed(message, partial(read_members, steps=steps), doubts)
    if names_scheme(message):
        hide_unframed(tree.fields)
    return open_tree(tree)


def _values(message: bytes, context: Context) -> dict[str, Any]:
    """Values by the first layout that takes all bytes. Raises one of FAILURES if none does."""
    layout = find_layout(message, context)
    if layout is not None:
        with suppress(*FAILURES):
            return _read_whole(layout.plan, message)
    if int.from_bytes(message[: INT.size], signed=True) not in packets():
        raise Unfit
    values = _read_whole(_find_plan(message, context.role is Role.RESPONSE), message)
    data = values["data"]
    if isinstance(data, EmbeddedValue) and data.value.get("opcode") in OPENED:
        open_values(data.value["request"])
    return values


def _read_whole(plan: Plan, message: bytes) -> dict[str, Any]:
    values, stop = values_decoder(plan)(message, 0, Budget())
    if stop != len(message):
        raise Unfit
    return values


def _find_plan(message: bytes, answer: bool) -> Plan:
    """The layout of a packet, in which the bytes tell what its type does not."""
    packet = packets().get(int.from_bytes(message[: INT.size], signed=True))
    return _plan((), None) if packet is None else _plan(packet.parts(answer), packet.record)


@lru_cache(maxsize=64)
def _plan(parts: tuple[str, ...], record: str | None) -> Plan:
    return make_packet_plan(tuple(step for part in parts for step in _part_steps(part)), record)


def _part_steps(part: str) -> Iterator[Step]:
    if part == "txn":
        yield from txn_steps()
    elif part == "request":
        yield Switch(_choose_request)
    elif part in UNRECORDED:
        yield from UNRECORDED[part]()
    else:
        yield Switch(partial(_choose_version, part))


def _choose_version(part: str, data: bytes, at: int, end: int, path: Callable[[str], str]) -> Plan:
    return plan_by_size(part, end - at)


def _choose_request(data: bytes, at: int, end: int, path: Callable[[str], str]) -> Plan:
    """A request by the opcode that stands before it."""
    operation = operations().get(int.from_bytes(data[at - INT.size : at], signed=True))
    return _UNKNOWN_REQUEST if operation is None else _plan_request(operation.request)


@lru_cache(maxsize=128)
def _plan_request(record: str | None) -> Plan:
    return Plan("request", 0, (Struct(FieldSpec("request", "struct"), find_steps(record)),))
