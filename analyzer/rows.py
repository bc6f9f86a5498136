"""Rows as other programs read them: the keys of CONTRACT.md, computed a column at a time.

Theory. A key is a function from many row numbers to as many plain values. What the index holds is looked up for all rows at
once; what needs the body (error, info, findings, fields) decodes each row once, and only when such a key was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from analyzer.columns import NULL, NULL64, Array, Ints
from analyzer.messages import FROM_CLIENT
from analyzer.session import Readable, Session, iso_times
from dissectors.api import Body, Role, State
from dissectors.finding import Finding

Values = list[Any]

ROLES = [role.name.lower() for role in Role]
STATES = [state.name.lower() for state in State]


class Rows:
    """Reads keys of rows. Holds nothing but what was asked for the rows of one call."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._index = session.rows

    def columns(self, keys: Sequence[str], rows: Ints) -> list[Values]:
        """For each key the values of all `rows`, in order. Raises KeyError for an unknown key."""
        if not BODY_KEYS.intersection(keys):
            return [KEYS[key](self, rows) for key in keys]
        return [list(column) for column in zip(*self.records(keys, rows), strict=True)] or [[] for _ in keys]

    def records(self, keys: Sequence[str], rows: Ints) -> Iterator[tuple[Any, ...]]:
        """The same row by row. A body is decoded when its row is reached and then forgotten: it never gets cold."""
        index = [key for key in keys if key in KEYS]
        columns = dict(zip(index, (KEYS[key](self, rows) for key in index), strict=True))
        body_keys = [key for key in keys if key not in KEYS]
        if not body_keys:
            return zip(*(columns[key] for key in keys), strict=True)
        columns |= dict(zip(body_keys, self._body_columns(body_keys, rows), strict=True))
        return zip(*(columns[key] for key in keys), strict=True)

    def _body_columns(self, keys: Sequence[str], rows: Ints) -> list[Iterator[Any]]:
        """One iterator for each key; the first to be asked for a row decodes its body."""
        readers = [_BODY[key] for key in keys]
        current: list[Any] = []

        def lead() -> Iterator[Any]:
            for body in _bodies(self._session, rows):
                current[:] = [read(body) for read in readers]
                yield current[0]

        def follow(place: int) -> Iterator[Any]:
            while True:
                yield current[place]

        return [lead(), *(islice(follow(place), len(rows)) for place in range(1, len(keys)))]

    def take(self, name: str, rows: Ints) -> Array:
        """One column of the index."""
        return self._index.column(name)[rows]

    def integers(self, name: str, rows: Ints) -> Values:
        """The same as plain integers, None for null."""
        return nullable(self.take(name, rows))

    def named(self, name: str, rows: Ints) -> Values:
        """Numbers of Names as their strings."""
        texts = np.array([*self._session.names.texts, None], object)
        numbers = self.take(name, rows)
        return texts[np.where(numbers == NULL, len(texts) - 1, numbers)].tolist()

    def times(self, rows: Ints) -> Values:
        """ISO 8601, UTC, nanoseconds."""
        return iso_times(self.take("time", rows))

    def stream_ids(self, rows: Ints) -> Values:
        """`CLIENT>SERVER`."""
        return self._by_stream(self.take("stream", rows), self._session.stream_id)

    def ids(self, rows: Ints) -> Values:
        """`stream_id/c/OFFSET` or `/s/OFFSET`."""
        sides = np.array(["/c/", "/s/"], object)[self.take("side", rows)].tolist()
        offsets = self.take("offset", rows).tolist()
        return [f"{stream}{side}{at}" for stream, side, at in zip(self.stream_ids(rows), sides, offsets, strict=True)]

    def partner_ids(self, rows: Ints) -> Values:
        """The id of the other half of the exchange."""
        partners = self.take("partner", rows).astype(np.int64)
        found = np.flatnonzero(partners != NULL)
        values: Values = [None] * len(rows)
        for place, value in zip(found.tolist(), self.ids(partners[found]), strict=True):
            values[place] = value
        return values

    def partners(self, rows: Ints) -> Values:
        """The number of the other half of the exchange."""
        partners = self.take("partner", rows).astype(np.int64)
        return nullable(np.where(partners == NULL, NULL64, partners + 1))

    def latencies(self, rows: Ints) -> Values:
        """Nanoseconds, of responses whose request is known."""
        partners = self.take("partner", rows).astype(np.int64)
        answer = (partners != NULL) & (self.take("role", rows) == Role.RESPONSE)
        request = self._index.column("time")[np.where(answer, partners, 0)]
        return nullable(np.where(answer, self.take("time", rows) - request, NULL64))

    def endpoints(self, rows: Ints, sender: bool) -> Values:
        """`address:port` of who sent the row, or of who received it."""
        side = self.take("side", rows).astype(np.int64)
        key = self.take("stream", rows).astype(np.int64) * 2 + (side if sender else 1 - side)
        return self._by_stream(key, lambda number: self._session.endpoint(number // 2, number % 2))

    def protocols(self, rows: Ints) -> Values:
        """Protocol names; `unknown` for raw bytes."""
        names = [dissector.name for dissector in self._session.engine.known.dissectors]
        return np.array([*names, "unknown"], object)[self.take("protocol", rows)].tolist()

    def _by_stream(self, numbers: Array, text: Callable[[int], str]) -> Values:
        found, back = np.unique(numbers, return_inverse=True)
        return np.array([text(number) for number in found.tolist()], object)[back].tolist()


class _Decoded(NamedTuple):
    """One row's body, and what its line of information is made of."""

    session: Session
    readable: Readable
    body: Body

    def info(self) -> str:
        """One line for people."""
        dissector, message, context = self.readable
        if dissector is None:
            return self.session.raw_info(message, self.body)
        return dissector.info(self.body, context)


def _bodies(session: Session, rows: Ints) -> Iterator[_Decoded]:
    """Each row's body, one after the other."""
    remarkable = set(session.remarkable(rows).tolist())
    for place, readable in enumerate(session.readable(rows)):
        dissector, message, context = readable
        body = session.raw_body(message) if dissector is None else dissector.values(message, context)
        yield _Decoded(session, readable, session.remarked(int(rows[place]), body) if place in remarkable else body)


def _error(code: int, name: str) -> dict[str, Any]:
    return {"code": code, "name": name}


def _finding(finding: Finding) -> dict[str, str]:
    return {"severity": finding.severity.name.lower(), "code": finding.code, "text": finding.text}


def nullable(numbers: Array) -> Values:
    """A column as plain integers, None where it is NULL or NULL64."""
    null = numbers == (NULL64 if numbers.dtype == np.int64 else NULL)
    if not null.any():
        return numbers.tolist()
    values = numbers.astype(object)
    values[null] = None
    return values.tolist()


KEYS: Mapping[str, Callable[[Rows, Ints], Values]] = {
    "number": lambda self, rows: (rows + 1).tolist(),
    "id": Rows.ids,
    "stream_id": Rows.stream_ids,
    "partner_id": Rows.partner_ids,
    "time": Rows.times,
    "stream": lambda self, rows: self.integers("stream", rows),
    "protocol": Rows.protocols,
    "source": lambda self, rows: self.endpoints(rows, True),
    "destination": lambda self, rows: self.endpoints(rows, False),
    "from_client": lambda self, rows: (self.take("side", rows) == FROM_CLIENT).tolist(),
    "role": lambda self, rows: np.array(ROLES, object)[self.take("role", rows)].tolist(),
    "operation": lambda self, rows: self.named("operation", rows),
    "code": lambda self, rows: self.integers("code", rows),
    "version": lambda self, rows: self.integers("version", rows),
    "correlation": lambda self, rows: self.integers("correlation", rows),
    "client": lambda self, rows: self.named("client", rows),
    "length": lambda self, rows: self.integers("length", rows),
    "offset": lambda self, rows: self.integers("offset", rows),
    "first_packet": lambda self, rows: self.integers("first", rows),
    "last_packet": lambda self, rows: self.integers("last", rows),
    "partner": Rows.partners,
    "latency_ns": Rows.latencies,
    "state": lambda self, rows: np.array(STATES, object)[self.take("state", rows)].tolist(),
}

_BODY: Mapping[str, Callable[[_Decoded], Any]] = {
    "error": lambda decoded: None if decoded.body.error is None else _error(*decoded.body.error),
    "info": _Decoded.info,
    "findings": lambda decoded: [_finding(finding) for finding in decoded.body.findings],
    "fields": lambda decoded: decoded.body.values,
}
BODY_KEYS = frozenset(_BODY)

ALIASES = {"latency": "latency_ns"}

ROW_KEYS: Sequence[str] = (
    *("number", "id", "stream_id", "partner_id", "time", "stream", "protocol", "source", "destination", "from_client"),
    *("role", "operation", "code", "version", "correlation", "client", "length", "offset", "first_packet"),
    *("last_packet", "partner", "latency_ns", "error", "state", "info", "findings"),
)
"""The keys of a row, in the contract's order; `fields` comes behind them when asked for."""


def known_keys() -> Iterable[str]:
    """All that -e takes."""
    return (*ROW_KEYS, *ALIASES, "fields")
