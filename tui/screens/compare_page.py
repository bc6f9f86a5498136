"""The page that compares two messages (request and response, marked ones, one and that before it) or two streams.

Theory. A subject is a title, and two rows or two streams. The first subjects come from the list; Enter on two messages
of streams adds them as another one. Enter on a field goes to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np
from textual.binding import BindingType

from analyzer.columns.arrays import Ints
from analyzer.decode.content import read_cell
from analyzer.decode.limits import Limits
from analyzer.session import Session
from tui import keys
from tui.model.comparison import ComparedRow, compare_messages, compare_streams
from tui.model.detail import find_range
from tui.model.leads import Lead, MessageLead, PairLead, PlaceLead
from tui.screens.page import Page, PageLine
from tui.theme import Palette
from tui.widgets.bars import BarPart

MOST_PAIRS = 8
"""Pairs of marked messages that are offered."""


class CompareSubject(NamedTuple):
    """What is compared: two messages by their rows, or two streams by their numbers."""

    title: str
    sides: tuple[int, int]
    are_streams: bool = False


class ComparePage(Page):
    """Compares one of several subjects. rows: those of the list, which count in streams."""

    BINDINGS: ClassVar[list[BindingType]] = keys.list_bindings("compare")
    HINTS = (("Enter", "go there"), ("Tab", "next pair"), ("a", "all fields"), ("s", "swap sides"),
             ("Esc", "back"))  # fmt: skip

    def __init__(
        self, palette: Palette, session: Session, subjects: Sequence[CompareSubject], rows: Ints, limits: Limits
    ) -> None:
        super().__init__(palette, "Compare", self._make_lines)
        self._session, self._rows, self._limits = session, rows, limits
        self._subjects, self._at, self._shows_all = list(subjects), 0, False

    def _make_lines(self, width: int) -> Sequence[PageLine]:
        """Makes the lines of the subject; called in the worker thread."""
        subject, shows_all = self._subjects[self._at], self._shows_all
        if subject.are_streams:
            found = compare_streams(self._session, subject.sides, self._rows, width, shows_all=shows_all)
        else:
            found = compare_messages(self._session, subject.sides, self._limits, width, shows_all=shows_all)
        return [PageLine(each.line, _make_lead(each)) for each in found]

    def on_mount(self) -> None:
        """Shows what is compared."""
        self.call_after_refresh(self._show_title)

    def _show_title(self) -> None:
        subject, count = self._subjects[self._at], len(self._subjects)
        shown = "all" if self._shows_all else "differences"
        place = f"  {self._at + 1} of {count}, Tab: the next " if count > 1 else ""
        self._head.show(
            [BarPart("bar-title", f" {self.heading}"), BarPart("bar", f" {subject.title}: {shown}")],
            [BarPart("bar-dim", place)],
        )

    def follow_line(self) -> None:
        """Closes the page with the lead of the line; compares the two messages of a line."""
        entry = self.page.page_lines[self.page.cursor] if self.page.count else None
        if entry is None or not isinstance(entry.lead, PairLead):
            super().follow_line()
            return
        left, right = entry.lead.rows
        self._subjects.append(CompareSubject(f"message {left + 1} with message {right + 1}", (left, right)))
        self._turn_to(len(self._subjects) - 1)

    def _turn_to(self, at: int) -> None:
        self._at = at % len(self._subjects)
        self.page.cursor = self.page.top = 0
        self._show_title()
        self.rebuild()

    def _action_turn(self, by: int) -> None:
        self._turn_to(self._at + by)

    def _action_toggle_all(self) -> None:
        self._shows_all = not self._shows_all
        self._turn_to(self._at)

    def _action_swap(self) -> None:
        title, (left, right), are_streams = self._subjects[self._at]
        self._subjects[self._at] = CompareSubject(title, (right, left), are_streams)
        self._turn_to(self._at)


def _make_lead(compared: ComparedRow) -> Lead | None:
    if compared.pair is not None:
        return PairLead(compared.pair)
    row, node = compared.row, compared.field
    if row is None:
        return None
    if node is None:
        return MessageLead(row)
    return PlaceLead(row, lambda tree: find_range(node))


def list_subjects(session: Session, row: int | None, marked: Sequence[int]) -> list[CompareSubject]:
    """Lists what can be compared: pairs of marked messages, the selected one with its partner and with others.

    row: the selected message. marked: ascending rows.
    """
    pairs = list(pairwise(marked))[:MOST_PAIRS]
    if len(marked) == 1 and row is not None and row != marked[0]:
        pairs = [(marked[0], row)]
    found = [CompareSubject(f"message {left + 1} with message {right + 1}", (left, right)) for left, right in pairs]
    if row is not None:
        found += _list_own_subjects(session, row)
    stream = session.rows.column("stream")
    for pair in pairs:
        left, right = (int(stream[each]) for each in pair)
        if left != right:
            found.append(CompareSubject(f"stream {left} with stream {right}", (left, right), are_streams=True))
    return list(dict.fromkeys(found))


def _list_own_subjects(session: Session, row: int) -> Iterator[CompareSubject]:
    """Yields a message with its partner, and with the one before of its kind in its stream."""
    partner = read_cell(session, "partner", row)
    if partner is not None and partner >= session.rows.first:
        yield CompareSubject("request with response", (min(row, partner), max(row, partner)))
    before = np.arange(session.rows.first, row)
    for name in ("stream", "operation", "role"):
        column = session.rows.column(name)
        before = before[column[before] == column[row]]
    if len(before):
        yield CompareSubject("message before of its kind with this one", (int(before[-1]), row))
