"""Amounts and bars as people read them."""

from __future__ import annotations

import pytest

from analyzer.render.amounts import count, rate, share, size
from analyzer.render.columns_text import aligned
from analyzer.render.sparkline import BLOCKS, PLAIN, bars_for, narrowed, sparkline


@pytest.mark.parametrize(
    ("number", "text"),
    [
        *((0, "0B"), (999, "999B"), (1000, "0.98KiB"), (1024, "1.00KiB"), (10_240, "10.0KiB"), (102_400, "100KiB")),
        *((1_022_976, "999KiB"), (1_023_500, "0.98MiB"), (75_740_291, "72.2MiB"), (1 << 50, "1,024TiB")),
    ],
)
def test_a_size_has_three_digits(number: int, text: str) -> None:
    assert size(number) == text


def test_nothing_is_a_dash_and_unknown_is_blank() -> None:
    assert (count(0), count(None), count(1234)) == ("-", "", "1,234")
    assert (rate(None), rate(0.0421), rate(99.4), rate(11_421.3)) == ("", "0.0421", "99.4", "11,421")
    assert (share(None), share(0.0), share(0.5), share(0.00312)) == ("", "-", "50%", "0.312%")


@pytest.mark.parametrize(
    ("counts", "line"),
    [([], ""), ([0, 0], "  "), ([1], "█"), ([0, 1, 2, 4, 8], " ▁▂▄█"), ([1, 1000], "▁█"), ([7, 8], "▇█")],
)
def test_bars_grow_with_the_counts_and_what_is_there_is_seen(counts: list[int], line: str) -> None:
    assert sparkline(counts) == line
    assert sparkline(counts, PLAIN) == "".join(PLAIN[BLOCKS.index(bar)] for bar in line)


@pytest.mark.parametrize(
    ("encoding", "bars"), [("utf-8", BLOCKS), ("ascii", PLAIN), ("nonsense", PLAIN), (None, PLAIN)]
)
def test_bars_are_those_that_the_output_can_say(encoding: str | None, bars: str) -> None:
    assert bars_for(encoding) == bars


def test_neighbours_are_added_up_where_there_is_no_room() -> None:
    assert narrowed([1, 2, 3, 4, 5], 2) == [6, 9]
    assert narrowed([1, 2], 5) == [1, 2]


def test_what_acts_on_a_terminal_is_shown_as_an_escape() -> None:
    assert list(aligned([("name", "n"), ("a\x1b[31m", "10")])) == ["name        n", "a\\x1b[31m  10"]
