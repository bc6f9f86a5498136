"""A column says the same as values and as cells."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from analyzer.columns.cells import TooWide, flatten_cells
from analyzer.columns.values import (
    CellColumn,
    CellStyle,
    ConcatenatedColumn,
    FlagColumn,
    IntegerColumn,
    ScopedColumn,
    TextColumn,
    TextTable,
    TimeColumn,
    make_text_table,
)
from analyzer.decode.jsonable import Limits
from analyzer.decode.rows import KEYS, RowReader
from analyzer.render.ndjson import NdjsonForm
from analyzer.session import Session
from tests.analyzer.roads import FIELDS, together

GOLDEN = Path(__file__).parents[2] / "golden"
JSON = CellStyle("json", b"null", lambda text: json.dumps(text).encode(), b'"')
FEW = make_text_table(("a", "", 'q"', "long " * 9))
NULLS = np.array([False, True, False, True])
NUMBERS = np.array([3, -(1 << 63), 0, 12_345])
UNSIGNED = IntegerColumn(NUMBERS.astype(np.uint64))

COLUMNS: dict[str, Callable[[], CellColumn]] = {
    "integers": lambda: IntegerColumn(NUMBERS),
    "some integers": lambda: IntegerColumn(NUMBERS, NULLS),
    "no integers": lambda: IntegerColumn(NUMBERS, np.ones(4, bool)),
    "all of some": lambda: IntegerColumn(NUMBERS, np.zeros(4, bool)),
    "flags": lambda: FlagColumn(NULLS),
    "times": lambda: TimeColumn(NUMBERS),
    "picked": lambda: TextColumn(FEW, np.array([0, 3, 2, 1])),
    "picked again": lambda: TextColumn(FEW, np.array([1, 1, 0, 0])),
    "some picked": lambda: TextColumn(
        TextTable(lambda number: None if number == 2 else "x" * number), np.array([0, 2, 9, 2])
    ),
    "joined": lambda: ConcatenatedColumn(
        [TextColumn(make_text_table(("a", "bc")), np.array([0, 1, 1, 0])), IntegerColumn(NUMBERS)]
    ),
    "some joined": lambda: ConcatenatedColumn(
        [TextColumn(make_text_table(("a", "bc")), np.array([0, 1, 1, 0])), IntegerColumn(NUMBERS)], NULLS
    ),
    "scoped": lambda: ScopedColumn(
        TextColumn(make_text_table(("s:", "t/")), np.array([0, 1, 0, 1])), NULLS, IntegerColumn(NUMBERS), UNSIGNED
    ),
    "some scoped": lambda: ScopedColumn(
        TextColumn(make_text_table(("s:", "t/")), np.array([0, 1, 0, 1])),
        NULLS,
        IntegerColumn(NUMBERS, ~NULLS),
        UNSIGNED,
    ),
    "not scoped": lambda: ScopedColumn(
        TextColumn(make_text_table(("s:", "t/")), np.array([0, 1, 0, 1])),
        np.zeros(4, bool),
        IntegerColumn(NUMBERS, NULLS),
        UNSIGNED,
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_cells_are_the_values(name: str) -> None:
    column = COLUMNS[name]()
    lines = [json.loads(flatten_cells(cell)) for cell in column.cells(JSON)]
    assert lines == column.values()
    assert len(lines) == len(NUMBERS)
    assert list(map(type, lines)) == list(map(type, column.values()))


def test_numbers_of_a_scope_have_all_64_bits() -> None:
    assert COLUMNS["scoped"]().values()[1] == "t/9223372036854775808"


def test_texts_are_made_once_and_when_requested() -> None:
    requested: list[int] = []
    texts = TextTable(lambda number: requested.append(number) or str(number) * 3)  # type: ignore[func-returns-value]
    for numbers in ([5], [5, 5, 1], [900], [], [1, 900]):
        assert texts.values(np.array(numbers, np.int64)) == [str(number) * 3 for number in numbers]
        cells = texts.cells(np.array(numbers, np.int64), JSON)
        assert [flatten_cells(cell).decode() for cell in cells] == [f'"{number}{number}{number}"' for number in numbers]
    assert requested == [5, 1, 900]


def test_styles_do_not_meet() -> None:
    blank = CellStyle("blank", b"-", lambda text: text.ljust(4).encode())
    picked = TextColumn(TextTable(lambda number: None if number else "ab"), np.array([0, 1]))
    for _ in range(2):
        assert [flatten_cells(cell) for cell in picked.cells(JSON)] == [b'"ab"', b"null"]
        assert [flatten_cells(cell) for cell in picked.cells(blank)] == [b"ab  ", b"-"]


def test_a_text_beyond_cells() -> None:
    picked = TextColumn(make_text_table(("a", "x" * 600)), np.array([0, 1]))
    with pytest.raises(TooWide):
        picked.cells(JSON)
    assert picked.values() == ["a", "x" * 600]
    assert flatten_cells(TextColumn(picked.texts, np.array([0])).cells(JSON)) == b'"a"'


@pytest.mark.parametrize("name", ["kafka/k4_errors", "pulsar/java4_errors", "zookeeper/cl_kazoo_expired"])
def test_values_are_those_of_printed_rows(name: str) -> None:
    with Session([GOLDEN / f"{name}.pcap.zst"]).load() as session:
        printed = [json.loads(line) for line in together(session, NdjsonForm(FIELDS, Limits())).splitlines()]
        cells = RowReader(session).read_columns(list(KEYS), np.arange(len(session.rows)))
        columns = dict(zip(KEYS, cells, strict=True))
        for key, values in columns.items():
            assert values == [row[key] for row in printed], key
            assert {type(value) for value in values} <= {int, str, bool, type(None)}, key
