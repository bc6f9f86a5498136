"""Layouts of a whole quorum packet: QuorumPacket, and its data.

Theory. Nearly all packets carry a transaction, a client's request for one, or a zxid. The type of the packet, its
sender and the opcode in its data determine the records. A transaction is laid out as the first record of its type; if
only a later one fits, the layout in body.py is used, as it is for multis and fields with content of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from dissectors.api import Context, Role
from dissectors.field import FieldSpec
from dissectors.wire.dialect import Rest
from dissectors.wire.embedded import Holder
from dissectors.wire.plan import Array, Leaf, Plan, Step, Struct, When
from dissectors.wire.primitive import FixedWidth
from dissectors.wire.schema import MORE
from dissectors.wire.specs import Many
from dissectors.wire.template import MessageLayout, template
from dissectors.zookeeper.forms import MULTIS
from dissectors.zookeeper.jute import LENGTH, make_named_int
from dissectors.zookeeper.nested import OPENED
from dissectors.zookeeper.quorum.header import HEAD, packets
from dissectors.zookeeper.schemas import operations, plan_of, record, width

MULTI = "MultiTxn"
_OPCODE_AT = {"txn": 28, "request": -4}
"""Where in a part, or before it, the opcode stands that tells its record."""

_OPCODE = FixedWidth("int", "i", int)
_KIND = Leaf(FieldSpec("type", "int"), make_named_int("packet"))
_CONFIG = Leaf(FieldSpec("config", "string"), Rest("string", bytes.decode))


def find_layout(message: bytes, context: Context) -> MessageLayout | None:
    """Returns the layout of a packet; None if its type and an opcode do not determine it. Raises struct.error."""
    code, _, size = HEAD.unpack_from(message)
    packet = packets().get(code)
    if packet is None or code != context.code or size < -1:
        return None
    parts = () if size < 0 else packet.parts(context.role is Role.RESPONSE)
    return _layout(parts, _opcode(parts, message), packet.record if parts else None)


TEMPLATE = template(find_layout)


def _opcode(parts: tuple[str, ...], message: bytes) -> int | None:
    at = HEAD.size
    for part in parts:
        if part in _OPCODE_AT:
            at += _OPCODE_AT[part]
            return int.from_bytes(message[at : at + 4], signed=True)
        at += 0 if part in UNRECORDED else width(plan_of(part))
    return None


@lru_cache(maxsize=256)
def _layout(parts: tuple[str, ...], opcode: int | None, name: str | None) -> MessageLayout | None:
    inside: list[Step] = []
    for part in parts:
        steps = UNRECORDED[part]() if part in UNRECORDED else _make_opcode_steps(part, opcode)
        if steps is None:
            return None
        inside += steps
    return MessageLayout(make_packet_plan(tuple(inside), name))


def make_packet_plan(inside: tuple[Step, ...], record: str | None) -> Plan:
    """Makes the layout of a packet with data that has these steps, of a record's name; without any, of plain data."""
    _, zxid, data, authinfo = plan_of("QuorumPacket").steps
    if inside:
        behind = "behind what the data of this packet holds"
        data = Struct(Holder("data", "buffer", holds=record), inside, length=LENGTH, apart=behind)
    return Plan("packet", 0, (_KIND, zxid, data, authinfo))


def _make_opcode_steps(part: str, opcode: int | None) -> tuple[Step, ...] | None:
    """A transaction with its header and perhaps a digest, a request, or a record that needs no opcode."""
    operation = operations().get(opcode) if opcode is not None else None
    if part == "txn":
        name = operation.txn[0] if operation is not None and operation.txn else None
        if name is None or name == MULTI:
            return None
        digest = When(MORE, None, _struct("digest", plan_of("TxnDigest").steps))
        return _struct("header", _keep_opcode(plan_of("TxnHeader").steps)), _struct("txn", plan_of(name).steps), digest
    if part == "request":
        if operation is None or operation.code in OPENED or operation.request in MULTIS:
            return None
        return (_struct("request", () if operation.request is None else plan_of(operation.request).steps),)
    return _keep_opcode(plan_of(part).steps) if part == "QuorumRequest" else tuple(_record(part))


def _record(name: str) -> Iterator[Step]:
    """The fields of a record, of which later releases have more."""
    for field, step in zip(record(name).fields, plan_of(name).steps, strict=True):
        assert isinstance(step, Leaf | Struct | Array)
        yield When(MORE, None, step) if field.versions.low else step


def _struct(name: str, steps: tuple[Step, ...]) -> Struct:
    return Struct(FieldSpec(name, "struct"), steps)


def _keep_opcode(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The same steps, the last of which is an opcode: it is the same in all messages of a template."""
    *before, last = steps
    assert isinstance(last, Leaf)
    return (*before, Leaf(last.spec, _OPCODE))


UNRECORDED: Mapping[str, Callable[[], tuple[Step, ...]]] = {
    "config": lambda: (_CONFIG,),
    "sessions": lambda: (Array(Many("sessions", "array"), None, False, _struct("", plan_of("SessionTimeout").steps)),),
}
"""The steps of parts that no record describes, and that end with the data."""
