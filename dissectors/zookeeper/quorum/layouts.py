"""Layouts of a whole quorum packet: QuorumPacket, and its data.

Theory. Nearly all packets carry a transaction, a client's request for one, or a zxid. The type of the packet, its
sender and the opcode in its data determine the records. A transaction is laid out as the first record of its type; if
only a later one fits, the layout in body.py is used, as it is for multis and fields with content of their own.

Facts (SerializeUtils, PrepRequestProcessor). A TxnHeader, the record of its type, and from 3.6 on a TxnDigest, unless
the transaction is an error. The record depends on the release, which nothing tells: 3.3 creates nodes with CreateTxnV0,
and sessions are closed without a record before 3.6. So the first record that leaves nothing, or a digest, is used. A
multi holds transactions of other types, each in a buffer of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from dissectors.api import Context, Role
from dissectors.field import FieldSpec
from dissectors.wire.budget import Budget
from dissectors.wire.dialect import Rest
from dissectors.wire.embedded import Holder
from dissectors.wire.emit import FAILURES, values_decoder
from dissectors.wire.plan import Array, Leaf, Plan, Step, Struct, Switch, When
from dissectors.wire.primitive import FixedWidth
from dissectors.wire.schema import MORE
from dissectors.wire.specs import Many
from dissectors.wire.template import MessageLayout, template
from dissectors.zookeeper.labels import labels
from dissectors.zookeeper.nested import OPENED
from dissectors.zookeeper.quorum.header import HEAD, packets
from dissectors.zookeeper.schemas import BUFFER, INT, LENGTH, MULTIS, make_named_int, operations, plan_of, record, width

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


_TXN = FieldSpec("txn", "struct")
_NO_RECORD = Leaf(_TXN, FixedWidth("struct", "0s", lambda nothing: None))
_BYTES = When(MORE, None, Leaf(FieldSpec("txn", "bytes"), Rest("bytes")))


class TxnFit(NamedTuple):
    """How a transaction's bytes are read: its record (None: none), and where it ends."""

    record: str | None
    stop: int


def find_txn_fit(data: bytes, at: int, code: int, digest: bool = True) -> TxnFit | None:
    """Returns the record of type `code` that fits the bytes from `at` on; None if none does."""
    ends = (len(data), len(data) - _digest_size()) if digest else (len(data),)
    for name in _list_records(code):
        if name is None:
            if at in ends:
                return TxnFit(None, at)
            continue
        try:
            _, stop = values_decoder(plan_of(name))(data, at, Budget())
        except FAILURES:
            continue
        if stop in ends:
            return TxnFit(name, stop)
    return None


def _list_records(code: int) -> tuple[str | None, ...]:
    operation = operations().get(code)
    return () if operation is None else operation.txn


@cache
def _digest_size() -> int:
    return width(plan_of("TxnDigest"))


def txn_steps() -> Iterator[Step]:
    """Yields the steps of a transaction: header, record and digest, up to the end of the part."""
    yield Struct(FieldSpec("header", "struct"), plan_of("TxnHeader").steps)
    yield Switch(_choose_txn)


def _choose_txn(data: bytes, at: int, end: int, path: Callable[[str], str]) -> Plan:
    """The record and digest of a transaction whose type is the last number of its header."""
    code = int.from_bytes(data[at - INT.size : at], signed=True)
    found = find_txn_fit(data[:end], at, code)
    return _plan_unfit(next(iter(_list_records(code)), None)) if found is None else _plan_txn(found.record)


@lru_cache(maxsize=128)
def _plan_txn(record: str | None) -> Plan:
    step = _NO_RECORD if record is None else Struct(_TXN, _multi() if record == MULTI else plan_of(record).steps)
    digest = When(MORE, None, Struct(FieldSpec("digest", "struct"), plan_of("TxnDigest").steps))
    return Plan("txn", 0, (step, digest))


@lru_cache(maxsize=128)
def _plan_unfit(record: str | None) -> Plan:
    """A transaction that no record fits exactly: as far as the first one can be read, or just bytes."""
    return Plan("txn", 0, (_BYTES if record is None else Struct(_TXN, plan_of(record).steps),))


def _multi() -> tuple[Step, ...]:
    """A multi's transactions; those whose record is known are unfolded."""
    inner = (Leaf(FieldSpec("type", "int", labels("operation")), INT), Switch(_choose_inner))
    return (Array(Many("txns", "array"), LENGTH, True, Struct(FieldSpec("", "struct"), inner)),)


def _choose_inner(data: bytes, at: int, end: int, path: Callable[[str], str]) -> Plan:
    """The buffer of a transaction in a multi. A multi holds no other."""
    code, size = (int.from_bytes(data[each : each + INT.size], signed=True) for each in (at - INT.size, at))
    at += INT.size
    found = None if size < 0 else find_txn_fit(data[at : at + size], 0, code, digest=False)
    return _plan_inner(None if found is None or found.record == MULTI else found.record)


@lru_cache(maxsize=128)
def _plan_inner(record: str | None) -> Plan:
    if record is None:
        return Plan("data", 0, (Leaf(FieldSpec("data", "buffer"), BUFFER),))
    holder = Holder("data", "buffer", holds=record)
    return Plan("data", 0, (Struct(holder, plan_of(record).steps, length=LENGTH),))
