"""One message's detail, on real captures: bytes to fields and lines of bytes, and no secret in either."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.decode.bodies import decode_tree
from analyzer.decode.jsonable import Limits
from analyzer.render.lines import strip_styles
from analyzer.session import Session
from tests.effort import within_steps
from tests.tui.driving import GOLDEN, KAFKA
from tui.model.detail import HexRows, TreeNote, find_fields, find_range, make_stream_notes, read_detail
from tui.model.row_cells import CellReader

CAPTURES = [KAFKA, GOLDEN / "k4_java_produce.pcap.zst", GOLDEN / "k010_py_old.pcap.zst"]


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.name)
def test_every_byte_belongs_to_a_leaf(capture: Path) -> None:
    with Session([capture]).load() as session:
        for row in range(0, len(session.rows), 7):
            detail = read_detail(session, row, Limits())
            for source in detail.tree.sources:
                for at in range(0, len(source.data), max(len(source.data) // 50, 1)):
                    path = find_fields(detail.tree, source.id, at)
                    leaf = path[-1]
                    assert leaf.source == source.id
                    assert leaf.offset <= at < leaf.offset + leaf.length
                    assert not [child for child in leaf.children if child.source == source.id and child.bits is None]
                    for outer, inner in pairwise(path):
                        assert any(child is inner for child in outer.children)


def test_what_a_last_chunk_completes_is_a_source() -> None:
    with Session([GOLDEN.with_name("pulsar") / "go4_chunks.pcap.zst"]).load() as session:
        tree = read_detail(session, 46, Limits()).tree
        assert [source.name for source in tree.sources] == ["message", "payload, 5 chunks joined"]
        assert [field.spec.name for field in find_fields(tree, 1, 4199)] == ["payload", "whole", "payload"]


def test_texts_next_to_the_fields() -> None:
    with Session([KAFKA]).load() as session:
        detail = read_detail(session, 47, Limits())
        assert strip_styles(detail.title).startswith("kafka Fetch v18 response  1107 bytes")
        (about,) = detail.notes
        reported = [strip_styles(about.line), *(strip_styles(note.line) for note in about.children)]
        assert reported[0].startswith("message 48  2026-11-21T14:15:14.820665312Z")
        assert "answers message 47, 991us later" in reported
        assert detail.partner == 46
        cells = CellReader(session).read_stream(7, 28)
        reported = [strip_styles(note.line) for note in make_stream_notes(session, cells)]
        assert reported[:4] == [
            "id: 127.0.0.1:58834>127.0.0.1:29092",
            "protocol: kafka",
            "client: 127.0.0.1:58834",
            "server: 127.0.0.1:29092",
        ]
        assert "messages: 28" in reported


def test_places() -> None:
    assert find_range(TreeNote(())) is None
    with Session([KAFKA]) as session:
        tree = decode_tree(session.load(), 0)
        place = find_range(tree.fields[0])
        assert place is not None
        assert (place.source, place.offset, place.length) == (0, 0, 4)


def test_secrets_are_masked_unless_requested() -> None:
    with Session([GOLDEN / "k4_sasl_java.pcap.zst"]).load() as session:
        rows = range(0, len(session.rows), 3)
        masked = [row for row in rows if read_detail(session, row, Limits()).masks]
        assert masked
        for row in masked:
            assert not read_detail(session, row, Limits(show_secrets=True)).masks


# ---- lines of bytes: where each byte stands, and that a mask hides every byte of it


@pytest.mark.parametrize(
    ("columns", "length", "width", "digits"),
    [
        *((200, 100, 16, 4), (74, 100, 16, 4), (73, 100, 8, 4), (42, 100, 8, 4), (41, 100, 4, 4), (42, 1 << 20, 4, 5)),
        *((44, 1 << 24, 8, 6), (25, 100, 4, 4), (12, 100, 1, 4), (0, 100, 1, 4), (200, 0, 16, 4)),
    ],
)
def test_what_fits(columns: int, length: int, width: int, digits: int) -> None:
    rows = HexRows.fit(bytes(length), (), columns)
    assert (rows.width, rows.digits, rows.lines) == (width, digits, -(-length // width))
    if columns >= 13 and length:
        assert len(strip_styles(rows.make_line(0, None))) <= columns


Spans = st.lists(st.tuples(st.integers(0, 70), st.integers(0, 70)).map(lambda span: tuple(sorted(span))), max_size=5)


@given(length=st.integers(1, 70), masks=Spans, columns=st.integers(0, 90))
def test_each_byte_in_both_its_places(length: int, masks: list[tuple[int, int]], columns: int) -> None:
    data = bytes(range(0x30, 0x30 + length))
    hidden = {at for first, end in masks for at in range(first, end)}
    rows = HexRows.fit(data, masks, columns)
    for number in range(rows.lines):
        line = strip_styles(rows.make_line(number, (3, 9)))
        for index in range(min(rows.width, length - number * rows.width)):
            at = number * rows.width + index
            first, text = rows.find_columns(index)
            shown = chr(data[at]) if data[at] < 0x7F else "."
            assert (line[first : first + 2], line[text]) == (
                ("**", "*") if at in hidden else (f"{data[at]:02x}", shown)
            )
            assert {rows.find_byte(number, column) for column in (first, first + 1, text)} == {at}
    assert rows.find_byte(0, 0) is None
    assert rows.find_byte(rows.lines, rows.find_columns(0)[0]) is None


def test_only_lines_that_are_requested_are_made() -> None:
    rows = HexRows.fit(bytes(64 << 20), [(at, at + 2) for at in range(0, 1 << 20, 64)], 76)
    with within_steps(100_000):  # some 17,000; all lines are eight million, all masks for each line one
        for number in range(0, rows.lines, rows.lines // 60):
            rows.make_line(number, (0, 64 << 20))
