"""The headers of the batches in many records fields at once: the fast path of read_batch_headers.

Theory. A field is a run of batches, each with its length, so the first batches of all fields are read in step, then the
second ones. Fields in which the reference implementation finds anything but whole batches are left to it;
tests/dissectors/kafka/records/test_headers.py compares the two.
"""

from __future__ import annotations

from itertools import count as counting

import numpy as np

from dissectors.kafka.codecs import CODECS
from dissectors.kafka.records.batches import FAR
from dissectors.kafka.records.headers import CONTENT, MOST_RECORDS
from dissectors.kafka.records.values import BATCH, ENTRY, MAGIC_AT
from dissectors.wire.fast_path import Column, Gathering, InnerColumns, InnerReader, be

_CODEC = 7
_FIELDS = {
    "baseOffset": (0, "i8"), "length": (8, "i4"), "partitionLeaderEpoch": (12, "i4"), "attributes": (21, "i2"),
    "lastOffsetDelta": (23, "i4"), "baseTimestamp": (27, "i8"), "maxTimestamp": (35, "i8"), "producerId": (43, "i8"),
    "producerEpoch": (51, "i2"), "baseSequence": (53, "i4"), "count": (57, "i4"),
}  # fmt: skip
"""Where numbers stand in a batch."""

_BITS = {"compression": _CODEC, "timestampType": 8, "transactional": 0x10, "control": 0x20, "deleteHorizon": 0x40}
"""What the attributes say."""


def read_header_columns(source: Gathering, at: Column, size: Column) -> InnerColumns:
    """Reads the headers of all batches in n fields; fields of them as numbers, also the codec and the flags."""
    odd = np.zeros(len(at), bool)
    records = np.zeros(len(at), np.int64)
    cursor, end = at.astype(np.int64), at + np.maximum(size, 0)
    fields, places, heads = [], [], []
    alive = np.flatnonzero(cursor < end)
    for place in counting():
        short = end[alive] - cursor[alive] < BATCH.size
        odd[alive[short]] = True
        alive = alive[~short]
        if not len(alive):
            break
        head = source.gather(cursor[alive], BATCH.size)
        stop = cursor[alive] + ENTRY.size + be(head, 8, "i4")
        total = be(head, 57, "i4").astype(np.int64)
        records[alive] += total
        wrong = (head[:, MAGIC_AT] != 2) | (total < 0) | (records[alive] > MOST_RECORDS)
        wrong |= (
            (stop < cursor[alive] + BATCH.size) | (stop > end[alive]) | (be(head, 21, "i2") & _CODEC >= len(CODECS))
        )
        for first in (0, 27):
            number = be(head, first, "i8")
            wrong |= (number <= -FAR) | (number >= FAR)
        odd[alive[wrong]] = True
        alive, head = alive[~wrong], head[~wrong]
        cursor[alive] = stop[~wrong]
        fields.append(alive)
        places.append(np.full(len(alive), place))
        heads.append(head)
        alive = alive[cursor[alive] < end[alive]]
    return _make_columns(odd, fields, places, heads)


def _make_columns(odd: Column, fields: list[Column], places: list[Column], heads: list[Column]) -> InnerColumns:
    """Puts batches in the order of their fields, and in these of their places; leaves out those of odd fields."""
    if not fields:
        return InnerColumns(np.zeros(len(odd), np.int64), odd, dict.fromkeys((*_FIELDS, *_BITS), np.zeros(0, np.int64)))
    field, head = np.concatenate(fields), np.concatenate(heads)
    if len(fields) > 1:
        order = np.lexsort((np.concatenate(places), field))
        field, head = field[order], head[order]
    good = ~odd[field]
    field, head = field[good], head[good]
    columns = {name: be(head, at, kind).astype(np.int64) for name, (at, kind) in _FIELDS.items()}
    columns |= {name: columns["attributes"] & bits for name, bits in _BITS.items()}
    return InnerColumns(np.bincount(field, minlength=len(odd)), odd, columns)


READER = InnerReader(read_header_columns, frozenset({CONTENT}))
