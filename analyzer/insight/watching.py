"""The watches of all protocols over a capture: who wants which rows, and what they keep of requests."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial

import numpy as np

from analyzer import defects
from analyzer.columns import Array, Ints
from analyzer.insight.endings import endings
from analyzer.insight.said import About
from analyzer.lore import Lore
from analyzer.messages import FROM_CLIENT
from analyzer.session import Analysis
from dissectors.api import Context, Dissector, Role, State
from dissectors.finding import Finding
from dissectors.lesson import Path
from dissectors.watch import Closed, Seen, Watch
from dissectors.wire.bulk import NULL

MOST_KEPT = 65_536
"""Requests of which a watch keeps something until they are answered."""

_What = tuple[str, int | None, Role]


class Watching:
    """Shows rows to watches, in their order, and gives what they say."""

    def __init__(self, session: Analysis) -> None:
        self._session = session
        self._watches: dict[str, Sequence[Watch]] = {}
        self._wanting: dict[_What, Sequence[tuple[int, Watch, None]]] = {}
        self._paths: dict[_What, Collection[Path]] = {}
        self._kept: dict[tuple[int, int], object] = {}
        self._addresses: dict[int, tuple[str, str]] = {}
        self._first = session.first
        self._losses = losses(session, self._first)
        columns = (session.rows.column(name) for name in ("stream", "time", "partner"))
        self._stream, self._time, self._partner = columns
        self._lore: dict[str, Lore] = {}

    def paths(self, dissector: Dissector, context: Context) -> Collection[Path]:
        """The fields that watches look at in such a message; none where it is shown to none."""
        what = dissector.name, context.code, context.role
        found = self._paths.get(what)
        if found is None:
            paths: frozenset[Path] = frozenset().union(*(each.paths for _, each, _ in self._who(dissector, context)))
            found = self._paths[what] = paths
        return found

    def findings(self, about: About) -> list[Finding]:
        """What the watches say of a row."""
        if about.dissector is None or about.seen is None:
            return []
        row, context = about.row, about.context
        partner = int(self._partner[row])
        who: Sequence[tuple[int, Watch, object]] = self._who(about.dissector, context)
        if context.role is Role.RESPONSE:
            who = [(number, watch, self._kept.pop((number, partner), None)) for number, watch, _ in who]
            who = [each for each in who if each[2] is not None]
            if not who:
                return []
        stream = int(self._stream[row])
        (client, server), lost = self._ends(stream), int(self._losses[row - self._first])
        name = partial(self._name, row)
        seen = Seen(context, about.values(), stream, int(self._time[row]), None, server, lost, name, client)
        keeps = row if context.role is Role.REQUEST and partner != NULL else None
        return defects.findings(about.dissector, partial(self._shown, who, seen, keeps))

    def _shown(self, who: Sequence[tuple[int, Watch, object]], seen: Seen, keeps: int | None) -> Iterator[Finding]:
        """What watches say; keeps: the row of a request that is answered."""
        for number, watch, request in who:
            yield from watch.see(seen if request is None else seen._replace(request=request))
            kept = watch.kept(seen) if keeps is not None else None
            if kept is not None and keeps is not None:
                if len(self._kept) == MOST_KEPT:
                    del self._kept[next(iter(self._kept))]
                self._kept[number, keeps] = kept

    def _who(self, dissector: Dissector, context: Context) -> Sequence[tuple[int, Watch, None]]:
        """The watches that want such messages, with their numbers."""
        what = dissector.name, context.code, context.role
        found = self._wanting.get(what)
        if found is None:
            watches = self._watches.get(dissector.name)
            if watches is None:
                watches = self._watches[dissector.name] = dissector.watches()
            wanting = [(n, each, None) for n, each in enumerate(watches) if (context.code, context.role) in each.wants]
            found = self._wanting[what] = wanting
        return found

    def closed(self) -> Iterator[tuple[int, Finding]]:
        """What the watches say of the ends of connections, each at the last row of its connection; behind all rows."""
        session = self._session
        if not self._watches:
            return
        protocol = session.engine.streams.column("protocol")
        for _, row, (stream, time, by_client) in endings(session, range(self._first, len(session.rows))):
            dissector = session.engine.dissector(int(protocol[stream]))
            watches = () if dissector is None else self._watches.get(dissector.name, ())
            if dissector is not None and watches:
                closed = Closed(stream, time, by_client, *self._ends(stream))
                for finding in defects.findings(dissector, partial(_of_end, watches, closed)):
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


def _of_end(watches: Sequence[Watch], closed: Closed) -> Iterator[Finding]:
    for watch in watches:
        yield from watch.closed(closed)


def losses(session: Analysis, first: int = 0) -> Ints:
    """For each row from `first` on how often bytes of its connection were missing up to it: lost, or not framed."""
    table = session.rows
    rows = slice(first, len(table))
    count = rows.stop - rows.start
    stream, side, offset, length = (table.column(name)[rows].astype(np.int64) for name in _PLACE)
    whole = (table.column("state")[rows] != State.PARTIAL) & (table.column("role")[rows] != Role.RAW)
    order = np.lexsort((np.arange(count), side, stream))
    same = np.zeros(count, bool)
    same[1:] = (stream[order][1:] == stream[order][:-1]) & (side[order][1:] == side[order][:-1])
    begins, ends = offset[order], (offset + length)[order]
    missing = np.zeros(count, bool)
    missing[order[1:]] = same[1:] & ((begins[1:] != ends[:-1]) | ~whole[order][:-1])
    return _running(missing, stream)


_PLACE = ("stream", "side", "offset", "length")


def _running(flags: Array, stream: Ints) -> Ints:
    """For each row how many rows of its stream up to it have a flag."""
    order = np.argsort(stream, kind="stable")
    total = np.cumsum(flags[order])
    first = np.searchsorted(stream[order], stream[order])
    found = np.empty(len(flags), np.int64)
    found[order] = total - np.where(first > 0, total[first - 1], 0)
    return found
