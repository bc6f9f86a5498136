"""Lines that unfold, held equal to a list of all of them."""

from __future__ import annotations

from random import Random

from tui.model.fold_list import FoldLine, FoldList


def spelled(heads: int, heights: dict[int, int]) -> list[FoldLine]:
    return [FoldLine(head, beneath) for head in range(heads) for beneath in range(heights.get(head, 0) + 1)]


def test_as_a_list_of_all_lines() -> None:
    random = Random(7)
    accordion, heights = FoldList(40), dict[int, int]()
    for _ in range(400):
        head, before = random.randrange(40), accordion.lines
        if random.random() < 0.4:
            assert accordion.fold(head) == heights.pop(head, 0)
        else:
            heights[head] = random.randrange(5)
            assert accordion.unfold(head, heights[head]) == accordion.lines - before
        lines = spelled(40, heights)
        assert [accordion.locate(line) for line in range(accordion.lines)] == lines
        assert [accordion.find_line(head) for head in range(40)] == [
            lines.index(FoldLine(head, 0)) for head in range(40)
        ]
        assert accordion.unfolded == sorted(heights)
        assert accordion.get_height(head) == heights.get(head)
    for head in accordion.unfolded:
        accordion.fold(head)
    assert accordion.locate(39) == FoldLine(39, 0)
    assert accordion.lines == 40


def test_without_anything() -> None:
    assert FoldList().lines == 0
