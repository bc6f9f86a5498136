"""A Table as JSON: byte for byte what the list of its rows is."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.decode import json_table
from analyzer.decode.jsonable import JsonWriter, Limits
from dissectors.wire.flat import FlatColumns, IntegerColumn, NestedColumn, RowTable, Slices

Item = tuple[str | None, bytes | None]
Row = tuple[int, bytes | None, str | None, list[Item]]

NUMBERS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-20_000, 20_000),
    st.sampled_from([0, 9, 10, 9999, 10_000, 10**8, -1, 10**12]),
    st.integers(1_795_000_000_000, 1_795_000_009_999),
)
BYTES = st.none() | st.binary(max_size=3) | st.binary(min_size=60, max_size=70)
TEXT = st.none() | st.text("ab'/", max_size=4) | st.text(max_size=4)
ROWS = st.lists(st.tuples(NUMBERS, BYTES, TEXT, st.lists(st.tuples(TEXT, BYTES), max_size=3)), max_size=9)
LIMITS = [Limits(), Limits(0), Limits(None, None), Limits(63, 2), Limits(64, 5, True), Limits(1, 0), Limits(-2)]


class Pool:
    """Bytes, one behind the other."""

    def __init__(self) -> None:
        self.data = b""

    def slices(self, name: str, items: list[bytes | None], text: bool = False) -> Slices:
        at, length = [], []
        for item in items:
            at.append(len(self.data))
            length.append(-1 if item is None else len(item))
            self.data += item or b""
        return Slices(name, np.array(at, np.int64), np.array(length, np.int64), text)


def encoded(items: list[str | None]) -> list[bytes | None]:
    return [None if item is None else item.encode() for item in items]


def table(rows: list[Row], nested: bool = True) -> RowTable:
    pool = Pool()
    items = [item for row in rows for item in row[3]]
    columns: list[Any] = [
        IntegerColumn("number", np.array([row[0] for row in rows], np.int64)),
        pool.slices("value", [row[1] for row in rows]),
        pool.slices("text", encoded([row[2] for row in rows]), text=True),
    ]
    inner = pool.slices("key", encoded([item[0] for item in items]), text=True), pool.slices("v", [i[1] for i in items])
    if nested:
        ends = np.array(list(accumulate((len(row[3]) for row in rows), initial=0)), np.int64)
        columns.append(NestedColumn("items", ends, FlatColumns(pool.data, inner, len(items))))
    longest = max((len(row[3]) for row in rows), default=0) if nested else 0
    return RowTable(FlatColumns(pool.data, tuple(columns), len(rows), longest), 0, len(rows))


def same(found: RowTable, limits: Limits) -> None:
    cut = len(found) // 2
    parts = [found, RowTable(found.columns, 0, cut), RowTable(found.columns, cut, len(found))]
    expected = JsonWriter(limits).format_line({"parts": [part.rows() for part in parts]})
    assert JsonWriter(limits).format_line({"parts": parts}) == expected


@pytest.mark.sampled(2)
@pytest.mark.parametrize("limits", LIMITS, ids=str)
@given(rows=ROWS, nested=st.booleans())
def test_it_is_written_like_a_list(limits: Limits, rows: list[Row], nested: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_table, "_ROWS_LEAST", 0)
        same(table(rows, nested), limits)


PLAIN: Row = (7, b"value", "text", [("key", b"v"), ("other", None)])
SHAPES: list[tuple[str, list[Row]]] = [
    ("more rows than a matrix holds", [(at, b"v" * (at % 90), "t", [("k", b"h")] * (at % 3)) for at in range(9000)]),
    ("large values", [(at, bytes(20_000), None, []) for at in range(70)]),
    ("one value far larger", [PLAIN] * 40 + [(1, bytes(300_000), None, [])] + [PLAIN] * 40),
    ("one list far longer", [PLAIN] * 9 + [(1, b"", None, [("k", b"")] * 5000)]),
    ("a text far longer", [PLAIN] * 40 + [(1, b"", "t" * 50_000, [])]),
    ("a text to be escaped", [PLAIN] * 9 + [(1, b"", 'a"\n\\', [])]),
    ("a text that acts", [PLAIN] * 9 + [(1, b"", "\x7f\u202e", [("\x9b", b"")])]),
]


@pytest.mark.sampled(9)
@pytest.mark.parametrize("limits", [Limits(), Limits(None, None), Limits(64, 100)], ids=str)
@pytest.mark.parametrize("rows", [case[1] for case in SHAPES], ids=[case[0] for case in SHAPES])
def test_shapes(rows: list[Row], limits: Limits) -> None:
    same(table(rows), limits)


def test_most_are_written_by_the_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(RowTable, "rows")
    assert JsonWriter().format_line(table([PLAIN] * 30)).count(b'"other"') == 30


def test_nothing_of_a_message_is_retained() -> None:
    writer = JsonWriter()
    writer.format_line(table([PLAIN] * 30))
    assert writer._tables is not None
    assert writer._tables._window is None


def test_a_defect_of_the_writer_is_no_value_without_a_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(json_table, "_estimate_size")
    with pytest.raises(NameError):
        JsonWriter().format_line(table([PLAIN]))
