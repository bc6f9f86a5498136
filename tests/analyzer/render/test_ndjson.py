"""Rows as JSON: the keys, and how values with holes are written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyzer.decode.limits import Limits
from analyzer.decode.rows import ROW_KEYS, RowReader
from analyzer.decode.template_json import MarkingWriter
from analyzer.render.ndjson import SURE_KEYS, NdjsonForm, UniformForm
from analyzer.session import Session
from dissectors.symbolic import TemplateBuilder
from dissectors.symbolic_values import BEGIN, END, Bytes, Extent, Hex, Integer, Term, Text, WrittenValue
from tests.analyzer.roads import FIELDS, Taken, list_offsets, offsets_listed, one_by_one, opened, taken, together
from tests.documents import ROOT

__all__ = ["taken"]

PAIRS = [(list_offsets(b"t", each, each), offsets_listed(b"t", each, 3 * (each % 2), each, each)) for each in range(8)]
KEYS = [
    ("number",),
    ("number", "number"),
    ("info", "number", "info"),
    ("fields",),
    ("error", "fields"),
    ("findings", "latency_ns"),
    ("latency_ns", "client", "latency_ns"),
    ROW_KEYS,
    FIELDS,
    tuple(reversed(FIELDS)),
]


@pytest.mark.parametrize("keys", KEYS, ids=len)
def test_the_keys_of_a_line(tmp_path: Path, keys: tuple[str, ...], taken: Taken) -> None:
    """Each once, in the order that was asked for."""
    with opened(tmp_path, PAIRS) as session:
        printed = together(session, NdjsonForm(keys, Limits()))
        assert printed == one_by_one(session, NdjsonForm(keys, Limits()))
    for line in printed.splitlines():
        pairs: list[tuple[str, Any]] = json.loads(line, object_pairs_hook=list)
        assert [name for name, _ in pairs] == list(dict.fromkeys(keys))


def test_what_was_printed_together_can_be_read(tmp_path: Path, taken: Taken) -> None:
    with opened(tmp_path, PAIRS) as session:
        rows = [json.loads(line) for line in together(session, NdjsonForm(FIELDS, Limits())).splitlines()]
    assert taken.rows == len(rows) == 16
    assert [row["fields"]["topics"][0]["partitions"][0]["timestamp"] for row in rows] == [
        each // 2 for each in range(16)
    ]
    assert [row["error"] is None for row in rows] == [True, True, True, False] * 4
    assert {row["info"] for row in rows[3::4]} == {
        f"t[{each} UNKNOWN_TOPIC_OR_PARTITION at {each}]" for each in (1, 3, 5, 7)
    }


def mark(number: int) -> str:
    return f"{BEGIN}{number}{END}"


def test_how_symbolic_values_are_written() -> None:
    """Digits and texts are marks, bytes as ever; a value within bytes is one mark."""
    shape = TemplateBuilder(bytes.fromhex("00000007 0003 616263 0002 ff00 0001 41"))
    number, text = shape.integer(Term(0, 4, "i"), 7), shape.text(Extent(Term(4, 2, "h"), 0, 6, 9))
    data = shape.bytes(Extent(Term(9, 2, "h"), 0, 11, 13))
    nested = shape.add_nested(Extent(Term(13, 2, "h"), 0, 15, 16), lambda contents, asked: [], [{"a": b"\1"}])
    writer = MarkingWriter(Limits(1))
    found = writer.dumps({"n": number, "t": [text], "b": data, "v": nested, "c": "\x7f", "x": b"\1\2"}).decode()
    hexed = f'{{"hex":"{mark(2)}","length":{mark(3)}}}'
    rest = '"c":"\x7f","x":{"hex":"01","length":2}'
    assert found == f'{{"n":{mark(0)},"t":["{mark(1)}"],"b":{hexed},"v":{mark(4)},{rest}}}'
    assert list(map(type, shape.marks)) == [Integer, Text, Hex, Integer, WrittenValue]
    assert type(data) is Bytes
    written = shape.marks[4]
    assert isinstance(written, WrittenValue)
    assert written.write([[{"a": b"\1\2"}], [], ["\u202e"]]) == [
        b'[{"a":{"hex":"01","length":2}}]',
        b"[]",
        b'["\\u202e"]',
    ]


def test_a_list_that_is_too_long_has_no_shape() -> None:
    writer = MarkingWriter(Limits(64, 2))
    assert writer.dumps([1, 2]) == b"[1,2]"
    with pytest.raises(TypeError):
        writer.dumps({"a": [1, 2, 3]})


@pytest.mark.parametrize("name", ["mixed.pcapng", "pulsar.pcap.zst"])
def test_uniform_rows_are_read_without_options(name: str) -> None:
    polars = pytest.importorskip("polars", reason="needs the extra polars")
    with Session([str(ROOT / "captures" / name)]).load() as session:
        reader, rows = RowReader(session), np.arange(0, len(session.rows), 9)
        lines = b"".join(UniformForm([*ROW_KEYS, "fields"], Limits()).format_rows(reader, rows))
        plain = b"".join(NdjsonForm([*ROW_KEYS, "fields"], Limits()).format_rows(reader, rows))
    frame = polars.read_ndjson(lines)
    texts = {key for key, kind in frame.schema.items() if kind == polars.String}
    assert texts == {*ROW_KEYS, "fields"} - SURE_KEYS
    for uniform, row in zip(frame.to_dicts(), map(json.loads, plain.splitlines()), strict=True):
        assert {key: uniform[key] for key in SURE_KEYS} == {key: row[key] for key in SURE_KEYS}
        for key in texts:
            value = row[key]
            assert uniform[key] == value if isinstance(value, str) else json.loads(uniform[key] or "null") == value
