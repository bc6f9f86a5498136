"""The watches of all protocols over a capture: who wants which rows, and what they keep of requests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial

from analyzer import defects
from analyzer.insight.endings import endings, still_open
from analyzer.insight.events import last_answers, losses
from analyzer.insight.said import About
from analyzer.lore import Lore
from analyzer.messages import FROM_CLIENT
from analyzer.session import Analysis
from dissectors.api import Context, Dissector, Role
from dissectors.check import Check, Closed, Open, Seen
from dissectors.finding import Finding
from dissectors.lesson import Path
from dissectors.wire.bulk import NULL

MOST_KEPT = 65_536
"""Requests of which a watch keeps something until they are answered."""

NEAR = 4096
"""Rows whose places are made numbers of Python together."""

_What = tuple[str, int | None, Role]
_Place = tuple[int, int, int, int]


class Watching:
    """Shows rows to watches, in their order, and gives what they say. losses: of all rows, see the function."""

    def __init__(self, session: Analysis) -> None:
        self._session = session
        self._watches: dict[str, Sequence[Check]] = {}
        self._wanting: dict[_What, Sequence[tuple[Check, None]]] = {}
        self._paths: dict[_What, Collection[Path]] = {}
        self._kept: dict[int, list[tuple[Check, object]]] = {}
        self._addresses: dict[int, tuple[str, str]] = {}
        self._first = session.first
        self.losses = losses(session, range(self._first, len(session.rows)))
        columns = (session.rows.column(name)[self._first :] for name in ("stream", "time", "partner"))
        self._columns = (*columns, self.losses)
        self._begin, self._near = 0, list[_Place]()
        self._last_answers = last_answers(session, range(self._first, len(session.rows)))
        self._lore: dict[str, Lore] = {}

    def paths(self, dissector: Dissector, context: Context) -> Collection[Path]:
        """The fields that watches look at in such a message; none where it is shown to none."""
        what = dissector.name, context.code, context.role
        found = self._paths.get(what)
        if found is None:
            paths: frozenset[Path] = frozenset().union(*(each.paths for each, _ in self._who(dissector, context)))
            found = self._paths[what] = paths
        return found

    def findings(self, about: About) -> list[Finding]:
        """What the watches say of a row."""
        if about.dissector is None or about.seen is None:
            return []
        row, context = about.row, about.context
        stream, time, partner, lost = self._place(row)
        who: Sequence[tuple[Check, object]] = self._who(about.dissector, context)
        if context.role is Role.RESPONSE:
            what = context.code, context.role
            who = [each for each in self._asked_by(partner, row) if what in each[0].wants]
        if not who:
            return []
        client, server = self._ends(stream)
        name = partial(self._name, row)
        seen = Seen(context, about.seen, stream, time, who[0][1], server, lost, name, client, about.error)
        keeps = row if partner != NULL and context.role is Role.REQUEST else None
        return defects.findings(about.dissector, partial(self._shown, who, seen, keeps))

    def _place(self, row: int) -> _Place:
        """Stream, time, partner and losses of a row; of some behind it they are made numbers together."""
        at = row - self._first - self._begin
        if not 0 <= at < len(self._near):
            self._begin, at = row - self._first, 0
            part = slice(self._begin, self._begin + NEAR)
            self._near = list(zip(*(column[part].tolist() for column in self._columns), strict=True))
        return self._near[at]

    def _asked_by(self, request: int, row: int) -> Sequence[tuple[Check, object]]:
        """What was kept of the request that a row answers; it is kept on where another answer comes behind this one."""
        if self._last_answers.get(request, row) > row:
            return self._kept.get(request, ())
        return self._kept.pop(request, ())

    def _shown(self, who: Sequence[tuple[Check, object]], seen: Seen, keeps: int | None) -> list[Finding]:
        """What watches say; keeps: the row of a request that is answered."""
        found: list[Finding] = []
        kept = []
        for watch, request in who:
            if request is not seen.request:
                seen = seen._replace(request=request)
            found += watch.see(seen)
            if keeps is not None and (keep := watch.kept(seen)) is not None:
                kept.append((watch, keep))
        if keeps is not None and kept:
            if len(self._kept) == MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[keeps] = kept
        return found

    def _who(self, dissector: Dissector, context: Context) -> Sequence[tuple[Check, None]]:
        """The watches that want such messages, which know nothing of a request yet."""
        what = dissector.name, context.code, context.role
        found = self._wanting.get(what)
        if found is None:
            watches = self._watches.get(dissector.name)
            if watches is None:
                watches = self._watches[dissector.name] = dissector.checks()
            wanting = [(each, None) for each in watches if (context.code, context.role) in each.wants]
            found = self._wanting[what] = wanting
        return found

    def closed(self) -> Iterator[tuple[int, Finding]]:
        """What the watches say of the ends of connections, each at the last row of its connection; behind all rows.

        Then the same of those that are open when the capture ends.
        """
        session = self._session
        if not self._watches:
            return
        for _, row, (stream, time, by_client, *_) in endings(session, range(self._first, len(session.rows))):
            closed = Closed(stream, time, by_client, *self._ends(stream), int(self.losses[row - self._first]))
            yield from self._of_stream(stream, row, partial(_closed, closed))
        end = int(session.engine.streams.column("end").max(initial=0))
        for stream, row in still_open(session):
            left = Open(stream, end, int(self.losses[row - self._first]))
            yield from self._of_stream(stream, row, partial(_still_open, left))

    def _of_stream(
        self, stream: int, row: int, ask: Callable[[Check], Iterable[Finding]]
    ) -> Iterator[tuple[int, Finding]]:
        """What the watches of a connection's protocol say when all rows have been seen."""
        dissector = self._session.engine.dissector(int(self._session.engine.streams.column("protocol")[stream]))
        watches = () if dissector is None else self._watches.get(dissector.name, ())
        if dissector is not None and watches:
            for finding in defects.findings(dissector, partial(_asked, watches, ask)):
                yield row, finding

    def _ends(self, stream: int) -> tuple[str, str]:
        """The addresses of a connection's client and server."""
        found = self._addresses.get(stream)
        if found is None:
            client, server = (self._session.endpoint(stream, side) for side in (FROM_CLIENT, 1 - FROM_CLIENT))
            found = self._addresses[stream] = client, server
        return found

    def _name(self, row: int, kind: str, key: str) -> str | None:
        """What an id was called at a row; the capture is read for names of a kind when the first is asked for."""
        lore = self._lore.get(kind)
        if lore is None:
            lore = self._lore[kind] = Lore(self._session, (kind,))
            lore.learn(len(self._session.rows))
        known = lore.find(kind, key, row)
        return None if known is None else known.name


def _closed(closed: Closed, watch: Check) -> Iterable[Finding]:
    return watch.closed(closed)


def _still_open(left: Open, watch: Check) -> Iterable[Finding]:
    return watch.still_open(left)


def _asked(watches: Sequence[Check], ask: Callable[[Check], Iterable[Finding]]) -> Iterator[Finding]:
    for watch in watches:
        yield from ask(watch)
