"""Amounts and bars as people read them."""

from __future__ import annotations

import pytest

from analyzer.render.amounts import format_count, format_rate, format_share, format_size
from analyzer.render.columns_text import align_rows
from analyzer.render.sparkline import BLOCKS, PLAIN, choose_bars, draw_sparkline, narrow_counts


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
