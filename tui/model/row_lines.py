"""The lines of the list: cells of rows with columns, times, marks and colour rules.

Theory. RowLines makes the lines of all rows on the screen at once. Data that must be read out of messages (for a rule's
filter, or for a column's field) is not read here: `list_requests` names the work for another thread, whose results are
taken back. Until then the line goes without them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from analyzer.session import Session
from tui.model.row_cells import CellReader, RowCells
from tui.model.row_sets import RowMarks
from tui.model.row_spans import RowContext, Span, StandardColumns, cover_spans, make_row_spans
from tui.model.timeline import ListPlace
from tui.model.times import LEAST, RowTimes

if TYPE_CHECKING:
    from tui.model.colour_rules import ColourRules, CompiledRule
    from tui.model.list_columns import CustomColumns, ListColumns


class ListLine(NamedTuple):
    """A line of the list; cursor_spans: the same on the cursor's line, without a rule's background."""

    spans: list[Span]
    cursor_spans: list[Span]


COLUMNS_KEY = "columns"
"""The key of the saved columns."""

ResultTaker = Callable[[], Sequence[int]]
"""Takes the result of another thread; returns the rows that have changed."""


class ReadRequest(NamedTuple):
    """Work for another thread; only the newest request of a kind counts."""

    kind: str
    work: Callable[[], ResultTaker]


class RowLines:
    """Makes the lines of rows; used by the thread that paints.

    covers: returns whether a rule's style has a background.
    """

    def __init__(self, session: Session, cells: CellReader, covers: Callable[[str], bool]) -> None:
        self.cells, self._covers = cells, covers
        self.marks, self.times = RowMarks(), RowTimes(session)
        self.colour_rules: ColourRules | None = None
        self.custom_columns: ListColumns | None = None
        self.partner: int | None = None
        self.peeked: int | None = None
        """A row that is shown although the filter hides it."""
        self.has_widened = False
        """Whether columns have become wider since the head was made."""

    def fit_columns(self, width: int, rows: int, streams: int) -> StandardColumns | CustomColumns:
        """Returns the columns that fit into `width` cells.

        streams: their number if streams have a column.
        """
        if self.custom_columns is None:
            return StandardColumns.fit(width, rows, self.times.fit(width, rows), streams=streams)
        from tui.model.list_columns import CustomColumns

        return CustomColumns(self.custom_columns, self.times.fit(max(width, LEAST), rows), rows, width)

    def make_lines(self, places: Sequence[ListPlace], columns: StandardColumns | CustomColumns) -> dict[int, ListLine]:
        """Returns the lines of rows; the first place is the line before them."""
        numbers = [place.row for place in places[1:] if place.row is not None]
        before = [last.row for last, place in pairwise(places) if place.row is not None]
        ignored, references = self.marks.ignored, frozenset(self.times.references)
        rows = self.cells.read_rows(numbers, without=ignored)
        times = self.times.format_times(
            np.array(numbers, np.int64),
            [row.time for row in rows],
            np.array([-1 if row is None else row for row in before], np.int64),
            columns.time,
        )
        rules = self._find_rules(numbers, rows)
        looks = [
            RowContext(
                time,
                partner=number == self.partner,
                marked=number in self.marks.marked,
                referred=number in references,
                ignored=number in ignored,
                peeked=number == self.peeked,
                rule=self._make_markup(rule),
            )
            for number, time, rule in zip(numbers, times, rules, strict=True)
        ]
        made = (
            [make_row_spans(row, columns, look) for row, look in zip(rows, looks, strict=True)]
            if isinstance(columns, StandardColumns)
            else self._make_custom_spans(rows, looks, columns)
        )
        return {
            number: ListLine(cover_spans(spans, rule.style) if rule and self._covers(rule.style) else spans, spans)
            for number, spans, rule in zip(numbers, made, rules, strict=True)
        }

    def _find_rules(self, numbers: Sequence[int], rows: Sequence[RowCells]) -> list[CompiledRule | None]:
        """Returns the colour rule of each row; an ignored one has none."""
        if self.colour_rules is None:
            return [None] * len(rows)
        ignored = self.marks.ignored
        partners = {number: row.partner for number, row in zip(numbers, rows, strict=True) if number not in ignored}
        found = self.colour_rules.find_rules(partners)
        return [found.get(number) for number in numbers]

    def _make_markup(self, rule: CompiledRule | None) -> tuple[str, str] | None:
        """Returns the style of a rule's words, and its sign; no style if it has a background."""
        if rule is None:
            return None
        return "" if self._covers(rule.style) else rule.style, rule.sign

    def _make_custom_spans(
        self, rows: Sequence[RowCells], looks: Sequence[RowContext], columns: CustomColumns
    ) -> list[list[Span]]:
        assert self.custom_columns is not None
        more = self.custom_columns.read_texts([row.number - 1 for row in rows])
        texts = [columns.make_texts(row, each, look) for row, each, look in zip(rows, more, looks, strict=True)]
        self.has_widened |= columns.fit(texts)
        return [columns.make_spans(row, text, look) for row, text, look in zip(rows, texts, looks, strict=True)]

    def list_requests(self, rows: Sequence[int]) -> list[ReadRequest]:
        """Returns the work that the lines of rows need from another thread."""
        found: list[ReadRequest] = []
        ignored = self.marks.ignored
        if (colouring := self.colour_rules) is not None and (missing := colouring.list_missing(rows)):
            found.append(_request_rules(colouring, missing))
        chosen = self.custom_columns
        if chosen is not None and (missing := [row for row in chosen.list_missing(rows) if row not in ignored]):
            found.append(_request_fields(chosen, missing))
        return found

    def evict(self, before: int) -> None:
        """Drops the rows before one."""
        self.marks.evict(before)
        self.times.evict(before)
        if self.partner is not None and self.partner < before:
            self.partner = None

    def clear(self) -> None:
        """Drops all that was read out of messages, because names were resolved."""
        self.cells.clear()
        self.clear_read()

    def clear_read(self) -> None:
        """Drops what rules and custom columns have read out of messages."""
        for each in (self.colour_rules, self.custom_columns):
            if each is not None:
                each.clear()


def _request_rules(colouring: ColourRules, rows: list[int]) -> ReadRequest:
    edition = colouring.edition

    def work() -> ResultTaker:
        matches = colouring.match_expensive(rows)
        return lambda: colouring.add_matches(edition, rows, matches)

    return ReadRequest("colours", work)


def _request_fields(chosen: ListColumns, rows: list[int]) -> ReadRequest:
    edition = chosen.edition

    def work() -> ResultTaker:
        found = chosen.read_fields(rows)
        return lambda: chosen.add_fields(edition, found)

    return ReadRequest("columns", work)
