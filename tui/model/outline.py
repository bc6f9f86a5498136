"""The lines of the tree pane: the unfolded notes and fields of a message, in order.

Theory. The list has only visible lines, so a tree of any size costs only its open part. Folding cuts lines out of the
list, and unfolding inserts some. The user's choices are kept by the names around a node (`responses.[].partitions`), so
the next message of the same kind opens in the same way. Other nodes open level by level as long as they fit on a screen
or two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from analyzer.decode.masking import has_hidden_parts
from dissectors.field import Field
from tui.model.detail import TreeNote

NodePath = tuple[str, ...]

FITTING = 60
"""Whole levels are opened as long as there are at most so many lines."""

MOST_UNASKED = 20_000
"""A message opens like the last one as long as it has at most so many lines."""

REMEMBERED = 1024


class OutlineLine(NamedTuple):
    """A line.

    hidden: below a secret, so values must not be shown.
    """

    node: Field | TreeNote
    depth: int
    hidden: bool


class FoldChoices:
    """The user's choices to fold and unfold, by names; the oldest is dropped first.

    all: the last choice for all nodes.
    """

    def __init__(self) -> None:
        self.all: bool | None = None
        self._chosen: dict[NodePath, bool] = {}

    def get(self, names: NodePath) -> bool | None:
        """Returns the choice for nodes of these names; None: there is none."""
        return self._chosen.get(names, self.all)

    def choose(self, names: NodePath, opened: bool) -> None:
        """Remembers that the user opened or closed the node with these names; forgets the oldest choices."""
        self._chosen.pop(names, None)
        self._chosen[names] = opened
        if len(self._chosen) > REMEMBERED:
            del self._chosen[next(iter(self._chosen))]

    def choose_all(self, opened: bool) -> None:
        """Opens or folds all nodes from now on, and drops the choices before."""
        self._chosen.clear()
        self.all = opened


class Outline:
    """The lines of one message; `folds` outlives it."""

    def __init__(self, notes: Sequence[TreeNote], fields: Sequence[Field], folds: FoldChoices) -> None:
        self._roots: list[Field | TreeNote] = [*notes, *fields]
        self._folds = folds
        self._open: set[int] = set()
        self._open_unasked()
        self.lines = self._list_lines(self._roots, 0, False)

    def is_open(self, line: int) -> bool:
        """Returns whether the node of a line is unfolded."""
        return id(self.lines[line].node) in self._open

    def fold(self, line: int, *, opened: bool) -> None:
        """Unfolds or folds the node of a line; does nothing if it has no children."""
        entry = self.lines[line]
        if not entry.node.children or self.is_open(line) == opened:
            return
        self._folds.choose(tuple(map(_name, self.get_path(line))), opened)
        if opened:
            self._unfold(line)
        else:
            stop = next((at for at in range(line + 1, len(self.lines)) if self.lines[at].depth <= entry.depth), None)
            del self.lines[line + 1 : stop]
            self._open.discard(id(entry.node))

    def fold_all(self, *, opened: bool) -> None:
        """Unfolds or folds all nodes."""
        self._folds.choose_all(opened)
        self._open.clear()
        self.lines = self._list_lines(self._roots, 0, False, opening=opened)

    def find_line(self, what: Field | TreeNote) -> int | None:
        """Returns the line of a node; None while it is folded away."""
        return next((at for at, entry in enumerate(self.lines) if entry.node is what), None)

    def find_parent(self, line: int) -> int | None:
        """Returns the line of the node around a line's."""
        depth = self.lines[line].depth
        return next((at for at in range(line - 1, -1, -1) if self.lines[at].depth < depth), None)

    def reveal(self, path: Sequence[Field]) -> int | None:
        """Unfolds what is around the last node of a path, and returns its line."""
        found = None
        for node in path:
            first = 0 if found is None else found + 1
            if found is not None and not self.is_open(found):
                self._unfold(found)
            found = next((at for at in range(first, len(self.lines)) if self.lines[at].node is node), None)
            if found is None:
                return None
        return found

    def get_path(self, line: int) -> list[Field | TreeNote]:
        """Returns the node of a line behind those around it, the outermost first."""
        found: list[Field | TreeNote] = []
        at: int | None = line
        while at is not None:
            found.append(self.lines[at].node)
            at = self.find_parent(at)
        return found[::-1]

    def _unfold(self, line: int) -> None:
        what, depth, hidden = self.lines[line]
        self._open.add(id(what))
        self.lines[line + 1 : line + 1] = self._list_lines(what.children, depth + 1, hidden or _hides(what))

    def _list_lines(
        self, nodes: Iterable[Field | TreeNote], depth: int, hidden: bool, *, opening: bool = False
    ) -> list[OutlineLine]:
        """Returns the lines of nodes and of open ones below them; opening: opens all."""
        lines: list[OutlineLine] = []
        add, opened = lines.append, self._open

        def walk(nodes: Iterable[Field | TreeNote], depth: int, hidden: bool) -> None:
            for node in nodes:
                add(OutlineLine(node, depth, hidden))
                below = node.children
                if below and (opening or id(node) in opened):
                    opened.add(id(node))
                    walk(below, depth + 1, hidden or _hides(node))

        walk(nodes, depth, hidden)
        return lines

    def _open_unasked(self) -> None:
        """Opens what was left open in the last message, and other nodes level by level as long as they fit."""
        level: list[tuple[NodePath, Field | TreeNote]] = [((_name(node),), node) for node in self._roots]
        shown, fits = len(level), True
        while level:
            below: list[tuple[NodePath, Field | TreeNote]] = []
            choice = [self._folds.get(names) for names, _ in level]
            unasked = [node for (_, node), chosen in zip(level, choice, strict=True) if _opens(node, chosen)]
            fits = fits and shown + sum(len(node.children) for node in unasked) <= FITTING
            for (names, node), chosen in zip(level, choice, strict=True):
                wanted = chosen if chosen is not None else fits and isinstance(node, Field)
                if wanted and node.children and shown + len(node.children) <= MOST_UNASKED:
                    self._open.add(id(node))
                    shown += len(node.children)
                    below += [((*names, _name(child)), child) for child in node.children]
            level = below


def _opens(node: Field | TreeNote, chosen: bool | None) -> bool:
    return chosen is None and isinstance(node, Field)


def _name(node: Field | TreeNote) -> str:
    if isinstance(node, TreeNote):
        return ""
    return "[]" if node.spec.name.startswith("[") else node.spec.name


def _hides(node: Field | TreeNote) -> bool:
    return isinstance(node, Field) and has_hidden_parts(node)
