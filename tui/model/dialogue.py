"""A conversation as lines that unfold: a line for each message, and its fields beneath it.

Theory. A stream of a million messages is kept as a million row numbers. Lines are read for the rows around the visible
ones, a portion at a time, and cached for the last few thousand. A long message is not decoded between two keys: it is
requested, and a line says that it is being decoded. The lines are those of `wireanalyze follow`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.decode.bodies import decode_tree
from analyzer.decode.jsonable import Limits
from analyzer.decode.name_resolver import NameResolver
from analyzer.decode.resolved_names import TopicNamer
from analyzer.decode.rows import BODY_KEYS, RowReader
from analyzer.render.dialogue import KEYS, format_comment_notes, format_field_lines, format_message_line
from analyzer.render.lines import Line
from analyzer.session import Session
from tui.model.fold_list import FoldContents, FoldLine
from tui.model.leads import Lead, MessageLead
from tui.model.row_cells import LONG

PART_HEADS, MOST_HEADS = 32, 4096
"""The heads that are read at once, and that are cached."""

MOST_LINES = 20_000
"""Lines of a message that are shown, and lines of all messages that are cached."""

DecodedMessage = tuple[Line, Sequence[Line]]
"""The head of a message, and the lines beneath it."""

_INDEX = tuple(key for key in KEYS if key not in BODY_KEYS)


class Dialogue(FoldContents):
    """The messages of a stream as FoldContents.

    rows: ascending, of one stream. wish: requests decode_message() of a long row.
    """

    def __init__(
        self,
        session: Session,
        rows: Ints,
        began: int,
        limits: Limits,
        resolver: NameResolver,
        wish: Callable[[int], None],
    ) -> None:
        self.rows = rows
        super().__init__(len(rows))
        self._session, self._began, self._limits, self._wish = session, began, limits, wish
        self._reader, self._naming = RowReader(session), TopicNamer(session, resolver=resolver)
        self._heads: dict[int, Line] = {}
        self._fields: dict[int, Sequence[Line]] = {}
        self._wished: set[int] = set()

    def find_head(self, row: int) -> int:
        """Returns the head of a row, or of the next row that is shown."""
        return min(int(np.searchsorted(self.rows, row)), max(len(self.rows) - 1, 0))

    def make_head(self, head: int) -> Line:
        """Returns the line of a message."""
        found = self._heads.get(head)
        if found is None:
            self._read_heads(head - head % PART_HEADS)
            found = self._heads[head]
        return found

    def unfold(self, head: int) -> int:
        """Unfolds the fields of a message; returns the number of lines that were added."""
        return self.fold_list.unfold(head, len(self._get_lines(head)))

    def make_child(self, head: int, at: int) -> Line:
        """Returns a line of the fields of a message."""
        lines = self._get_lines(head)
        return lines[at] if at < len(lines) else ()

    def find_lead(self, spot: FoldLine) -> Lead:
        """Returns the lead to the message of a line."""
        return MessageLead(int(self.rows[spot.head]))

    def decode_message(self, row: int) -> DecodedMessage:
        """Decodes the head of a row and the lines beneath it; any thread may call it."""
        (cells,) = self._reader.read_objects(KEYS, np.array([row]), self._naming.fill_in_names)
        return self._make_head_line(row, cells), list(self._make_lines(row))

    def add_decoded(self, row: int, decoded: DecodedMessage) -> tuple[int, int]:
        """Adds a decoded message; returns the line of its head, and how many lines were added beneath it."""
        head = self.find_head(row)
        self._wished.discard(row)
        self._heads[head], lines = decoded
        self._cache_lines(head, lines)
        unfolded = self.fold_list.get_height(head) is not None
        return self.fold_list.find_line(head), self.fold_list.unfold(head, len(lines)) if unfolded else 0

    def _read_heads(self, first: int) -> None:
        """Makes a portion of heads."""
        rows = self.rows[first : first + PART_HEADS]
        if len(self._heads) > MOST_HEADS:
            self._heads.clear()
        long = self._session.rows.column("length")[rows] >= LONG
        short = self._reader.read_objects(KEYS, rows[~long], self._naming.fill_in_names)
        index = self._reader.read_objects(_INDEX, rows[long])
        for head, (row, is_long) in enumerate(zip(rows.tolist(), long.tolist(), strict=True), first):
            cells = {**next(index), **_UNREAD} if is_long else next(short)
            self._heads[head] = self._make_head_line(row, cells)
            if is_long:
                self._request(row)

    def _request(self, row: int) -> None:
        if row not in self._wished:
            self._wished.add(row)
            self._wish(row)

    def _make_head_line(self, row: int, cells: Mapping[str, object]) -> Line:
        line = format_message_line(cells, self._session.rows.cell("time", row) - self._began)
        comments = self._session.comments.read_row(row) if self._session.comments.has_comments else ()
        return (*line, ("note", "  # commented")) if comments else line

    def _get_lines(self, head: int) -> Sequence[Line]:
        """Returns the lines beneath a head, or a line that says that they are being decoded."""
        found = self._fields.get(head)
        if found is not None:
            return found
        row = int(self.rows[head])
        if self._session.rows.cell("length", row) >= LONG:
            self._request(row)
            return _WAITING
        return self._cache_lines(head, list(self._make_lines(row)))

    def _cache_lines(self, head: int, lines: Sequence[Line]) -> Sequence[Line]:
        """Caches lines, and drops the oldest ones."""
        self._fields[head] = lines
        while len(self._fields) > 1 and sum(map(len, self._fields.values())) > MOST_LINES:
            del self._fields[next(iter(self._fields))]
        return lines

    def _make_lines(self, row: int) -> Iterator[Line]:
        lines = format_field_lines(decode_tree(self._session, row), self._limits)
        yield from format_comment_notes(
            self._session.comments.read_row(row) if self._session.comments.has_comments else ()
        )
        yield from islice(lines, MOST_LINES)
        if next(lines, None) is not None:
            yield (("note", f"and more than these {MOST_LINES:,} fields: the tree shows them all"),)


_UNREAD: Mapping[str, object] = {"error": None, "info": "decoding ...", "findings": ()}
_WAITING: Sequence[Line] = ((("dim", "decoding ..."),),)
