"""The page of figures: what was measured again is replaced, and a goal that is lost is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.page import BEGIN, END, update_page
from benchmarks.table import Line

FAST = Line("`list`", "real", "1.00 s", "tshark", "2.50 s", 2.5, "2")
MEMORY = Line("growth", "small", "1 2 s", ratio=0.9, goal="1.05", low=True)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(f"# Figures\n\n{BEGIN}\n{END}\n\nThe end.\n")
    return path


def test_rows_of_another_run_stay(page: Path) -> None:
    assert not update_page(page, [FAST, MEMORY], "machine, monday")
    assert not update_page(page, [FAST._replace(ours="1.01 s", ratio=2.49)], "machine, tuesday")
    text = page.read_text()
    assert "- run 1: machine, monday" in text
    assert "| `list` | real | 1.01 s | tshark | 2.50 s | 2.5 | 2 | 2 |" in text
    assert "| growth | small | 1 2 s |  |  | 0.90 | 1.05 | 1 |" in text
    assert text.startswith("# Figures\n")
    assert text.endswith("\nThe end.\n")
    assert text.count("| work |") == 1


def test_a_run_without_rows_is_forgotten(page: Path) -> None:
    update_page(page, [FAST], "monday")
    update_page(page, [FAST], "tuesday")
    assert "monday" not in page.read_text()


@pytest.mark.parametrize(
    ("now", "lost"),
    [
        (FAST._replace(ratio=1.9), False),
        (FAST._replace(ratio=1.7), True),
        (MEMORY._replace(ratio=1.1), False),
        (MEMORY._replace(ratio=1.3), True),
    ],
)
def test_a_goal_that_was_reached_may_fall_by_a_tenth(page: Path, now: Line, lost: bool) -> None:
    update_page(page, [FAST, MEMORY], "monday")
    assert bool(update_page(page, [now], "tuesday")) is lost


def test_a_goal_that_was_never_reached_is_not_lost(page: Path) -> None:
    update_page(page, [FAST._replace(ratio=1.0)], "monday")
    assert not update_page(page, [FAST._replace(ratio=0.5)], "tuesday")


def test_a_page_without_a_place_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("# Figures\n")
    with pytest.raises(ValueError, match="no place for figures"):
        update_page(path, [FAST], "monday")
