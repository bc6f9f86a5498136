"""Records read many at once: the same as one by one, whatever the bytes are."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.kafka import Kafka
from dissectors.kafka.body import decode_tree as read_tree
from dissectors.kafka.labels import error_name
from dissectors.kafka.records import batches
from dissectors.kafka.records.batches import fast_path
from dissectors.kafka.records.layout import Head
from dissectors.wire.emit import FAILURES
from dissectors.wire.flat import FlatRows, RowTable
from dissectors.wire.message import fold_tree
from tests.dissectors.kafka.nested.structured import PRODUCE, batched, both, produce
from tests.dissectors.kafka.records.test_values import CONTEXT, batch, frame, record

KAFKA = Kafka()
CONTENT = st.none() | st.binary(max_size=6) | st.integers(60, 20_000).map(bytes)
RECORDS = st.lists(
    st.tuples(
        st.integers(-(2**31), 2**31 - 1) | st.integers(0, 70),
        st.integers(-(2**60), 2**60) | st.integers(0, 9000),
        CONTENT,
        CONTENT,
        st.lists(st.tuples(st.text(max_size=5).map(str.encode), CONTENT), max_size=4),
    ),
    max_size=5,
)
HEADS = st.tuples(st.integers(-9, 2**40), st.integers(-1, 2**41), st.none() | st.integers(-(2**63), 2**63 - 1))


def body(records: list[tuple[int, int, bytes | None, bytes | None, list[tuple[bytes, bytes | None]]]]) -> bytes:
    return b"".join(record(offset, time, key, value, *headers) for offset, time, key, value, headers in records)


@given(st.lists(st.tuples(RECORDS, HEADS), min_size=1, max_size=4))
def test_what_kafka_writes(parts: list[tuple[list, tuple[int, int, int | None]]]) -> None:
    bodies = [body(records) for records, _ in parts]
    heads = [Head(len(records), *rest) for records, rest in parts]
    expected = [batches.read_rows(data, 0, len(data), head) for data, head in zip(bodies, heads, strict=True)]
    assert fast_path.read_tables(bodies, heads) == expected


@given(RECORDS.filter(bool), st.data())
def test_what_nobody_writes(records: list, data: st.DataObject) -> None:
    """Where bytes were changed, cut or added, what is read is what the tree says."""
    damaged = bytearray(body(records))
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, min(len(damaged), 300) - 1) if damaged else st.just(0))
        damaged[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    count = max(len(records) + data.draw(st.sampled_from([0, 0, 0, -1, 1])), 0)
    message = frame(batch(bytes(damaged), count) + batch(record(0, 0, None, b"v"), 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "_WORTH_A_ROUND", 0)
        assert KAFKA.values(message, CONTEXT) == fold_tree(read_tree(message, CONTEXT), error_name)


BROKEN = [
    ("length negative", b"\x0d" + bytes(7)),
    ("length too large", b"\x10" + bytes(6)),
    ("length too small", record(0, 0, b"k", None)[:-1] + b"\2"),
    ("length of six bytes", b"\x8c\x80\x80\x80\x80\x80\0" + bytes(6)),
    ("time of eleven bytes", b"\x22\0" + b"\x80" * 10 + b"\0\0\1\1\0\0"),
    ("key length below null", b"\x0c\0\0\0\3\1\0"),
    ("key over the end", b"\x0c\0\0\0\x7e\1\0"),
    ("value far over the end", b"\x14\0\0\0\1\xfe\xff\xff\xff\x0f\0"),
    ("count of headers negative", b"\x0c\0\0\0\1\1\1"),
    ("more headers than fit", b"\x0c\0\0\0\1\1\x7e"),
    ("header's key null", record(0, 0, None, None, (b"h", b""))[:-3] + b"\1\0\0"),
    ("header's key no text", record(0, 0, None, None, (b"\xff", b""))),
    ("bytes behind the last", record(0, 0, None, None) + b"\0"),
]


@pytest.mark.parametrize("data", [case[1] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_broken(data: bytes) -> None:
    sound = record(0, 0, b"k", b"v", (b"h", b""))
    for bodies in ([data], [data, sound], [sound, data]):
        with pytest.raises(FAILURES):
            fast_path.read_tables(bodies, [Head(1, 0, 0, None)] * len(bodies))
    with pytest.raises(FAILURES):
        batches.read_rows(data, 0, len(data), Head(1, 0, 0, None))


def test_one_record_with_many_headers_is_left_to_the_plain_way() -> None:
    data = record(0, 0, None, None, *[(b"k", b"v")] * 1000) + record(1, 0, None, None) * 99
    head = Head(100, 0, 0, None)
    with pytest.raises(FAILURES):
        fast_path.read_tables([data], [head])
    (found,) = batches.read_batches([data], [head])
    assert isinstance(found, FlatRows)
    assert len(found[0]["headers"]) == 1000


def test_many_records_become_tables_over_all_partitions() -> None:
    chance = random.Random(7)
    records = [record(at, at * 7, chance.randbytes(at % 9), chance.randbytes(at)) for at in range(200)]
    data = batch(b"".join(records), 200) * 2
    (first, second) = KAFKA.values(frame(data), CONTEXT).values["topicData"][0]["partitionData"][0]["records"]
    assert isinstance(first["records"], RowTable)
    assert first["records"].columns is second["records"].columns
    assert list(first["records"]) == batches.read_rows(
        b"".join(records), 0, len(b"".join(records)), Head(200, 100, 1000, None)
    )


@pytest.mark.parametrize(("topic", "name"), [(b"__consumer_offsets", "ConsumerGroupMetadataKey"), (b"orders", None)])
def test_structures_in_many_records_are_unfolded(topic: bytes, name: str | None) -> None:
    data = batched([(b"\0\3\0\1g", b"\0\0\0\0\0\7\0")] * 200)
    body, _ = both(produce(topic, data), PRODUCE)
    (entry,) = body.values["topicData"][0]["partitionData"][0]["records"]
    assert isinstance(entry["records"], RowTable) == (name is None)
    assert [getattr(row["key"], "name", None) for row in entry["records"]] == [name] * 200


def test_who_decodes_one_message_does_not_load_numpy() -> None:
    data = frame(batch(record(0, 0, b"k", b"v") * 500, 500)).hex()
    program = (
        "import sys; from dissectors.api import Context, Role; from dissectors.kafka import Kafka\n"
        "body = Kafka().values(bytes.fromhex(sys.stdin.read()), Context(Role.REQUEST, 0, 7))\n"
        "rows = body.values['topicData'][0]['partitionData'][0]['records'][0]['records']\n"
        "assert len(rows) == 500 and 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], input=data.encode(), check=True, timeout=60)
