"""The page of a sequence diagram: of the messages that the filter keeps, of a connection, or of what reports tell.

Theory. A subject is a set of rows with a title. The first ones come from the list; what reports know of the selected
message (its rebalance, its transaction) is read in the worker thread, and joins them. Names and rows of reports are
read once for all subjects of the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from textual.binding import BindingType

from analyzer.columns.arrays import Ints, list_distinct
from analyzer.columns.text import safe_text
from analyzer.insight.reports import parts_of
from analyzer.insight.sequence import MOST_STEPS, DiagramSource, build_sequence
from analyzer.render.amounts import format_counted
from analyzer.render.sequence_files import write_mermaid, write_svg
from analyzer.render.sequence_text import count_lanes, format_note, format_sequence
from analyzer.session import Session
from tui import keys
from tui.model.leads import MessageLead
from tui.screens.file_lines import save_file
from tui.screens.page import Page, PageLine
from tui.theme import Palette
from tui.widgets.bars import BarPart

LEAST_STEPS, MOST_ZOOM = 10, 1280
"""Arrows at least and at most, which keys halve and double."""

LONGEST_TITLE = 70


class DiagramSubject(NamedTuple):
    """What a diagram is of: a title, and rows in ascending order."""

    title: str
    rows: Ints


class DiagramPage(Page):
    """Draws one of several subjects; Enter goes to the first message of an arrow.

    row: the selected message, whose reports are further subjects; None: nothing is selected.
    """

    BINDINGS: ClassVar[list[BindingType]] = keys.list_bindings("diagram")
    HINTS = (("Enter", "go there"), ("Tab", "another subject"), ("+ -", "more or fewer arrows"), ("w", "save"),
             ("Esc", "back"))  # fmt: skip

    def __init__(self, palette: Palette, session: Session, subjects: Sequence[DiagramSubject], row: int | None) -> None:
        super().__init__(palette, "Sequence", self._make_lines)
        self._session, self._row = session, row
        self._subjects, self._at, self._steps = list(subjects), 0, MOST_STEPS
        self._source: DiagramSource | None = None

    def _make_lines(self, width: int) -> Sequence[PageLine]:
        """Makes the lines of the subject; called in the worker thread."""
        session, subject = self._session, self._subjects[self._at]
        if self._source is None:
            self._source = DiagramSource.load(session)
            self._subjects += self._list_report_subjects()
            self._worker.post(self._show_title)
        diagram = build_sequence(session, subject.rows, self._source, self._steps, count_lanes(width))
        lines = [
            PageLine(line, MessageLead(step.rows[0]) if step is not None and step.rows else None)
            for line, step in format_sequence(diagram, width)
        ]
        note = format_note(diagram)
        return [*lines, PageLine((("note", note),))] if note else lines

    def _list_report_subjects(self) -> Sequence[DiagramSubject]:
        """What reports tell of the selected message: a rebalance, a transaction, an election."""
        if self._row is None:
            return []
        found = []
        for part in parts_of(self._session, self._row):
            rows = list_distinct(np.array([row for _, row in part.entry.rows], np.int64))
            if len(rows) > 1:
                partners = self._session.rows.column("partner")[rows]
                rows = list_distinct(np.concatenate((rows, partners[partners >= 0])))
                found.append(DiagramSubject(f"{part.name}: {safe_text(part.text, LONGEST_TITLE)}", rows))
        return found

    def on_mount(self) -> None:
        """Shows what the diagram is of."""
        self.call_after_refresh(self._show_title)

    def _show_title(self) -> None:
        subject, count = self._subjects[self._at], len(self._subjects)
        place = f"  {self._at + 1} of {count}, Tab: the next" if count > 1 else ""
        messages = format_counted(len(subject.rows), "message")
        self._head.show(
            [BarPart("bar-title", f" {self.heading}"), BarPart("bar", f" of {messages}: {subject.title}")],
            [BarPart("bar-dim", place)],
        )

    def _action_turn(self, by: int) -> None:
        self._at = (self._at + by) % len(self._subjects)
        self.page.cursor = self.page.top = 0
        self._show_title()
        self.rebuild()

    def _action_detail(self, factor: float) -> None:
        self._steps = max(LEAST_STEPS, min(int(self._steps * factor), MOST_ZOOM))
        self.rebuild()

    def _action_save(self) -> None:
        save_file(self, "NAME.txt, NAME.svg or NAME.mmd (Mermaid)", "diagram.svg", self._write)

    def _write(self, path: str) -> str:
        """Writes the diagram as text in the format of the name."""
        assert self._source is not None
        diagram = build_sequence(self._session, self._subjects[self._at].rows, self._source, self._steps)
        if path.endswith(".svg"):
            return write_svg(diagram)
        if path.endswith(".mmd"):
            return write_mermaid(diagram)
        from analyzer.render.lines import strip_styles

        return "\n".join(strip_styles(line) for line, _ in format_sequence(diagram, TEXT_WIDTH)) + "\n"


TEXT_WIDTH = 160
"""The width of a diagram that is saved as text."""
