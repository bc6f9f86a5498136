"""Lines of bytes: where each byte stands, and that a mask hides every byte of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.render.lines import strip_styles
from tests.effort import within_steps
from tui.model.detail import HexRows


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
