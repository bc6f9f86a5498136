"""The lines of the list: how a row and a stream look, with columns, times, marks and colour rules.

Theory. RowLines makes the lines of all rows on the screen at once. Data that must be read out of messages (for a rule's
filter, or for a column's field) is not read here: `list_requests` names the work for another thread, whose results are
taken back. Until then the line goes without them.

A line costs as much as it has pieces, so neighbours of one style are one piece. A colour rule paints the operation and
the info of a row and leaves the numbers alone. A rule with a background paints the whole line, except on the cursor's
line, where the cursor must be visible: there only the rule's sign shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from analyzer.columns.text import safe_text
from analyzer.render.amounts import counted
from analyzer.render.durations import duration
from analyzer.render.table import ARROWS
from analyzer.session import Session
from dissectors.slotted import slotted
from tui.model.drawing import cut_text
from tui.model.row_cells import CellReader, RowCells, StreamCells
from tui.model.row_sets import RowMarks
from tui.model.timeline import ListPlace
from tui.model.times import LEAST, REFERENCE, RowTimes, TimeWidth

if TYPE_CHECKING:
    from tui.model.colour_rules import ColourRules, CompiledRule
    from tui.model.list_columns import CustomColumns, ListColumns


Span = tuple[str, str]

SIGNS = {"!": "error", "*": "warning", "%": "warning", "?": "warning", " ": ""}

PARTNER, MARKED, BOTH = "◂", "●", "◆"

SIGN_HELP = (
    ("!", "an error that the message reports, or one in reading it"),
    ("*", "a warning, told in brackets at the end of the line"),
    ("%", "bytes of it are missing"),
    ("?", "not certain: no request, or a newer version"),
    (">  <", "request and response"),
    (PARTNER, "the partner of the selected message"),
    (f"{MARKED}  {BOTH}", "marked with m; marked, and the partner"),
    ("~ r k ...", "in the third column: the colour rule of the row, slow, retransmitted, a protocol, or one of yours"),
    (REFERENCE, "a time reference: relative times behind it count from it"),
)

OPERATION, SHORT_OPERATION = 24, 16
LATENCY = 7
SIGN_CELLS = 3
"""Cells of signs: of the row, of partner and mark, of the colour rule where that says more than the first."""


class RowContext(NamedTuple):
    """What there is to say of a row beyond its cells. referred: it is a time reference. rule: style and sign of its
    colour rule.
    """

    time: str
    partner: bool = False
    marked: bool = False
    referred: bool = False
    ignored: bool = False
    rule: tuple[str, str] | None = None

    @property
    def mark(self) -> str:
        """The second sign."""
        if self.partner:
            return BOTH if self.marked else PARTNER
        return MARKED if self.marked else " "


@slotted
class StandardColumns:
    """Widths in cells; 0 hides a column."""

    number: int
    time: TimeWidth
    stream: int
    operation: int
    version: int
    length: int

    @classmethod
    def fit(cls, width: int, rows: int, time: TimeWidth, *, streams: int = 0) -> StandardColumns:
        """What fits into `width` for row numbers up to `rows`; `streams`: how many there are, if their column is
        wanted.
        """
        return cls(
            number=max(4, len(str(rows))),
            time=time,
            stream=max(3, len(str(streams))) if streams and width >= 44 else 0,
            operation=OPERATION if width >= 80 else SHORT_OPERATION,
            version=3 if width >= 60 else 0,
            length=8 if width >= 100 else 0,
        )

    def make_head(self) -> str:
        """The names of the columns, behind the mark of one cell that every head begins with."""
        cells = [
            ("No.".rjust(self.number), True),
            ("Time".ljust(self.time.cells), self.time.cells),
            ("Str".rjust(self.stream), self.stream),
            ("  " + "Operation".ljust(self.operation), True),
            ("V".rjust(self.version), self.version),
            ("Length".rjust(self.length), self.length),
            ("Latency".rjust(LATENCY), True),
            ("Info", True),
        ]
        return " " * (SIGN_CELLS - 1) + " ".join(text for text, shown in cells if shown)


def make_row_spans(row: RowCells, columns: StandardColumns, look: RowContext) -> list[Span]:
    """One message's line."""
    words = look.rule[0] if look.rule else ""
    number = f"{row.number:>{columns.number}} "
    figures = f"{look.time} " if columns.time.cells else ""
    if columns.stream:
        figures += f"{row.stream:>{columns.stream}} "
    figures += f"{ARROWS[row.role]} "
    sizes = ""
    if columns.version:
        sizes = f"{'' if row.version is None else f'v{row.version}':>{columns.version}} "
    if columns.length:
        sizes += f"{row.length:>{columns.length}} "
    spans = [*make_signs(row, look)]
    if look.partner:
        spans += [("partner", number), ("dim", figures)]
    else:
        spans.append(("dim", number + figures))
    spans.append(
        (words or choose_style(row), cut_text(safe_text(name_operation(row), OPERATION + 1), columns.operation) + " ")
    )
    latency = f"{duration(row.latency):>{LATENCY}} "
    spans += [("dim", sizes + latency)] if row.latency is None else [("dim", sizes), ("text", latency)]
    if look.referred and not columns.time.cells:
        spans.append(("partner", f"{REFERENCE} "))
    spans += make_info_spans(row, look)
    return spans


def make_signs(row: RowCells, look: RowContext) -> Iterator[Span]:
    """The signs before a row."""
    sign, mark = " " if look.ignored else row.sign, look.mark
    if sign == mark == " " and look.rule is None:
        yield "dim", " " * SIGN_CELLS
    else:
        yield SIGNS[sign], sign
        yield "partner", mark
        yield look.rule if look.rule and look.rule[1] != sign else ("", " ")


def name_operation(row: RowCells) -> str:
    """The name of what is done."""
    return row.operation or (row.protocol if row.role == "raw" else "unknown")


def choose_style(row: RowCells) -> str:
    """The style of a row's operation where no rule says it."""
    return "response" if row.role in ("response", "push") else "request"


def make_info_spans(row: RowCells, look: RowContext) -> list[Span]:
    """Error, state, the line for people, findings: as `list` has them."""
    if look.ignored:
        return [("dim", "ignored")]
    if row.body is None:
        return [("dim", f"{row.length:,} bytes, not decoded yet")]
    said = row.body
    words = look.rule[0] if look.rule else ""
    spans: list[Span] = []
    if said.error and said.error not in said.info:
        spans.append(("error", f"[{said.error}] "))
    if row.state != "complete" and row.role != "raw":
        spans.append(("warning", f"{row.state} "))
    if said.info:
        spans.append(("error" if said.error and said.error in said.info else words or "value", f"{said.info} "))
    spans += [(severity, f"({code}) ") for severity, code in said.findings]
    return spans


def cover_spans(spans: Sequence[Span], style: str) -> list[Span]:
    """A line that a rule with a background paints as a whole."""
    return [(style, "".join(text for _, text in spans))]


def make_stream_spans(stream: StreamCells, digits: int, *, opened: bool) -> list[Span]:
    """A stream's own line; its number takes `digits` cells."""
    there = stream.messages > stream.evicted
    mark = " " if not there else "▾" if opened else "▸"
    style = "value" if there else "dim"
    messages = counted(stream.messages, "message")
    if stream.matches is not None:
        messages = f"{stream.matches:,} of {messages}"
    if stream.evicted:
        messages += f" ({stream.evicted:,} left memory)"
    return [
        ("name", f"{mark} "),
        (style, f"{stream.number:>{digits}} {stream.client} > {stream.server}"),
        ("dim", f"  {stream.protocol}, {messages}, {duration(stream.duration)}"),
    ]


class ListLine(NamedTuple):
    """What a line says. over: the same for the cursor's line, where a rule's background gives way."""

    spans: list[Span]
    cursor_spans: list[Span]


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
        self.colour_rules: ColourRules | None = None
        self.custom_columns: ListColumns | None = None
        self.partner: int | None = None
        self.has_widened = False
        """Whether the columns have become wider since somebody last looked: the head has to say it."""

    def fit_columns(self, room: int, rows: int, streams: int) -> StandardColumns | CustomColumns:
        """The columns, as they fit into `room` cells; `streams`: how many there are, if they are to be said."""
        if self.custom_columns is None:
            return StandardColumns.fit(room, rows, self.times.fit(room, rows), streams=streams)
        from tui.model.list_columns import CustomColumns

        return CustomColumns(self.custom_columns, self.times.fit(max(room, LEAST), rows), rows)

    def make_lines(self, places: Sequence[ListPlace], columns: StandardColumns | CustomColumns) -> dict[int, ListLine]:
        """The lines of the rows among places, of which the first is only what stands before them."""
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
        """The colour rule of each row; an ignored one has none."""
        if self.colour_rules is None:
            return [None] * len(rows)
        ignored = self.marks.ignored
        partners = {number: row.partner for number, row in zip(numbers, rows, strict=True) if number not in ignored}
        found = self.colour_rules.find_rules(partners)
        return [found.get(number) for number in numbers]

    def _make_markup(self, rule: CompiledRule | None) -> tuple[str, str] | None:
        """Style of the words, and sign; what covers the whole line is painted over all of it."""
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
        """What rows, which have been read here, lack for their lines."""
        found: list[ReadRequest] = []
        ignored = self.marks.ignored
        if (colouring := self.colour_rules) is not None and (asked := colouring.list_missing(rows)):
            found.append(_request_rules(colouring, asked))
        chosen = self.custom_columns
        if chosen is not None and (asked := [row for row in chosen.list_missing(rows) if row not in ignored]):
            found.append(_request_fields(chosen, asked))
        return found

    def evict(self, before: int) -> None:
        """The rows before one leave."""
        self.marks.evict(before)
        self.times.evict(before)
        if self.partner is not None and self.partner < before:
            self.partner = None

    def clear(self) -> None:
        """Names have been learned: all that was read out of messages is read again."""
        self.cells.clear()
        self.clear_read()

    def clear_read(self) -> None:
        """The same of what rules and chosen columns have read."""
        for each in (self.colour_rules, self.custom_columns):
            if each is not None:
                each.clear()


def _request_rules(colouring: ColourRules, rows: list[int]) -> ReadRequest:
    edition = colouring.edition

    def work() -> ResultTaker:
        held = colouring.match_expensive(rows)
        return lambda: colouring.add_matches(edition, rows, held)

    return ReadRequest("colours", work)


def _request_fields(chosen: ListColumns, rows: list[int]) -> ReadRequest:
    edition = chosen.edition

    def work() -> ResultTaker:
        found = chosen.read_fields(rows)
        return lambda: chosen.add_fields(edition, found)

    return ReadRequest("columns", work)
