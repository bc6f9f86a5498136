"""Rows as other programs read them: the keys of OUTPUT.md, computed a column at a time.

Theory. A key is a function from many row numbers to as many plain values. What the index holds is looked up for all
rows at once; what needs the body (error, info, findings, fields) decodes each row once, and only when such a key was
asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from analyzer import defects
from analyzer.columns import Array, Ints
from analyzer.messages import FROM_CLIENT, Mark
from analyzer.session import Analysis, iso_times
from dissectors.api import Role, State
from dissectors.finding import Finding
from dissectors.wire.bulk import NULL, NULL64

Values = list[Any]

CHUNK = 4096
CHUNK_BYTES = 1 << 20
"""Rows, and bytes of their messages, that are decoded and written at one time."""

ROLES = [role.name.lower() for role in Role]
STATES = [state.name.lower() for state in State]


class Rows:
    """Reads keys of rows. Keeps the names of streams that it has met; of rows and bodies nothing.

    `streaming`: rows are read as they close, so a row knows no partner that closes later, even if it is known by now.
    """

    def __init__(self, session: Analysis, *, streaming: bool = False) -> None:
        self._streaming = streaming
        self.session = session
        self._index = session.rows
        self._names = _Texts(lambda number: session.names.text(number - 1) if number else None)
        self._stream_ids = _Texts(session.stream_id)
        self._endpoints = _Texts(lambda number: session.endpoint(number // 2, number % 2))

    def columns(self, keys: Sequence[str], rows: Ints) -> list[Values]:
        """For each key the values of all `rows`, in order. Raises KeyError for an unknown key."""
        if not BODY_KEYS.intersection(keys):
            return [KEYS[key](self, rows) for key in keys]
        objects = list(self.objects(keys, rows))
        return [[found[key] for found in objects] for key in keys]

    def objects(self, keys: Sequence[str], rows: Ints) -> Iterator[dict[str, Any]]:
        """The same as one dict for each row; a body is decoded when its row is reached, and forgotten while hot."""
        columns = [KEYS[key](self, rows) if key in KEYS else repeat(None, len(rows)) for key in keys]
        cells = zip(*columns, strict=True)
        if not BODY_KEYS.intersection(keys):
            return (dict(zip(keys, row, strict=True)) for row in cells)
        return self._with_bodies(keys, rows, cells)

    def _with_bodies(
        self, keys: Sequence[str], rows: Ints, cells: Iterable[tuple[Any, ...]]
    ) -> Iterator[dict[str, Any]]:
        session, error, info, findings, fields = self.session, *(key in keys for key in BODY_KEYS_IN_ORDER)
        remarkable = np.zeros(len(rows), bool)
        remarkable[session.remarkable(rows)] = True
        readable = session.readable(rows)
        for row, (dissector, message, context), number, remark in zip(
            cells, readable, rows.tolist(), remarkable.tolist(), strict=True
        ):
            body = session.raw_body(message) if dissector is None else defects.values(dissector, message, context)
            if remark:
                body = session.remarked(number, body)
            found = dict(zip(keys, row, strict=True))
            if error and body.error is not None:
                found["error"] = {"code": body.error[0], "name": body.error[1]}
            if info:
                said = session.raw_info(message, body) if dissector is None else defects.info(dissector, body, context)
                found["info"] = said
            if findings:
                found["findings"] = [_finding(finding) for finding in body.findings] if body.findings else []
            if fields:
                found["fields"] = body.values
            yield found

    def take(self, name: str, rows: Ints) -> Array:
        """One column of the index."""
        return self._index.column(name)[rows]

    def integers(self, name: str, rows: Ints) -> Values:
        """The same as plain integers, None for null."""
        return nullable(self.take(name, rows))

    def named(self, name: str, rows: Ints) -> Values:
        """Numbers of Names as their strings."""
        numbers = self.take(name, rows)
        return self._names.of(np.where(numbers == NULL, 0, numbers + 1))

    def times(self, rows: Ints) -> Values:
        """ISO 8601, UTC, nanoseconds."""
        return iso_times(self.take("time", rows))

    def stream_ids(self, rows: Ints) -> Values:
        """`CLIENT>SERVER`."""
        return self._stream_ids.of(self.take("stream", rows))

    def ids(self, rows: Ints) -> Values:
        """`stream_id/c/OFFSET` or `/s/OFFSET`."""
        sides = picked(("/c/", "/s/"), self.take("side", rows))
        offsets = self.take("offset", rows).tolist()
        return [f"{stream}{side}{at}" for stream, side, at in zip(self.stream_ids(rows), sides, offsets, strict=True)]

    def partner_ids(self, rows: Ints) -> Values:
        """The id of the other half of the exchange."""
        partners = self._partners(rows)
        found = np.flatnonzero(partners != NULL64)
        values: Values = [None] * len(rows)
        for place, value in zip(found.tolist(), self.ids(partners[found]), strict=True):
            values[place] = value
        return values

    def partners(self, rows: Ints) -> Values:
        """The number of the other half of the exchange."""
        partners = self._partners(rows)
        return nullable(np.where(partners == NULL64, NULL64, partners + 1))

    def correlations(self, rows: Ints) -> Values:
        """The number that an answer repeats, or a text where it counts in a scope."""
        values, scopes = self.integers("correlation", rows), self.take("scope", rows)
        scoped = np.flatnonzero(scopes != NULL)
        numbers = self.take("correlation", rows[scoped]).astype(np.uint64).tolist()
        for place, scope, number in zip(scoped.tolist(), self.named("scope", rows[scoped]), numbers, strict=True):
            values[place] = f"{scope}{number}"
        return values

    def clients(self, rows: Ints) -> Values:
        """How clients call themselves; while streaming, not what only the answer of a row told."""
        values = self.named("client", rows)
        if self._streaming:
            for place in np.flatnonzero(self.take("marks", rows) & Mark.CLIENT_TOLD_LATER).tolist():
                values[place] = None
        return values

    def _partners(self, rows: Ints) -> Ints:
        """Rows of partners, NULL64 for none."""
        partners = self.take("partner", rows).astype(np.int64)
        unknown = (partners == NULL) | (partners > rows) if self._streaming else partners == NULL
        return np.where(unknown, NULL64, partners)

    def latencies(self, rows: Ints) -> Values:
        """Nanoseconds, of responses whose request is known."""
        partners = self._partners(rows)
        answer = (partners != NULL64) & (self.take("role", rows) == Role.RESPONSE)
        request = self._index.column("time")[np.where(answer, partners, 0)]
        return nullable(np.where(answer, self.take("time", rows) - request, NULL64))

    def endpoints(self, rows: Ints, sender: bool) -> Values:
        """`address:port` of who sent the row, or of who received it."""
        side = self.take("side", rows).astype(np.int64)
        key = self.take("stream", rows).astype(np.int64) * 2 + (side if sender else 1 - side)
        return self._endpoints.of(key)

    def protocols(self, rows: Ints) -> Values:
        """Protocol names; `unknown` for raw bytes."""
        names = [dissector.name for dissector in self.session.engine.known.dissectors]
        return picked([*names, "unknown"], self.take("protocol", rows))


class _Texts:
    """A text for each small number, made when first asked for."""

    def __init__(self, text: Callable[[int], str | None]) -> None:
        self._text = text
        self._table: npt.NDArray[np.object_] = np.empty(0, object)
        self._made = np.zeros(0, bool)

    def of(self, numbers: Ints) -> Values:
        """The texts of many numbers."""
        if not len(numbers):
            return []
        missing = int(numbers.max()) + 1 - len(self._table)
        if missing > 0:
            self._table = np.concatenate((self._table, np.empty(missing + len(self._table), object)))
            self._made = np.concatenate((self._made, np.zeros(len(self._table) - len(self._made), bool)))
        if not self._made[numbers].all():
            for number in np.unique(numbers[~self._made[numbers]], return_index=True)[0].tolist():
                self._table[number] = self._text(number)
                self._made[number] = True
        return picked(self._table, numbers)


def picked(texts: Sequence[str] | npt.NDArray[np.object_], numbers: Array) -> Values:
    """The text of each number."""
    values: Values = np.asarray(texts, object)[numbers].tolist()
    return values


def _finding(finding: Finding) -> dict[str, str]:
    return {"severity": finding.severity.name.lower(), "code": finding.code, "text": finding.text}


def nullable(numbers: Array) -> Values:
    """A column as plain integers, None where it is NULL or NULL64."""
    null = numbers == (NULL64 if numbers.dtype == np.int64 else NULL)
    if null.any():
        numbers = numbers.astype(object)
        numbers[null] = None
    values: Values = numbers.tolist()
    return values


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
    "role": lambda self, rows: picked(ROLES, self.take("role", rows)),
    "operation": lambda self, rows: self.named("operation", rows),
    "code": lambda self, rows: self.integers("code", rows),
    "version": lambda self, rows: self.integers("version", rows),
    "correlation": Rows.correlations,
    "client": Rows.clients,
    "length": lambda self, rows: self.integers("length", rows),
    "offset": lambda self, rows: self.integers("offset", rows),
    "first_packet": lambda self, rows: self.integers("first", rows),
    "last_packet": lambda self, rows: self.integers("last", rows),
    "partner": Rows.partners,
    "latency_ns": Rows.latencies,
    "state": lambda self, rows: picked(STATES, self.take("state", rows)),
}

BODY_KEYS_IN_ORDER = ("error", "info", "findings", "fields")
BODY_KEYS = frozenset(BODY_KEYS_IN_ORDER)
"""Keys that need the body."""

ALIASES = {"latency": "latency_ns"}

ROW_KEYS: Sequence[str] = (
    *("number", "id", "stream_id", "partner_id", "time", "stream", "protocol", "source", "destination", "from_client"),
    *("role", "operation", "code", "version", "correlation", "client", "length", "offset", "first_packet"),
    *("last_packet", "partner", "latency_ns", "error", "state", "info", "findings"),
)
"""The keys of a row, in order; `fields` comes behind them when asked for."""


def known_keys() -> Iterable[str]:
    """All that -e takes."""
    return (*ROW_KEYS, *ALIASES, "fields")


def chunks(session: Analysis, rows: range | Ints) -> Iterator[Ints]:
    """Row numbers in runs of at most CHUNK rows and about CHUNK_BYTES of messages."""
    numbers = np.arange(rows.start, rows.stop) if isinstance(rows, range) else rows
    sizes = np.cumsum(session.rows.column("length")[numbers])
    first = 0
    while first < len(sizes):
        before = int(sizes[first - 1]) if first else 0
        last = min(first + CHUNK, int(np.searchsorted(sizes, before + CHUNK_BYTES)) + 1, len(sizes))
        yield numbers[first:last]
        first = last
