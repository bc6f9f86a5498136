"""Fields read by walking to them are those that decoding gives, of messages as they should be and of damaged ones."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random
from typing import Literal

import numpy as np
import pytest
import zstandard

from analyzer.columns.arrays import Ints
from analyzer.decode.rows import RowReader
from analyzer.query.fields import bodies
from analyzer.query.fields.catalog import find_field
from analyzer.query.fields.path import FieldPath
from analyzer.query.fields.reading import FieldReader
from analyzer.session import Session
from tests.analyzer.query.filter.captured import FOLDER, NAMES, captured, printed
from tests.analyzer.query.filter.oracle import values_of

pytestmark = pytest.mark.xdist_group("filters")

NEVER = 1 << 30
TOGETHER = 12
"""Fields that are asked for in one reading."""


def read(reader: RowReader, fields: list[FieldPath], rows: Ints) -> list[list[object]]:
    """Of each field the values in each row, as they are printed."""
    reading = FieldReader(reader, fields)
    return [[printed(list(values)) for values in reading.read_by_row(field, rows)] for field in fields]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NAMES)
def test_each_field_of_a_capture_has_the_values_that_are_printed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "WORTH", 1)
    capture = captured(name)
    paths = Random(name).sample(sorted(capture.fields), min(len(capture.fields), 160))
    for path in paths:
        having = np.array(capture.fields[path][:60])
        (found,) = read(capture.reader, [find_field(path)], having)
        assert found == [values_of(path, capture.printed[row]) for row in having.tolist()], path


@pytest.mark.parametrize("name", NAMES)
def test_fields_read_together_are_those_read_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "WORTH", 1)
    capture, random = captured(name), Random(name)
    by_operation: dict[str, list[str]] = {}
    for path in sorted(capture.fields):
        by_operation.setdefault(".".join(path.split(".")[:2]), []).append(path)
    for paths in random.sample(list(by_operation.values()), min(len(by_operation), 8)):
        some = random.sample(paths, min(len(paths), TOGETHER))
        rows = np.array(sorted({row for path in some for row in capture.fields[path][:20]}))
        together = read(capture.reader, [find_field(path) for path in some], rows)
        for path, found in zip(some, together, strict=True):
            assert found == [values_of(path, capture.printed[row]) for row in rows.tolist()], path


def test_walking_is_what_is_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    walked = []
    plain = bodies.walk_fields
    monkeypatch.setattr(bodies, "walk_fields", lambda *given: walked.append(plain(*given)) or walked[-1])
    capture = captured("kafka.pcap")
    read(capture.reader, [find_field("kafka.Fetch.request.topics.partitions.partition")], capture.all_rows)
    assert walked
    assert walked[0][0].mean() > 0.9


@cache
def packets_of(name: str) -> tuple[bytes, list[tuple[int, int]]]:
    """A classic pcap, and where the payload of each of its packets begins and ends, if it has some."""
    data = (FOLDER / name).read_bytes()
    if name.endswith(".zst"):
        data = zstandard.ZstdDecompressor().stream_reader(data).read()
    order: Literal["little", "big"] = "little" if data[0] in (0xD4, 0x4D) else "big"
    found, at = [], 24
    while at < len(data):
        end = at + 16 + int.from_bytes(data[at + 8 : at + 12], order)
        if end > at + 16 + HEADERS:
            found.append((at + 16 + HEADERS, end))
        at = end
    return data, found


HEADERS = 66
"""Bytes of Ethernet, IPv4 and TCP with timestamps."""

DAMAGED = ("kafka.pcap", "kafka-4.4.pcap.zst", "kafka-0.10.pcap.zst", "kafka-3.9-zookeeper.pcap.zst")
BYTES = (0, 1, 2, 0x7F, 0x80, 0xFF)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(12))
def test_damaged_messages_are_read_alike(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where walking takes a message that decoding would not, or the other way round, their values differ."""
    random = Random(seed)
    name = DAMAGED[seed % len(DAMAGED)]
    whole, packets = packets_of(name)
    data = bytearray(whole)
    for begin, end in random.sample(packets, len(packets) // random.choice((2, 4, 10))):
        data[random.randrange(begin, end)] = random.choice(BYTES)
    path = tmp_path / "damaged.pcap"
    path.write_bytes(data)
    fields = [find_field(each) for each in random.sample(sorted(captured(name).fields), 40)]
    with Session([path]).load() as session:
        reader, rows = RowReader(session), np.arange(len(session.rows))
        assert len(rows) > len(packets) // 4
        for field in fields:
            monkeypatch.setattr(bodies, "WORTH", 1)
            walked = read(reader, [field], rows)
            monkeypatch.setattr(bodies, "WORTH", NEVER)
            assert walked == read(reader, [field], rows), (field.name, len(rows))
