"""Amounts, bars and durations as people read them, and what a cell has of the values of a path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.columns.cells import TooWide, flatten_cells
from analyzer.columns.values import CellStyle
from analyzer.decode.limits import Limits
from analyzer.query.fields import FieldKind, FieldPath
from analyzer.query.fields.path import RowKey
from analyzer.render.amounts import format_count, format_rate, format_share, format_size
from analyzer.render.columns_text import align_rows
from analyzer.render.durations import format_duration, make_duration_cells
from analyzer.render.shapes import JoinedCell, ListedCell
from analyzer.render.sparkline import BLOCKS, PLAIN, choose_bars, draw_sparkline, narrow_counts
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.nonfinite import NonFinite
from dissectors.wire.secret import Secret


@pytest.mark.parametrize(
    ("number", "text"),
    [
        *((0, "0B"), (999, "999B"), (1000, "0.98KiB"), (1024, "1.00KiB"), (10_240, "10.0KiB"), (102_400, "100KiB")),
        *((1_022_976, "999KiB"), (1_023_500, "0.98MiB"), (75_740_291, "72.2MiB"), (1 << 50, "1,024TiB")),
    ],
)
def test_a_size_has_three_digits(number: int, text: str) -> None:
    assert format_size(number) == text


def test_nothing_is_a_dash_and_unknown_is_blank() -> None:
    assert (format_count(0), format_count(None), format_count(1234)) == ("-", "", "1,234")
    assert (format_rate(None), format_rate(0.0421), format_rate(99.4), format_rate(11_421.3)) == (
        "",
        "0.0421",
        "99.4",
        "11,421",
    )
    assert (format_share(None), format_share(0.0), format_share(0.5), format_share(0.00312)) == (
        "",
        "-",
        "50%",
        "0.312%",
    )


@pytest.mark.parametrize(
    ("counts", "line"),
    [([], ""), ([0, 0], "  "), ([1], "█"), ([0, 1, 2, 4, 8], " ▁▂▄█"), ([1, 1000], "▁█"), ([7, 8], "▇█")],
)
def test_bars_grow_with_the_counts_and_what_is_there_is_seen(counts: list[int], line: str) -> None:
    assert draw_sparkline(counts) == line
    assert draw_sparkline(counts, PLAIN) == "".join(PLAIN[BLOCKS.index(bar)] for bar in line)


@pytest.mark.parametrize(
    ("encoding", "bars"), [("utf-8", BLOCKS), ("ascii", PLAIN), ("nonsense", PLAIN), (None, PLAIN)]
)
def test_bars_are_those_that_the_output_can_say(encoding: str | None, bars: str) -> None:
    assert choose_bars(encoding) == bars


def test_neighbours_are_added_up_where_there_is_no_room() -> None:
    assert narrow_counts([1, 2, 3, 4, 5], 2) == [6, 9]
    assert narrow_counts([1, 2], 5) == [1, 2]


def test_what_acts_on_a_terminal_is_shown_as_an_escape() -> None:
    assert list(align_rows([("name", "n"), ("a\x1b[31m", "10")])) == ["name        n", "a\\x1b[31m  10"]


# ---- durations in columns are those that are made one by one


STYLE = CellStyle("durations of a test", b"", str.encode)
LONGEST = 999_994_999_999
"""Nanoseconds that still are less than a thousand seconds when they are rounded."""


def written(column: list[int]) -> list[str]:
    return [flatten_cells(cell).decode() for cell in make_duration_cells(np.array(column, np.int64), STYLE)]


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        *((0, "0ns"), (1, "1ns"), (999, "999ns"), (1000, "1us"), (1004, "1us"), (1005, "1.01us"), (9994, "9.99us")),
        *(
            (9995, "10us"),
            (99_949, "99.9us"),
            (99_950, "100us"),
            (999_499, "999us"),
            (999_500, "1ms"),
            (1_234_567, "1.23ms"),
        ),
        *((999_499_999, "999ms"), (999_500_000, "1.00s"), (1_500_000_000, "1.50s"), (59_994_999_999, "59.99s")),
        *((LONGEST, "999.99s"), (123_456_789_012, "123.46s")),
    ],
)
def test_three_digits_in_the_unit_that_suits(nanoseconds: int, text: str) -> None:
    assert format_duration(nanoseconds) == text
    assert written([nanoseconds]) == [text]
    if nanoseconds:
        assert format_duration(-nanoseconds) == f"-{text}"


def test_near_every_power_of_ten() -> None:
    column = [
        number
        for power in range(13)
        for first in (1, 4, 5, 9, 10)
        for number in range(max(first * 10**power - 60, 0), first * 10**power + 60)
        if number <= LONGEST
    ]
    assert written(column) == list(map(format_duration, column))


@given(st.lists(st.integers(0, LONGEST), min_size=1))
def test_any_durations(column: list[int]) -> None:
    assert written(column) == list(map(format_duration, column))


@pytest.mark.parametrize("nanoseconds", [LONGEST + 5_000_001, 10**12, 10**15, 1 << 62])
def test_a_thousand_seconds_are_for_no_column(nanoseconds: int) -> None:
    assert format_duration(nanoseconds).endswith("s")
    with pytest.raises(TooWide):
        written([1, nanoseconds])


def test_nothing() -> None:
    assert format_duration(None) == ""
    assert written([]) == []


# ---- what a cell has of the values of a path


ONE = FieldPath("one", FieldKind.ANY, RowKey("one"))
MANY = FieldPath("many", FieldKind.ANY, RowKey("many"), repeated=True)
NAMED = FieldPath("named", FieldKind.NUMBER, RowKey("named"), label={1: "ONE"}.get)


@pytest.mark.parametrize(
    ("values", "cell"),
    [
        ((), None),
        ([[]], None),
        (["a"], "a"),
        (["a", "b"], "a,b"),
        (["a,b", "c"], "a,b,c"),
        ([""], ""),
        ([0, -1, 2**64], "0,-1,18446744073709551616"),
        ([True, False], "true,false"),
        ([1.5, NonFinite("nan")], "1.5,NaN"),
        ([b"\x00\xff"], "00ff"),
        ([b""], ""),
        ([b"12345"], "313233..."),
        ([{"a": 1}], '{"a":1}'),
        (["1", "2", "3", "4", "5"], "1,2,3,..."),
        ([Secret("pw")], '{"redacted":true,"length":2}'),
        ([EmbeddedValue(b"\x01", {"a": 1}, "A")], "01"),
        ([EmbeddedValue(Secret(b"\x01"), {"a": Secret("x")}, "A")], '{"redacted":true,"length":1}'),
    ],
)
def test_texts(values: Sequence[Any], cell: str | None) -> None:
    assert JoinedCell(Limits(3, 3))(MANY, values) == cell


def test_secrets_are_shown_when_requested() -> None:
    shown = JoinedCell(Limits(show_secrets=True))
    assert shown(MANY, [Secret("pw"), Secret(b"\x01"), EmbeddedValue(Secret(b"\x02"), None)]) == "pw,01,02"


def test_labels_are_for_people() -> None:
    assert JoinedCell(Limits(), labels=True)(NAMED, [1, 2]) == "ONE,2"
    assert JoinedCell(Limits())(NAMED, [1, 2]) == "1,2"


@pytest.mark.parametrize(
    ("path", "values", "found"),
    [
        (ONE, (), None),
        (ONE, ["a"], "a"),
        (ONE, ["a", "b"], ["a", "b"]),
        (MANY, (), []),
        (MANY, [[]], []),
        (MANY, ["a"], ["a"]),
        (MANY, [b"a", None], [b"a", None]),
    ],
)
def test_json(path: FieldPath, values: Sequence[Any], found: Any) -> None:
    assert ListedCell()(path, values) == found
