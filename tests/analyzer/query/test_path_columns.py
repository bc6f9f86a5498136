"""Fields beside keys of rows: the same whichever way lines are written, and decoded as seldom as can be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyzer.columns.arrays import Ints
from analyzer.decode.limits import Limits
from analyzer.decode.rows import RowReader
from analyzer.query.column_names import resolve_keys
from analyzer.query.fields import FieldPath, FieldReader
from analyzer.query.path_columns import CellFormat
from analyzer.render.delimited import DelimitedForm
from analyzer.render.extended_rows import ExtendedRowReader
from analyzer.render.forms import RowForm, RowWriter
from analyzer.render.ndjson import NdjsonForm
from analyzer.render.shapes import JoinedCell, ListedCell
from analyzer.session import Session
from tests.analyzer.roads import Taken, list_offsets, offsets_listed, opened, taken

__all__ = ["taken"]

NAME = "kafka.ListOffsets.request.topics.name"
OFFSET = "kafka.ListOffsets.response.topics.partitions.offset"
KEYS: dict[str, Sequence[str]] = {
    "one": (NAME,),
    "beside keys": ("number", NAME, "operation", "source.port", OFFSET),
    "beside bodies": (OFFSET, "info", NAME, "error", "fields"),
    "what the index tells": ("source.ip", "source.port", "port", "kafka.ListOffsets", "kafka.api_version"),
    "the message": ("bytes", "number"),
}
PAIRS = [
    *[(list_offsets(b"orders", 0, 1), offsets_listed(b"orders", 0, 0, 1, 42))] * 30,
    (list_offsets(b'a,"b"\t\\\n\x1b[0m', 0, 1), offsets_listed(b"\xff\xfe", 0, 0, 1, -1)),
    (list_offsets(b"", 0, 1), offsets_listed(b"orders", 0, 0, 1, 2**63 - 1)),
]
WIDE = (list_offsets(b"w" * 900, 0, 1), offsets_listed(b"orders", 0, 0, 1, 7))


def form_of(name: str, keys: Sequence[str]) -> tuple[RowForm, CellFormat]:
    requested = resolve_keys(keys, "-e")
    if name == "ndjson":
        return NdjsonForm(requested.names, Limits()), ListedCell()
    return DelimitedForm(requested.titles, requested.names, "," if name == "csv" else "\t", Limits()), JoinedCell(
        Limits()
    )


def printed(session: Session, name: str, keys: Sequence[str], rows: Ints) -> bytes:
    """What both ways must give."""
    form, shape = form_of(name, keys)
    paths = resolve_keys(keys, "-e").paths
    together = b"".join(RowWriter(form, ExtendedRowReader(RowReader(session), paths, shape)).write_rows(rows))
    assert together == b"".join(form.format_rows(ExtendedRowReader(RowReader(session), paths, shape), rows))
    return together


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("form", ["ndjson", "csv", "tsv"])
def test_lines_do_not_depend_on_the_way(tmp_path: Path, taken: Taken, form: str, keys: str, wide: bool) -> None:
    with opened(tmp_path, [*PAIRS, *([WIDE] if wide else [])]) as session:
        count = len(session.rows)
        for rows in (np.arange(count), np.arange(count)[::-3], np.arange(0), np.array([count - 1, 0])):
            text = printed(session, form, KEYS[keys], rows)
            assert len(text.splitlines()) == len(rows)
            assert not set(text) & (set(range(32)) - set(b"\n\t"))


@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_each_row_is_read_once_for_all_fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    """Also where a cell is too long for a column, so that lines are written one by one after all."""
    read: list[tuple[str, int]] = []
    by_row = FieldReader.read_by_row

    def noted(reading: FieldReader, field: FieldPath, rows: Ints) -> list[Sequence[Any]]:
        read.extend((field.name, row) for row in rows.tolist())
        return by_row(reading, field, rows)

    monkeypatch.setattr(FieldReader, "read_by_row", noted)
    with opened(tmp_path, [*PAIRS, WIDE]) as session:
        rows = np.arange(len(session.rows))
        requested, shape = form_of(form, (NAME, OFFSET))
        lines = RowWriter(
            requested, ExtendedRowReader(RowReader(session), resolve_keys((NAME, OFFSET), "-e").paths, shape)
        )
        assert len(b"".join(lines.write_rows(rows)).splitlines()) == len(rows)
        assert sorted(read) == sorted((name, row) for name in (NAME, OFFSET) for row in rows.tolist())


def test_rows_of_another_turn_are_read_anew(tmp_path: Path) -> None:
    with opened(tmp_path, PAIRS) as session:
        reader = ExtendedRowReader(RowReader(session), resolve_keys((NAME,), "-e").paths, JoinedCell(Limits()))
        whole = reader.read_column(NAME, np.arange(64)).values()
        assert reader.read_column(NAME, np.array([62, 0])).values() == ["", "orders"]
        assert reader.read_column(NAME, np.array([60, 61])).values() == whole[60:62]
        assert reader.read_columns(["number", NAME], np.array([1, 2])) == [[2, 3], [None, "orders"]]
        assert reader.read_column(NAME, np.arange(64)).values() == whole
