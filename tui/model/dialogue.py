"""A conversation as lines: a head for each message, its fields beneath it, all made when somebody looks at them.

Theory. A stream of a million messages is a million numbers of rows; what a line says is read for the rows around it, a
portion at a time, and kept for the last few thousand. A long message is not decoded between two keys: it is wished
for, and until it comes a line says that it is being decoded. Lines are those that `wireanalyze follow` prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.decode.bodies import decode_tree
from analyzer.decode.jsonable import Limits
from analyzer.decode.name_resolver import Lore
from analyzer.decode.resolved_names import Naming
from analyzer.decode.rows import BODY_KEYS, Rows
from analyzer.render.dialogue import KEYS, comment_notes, field_lines, message_line
from analyzer.render.lines import Line
from analyzer.session import Session
from tui.model.accordion import Accordion, Spot
from tui.model.cells import LONG
from tui.model.leads import Lead, To

FRAGMENT, KEPT = 32, 4096
"""Heads that are read at once, and that are kept."""

MOST = 20_000
"""Lines beneath a message that are shown, and that are kept of all messages."""

Decoded = tuple[Line, Sequence[Line]]
"""What a message's head says, and the lines beneath it."""

_INDEX = tuple(key for key in KEYS if key not in BODY_KEYS)


class Dialogue:
    """See tui.screens.folding.Contents. rows: of one stream, rising. wish: asks for `decoded` of a long row."""

    def __init__(
        self, session: Session, rows: Ints, began: int, limits: Limits, lore: Lore, wish: Callable[[int], None]
    ) -> None:
        self.rows = rows
        self.accordion = Accordion(len(rows))
        self._session, self._began, self._limits, self._wish = session, began, limits, wish
        self._reader, self._naming = Rows(session), Naming(session, lore=lore)
        self._heads: dict[int, Line] = {}
        self._fields: dict[int, Sequence[Line]] = {}
        self._wished: set[int] = set()

    def place_of(self, row: int) -> int:
        """The head of a row, or of the next one that is shown."""
        return min(int(np.searchsorted(self.rows, row)), max(len(self.rows) - 1, 0))

    def head(self, head: int) -> Line:
        """See Contents."""
        found = self._heads.get(head)
        if found is None:
            self._read(head - head % FRAGMENT)
            found = self._heads[head]
        return found

    def unfolds(self, head: int) -> bool:
        """See Contents: every message has fields."""
        return True

    def unfold(self, head: int) -> int:
        """See Contents."""
        return self.accordion.unfold(head, len(self._lines(head)))

    def fold(self, head: int) -> int:
        """See Contents."""
        return self.accordion.fold(head)

    def beneath(self, head: int, at: int) -> Line:
        """See Contents."""
        lines = self._lines(head)
        return lines[at] if at < len(lines) else ()

    def lead(self, spot: Spot) -> Lead:
        """See Contents: every line leads to its message."""
        return To(int(self.rows[spot.head]))

    def decoded(self, row: int) -> Decoded:
        """What a row's head says, and the lines beneath it. Changes nothing; any thread may ask."""
        (cells,) = self._reader.objects(KEYS, np.array([row]), self._naming.named)
        return self._line(row, cells), list(self._made(row))

    def put(self, row: int, decoded: Decoded) -> tuple[int, int]:
        """A wish is fulfilled: the line of the row's head, and how many more lines are beneath it now."""
        head = self.place_of(row)
        self._wished.discard(row)
        self._heads[head], lines = decoded
        self._keep(head, lines)
        unfolded = self.accordion.height(head) is not None
        return self.accordion.line_of(head), self.accordion.unfold(head, len(lines)) if unfolded else 0

    def _read(self, first: int) -> None:
        """Makes heads from one on."""
        rows = self.rows[first : first + FRAGMENT]
        if len(self._heads) > KEPT:
            self._heads.clear()
        long = self._session.rows.column("length")[rows] >= LONG
        short = self._reader.objects(KEYS, rows[~long], self._naming.named)
        index = self._reader.objects(_INDEX, rows[long])
        for head, (row, is_long) in enumerate(zip(rows.tolist(), long.tolist(), strict=True), first):
            cells = {**next(index), **_UNREAD} if is_long else next(short)
            self._heads[head] = self._line(row, cells)
            if is_long:
                self._ask(row)

    def _ask(self, row: int) -> None:
        if row not in self._wished:
            self._wished.add(row)
            self._wish(row)

    def _line(self, row: int, cells: Mapping[str, object]) -> Line:
        line = message_line(cells, self._session.rows.cell("time", row) - self._began)
        comments = self._session.comments.read_row(row) if self._session.comments.has_comments else ()
        return (*line, ("note", "  # commented")) if comments else line

    def _lines(self, head: int) -> Sequence[Line]:
        """The lines beneath a head; of a long message whose lines are not at hand, one that says so."""
        found = self._fields.get(head)
        if found is not None:
            return found
        row = int(self.rows[head])
        if self._session.rows.cell("length", row) >= LONG:
            self._ask(row)
            return _WAITING
        return self._keep(head, list(self._made(row)))

    def _keep(self, head: int, lines: Sequence[Line]) -> Sequence[Line]:
        """Keeps lines, and lets go of those that were kept first."""
        self._fields[head] = lines
        while len(self._fields) > 1 and sum(map(len, self._fields.values())) > MOST:
            del self._fields[next(iter(self._fields))]
        return lines

    def _made(self, row: int) -> Iterator[Line]:
        lines = field_lines(decode_tree(self._session, row), self._limits)
        yield from comment_notes(self._session.comments.read_row(row) if self._session.comments.has_comments else ())
        yield from islice(lines, MOST)
        if next(lines, None) is not None:
            yield (("note", f"and more than these {MOST:,} fields: the tree shows them all"),)


_UNREAD: Mapping[str, object] = {"error": None, "info": "decoding ...", "findings": ()}
_WAITING: Sequence[Line] = ((("dim", "decoding ..."),),)
