"""Records fields of many messages at once: the same as payloads() gives of each, or the message is left."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Sequence

import cramjam
import numpy as np
import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from dissectors.api import Context, Role
from dissectors.kafka import Kafka
from dissectors.kafka.codecs import CODECS
from dissectors.kafka.fast_path import FAST_PATH
from dissectors.kafka.nested.rules import list_modules
from dissectors.kafka.records import fast_path
from dissectors.kafka.schemas import apis, record_schema
from dissectors.kafka.sensitive import SENSITIVE_MODULES, holds_secrets
from dissectors.kafka.tables import table
from dissectors.wire.budget import USUAL, allow
from dissectors.wire.fast_path import LogFields
from dissectors.wire.plan import resolve
from tests.dissectors.kafka.records.test_values import COMPRESS, CONTEXT, batch, frame, message, record

KAFKA = Kafka()
Told = tuple[int, int, bytes | None, int | None]
"""Offset, time, key, length of the value."""

COMPRESSORS = {**COMPRESS, "snappy": lambda data: bytes(cramjam.snappy.compress_raw(data))}
EDGES = (0, 1, 62, 63, 64, 65, 8190, 8191, 8192, 8193, 2**20)


def expected(entries: bytes) -> list[Told]:
    """What the plain way says of a message with these records."""
    found: dict[tuple[object, ...], list[object]] = {}
    for each in KAFKA.payloads.extract(KAFKA.values(frame(entries), CONTEXT).values, lambda: None):
        assert each.record is not None
        reported = found.setdefault(each.place[:-1], [each.record.offset, each.record.time, None, None])
        assert isinstance(each.value, bytes)
        reported[2 if each.kind == "key" else 3] = each.value if each.kind == "key" else len(each.value)
    return [tuple(reported) for reported in found.values()]  # type: ignore[misc]


def fields(contents: Sequence[bytes], lengths: Sequence[int] | None = None) -> LogFields:
    """A message for each, which has but this field."""
    size = np.array([len(each) for each in contents], np.int64)
    length = np.array([len(frame(each)) for each in contents] if lengths is None else lengths, np.int64)
    data = b"".join((*contents, bytes(64)))
    return LogFields(data, np.arange(len(contents)), np.cumsum(size) - size, size, length)


def read(asked: LogFields) -> list[list[Told] | None]:
    """What each message has; None for one that is left."""
    found: list[list[Told] | None] = [[] for _ in asked.length]
    for logged in FAST_PATH.read_log_records(asked):
        for place in np.flatnonzero(logged.left).tolist():
            found[logged.first + place] = None
        columns = (logged.field, logged.offset, logged.time, logged.key, logged.key_length, logged.value_length)
        for field, offset, time, at, key, value in zip(*(column.tolist() for column in columns), strict=True):
            mine = found[int(asked.message[field])]
            assert mine is not None
            mine.append((offset, time, logged.data[at : at + key] if key >= 0 else None, value if value >= 0 else None))
    return found


def held(contents: Sequence[bytes]) -> list[bool]:
    """Which were read together; those are as the plain way has them."""
    found = read(fields(contents))
    for content, reported in zip(contents, found, strict=True):
        assert reported is None or reported == expected(content)
    return [reported is not None for reported in found]


def some(chance: random.Random) -> Iterator[bytes]:
    """The batches of a field."""
    for _ in range(chance.choice((1, 1, 1, 2, 5, 40))):
        count = chance.choice((0, 1, 1, 2, 9, 30))
        sizes = [chance.choice((None, *EDGES[:6], chance.randrange(300))) for _ in range(2 * count)]
        contents = [None if size is None else chance.randbytes(size) for size in sizes]
        headers = [(b"h" * chance.choice((0, 1, 70)), chance.choice((None, b"", b"x")))] * chance.choice((0, 0, 1, 3))
        records = b"".join(
            record(chance.choice((at, -at, 2**31 - 1)), chance.choice((*EDGES, -5, 2**59)), key, value, *headers)
            for at, (key, value) in enumerate(zip(contents[::2], contents[1::2], strict=True))
        )
        codec = chance.choice((0, 0, *range(len(CODECS))))
        body = COMPRESSORS[CODECS[codec]](records) if codec else records
        yield batch(body, count, codec | chance.choice((0, 0x08, 0x10, 0x20, 0x40)), chance.choice((0, 7, 2**40)))


@pytest.mark.parametrize("seed", range(4))
def test_what_kafka_writes(seed: int) -> None:
    chance = random.Random(seed)
    contents = [b"".join(some(chance)) for _ in range(60)]
    cut = [content[: chance.randrange(len(content) + 1)] for content in contents]
    # Where few keys of headers are far longer than the others, their message is left.
    assert sum(held(contents)) > 55
    assert sum(held(cut)) > 55


@settings(max_examples=60)
@given(st.randoms(use_true_random=False), st.data())
def test_what_nobody_writes(chance: random.Random, data: st.DataObject) -> None:
    """Bytes are changed, cut or added, in some of many fields."""
    contents = [bytearray(b"".join(some(chance))) for _ in range(data.draw(st.sampled_from((1, 3, 40))))]
    for content in contents[:5]:
        for _ in range(data.draw(st.integers(0, 3))):
            at = data.draw(st.integers(0, max(min(len(content), 400) - 1, 0)))
            content[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    held([bytes(content) for content in contents])


@pytest.mark.parametrize("codec", ["none", "gzip", "zstd"])
def test_damage_at_every_byte(codec: str) -> None:
    records = record(0, 0, b"k", b"v" * 70, (b"h", b"x")) + record(1, 500, None, b"") + record(2, 9, b"", None)
    body = records if codec == "none" else COMPRESSORS[codec](records)
    whole = batch(body, 3, CODECS.index(codec)) + batch(record(0, 0, b"last", b"v"), 1)
    for value in (0x00, 0x01, 0x7F, 0x80, 0xFF):
        damaged = [whole[:at] + bytes([value]) + whole[at + 1 :] for at in range(len(whole))]
        assert any(held(damaged))
    # A wrong checksum changes nothing of what was not compressed.
    if codec == "none":
        assert held([whole[:17] + b"\0\0\0\0" + whole[21:]]) == [True]


ODD = [
    ("a message set", message(1, b"a", 0) + message(2, b"b")),
    ("a magic of nobody", batch(b"", 0, magic=3)),
    ("a length too small", struct.pack(">qi", 0, 13) + bytes(40)),
    ("a batch without room for its header", struct.pack(">qii", 0, 48, 0) + b"\2" + bytes(60)),
    ("a codec of nobody", batch(record(0, 0, None, b"v"), 1, 5)),
    ("no gzip", batch(record(0, 0, None, b"v"), 1, 1)),
    ("a count below zero", batch(b"", -1)),
    ("records without a count", batch(record(0, 0, None, b"v"), 0)),
    ("more records than bytes", batch(record(0, 0, None, b"v"), 2)),
    ("a far offset", batch(record(0, 0, None, b"v"), 1, base=2**62)),
    ("a header's key is no text", batch(record(0, 0, None, b"v", (b"\xff", b"")), 1)),
]


@pytest.mark.parametrize("content", [case[1] for case in ODD], ids=[case[0] for case in ODD])
@pytest.mark.parametrize("others", [0, 200])
def test_what_is_odd_is_left_and_nothing_else(content: bytes, others: int) -> None:
    sound = batch(record(0, 0, b"k", b"v"), 1)
    assert held([content] + [sound] * others) == [False] + [True] * others
    assert held([sound] * others + [sound + content]) == [True] * others + [False]


def test_what_is_cut_is_no_more_and_an_empty_record_is_none() -> None:
    sound = batch(record(0, 0, b"k", b"v") + record(1, 0, None, None), 2)
    assert read(fields([sound, sound + sound[:16], sound + sound[:-1], b"", sound[:9]])) == [
        *[[(100, 1000, b"k", 1)]] * 3, [], []
    ]  # fmt: skip


def test_of_long_messages_all_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = batch(record(0, 0, b"k", b"v"), 1)
    wrong = sound[:17] + b"\0\0\0\0" + sound[21:]
    assert [reported is None for reported in read(fields([sound, wrong], [300_000, 300_000]))] == [False, True]
    many = batch(record(0, 0, b"k", b"v") * 9, 9)
    monkeypatch.setattr("dissectors.wire.budget.USUAL", 0)
    allow(1 << 20)
    try:
        assert [reported is None for reported in read(fields([sound] * 2, [300_000, 10]))] == [True, False]
        packed = batch(COMPRESS["gzip"](b"\0" * 100), 1, 1)
        assert read(fields([packed])) == [None]
        assert read(fields([many])) != [None]
    finally:
        allow(USUAL)


def test_a_bomb_is_left() -> None:
    content = record(0, 0, b"k", bytes(1 << 17))
    bomb, sound = batch(COMPRESS["gzip"](content), 1, 1), batch(COMPRESS["gzip"](record(0, 0, b"k", b"v")), 1, 1)
    allow(1 << 17)
    try:
        assert held([sound, bomb, sound]) == [True, False, True]
        assert held([sound + bomb]) == [False]
    finally:
        allow(USUAL)


def test_much_is_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_path, "TOGETHER", 100)
    packed = batch(COMPRESS["gzip"](record(0, 0, b"k", bytes(90))), 1, 1)
    contents = [packed, batch(record(0, 0, b"plain", b"v"), 1), packed * 2, message(1, b"odd"), packed, b""]
    assert held(contents) == [True, True, True, False, True, True]
    assert [(each.first, each.stop) for each in FAST_PATH.read_log_records(fields(contents))] == [(0, 4), (4, 6)]


@pytest.mark.parametrize("codec", CODECS)
def test_the_checksum_covers_what_was_compressed(codec: str) -> None:
    body = record(0, 0, b"k", b"v")
    sound = batch(COMPRESSORS[codec](body) if codec != "none" else body, 1, CODECS.index(codec))
    assert crc32c(sound[21:]) == int.from_bytes(sound[17:21])
    assert held([sound]) == [True]


def layouts() -> Iterator[Context]:
    for code, api in apis().items():
        for version in range(api.versions.low, api.versions.high + 1):
            for role in (Role.REQUEST, Role.RESPONSE):
                yield Context(role, code, version)


def test_what_may_carry_is_what_is_found() -> None:
    found = {(each.code, each.role) for each in layouts() if FAST_PATH.logs(each) is not None}
    assert found == {(0, Role.REQUEST), (1, Role.RESPONSE), (78, Role.RESPONSE)}
    assert found < (KAFKA.payloads.carriers() or set())


def test_no_other_topics_hold_secrets_than_those_that_are_left() -> None:
    logs = FAST_PATH.logs(CONTEXT)
    assert logs is not None
    rows = [row for row in table("records")["records"] if "key" in row]
    for name, module in list_modules().items():
        mine = [record_schema(row["module"], row["kind"], row["key"]) for row in rows if row["module"] == module]
        layouts = [resolve(each, each.versions.high).steps for each in mine if each is not None]
        assert layouts
        assert any(map(holds_secrets, layouts)) == (module in SENSITIVE_MODULES)
        assert (logs.name(name.encode()) is None) == (module in SENSITIVE_MODULES)
    assert logs.name(b"\xff") is None
