"""Record batches with holes, and the records of many of them at once."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from dissectors.kafka.records import template as record_template
from dissectors.kafka.records.template import (
    LARGE,
    MOST_BATCHES,
    MOST_FIELDS,
    read_many,
    read_records,
    template_records,
)
from dissectors.kafka.records.values import record_values
from dissectors.symbolic import NotTemplatable, TemplateBuilder
from dissectors.symbolic_values import Checksum, Extent, Integer, NestedValue, Term
from dissectors.wire.budget import Budget
from dissectors.wire.emit import FAILURES
from tests.analyzer.roads import batch, record

ONE, TWO = batch([record(b"k", b"v")]), batch([record(None, b"v"), record(b"", None, 1, 9)], base=5)
HEAD = 61
PACKED = batch(gzip.compress(record(b"k", b"v")), attributes=1, count=1)


def made(content: bytes) -> tuple[TemplateBuilder, Any]:
    builder = TemplateBuilder(len(content).to_bytes(4) + content)
    return builder, template_records(builder, Extent(Term(0, 4, "i"), 0, 4, 4 + len(content)))


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if type(value) is list:
        return [plain(item) for item in value]
    return value.specialise() if type(value) in (Integer, NestedValue) else value


OPEN = {"one": ONE, "two": ONE + TWO, "eight": ONE * MOST_BATCHES, "empty": batch([]), "none at all": b""}
WHOLE = {
    "nine": ONE * (MOST_BATCHES + 1),
    "compressed": PACKED,
    "control": batch([record(b"\0\0\0\1", bytes(6))], attributes=0x30),
    "cut": ONE + ONE[:-1],
    "a part of a head": ONE + ONE[:9],
}
BROKEN = {
    "length": batch([record(b"k", b"v")], length=-1),
    "too many": batch([record(b"k", b"v")], count=2),
    "too few": batch([record(b"k", b"v")], count=0),
    "negative": batch([record(b"k", b"v")], count=-1),
    "varint": batch([b"\xff" * 12]),
    "far": batch([record(b"k", b"v")], base=1 << 62),
    "magic": ONE[:16] + b"\3" + ONE[17:],
}


@pytest.mark.parametrize("name", [*OPEN, *WHOLE])
def test_entries_are_those_of_the_decoder(name: str) -> None:
    content = (OPEN | WHOLE)[name]
    _, entries = made(content)
    assert (type(entries) is NestedValue) == (name in WHOLE)
    assert plain(entries) == record_values(content, Budget())


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_has_no_shape(name: str) -> None:
    with pytest.raises((NotTemplatable, *FAILURES)):
        made(BROKEN[name])
    with pytest.raises(FAILURES):
        record_values(BROKEN[name], Budget())
    assert read_many([BROKEN[name]], [()]) == [None]


def test_a_checksum_is_of_the_shape_s_messages() -> None:
    builder, _ = made(ONE)
    assert builder.checksums == [Checksum(4 + 17, 4 + 21, 4 + len(ONE))]
    assert builder.fixed[4 + 16] == 1  # magic
    assert not any(builder.fixed[4 + 23 : 4 + HEAD])


def test_fields_are_read_together_and_judged_alone() -> None:
    contents = [ONE, BROKEN["varint"], TWO, PACKED, BROKEN["length"], WHOLE["control"], ONE * 200, b"x"]
    expected = [None if each in BROKEN.values() else record_values(each, Budget()) for each in contents]
    assert read_many(contents, [()] * len(contents)) == expected


@pytest.mark.parametrize("together", [1, 40, 1 << 20])
def test_batches_are_read_together_and_judged_alone(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A count that is too large, too small or negative is the message's own trouble."""
    monkeypatch.setattr(record_template, "TOGETHER", together)
    body = record(b"k", b"v" * 9)
    heads = [
        (1, 5, 100),
        (2, 5, 100),
        (0, 5, 100),
        (-1, 5, 100),
        (-(1 << 31), 5, 100),
        ((1 << 31) - 1, 0, 0),
        (1, 7, 1),
    ]
    found = read_records([body] * len(heads), heads)
    assert [None if each is None else each[0]["offset"] for each in found] == [5, None, None, None, None, None, 7]
    many = read_records([body * 100, body * 99, body * 100], [(100, 0, 0)] * 3)
    assert [None if each is None else len(each) for each in many] == [100, None, 100]


def test_bytes_that_are_open_together_are_bounded() -> None:
    bomb = batch(gzip.compress(record(b"k", bytes(LARGE - 64))), attributes=1, count=1)
    found = read_many([bomb] * (MOST_FIELDS + 4), [()] * (MOST_FIELDS + 4))
    assert [each is not None for each in found[: MOST_FIELDS - 1]] == [True] * (MOST_FIELDS - 1)
    assert found[-3:] == [None] * 3
    larger = batch(gzip.compress(record(b"k", bytes(LARGE))), attributes=1, count=1)
    assert read_many([larger], [()]) == [None]
    with pytest.raises(FAILURES):
        made(larger)


def test_a_message_of_more_such_fields_than_its_bound() -> None:
    builder = TemplateBuilder((len(PACKED).to_bytes(4) + PACKED) * (MOST_FIELDS + 1))
    step = 4 + len(PACKED)
    extents = [Extent(Term(at, 4, "i"), 0, at + 4, at + step) for at in range(0, len(builder.data), step)]
    for extent in extents[:-1]:
        assert type(template_records(builder, extent)) is NestedValue
    with pytest.raises(NotTemplatable):
        template_records(builder, extents[-1])
