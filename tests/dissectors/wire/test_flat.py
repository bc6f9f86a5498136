"""A Table is a list of dicts to whoever looks."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from dissectors.wire.flat import FlatColumns, FlatRows, IntegerColumn, NestedColumn, RowTable, Slices

DATA = "abcé".encode()
INNER = FlatColumns(DATA, (Slices("k", np.array([3, 0, 0]), np.array([2, 1, -1]), text=True),), 3)
COLUMNS = FlatColumns(
    DATA,
    (
        IntegerColumn("n", np.array([5, -1, 2**62])),
        Slices("b", np.array([0, 0, 1]), np.array([3, -1, 0])),
        NestedColumn("in", np.array([0, 2, 2, 3]), INNER),
    ),
    3,
    2,
)
ROWS: list[dict[str, Any]] = [
    {"n": 5, "b": b"abc", "in": [{"k": "é"}, {"k": "a"}]},
    {"n": -1, "b": None, "in": []},
    {"n": 2**62, "b": b"", "in": [{"k": None}]},
]


@pytest.mark.parametrize(("start", "stop"), [(0, 3), (1, 3), (2, 2)])
def test_a_table_is_a_list(start: int, stop: int) -> None:
    table, rows = RowTable(COLUMNS, start, stop), ROWS[start:stop]
    assert (len(table), list(table), bool(table), repr(table)) == (len(rows), rows, bool(rows), repr(rows))
    assert table == rows
    assert rows == table
    assert {"records": table} == {"records": rows}
    assert table == RowTable(COLUMNS, start, stop)
    assert table != [*rows, {}]
    assert table != tuple(rows)
    assert table[1:] == rows[1:]
    assert [table[at] for at in range(-len(rows), len(rows))] == [rows[at] for at in range(-len(rows), len(rows))]
    with pytest.raises(IndexError):
        table[len(rows)]
    assert [type(item) for row in table for item in row.values()] == [
        type(item) for row in rows for item in row.values()
    ]


def test_pickled_it_is_a_plain_list() -> None:
    copy = pickle.loads(pickle.dumps(RowTable(COLUMNS, 0, 2)))
    assert (type(copy), copy) == (FlatRows, ROWS[:2])


def test_it_has_no_hash() -> None:
    with pytest.raises(TypeError):
        hash(RowTable(COLUMNS, 0, 1))
