"""Transactions that a leader proposes, read by the type in their header.

Facts (SerializeUtils, PrepRequestProcessor). A TxnHeader, the record of its type, and from 3.6 on a TxnDigest, unless
the transaction is an error. The record depends on the release, which nothing tells: 3.3 creates nodes with CreateTxnV0,
and sessions are closed without a record before 3.6. So the first record that leaves nothing, or a digest, is used. A
multi holds transactions of other types, each in a buffer of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from dissectors.field import FieldSpec
from dissectors.wire.budget import Budget
from dissectors.wire.dialect import Rest
from dissectors.wire.embedded import Holder
from dissectors.wire.emit import FAILURES, values_decoder
from dissectors.wire.plan import Array, Leaf, Plan, Step, Struct, Switch, When
from dissectors.wire.primitive import FixedWidth
from dissectors.wire.schema import MORE
from dissectors.wire.specs import Many
from dissectors.zookeeper.jute import BUFFER, INT, LENGTH
from dissectors.zookeeper.labels import labels
from dissectors.zookeeper.quorum.layouts import MULTI
from dissectors.zookeeper.schemas import operations, plan_of, width

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
