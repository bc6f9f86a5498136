"""Lines that unfold: of a tree, held against a walk over all of it, and of any list."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from analyzer.decode.bodies import decode_tree
from analyzer.session import Session
from dissectors.field import Field, FieldSpec
from dissectors.wire.secret import Secret
from dissectors.wire.specs import PartedSpec
from tests.effort import within_steps
from tests.tui.driving import KAFKA
from tui.model.detail import TreeNote
from tui.model.fold_list import FoldLine, FoldList
from tui.model.outline import FITTING, MOST_UNASKED, FoldChoices, Outline

FETCH = 47


@pytest.fixture(scope="module")
def fields() -> list[Field]:
    with Session([KAFKA]) as session:
        return decode_tree(session.load(), FETCH).fields


def walked(nodes: list[Field], opened: set[int], depth: int = 0) -> Iterator[tuple[Field, int]]:
    for node in nodes:
        yield node, depth
        if id(node) in opened:
            yield from walked(node.children, opened, depth + 1)


def lines_of(outline: Outline) -> list[tuple[object, int]]:
    return [(entry.node, entry.depth) for entry in outline.lines]


def test_any_folding_gives_the_lines_of_a_walk(fields: list[Field]) -> None:
    outline, opened, random = Outline((), fields, FoldChoices()), set[int](), Random(1)
    outline.fold_all(opened=False)
    for _ in range(400):
        line = random.randrange(len(outline.lines))
        what, to = outline.lines[line].node, random.random() < 0.7
        outline.fold(line, opened=to)
        if what.children:
            (opened.add if to else opened.discard)(id(what))
        if not to:  # what is below a folded node keeps whether it was open
            assert not outline.is_open(line)
        assert lines_of(outline) == list(walked(fields, opened))
    outline.fold_all(opened=True)
    assert len(outline.lines) == sum(1 for _ in everything(fields))


def everything(nodes: list[Field]) -> Iterator[Field]:
    for node in nodes:
        yield node
        yield from everything(node.children)


def test_a_path_is_unfolded_as_far_as_needed(fields: list[Field]) -> None:
    paths = [[*path] for path in all_paths(fields, [])]
    for path in paths[:: max(len(paths) // 60, 1)]:
        outline = Outline((TreeNote((("", "a note"),)),), fields, FoldChoices())
        outline.fold_all(opened=False)
        line = outline.reveal(path)
        assert line is not None
        assert outline.lines[line].node is path[-1]
        assert outline.get_path(line) == path
        assert outline.find_parent(line) == (None if len(path) == 1 else outline.find_line(path[-2]))


def all_paths(nodes: list[Field], above: list[Field]) -> Iterator[list[Field]]:
    for node in nodes:
        yield [*above, node]
        yield from all_paths(node.children, [*above, node])


def node(name: str, *children: Field) -> Field:
    return Field(FieldSpec(name, "struct" if children else "int8"), None, 0, 1, children=list(children))


def message(count: int) -> list[Field]:
    return [node("body", node("list", *(node(f"[{at}]", node("a"), node("b")) for at in range(count))))]


def test_what_was_folded_by_hand_holds_for_the_next_message() -> None:
    folds = FoldChoices()
    first = Outline((), message(2), folds)
    assert len(first.lines) == 8
    first.fold(2, opened=False)
    assert len(first.lines) == 6
    assert len(Outline((), message(3), folds).lines) == 5  # all elements have one name
    first.fold_all(opened=True)
    assert len(Outline((), message(3), folds).lines) == 11
    first.fold_all(opened=False)
    assert len(Outline((), message(3), folds).lines) == 1


def test_large_trees() -> None:
    nodes, folds = message(20_000), FoldChoices()
    outline = Outline((), nodes, folds)
    assert len(outline.lines) <= FITTING
    with within_steps(6_000_000):  # some 1.3 million; to look at all nodes for each would be billions
        outline.fold_all(opened=True)
        assert len(outline.lines) == 60_002
        outline.fold(30_000, opened=False)
        assert len(Outline((), nodes, folds).lines) <= MOST_UNASKED


def test_a_secret_hides_what_is_below() -> None:
    below = node("token")
    secret = Field(FieldSpec("password", "struct", secret=True), None, 0, 1, children=[below])
    outline = Outline((), [secret], FoldChoices())
    outline.fold_all(opened=True)
    assert [(entry.node, entry.hidden) for entry in outline.lines] == [(secret, False), (below, True)]


def test_parts_of_a_secret_that_speak_for_themselves() -> None:
    shown = Field(FieldSpec("user", "string"), "tim", 0, 3)
    secret = Field(FieldSpec("password", "string", secret=True), "x", 3, 1)
    token = Field(PartedSpec("token", "bytes", secret=True), Secret(b"timx"), 0, 4, children=[shown, secret])
    outline = Outline((), [token], FoldChoices())
    outline.fold(0, opened=True)
    assert [(entry.node, entry.hidden) for entry in outline.lines] == [(token, False), (shown, False), (secret, False)]


# ---- lines that unfold, held equal to a list of all of them


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
