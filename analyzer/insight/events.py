"""Turns messages into events for correlators, and dispatches each to those that subscribed to it.

Reports and checks are correlators (dissectors.correlator). The kind of a row (protocol, code, role) decides which
correlators get it, and which fields they need. A correlator that fails does not affect the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType, MethodType
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from analyzer.columns.arrays import Array, Ints, argsort_stable, decode_null64, flag_run_starts
from analyzer.decode.bodies import decode_body
from analyzer.decode.endpoints import name_endpoint
from analyzer.decode.name_resolver import NameResolver
from analyzer.messages.index import FROM_CLIENT
from analyzer.session import Analysis
from dissectors.api import Context, Role, State
from dissectors.correlator import ConnectionEnd, Correlator, MessageEvent, MessageKind
from dissectors.message import Path
from dissectors.wire.fast_path import NULL, NULL64

CONNECTIONS = 4096
"""Number of connections whose endpoints are cached as texts; consecutive rows are of few connections."""

Place = tuple[Any, ...]
"""Index cells of a row: the columns below, its losses, and its latency if it is a response."""

_PLACE = ("stream", "time", "side", "operation", "correlation", "scope", "client", "partner", "length")
_FRAMED = ("stream", "side", "offset", "length")


class Events:
    """Makes events of rows. losses: of all of them, see losses().

    answers: for requests with several responses, the row of the last response by the row of the request.
    """

    def __init__(self, session: Analysis, rows: range, answers: Mapping[int, int] = MappingProxyType({})) -> None:
        self._session, self._rows = session, rows
        self.losses = losses(session, rows)
        self.ends = lru_cache(CONNECTIONS)(self._ends)
        self._resolvers: dict[str, NameResolver] = {}
        self._answers = answers

    def places(self, rows: Ints) -> Iterator[Place]:
        """Yields the index cells of some rows, for event()."""
        columns = (self._session.rows.column(name)[rows].tolist() for name in _PLACE)
        lost, elapsed = self.losses[rows - self._rows.start], self.find_elapsed(rows)
        return zip(*columns, lost.tolist(), elapsed.tolist(), strict=True)

    def find_elapsed(self, rows: Ints) -> Ints:
        """Returns how long after its request each row came, in ns; NULL64 if it has no request, or that is not read."""
        table = self._session.rows
        time, partner = table.column("time"), table.column("partner")[rows].astype(np.int64)
        known = (table.column("role")[rows] == Role.RESPONSE) & (partner >= self._rows.start)
        return np.where(known, time[rows] - time[np.where(known, partner, rows)], NULL64)

    def event(
        self,
        row: int,
        place: Place,
        protocol: str,
        context: Context,
        values: Mapping[str, Any],
        error: tuple[int, str] | None,
    ) -> MessageEvent:
        """Returns the MessageEvent of a row, with values from its body."""
        stream, time, side, operation, correlation, scope, client, partner, size, lost, elapsed = place
        texts = self._session.engine.names.texts
        return MessageEvent(
            row, protocol, context, values, stream, time, side == FROM_CLIENT,
            None if operation == NULL else texts[operation], decode_null64(correlation, scope != NULL),
            None if client == NULL else texts[client], None if partner == NULL else partner, size, lost, error,
            partner in self._answers and self._answers[partner] > row, None if elapsed == NULL64 else elapsed,
            self.ends, self._name, self._read_values,
        )  # fmt: skip

    def end(self, end: ConnectionEnd, last: int) -> ConnectionEnd:
        """Returns the end of a connection as an event; `last` is the connection's last row."""
        return end._replace(losses=int(self.losses[last - self._rows.start]), ends=self.ends)

    def _ends(self, stream: int) -> tuple[str, str]:
        """Returns the addresses of a connection's client and server."""
        return name_endpoint(self._session, stream, FROM_CLIENT), name_endpoint(self._session, stream, 1 - FROM_CLIENT)

    def _read_values(self, row: int) -> Mapping[str, Any]:
        """Returns the values of a row if it is still in memory."""
        return decode_body(self._session, row).values if row >= self._session.rows.first else {}

    def _name(self, row: int, kind: str, key: str) -> str | None:
        """Returns the name of an id at a row. The first call for a kind reads the capture for names of that kind."""
        resolver = self._resolvers.get(kind)
        if resolver is None:
            resolver = self._resolvers[kind] = NameResolver(self._session, (kind,))
            resolver.learn(len(self._session.rows))
        known = resolver.find(kind, key, row)
        return None if known is None else known.name


_Correlator = TypeVar("_Correlator", bound=Correlator[Any])


class Wanting(NamedTuple, Generic[_Correlator]):
    """A subscription to one kind of messages: the handlers with their correlators, and the fields that they need."""

    handlers: Sequence[tuple[_Correlator, Callable[[MessageEvent], None]]]
    paths: frozenset[Path]


class Dispatch(Generic[_Correlator]):
    """Passes events to the correlators of one reading. failed: called if one fails; True excludes it from then on."""

    def __init__(self, correlators: Sequence[_Correlator], failed: Callable[[_Correlator, Exception], bool]) -> None:
        self.correlators = correlators
        self._failed = failed
        self._silent: set[_Correlator] = set()
        self._unsettled: set[_Correlator] = set()
        self._wanting: dict[tuple[MessageKind, int], Wanting[_Correlator]] = {}

    def wanting(self, what: MessageKind, without: int = 0) -> Wanting[_Correlator]:
        """Returns the subscriptions to a kind of messages, without correlators whose bit is in `without`."""
        found = self._wanting.get((what, without))
        if found is None:
            others = [each for number, each in enumerate(self.correlators) if not without >> number & 1]
            mine = [(each, each.on[what]) for each in others if what in each.on]
            paths = frozenset(path for _, subscription in mine for path in subscription.paths)
            found = Wanting([(each, MethodType(subscription.handle, each)) for each, subscription in mine], paths)
            self._wanting[what, without] = found
        return found

    def receive(self, wanting: Wanting[_Correlator], event: MessageEvent) -> None:
        """Passes a message to the correlators that subscribed to its kind."""
        for correlator, handle in wanting.handlers:
            if self._silent and correlator in self._silent:
                continue
            try:
                if self._unsettled:
                    self._settle(correlator)
                handle(event)
            except Exception as error:  # a dissector's defect must not affect the others
                self._fail(correlator, error)

    def deliver(self, correlator: _Correlator, handle: Callable[[], object]) -> None:
        """Passes merged messages to a correlator."""
        if correlator not in self._silent:
            self._unsettled.add(correlator)
            try:
                handle()
            except Exception as error:  # the same
                self._fail(correlator, error)

    def _settle(self, correlator: _Correlator) -> None:
        if correlator in self._unsettled:
            self._unsettled.discard(correlator)
            correlator.settle()

    def settle(self) -> None:
        """Lets all correlators process merged messages that they have collected."""
        self.call(lambda correlator: None)

    def call(self, ask: Callable[[_Correlator], object]) -> None:
        """Calls a method of all correlators."""
        for correlator in self.correlators:
            if correlator not in self._silent:
                try:
                    self._settle(correlator)
                    ask(correlator)
                except Exception as error:  # the same
                    self._fail(correlator, error)

    def _fail(self, correlator: _Correlator, error: Exception) -> None:
        if self._failed(correlator, error):
            self._silent.add(correlator)


def last_answers(session: Analysis, rows: range) -> dict[int, int]:
    """Returns the row of the last response to each request with several responses, by the row of the request."""
    partner, role = (session.rows.column(name)[rows.start : rows.stop] for name in ("partner", "role"))
    answers = np.flatnonzero((role == Role.RESPONSE) & (partner >= rows.start))
    request_rows = partner[answers].astype(np.int64)
    others = partner[request_rows - rows.start] != answers + rows.start
    return dict(zip(request_rows[others].tolist(), (answers[others] + rows.start).tolist(), strict=True))


def losses(session: Analysis, part: range) -> Ints:
    """Returns for n rows how often bytes of their connection were lost, or not framed, before them."""
    table, rows = session.rows, slice(part.start, part.stop)
    stream, side, offset, length = (table.column(name)[rows].astype(np.int64) for name in _FRAMED)
    whole = (table.column("state")[rows] != State.PARTIAL) & (table.column("role")[rows] != Role.RAW)
    order = argsort_stable(2 * stream + side)
    same = ~flag_run_starts(stream[order], side[order])[1:]
    begins, ends = offset[order], (offset + length)[order]
    missing = np.zeros(len(part), bool)
    missing[order[1:]] = same & ((begins[1:] != ends[:-1]) | ~whole[order][:-1])
    return _running(missing, stream)


def _running(flags: Array, stream: Ints) -> Ints:
    """Returns for each row how many rows of its stream up to it have a flag."""
    order = np.argsort(stream, kind="stable")
    total = np.cumsum(flags[order])
    first = np.searchsorted(stream[order], stream[order])
    found = np.empty(len(flags), np.int64)
    found[order] = total - np.where(first > 0, total[first - 1], 0)
    return found
