"""Tables: sorted, narrowed, and in any width."""

from __future__ import annotations

from random import Random

import pytest
from rich.cells import cell_len

from analyzer.render.lines import strip_styles
from tests.tui.hostile import TEXTS, acts
from tui.model.table import DOWN, GAP, LEAST_BAR, SHORTEST_NAME, UP, SortableTable, TableColumn, TableOrder

NAMES = ["beta", "Alpha", "gamma-long-name-that-goes-on-and-on-to-its-end", "delta"]
COUNTS = [3, None, 10, 3]


def table() -> SortableTable:
    columns = [
        TableColumn("name", NAMES, str, is_name=True),
        TableColumn("count", COUNTS, str),
        TableColumn("more", [1, 2, 3, 4], str, rank=1),
        TableColumn("most", [10**9] * 4, str, rank=2),
    ]
    return SortableTable(columns, [3, 1, 10, 3])


ORDERS = [
    (TableOrder(), [0, 1, 2, 3]),
    (TableOrder(is_reversed=True), [3, 2, 1, 0]),
    (TableOrder("count"), [2, 0, 3, 1]),
    (TableOrder("count", is_reversed=True), [0, 3, 2, 1]),
    (TableOrder("name"), [1, 0, 3, 2]),
    (TableOrder("name", is_reversed=True), [2, 3, 0, 1]),
    (TableOrder("gone"), [0, 1, 2, 3]),
    (TableOrder(words=("a",)), [0, 1, 2, 3]),
    (TableOrder(words=("ta",)), [0, 3]),
    (TableOrder("name", words=("al", "a")), [1]),
    (TableOrder(words=("ta", "al")), []),
]


@pytest.mark.parametrize(("order", "wanted"), ORDERS)
def test_orders(order: TableOrder, wanted: list[int]) -> None:
    assert list(table().sort_rows(order)) == wanted


def test_signs_say_how_it_is_sorted() -> None:
    found = table()
    fit = found.fit(100)
    for order, sign in (
        (TableOrder("count"), DOWN),
        (TableOrder("count", is_reversed=True), UP),
        (TableOrder("name"), UP),
    ):
        head = "".join(text for text, _ in found.make_head(fit, order))
        assert head.count(DOWN) + head.count(UP) == 1
        assert f"{order.by}{sign}" in head.replace(" ", "")
    assert [title for _, title in found.make_head(fit, TableOrder())] == ["name", "count", "more", "most"]


@pytest.mark.parametrize("width", range(1, 110))
def test_what_fits(width: int) -> None:
    found = table()
    fit = found.fit(width)
    used = sum(fit.widths) + GAP * (len(fit.widths) - 1)
    assert fit.columns[:2] == (0, 1)
    assert used <= width or (fit.columns == (0, 1) and fit.widths[0] == SHORTEST_NAME)
    if len(fit.columns) == 4:
        assert sum(fit.widths) + GAP * 3 <= width
    assert (2 not in fit.columns) <= (3 not in fit.columns)
    head = "".join(text for text, _ in found.make_head(fit, TableOrder()))
    for row in range(len(found)):
        line = strip_styles(found.make_line(fit, row))
        assert cell_len(line) <= max(width, used)
        assert cell_len(head.rstrip()) <= used + 1
    if fit.bar:
        assert fit.bar >= LEAST_BAR
        assert strip_styles(found.make_line(fit, 2)).count("█") == fit.bar


def test_a_name_that_is_cut_shows_both_ends() -> None:
    found = table()
    line = strip_styles(found.make_line(found.fit(30), 2))
    assert line.startswith("gamma")
    assert "…" in line
    assert "its-end" in line


def test_any_text_keeps_its_columns() -> None:
    texts = [*TEXTS, "".join(Random(2).choices("漢字 ab\u0301", k=80))]
    found = SortableTable(
        [TableColumn("name", texts, str, is_name=True), TableColumn("number", list(range(len(texts))), str)]
    )
    for width in (20, 61, 300):
        fit = found.fit(width)
        for row in range(len(texts)):
            line = strip_styles(found.make_line(fit, row))
            assert not acts(line)
            assert cell_len(line) == sum(fit.widths) + GAP, repr(line)
            assert line.rstrip().endswith(str(row))
