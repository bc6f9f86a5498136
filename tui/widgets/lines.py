"""What the lines of the list say: cells of rows, and all that the user has put on top of them.

Theory. Columns, formats of time, marks, ignored rows and colour rules all change what a row's line says; they come
together here, for all rows of the screen at once. What must be read out of messages (a rule's filter, a column's field)
is not read here: `wants` says what another thread should do, and what comes of it is taken back. Until then the line
does without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from analyzer.session import Session
from tui.model.cells import CellReader, RowCells
from tui.model.marks import RowMarks
from tui.model.timeline import ListPlace
from tui.model.times import LEAST, RowTimes
from tui.widgets.listing import RowContext, Span, StandardColumns, cover_spans, make_row_spans

if TYPE_CHECKING:
    from tui.model.chosen import ListColumns
    from tui.model.colouring import ColourRules, CompiledRule
    from tui.widgets.chosen_line import CustomColumns


class ListLine(NamedTuple):
    """What a line says. over: the same for the cursor's line, where a rule's background gives way."""

    spans: list[Span]
    over: list[Span]


COLUMNS_KEY = "columns"
"""The name under which the chosen columns are remembered."""

ResultTaker = Callable[[], Sequence[int]]
"""Takes over what another thread has read; gives the rows that say something else now."""


class ReadRequest(NamedTuple):
    """Work for another thread, of which only the newest of its kind counts."""

    kind: str
    work: Callable[[], ResultTaker]


class RowLines:
    """Of the thread that paints. covers: whether a rule's style has a background of its own."""

    def __init__(self, session: Session, cells: CellReader, covers: Callable[[str], bool]) -> None:
        self.cells, self._covers = cells, covers
        self.marks, self.times = RowMarks(), RowTimes(session)
        self.colouring: ColourRules | None = None
        self.chosen: ListColumns | None = None
        self.partner: int | None = None
        self.widened = False
        """Whether the columns have become wider since somebody last looked: the head has to say it."""

    def columns(self, room: int, rows: int, streams: int) -> StandardColumns | CustomColumns:
        """The columns, as they fit into `room` cells; `streams`: how many there are, if they are to be said."""
        if self.chosen is None:
            return StandardColumns.fitting(room, rows, self.times.width(room, rows), streams=streams)
        from tui.widgets.chosen_line import CustomColumns

        return CustomColumns(self.chosen, self.times.width(max(room, LEAST), rows), rows)

    def read(self, places: Sequence[ListPlace], columns: StandardColumns | CustomColumns) -> dict[int, ListLine]:
        """The lines of the rows among places, of which the first is only what stands before them."""
        numbers = [place.row for place in places[1:] if place.row is not None]
        before = [last.row for last, place in pairwise(places) if place.row is not None]
        ignored, references = self.marks.ignored, frozenset(self.times.references)
        rows = self.cells.rows(numbers, without=ignored)
        times = self.times.texts(
            np.array(numbers, np.int64),
            [row.time for row in rows],
            np.array([-1 if row is None else row for row in before], np.int64),
            columns.time,
        )
        rules = self._rules(numbers, rows)
        looks = [
            RowContext(
                time,
                partner=number == self.partner,
                marked=number in self.marks.marked,
                referred=number in references,
                ignored=number in ignored,
                rule=self._painted(rule),
            )
            for number, time, rule in zip(numbers, times, rules, strict=True)
        ]
        made = (
            [make_row_spans(row, columns, look) for row, look in zip(rows, looks, strict=True)]
            if isinstance(columns, StandardColumns)
            else self._in_chosen(rows, looks, columns)
        )
        return {
            number: ListLine(cover_spans(spans, rule.style) if rule and self._covers(rule.style) else spans, spans)
            for number, spans, rule in zip(numbers, made, rules, strict=True)
        }

    def _rules(self, numbers: Sequence[int], rows: Sequence[RowCells]) -> list[CompiledRule | None]:
        """The colour rule of each row; an ignored one has none."""
        if self.colouring is None:
            return [None] * len(rows)
        ignored = self.marks.ignored
        partners = {number: row.partner for number, row in zip(numbers, rows, strict=True) if number not in ignored}
        found = self.colouring.rules_at(partners)
        return [found.get(number) for number in numbers]

    def _painted(self, rule: CompiledRule | None) -> tuple[str, str] | None:
        """Style of the words, and sign; what covers the whole line is painted over all of it."""
        if rule is None:
            return None
        return "" if self._covers(rule.style) else rule.style, rule.sign

    def _in_chosen(
        self, rows: Sequence[RowCells], looks: Sequence[RowContext], columns: CustomColumns
    ) -> list[list[Span]]:
        assert self.chosen is not None
        more = self.chosen.texts([row.number - 1 for row in rows])
        texts = [columns.texts(row, each, look) for row, each, look in zip(rows, more, looks, strict=True)]
        self.widened |= columns.fit(texts)
        return [columns.spans(row, text, look) for row, text, look in zip(rows, texts, looks, strict=True)]

    def wants(self, rows: Sequence[int]) -> list[ReadRequest]:
        """What rows, which have been read here, lack for their lines."""
        found: list[ReadRequest] = []
        ignored = self.marks.ignored
        if (colouring := self.colouring) is not None and (asked := colouring.wanting(rows)):
            found.append(_request_rules(colouring, asked))
        chosen = self.chosen
        if chosen is not None and (asked := [row for row in chosen.wanting(rows) if row not in ignored]):
            found.append(_request_fields(chosen, asked))
        return found

    def leave(self, before: int) -> None:
        """The rows before one leave."""
        self.marks.leave(before)
        self.times.leave(before)
        if self.partner is not None and self.partner < before:
            self.partner = None

    def forget(self) -> None:
        """Names have been learned: all that was read out of messages is read again."""
        self.cells.forget()
        self.read_again()

    def read_again(self) -> None:
        """The same of what rules and chosen columns have read."""
        for each in (self.colouring, self.chosen):
            if each is not None:
                each.forget()


def _request_rules(colouring: ColourRules, rows: list[int]) -> ReadRequest:
    edition = colouring.edition

    def work() -> ResultTaker:
        held = colouring.ask(rows)
        return lambda: colouring.take(edition, rows, held)

    return ReadRequest("colours", work)


def _request_fields(chosen: ListColumns, rows: list[int]) -> ReadRequest:
    edition = chosen.edition

    def work() -> ResultTaker:
        found = chosen.read(rows)
        return lambda: chosen.take(edition, found)

    return ReadRequest("columns", work)
