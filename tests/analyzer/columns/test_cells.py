"""Numbers and times in columns are what str() and a calendar make of each."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.columns import cells
from analyzer.columns.cells import TooWide

LEAST, MOST = -(1 << 63), (1 << 63) - 1
EDGES = [
    0,
    1,
    9,
    10,
    99,
    9_999,
    10_000,
    99_999_999,
    100_000_000,
    999_999_999,
    10**9,
    4_294_967_295,
    1 << 32,
    10**12,
    MOST,
]


def texts(found: cells.Cells) -> list[str]:
    """Each cell without what it does not fill."""
    return [bytes(cell).replace(b"\0", b"").decode() for cell in found]


@pytest.mark.parametrize(
    "column",
    [
        *([number] for number in (*EDGES, LEAST, -1, -10_000)),
        *([number, 0] for number in (*EDGES, LEAST)),
        [LEAST, 5],
        [LEAST, -5, MOST],
        EDGES,
        [-number for number in EDGES],
        list(range(-20, 20_020, 7)),
        [],
    ],
)
def test_integers(column: list[int]) -> None:
    assert texts(cells.format_integers(np.array(column, np.int64))) == list(map(str, column))


@given(st.lists(st.integers(LEAST, MOST), min_size=1))
def test_any_signed_integers(column: list[int]) -> None:
    assert texts(cells.format_integers(np.array(column, np.int64))) == list(map(str, column))


@given(st.lists(st.integers(0, (1 << 64) - 1), min_size=1))
def test_any_unsigned_integers(column: list[int]) -> None:
    assert texts(cells.format_integers(np.array(column, np.uint64))) == list(map(str, column))


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32])
def test_narrow_integers(kind: type[np.integer]) -> None:
    ends = np.iinfo(kind)
    column = [int(ends.min), 0, 1, int(ends.max)]
    assert texts(cells.format_integers(np.array(column, kind))) == list(map(str, column))


@pytest.mark.parametrize("width", [1, 2, 6, 30])
@pytest.mark.parametrize("column", [[1, 22, 333], [-1, 5, 12_345], [-32_768, 7], [0]])
def test_right_aligned(column: list[int], width: int) -> None:
    found = cells.align_right(cells.format_integers(np.array(column, np.int64)), width)
    assert texts(found) == [str(number).rjust(width) for number in column]


def test_right_aligned_nothing() -> None:
    numbers = cells.replace_nulls(cells.format_integers(np.array([7, 0, 123])), np.array([False, True, False]), b"")
    assert texts(cells.align_right(numbers, 2)) == [" 7", "  ", "123"]


def iso(nanoseconds: int) -> str:
    seconds, rest = divmod(nanoseconds, 10**9)
    return f"{(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)):%Y-%m-%dT%H:%M:%S}.{rest:09}Z"


@given(st.lists(st.integers(LEAST, MOST)))
def test_times(column: list[int]) -> None:
    """From 1677 to 2262: what 64 bits of nanoseconds reach."""
    assert texts(cells.format_times(np.array(column, np.int64))) == list(map(iso, column))


def test_times_at_edges() -> None:
    column = [0, -1, 1, 10**9 - 1, 10**9, -(10**9), 951_782_400 * 10**9, 4_107_542_399_999_999_999, LEAST, MOST]
    found = cells.format_times(np.array(column))
    assert texts(found) == list(map(iso, column))
    assert found.shape == (len(column), cells.ISO_WIDTH)
    assert (texts(found)[1], texts(found)[6]) == ("1969-12-31T23:59:59.999999999Z", "2000-02-29T00:00:00.000000000Z")


def test_a_table_is_bounded() -> None:
    assert texts(cells.make_cells([b"", b"abc", b"x" * cells.WIDEST])) == ["", "abc", "x" * cells.WIDEST]
    assert cells.make_cells([]).shape == (0, 0)
    assert cells.make_cells([b"", b""]).shape == (2, 0)
    with pytest.raises(TooWide):
        cells.make_cells([b"a", b"x" * (cells.WIDEST + 1)])


@pytest.mark.parametrize("text", [b"", b"null", b"nothing at all"])
def test_nothing_where(text: bytes) -> None:
    null = np.array([True, False, True])
    found = cells.replace_nulls(cells.make_cells([b"a", b"abcdef", b"xyz"]), null, text)
    assert texts(found) == [text.decode(), "abcdef", text.decode()]


def test_next_to_and_text() -> None:
    rows = cells.join_cells(
        [b"<", cells.make_cells([b"a", b"bcd"]), b"|", cells.format_integers(np.array([12, 3])), b">\n"], 2
    )
    assert cells.flatten_cells(rows) == b"<a|12>\n<bcd|3>\n"
    assert cells.join_cells([b"ab"], 0).shape == (0, 2)
