"""A checkup: everything there is to say about a capture, message by message, and across messages.

Theory. Bodies are decoded once, in the order of rows, and forgotten. Each is asked for its own findings, its row for
what the index knows, and those that a protocol's Watches want are shown to them as well (dissectors.watch).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from analyzer import defects
from analyzer.columns import Ints
from analyzer.row_findings import findings_of
from analyzer.rows import chunks
from analyzer.session import Analysis, Readable
from dissectors.api import Body, Dissector, Role
from dissectors.finding import Finding
from dissectors.watch import Seen, Watch
from dissectors.wire.bulk import NULL

MOST_KEPT = 65_536
"""Requests of which a watch keeps something until they are answered."""


class Found(NamedTuple):
    """A finding; `row` is None where it belongs to none: a file, a gap, a stream."""

    row: int | None
    finding: Finding


def checkup(session: Analysis) -> Iterator[Found]:
    """All findings of a loaded session: those of rows in their order, then those of files and streams."""
    watching = _Watching(session)
    for rows in chunks(session, range(len(session.rows))):
        yield from _of_rows(session, rows, watching)
    yield from (Found(None, finding) for finding in session.findings)


def _of_rows(session: Analysis, rows: Ints, watching: _Watching) -> Iterator[Found]:
    remarks = session.remarks_of(rows, late=session.ended).tolist()
    for row, bits, readable in zip(rows.tolist(), remarks, session.readable(rows), strict=True):
        dissector, message, context = readable
        body = session.raw_body(message) if dissector is None else defects.values(dissector, message, context)
        known = session.remarked(row, body, findings_of(bits))
        yield from (Found(row, finding) for finding in known.findings)
        if dissector is not None:
            yield from (Found(row, finding) for finding in watching.findings(row, readable, body))


class _Watching:
    """The watches of all protocols, and what they keep of requests."""

    def __init__(self, session: Analysis) -> None:
        self._session = session
        self._watches: dict[str, Sequence[Watch]] = {}
        self._kept: dict[tuple[int, int], object] = {}

    def findings(self, row: int, readable: Readable, body: Body) -> list[Finding]:
        """What the watches say of a row."""
        dissector, _, context = readable
        assert dissector is not None
        found: list[Finding] = []
        for number, watch in enumerate(self._of(dissector)):
            if (context.code, context.role) in watch.wants:
                found += defects.findings(dissector, partial(self._shown, watch, number, row, readable, body))
        return found

    def _of(self, dissector: Dissector) -> Sequence[Watch]:
        found = self._watches.get(dissector.name)
        if found is None:
            found = self._watches[dissector.name] = dissector.watches()
        return found

    def _shown(self, watch: Watch, number: int, row: int, readable: Readable, body: Body) -> Iterator[Finding]:
        context, partner = readable[2], self._session.rows.cell("partner", row)
        stream, time = (self._session.rows.cell(name, row) for name in ("stream", "time"))
        request = None
        if context.role is Role.RESPONSE and partner != NULL:
            request = self._kept.pop((number, partner), None)
        seen = Seen(context, body.values, stream, time, request)
        yield from watch.see(seen)
        if context.role is Role.REQUEST and partner != NULL:
            kept = watch.kept(seen)
            if kept is not None:
                if len(self._kept) == MOST_KEPT:
                    del self._kept[next(iter(self._kept))]
                self._kept[number, row] = kept
