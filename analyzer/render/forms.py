"""Forms of output: the interface of each form, and the two paths from rows to lines.

Theory. A form can format rows one by one (format_rows), which always works. It can also describe a line (make_frame):
constants, columns of the index as cells, and slots for texts of the body (format_slots). Then similar rows are
formatted together, and so are all rows if the line has no slot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple, Protocol

import numpy as np

from analyzer.columns import cells
from analyzer.columns.arrays import Ints
from analyzer.columns.cells import Cells, TooWide
from analyzer.columns.values import Values
from analyzer.decode.rows import RowReader, split_rows
from analyzer.decode.template_decoder import BodyTexts, TemplateDecoder
from analyzer.decode.templates import SPLICE
from dissectors.api import Body, Context, Dissector
from dissectors.symbolic_values import WrittenValue

_SPLICE = bytes([SPLICE])
_AT_ONCE = 256
"""Number of lines that are joined to one piece of output, so that it stays in the processor's cache."""

_MATRIX = 1 << 19
"""Bytes of lines, with their padding, that are written at a time."""

_LONG = 8192
"""Average bytes of a line above which lines are not joined: a copy costs more than a call."""


class BodySlot(NamedTuple):
    """A slot in a line for a text of the body."""

    name: str


LineFrame = Sequence[bytes | Cells | BodySlot]
"""The parts of lines from left to right; cells have a row for each line."""


class RowForm(Protocol):
    """Formats message rows in one output format, such as a table or NDJSON."""

    @property
    def edition(self) -> int:
        """A number that changes when the same body gets another text. It is read after make_frame()."""

    @property
    def needs_requests(self) -> bool:
        """Whether a slot is the summary line, which may need request fields for a response."""

    def format_head(self) -> bytes:
        """Returns the bytes before all rows, such as a line of titles."""

    def format_rows(self, reader: RowReader, rows: Ints) -> Iterator[bytes]:
        """Yields the lines of rows, each with its line break, or all in one piece if no frame has a slot.

        A row is decoded when its line is requested, because decoded values can be far larger than the message.
        """

    def make_frame(self, reader: RowReader, rows: Ints) -> LineFrame | None:
        """Returns the parts of the lines, without line breaks; None if rows must be formatted one by one.

        Raises TooWide.
        """

    def format_slots(self, body: Body, dissector: Dissector, context: Context) -> BodyTexts:
        """Returns the texts of the slots, from a body with all findings of its row."""


class RowWriter:
    """Writes rows in a form."""

    def __init__(self, form: RowForm, reader: RowReader) -> None:
        self._form, self.reader = form, reader
        self._edition = form.edition
        self._decoder = TemplateDecoder(reader, form.format_slots, needs_requests=form.needs_requests)

    def write_rows(self, rows: Ints) -> Iterator[bytes]:
        """Yields the lines of rows as bytes, several lines at a time."""
        try:
            frame = self._form.make_frame(self.reader, rows)
        except TooWide:
            frame = None
        if frame is None:
            for part in split_rows(self.reader.session, rows):
                yield from self._form.format_rows(self.reader, part)
            return
        if self._edition != self._form.edition:
            self._edition = self._form.edition
            self._decoder = TemplateDecoder(
                self.reader, self._form.format_slots, needs_requests=self._form.needs_requests
            )
        merged = list(_merge_frame([*frame, b"\n"], len(rows)))
        if isinstance(merged[0], np.ndarray) and len(merged) == 1:
            yield cells.flatten_cells(merged[0])
            return
        yield from self._write_with_bodies(rows, merged)

    def _write_with_bodies(self, rows: Ints, frame: Sequence[Cells | BodySlot]) -> Iterator[bytes]:
        lines = np.empty(len(rows), object)
        left = np.ones(len(rows), bool)
        groups = self._decoder.find_groups(rows)[::-1]
        while groups:  # what was read of a group goes with it
            group = groups.pop()
            places = group.places
            parts: list[bytes | Cells] = []
            for part in frame:
                if isinstance(part, BodySlot):
                    parts += group.match.make_parts(part.name)
                else:
                    parts.append(part[places])
            lines[places] = _splice_lines(_write_lines(parts, len(places)), group.match.splices)
            left[places] = False
        found: list[bytes | None] = lines.tolist()
        del lines
        rest = self._form.format_rows(self.reader, rows[left]) if left.any() else iter(())
        return _join_lines(found, rest)


def _join_lines(lines: Sequence[bytes | None], rest: Iterator[bytes]) -> Iterator[bytes]:
    """Yields the text of all lines in larger pieces, with those of `rest` for None; long lines are not copied."""
    for begin in range(0, len(lines), _AT_ONCE):
        some = [next(rest) if line is None else line for line in lines[begin : begin + _AT_ONCE]]
        if sum(map(len, some)) > len(some) * _LONG:
            yield from some
        else:
            yield b"".join(some)


def _write_lines(parts: Sequence[bytes | Cells], count: int) -> list[bytes]:
    """Returns lines with their line breaks, from matrices that stay in the processor's cache."""
    lines: list[bytes] = []
    step = max(_AT_ONCE, _MATRIX // sum(len(part) if isinstance(part, bytes) else part.shape[1] for part in parts))
    for begin in range(0, count, step):
        end = min(begin + step, count)
        some = [part if isinstance(part, bytes) else part[begin:end] for part in parts]
        lines += cells.flatten_cells(cells.join_cells(some, end - begin)).splitlines(keepends=True)
    return lines


def _splice_lines(lines: list[bytes], splices: Sequence[tuple[WrittenValue, Values]]) -> list[bytes]:
    """Inserts texts that are too long for cells, from `splices`, into lines, in order."""
    if not splices:
        return lines
    texts = [mark.write(values) for mark, values in splices]
    return [_weave_texts(line.split(_SPLICE), row) for line, *row in zip(lines, *texts, strict=True)]


def _weave_texts(parts: list[bytes], texts: list[bytes]) -> bytes:
    return b"".join(chain.from_iterable(zip(parts, texts, strict=False))) + parts[-1]


def _merge_frame(frame: LineFrame, count: int) -> Iterator[Cells | BodySlot]:
    """Yields the frame with adjacent parts merged, because selecting rows of each part costs a call."""
    run: list[bytes | Cells] = []
    for part in [*frame, None]:
        if not isinstance(part, BodySlot) and part is not None:
            run.append(part)
            continue
        if run:
            yield cells.join_cells(run, count)
            run = []
        if part is not None:
            yield part
