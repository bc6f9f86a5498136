"""The headers of batches, read without their records, are what reading all of a message gives."""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt
import pytest

from dissectors.api import Context, Role
from dissectors.kafka import Kafka
from dissectors.kafka.codecs import CODECS
from dissectors.kafka.records.fast_path import read_header_columns
from dissectors.kafka.records.headers import CONTENT, HEADER_FIELDS, read_batch_headers
from dissectors.wire.budget import Budget
from dissectors.wire.varint import Unfit
from tests.dissectors.kafka.records.test_values import batch, frame, message, record
from tests.dissectors.picking import picked_alike

KAFKA = Kafka()
CONTEXT = Context(Role.REQUEST, 0, 7)
PLACE = ("topicData", "partitionData", "records")
PATHS = frozenset((*PLACE, name) for name in HEADER_FIELDS - {CONTENT})

ONE = batch(record(0, 1, b"k", b"v"), 1)
GZIP = batch(zlib.compress(record(0, 1, b"k", b"v" * 900), wbits=31), 1, attributes=1)
BROKEN = batch(b"\x01\x02", 5)
WHOLE = {
    "none": b"",
    "one": ONE,
    "several": ONE * 3,
    "compressed": GZIP,
    "transactional control batch": batch(record(0, 1, b"\0\0\0\1", b""), 1, attributes=0x30),
    "log append time": batch(record(0, 1, b"k", b"v"), 1, attributes=8),
    "no records": batch(b"", 0),
    "broken records": BROKEN,
    "a wrong checksum": ONE[:-1] + b"x",
}
LEFT = {
    "an older format": message(0, b"v"),
    "both formats": ONE + message(1, b"v"),
    "cut in a header": ONE[:30],
    "cut in the records": ONE + ONE[:-1],
    "an unknown magic": batch(b"", 0, magic=7),
    "a negative count": batch(b"", -1),
    "too many records for a tree": batch(b"", 60_000),
}


@pytest.mark.parametrize("records", WHOLE.values(), ids=WHOLE)
def test_headers_are_what_all_of_the_message_gives(records: bytes) -> None:
    assert picked_alike(KAFKA, frame(records), CONTEXT, PATHS)


@pytest.mark.parametrize("records", LEFT.values(), ids=LEFT)
def test_anything_else_is_left_to_values(records: bytes) -> None:
    with pytest.raises(Unfit):
        read_batch_headers(records, Budget())
    assert not picked_alike(KAFKA, frame(records), CONTEXT, PATHS)


def test_every_cut_is_left_to_values_or_read_alike() -> None:
    data = frame(ONE + GZIP)
    for end in range(len(data)):
        picked_alike(KAFKA, data[:end], CONTEXT, PATHS)


def test_the_content_is_what_is_on_the_wire() -> None:
    first, second = read_batch_headers(ONE + GZIP, Budget())
    assert first[CONTENT] == record(0, 1, b"k", b"v")
    assert zlib.decompress(second[CONTENT], wbits=31) == record(0, 1, b"k", b"v" * 900)


class Bytes:
    """Fields one behind the other."""

    def __init__(self, fields: list[bytes]) -> None:
        self.size = np.array([len(field) for field in fields], np.int64)
        self.at = np.cumsum(self.size) - self.size
        self._data = np.frombuffer(b"".join(fields) + bytes(64), np.uint8)

    def gather(self, locations: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.uint8]:
        return self._data[locations[:, None] + np.arange(width)]


def test_columns_of_many_fields_are_the_same() -> None:
    fields = [*WHOLE.values(), *LEFT.values(), ONE + GZIP, *((ONE + GZIP)[:end] for end in range(len(ONE + GZIP)))]
    source = Bytes(fields)
    found = read_header_columns(source, source.at, source.size)
    expected = []
    for odd, data in zip(found.odd.tolist(), fields, strict=True):
        if odd:
            with pytest.raises(Unfit):
                read_batch_headers(data, Budget())
        else:
            expected.append(read_batch_headers(data, Budget()))
    assert found.counts[~found.odd].tolist() == [len(batches) for batches in expected]
    every = [each for batches in expected for each in batches]
    for name in ("baseOffset", "length", "lastOffsetDelta", "baseTimestamp", "producerEpoch", "baseSequence", "count"):
        assert found.columns[name].tolist() == [each[name] for each in every]
    for name in ("transactional", "control", "deleteHorizon"):
        assert found.columns[name].astype(bool).tolist() == [each[name] for each in every]
    assert [CODECS[codec] for codec in found.columns["compression"].tolist()] == [each["compression"] for each in every]
