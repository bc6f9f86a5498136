"""Tables: sorted, narrowed, and in any width."""

from __future__ import annotations

from random import Random

import pytest
from rich.cells import cell_len

from analyzer.render.lines import plain
from tests.tui.hostile import TEXTS, acts
from tui.model.table import BAR, DOWN, GAP, SHORTEST, UP, Column, Order, Table

NAMES = ["beta", "Alpha", "gamma-long-name-that-goes-on-and-on-to-its-end", "delta"]
COUNTS = [3, None, 10, 3]


def table() -> Table:
    columns = [
        Column("name", NAMES, str, left=True),
        Column("count", COUNTS, str),
        Column("more", [1, 2, 3, 4], str, rank=1),
        Column("most", [10**9] * 4, str, rank=2),
    ]
    return Table(columns, [3, 1, 10, 3])


ORDERS = [
    (Order(), [0, 1, 2, 3]),
    (Order(turned=True), [3, 2, 1, 0]),
    (Order("count"), [2, 0, 3, 1]),
    (Order("count", turned=True), [0, 3, 2, 1]),
    (Order("name"), [1, 0, 3, 2]),
    (Order("name", turned=True), [2, 3, 0, 1]),
    (Order("gone"), [0, 1, 2, 3]),
    (Order(words=("a",)), [0, 1, 2, 3]),
    (Order(words=("ta",)), [0, 3]),
    (Order("name", words=("al", "a")), [1]),
    (Order(words=("ta", "al")), []),
]


@pytest.mark.parametrize(("order", "wanted"), ORDERS)
def test_orders(order: Order, wanted: list[int]) -> None:
    assert list(table().ordered(order)) == wanted


def test_signs_say_how_it_is_sorted() -> None:
    found = table()
    fit = found.fitted(100)
    for order, sign in ((Order("count"), DOWN), (Order("count", turned=True), UP), (Order("name"), UP)):
        head = "".join(text for text, _ in found.head(fit, order))
        assert head.count(DOWN) + head.count(UP) == 1
        assert f"{order.by}{sign}" in head.replace(" ", "")
    assert [title for _, title in found.head(fit, Order())] == ["name", "count", "more", "most"]


@pytest.mark.parametrize("width", range(1, 110))
def test_what_fits(width: int) -> None:
    found = table()
    fit = found.fitted(width)
    used = sum(fit.widths) + GAP * (len(fit.widths) - 1)
    assert fit.columns[:2] == (0, 1)
    assert used <= width or (fit.columns == (0, 1) and fit.widths[0] == SHORTEST)
    if len(fit.columns) == 4:
        assert sum(fit.widths) + GAP * 3 <= width
    assert (2 not in fit.columns) <= (3 not in fit.columns)
    head = "".join(text for text, _ in found.head(fit, Order()))
    for row in range(len(found)):
        line = plain(found.line(fit, row))
        assert cell_len(line) <= max(width, used)
        assert cell_len(head.rstrip()) <= used + 1
    if fit.bar:
        assert fit.bar >= BAR
        assert plain(found.line(fit, 2)).count("█") == fit.bar


def test_a_name_that_is_cut_shows_both_ends() -> None:
    found = table()
    line = plain(found.line(found.fitted(30), 2))
    assert line.startswith("gamma")
    assert "…" in line
    assert "its-end" in line


def test_any_text_keeps_its_columns() -> None:
    texts = [*TEXTS, "".join(Random(2).choices("漢字 ab\u0301", k=80))]
    found = Table([Column("name", texts, str, left=True), Column("number", list(range(len(texts))), str)])
    for width in (20, 61, 300):
        fit = found.fitted(width)
        for row in range(len(texts)):
            line = plain(found.line(fit, row))
            assert not acts(line)
            assert cell_len(line) == sum(fit.widths) + GAP, repr(line)
            assert line.rstrip().endswith(str(row))
