"""Which rows are chosen, and how few are asked."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import pytest

import analyzer.query.selection
from analyzer.columns.arrays import Ints
from analyzer.decode.rows import RowReader
from analyzer.query.filter import Filter
from analyzer.query.selection import Selection

COUNT = 1000
READER = cast(RowReader, SimpleNamespace(session=SimpleNamespace(rows=SimpleNamespace(first=0))))
LATER = cast(RowReader, SimpleNamespace(session=SimpleNamespace(rows=SimpleNamespace(first=400))))


class Sevenths:
    """A filter that keeps each seventh row, and remembers which it was asked about."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def select_rows(self, reader: RowReader, rows: Ints) -> Ints:
        self.asked += rows.tolist()
        return rows[rows % 7 == 0]


def chosen(parts: Iterator[Ints]) -> list[int]:
    return [row for part in parts for row in part.tolist()]


def growth(*ends: int) -> Iterator[range]:
    for begin, end in zip((0, *ends), ends, strict=False):
        yield range(begin, end)


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyzer.query.selection, "FIRST", 16)
    monkeypatch.setattr(analyzer.query.selection, "LARGEST", 128)


@pytest.mark.parametrize("tail", [None, 0, 1, 3, 50, 5000])
@pytest.mark.parametrize("head", [None, 0, 1, 3, 50, 5000])
@pytest.mark.parametrize("filtered", [False, True])
def test_heads_and_tails(head: int | None, tail: int | None, filtered: bool) -> None:
    """The same of rows that have been read and of rows that come."""
    wanted = Sevenths() if filtered else None
    selection = Selection(wanted=cast(Filter, wanted), head=head, tail=tail)
    rows = [row for row in range(COUNT) if not filtered or row % 7 == 0][:head]
    rows = rows if tail is None else rows[max(len(rows) - tail, 0) :]
    assert chosen(selection.select_rows(READER, COUNT)) == rows
    assert chosen(selection.iterate_selected(READER, growth(3, 3, 500, 501, COUNT))) == rows


def test_a_head_asks_no_further_than_it_reaches() -> None:
    wanted = Sevenths()
    assert chosen(Selection(wanted=cast(Filter, wanted), head=3).select_rows(READER, COUNT)) == [0, 7, 14]
    assert wanted.asked == list(range(16))


def test_a_tail_is_found_from_the_end() -> None:
    wanted = Sevenths()
    assert chosen(Selection(wanted=cast(Filter, wanted), tail=3).select_rows(READER, COUNT)) == [980, 987, 994]
    assert sorted(wanted.asked) == list(range(COUNT - 16 - 64, COUNT))


def test_what_comes_is_left_when_the_head_is_there() -> None:
    blocks = growth(10, 20, 30, 40)
    assert chosen(Selection(head=12).iterate_selected(READER, blocks)) == list(range(12))
    assert next(blocks) == range(20, 30)


@pytest.mark.parametrize(
    ("count", "read", "left"),
    [
        (None, [range(10), range(10, 10), range(10, 30)], None),
        (0, [], range(10)),
        (9, [range(9)], range(10, 10)),
        (10, [range(10)], range(10, 10)),
        (11, [range(10), range(10, 10), range(10, 11)], None),
        (30, [range(10), range(10, 10), range(10, 30)], None),
        (31, [range(10), range(10, 10), range(10, 30)], None),
    ],
)
def test_reading(count: int | None, read: list[range], left: range | None) -> None:
    blocks = growth(10, 10, 30)
    assert list(Selection(count=count).limit_rows(blocks)) == read
    assert next(blocks, None) == left


@pytest.mark.parametrize(
    ("selection", "rows"),
    [
        (Selection(), range(400, COUNT)),
        (Selection(head=2), range(400, 402)),
        (Selection(tail=2), range(COUNT - 2, COUNT)),
        (Selection(tail=5000), range(400, COUNT)),
        (Selection(head=500, tail=450), range(450, 900)),
    ],
    ids=str,
)
def test_rows_that_have_left_are_passed_over(selection: Selection, rows: range) -> None:
    assert chosen(selection.select_rows(LATER, COUNT)) == list(rows)
