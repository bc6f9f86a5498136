"""Transactions: what a leader proposes, read by the type in their header.

Facts (SerializeUtils, PrepRequestProcessor). A TxnHeader, the record of its type, and from 3.6 on a TxnDigest, unless
the transaction is an error. Which record it is, the release decides and nothing tells: 3.3 creates nodes with
CreateTxnV0, and sessions are closed without a record before 3.6. So the first one counts that leaves nothing, or a
digest. A multi holds transactions of other types, each in a buffer of its own.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from dissectors.field import FieldSpec
from dissectors.wire.budget import Budget
from dissectors.wire.embedded import Holder, embed
from dissectors.wire.emit import FAILURES, values_decoder
from dissectors.wire.fields import read_members
from dissectors.wire.reader import Reader
from dissectors.wire.specs import COUNT, LENGTH, Many, element
from dissectors.wire.varint import Unfit
from dissectors.zookeeper.jute import INT
from dissectors.zookeeper.jute import LENGTH as INT_LENGTH
from dissectors.zookeeper.labels import labels
from dissectors.zookeeper.quorum.layouts import MULTI
from dissectors.zookeeper.schemas import operations, plan_of, width

_TXN = FieldSpec("txn", "struct")
_BYTES = FieldSpec("txn", "bytes")
_HEADER = FieldSpec("header", "struct")
_DIGEST = FieldSpec("digest", "struct")
_TXNS = Many("txns", "array")
_TYPE = FieldSpec("type", "int", labels("operation"))
_DATA = FieldSpec("data", "buffer")


class TxnFit(NamedTuple):
    """How a transaction's bytes are read: its record (None: none), that record's values, and where it ends."""

    record: str | None
    values: dict[str, Any] | None
    stop: int


def find_txn_fit(data: bytes, at: int, code: int, digest: bool = True) -> TxnFit | None:
    """Returns the record of type `code` that fits the bytes from `at` on; None if none does."""
    operation = operations().get(code)
    ends = (len(data), len(data) - _digest_size()) if digest else (len(data),)
    for name in () if operation is None else operation.txn:
        if name is None:
            if at in ends:
                return TxnFit(None, None, at)
            continue
        try:
            values, stop = values_decoder(plan_of(name))(data, at, Budget())
        except FAILURES:
            continue
        if stop in ends:
            return TxnFit(name, values, stop)
    return None


@cache
def _digest_size() -> int:
    return width(plan_of("TxnDigest"))


def txn_values(data: bytes, at: int) -> dict[str, Any]:
    """Header, transaction and digest, from `at` to the end. Raises one of emit.FAILURES where they do not fit."""
    header, at = values_decoder(plan_of("TxnHeader"))(data, at, Budget())
    found = find_txn_fit(data, at, header["type"])
    if found is None:
        raise Unfit
    values = {"header": header, "txn": _content(found)}
    if found.stop < len(data):
        values["digest"], _ = values_decoder(plan_of("TxnDigest"))(data, found.stop, Budget())
    return values


def _content(found: TxnFit) -> dict[str, Any] | None:
    """The values of a transaction; those in a multi are unfolded."""
    if found.record == MULTI and found.values is not None:
        for each in found.values["txns"] or ():
            inner = fit_in_multi(each["data"], each["type"])
            if inner is not None:
                each["data"] = embed(each["data"], inner.values, inner.record)
    return found.values


def fit_in_multi(data: bytes | None, code: int) -> TxnFit | None:
    """Returns the record of a transaction in a multi; None for one that stays bytes. A multi holds no other."""
    if data is None:
        return None
    found = find_txn_fit(data, 0, code, digest=False)
    return None if found is None or found.record in (None, MULTI) else found


def txn_fields(reader: Reader) -> None:
    """Adds the nodes of a transaction: header, record and digest, up to the reader's end."""
    reader.enter(_HEADER)
    read_members(reader, plan_of("TxnHeader").steps)
    code = reader.into[-1].value
    reader.leave()
    found = find_txn_fit(reader.data[: reader.end], reader.at, code)
    if found is None:
        _unfit(reader, code)
        return
    if found.record is None:
        reader.leaf(_TXN, None, reader.at)
    else:
        reader.enter(_TXN)
        _record_fields(reader, found.record)
        reader.leave()
    if reader.at < reader.end:
        reader.enter(_DIGEST)
        read_members(reader, plan_of("TxnDigest").steps)
        reader.leave()


def _unfit(reader: Reader, code: int) -> None:
    """A transaction that no record fits exactly: as far as the first one can be read, or just bytes."""
    operation = operations().get(code)
    names = () if operation is None else operation.txn
    if names and names[0] is not None:
        reader.enter(_TXN)
        read_members(reader, plan_of(names[0]).steps)
        reader.leave()
    elif reader.at < reader.end:
        reader.leaf(_BYTES, reader.data[reader.at : reader.end], reader.end)


def _record_fields(reader: Reader, name: str) -> None:
    if name != MULTI:
        read_members(reader, plan_of(name).steps)
        return
    count, at = reader.number(INT_LENGTH, reader.at, "txns")
    if count < 0:
        reader.leaf(_TXNS, None, at)
        return
    reader.enter(_TXNS)
    reader.leaf(COUNT["int"], count, at)
    for index in range(count):
        reader.enter(element(index, "struct"))
        code = reader.take(_TYPE, INT)
        _data_in_multi(reader, code)
        reader.leave()
    reader.leave()


def _data_in_multi(reader: Reader, code: int) -> None:
    size, at = reader.number(INT_LENGTH, reader.at, "data")
    data = None if size < 0 else reader.data[at : at + size]
    found = fit_in_multi(data, code)
    if found is None or found.record is None:
        reader.content(_DATA, INT_LENGTH)
        return
    reader.enter(Holder("data", "buffer", holds=found.record))
    reader.open[-1].value = data
    reader.leaf(LENGTH["int"], size, at)
    read_members(reader, plan_of(found.record).steps)
    reader.leave()
