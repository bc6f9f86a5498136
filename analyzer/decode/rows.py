"""Reads rows as other programs see them: the keys of docs/reference/output.md, column by column.

Theory. A key is a function from many row numbers to as many plain values. Values in the index are looked up for all
rows at once. The keys error, info, findings and fields need the body; if one of them is requested, each row is decoded
once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np

from analyzer.columns.arrays import Array, Ints
from analyzer.columns.values import (
    CellColumn,
    ConcatenatedColumn,
    FlagColumn,
    IntegerColumn,
    ScopedColumn,
    TextColumn,
    TextTable,
    TimeColumn,
    Values,
    make_text_table,
)
from analyzer.decode import raw
from analyzer.decode.bodies import add_row_findings, flag_row_findings
from analyzer.decode.content import read_undecoded
from analyzer.decode.endpoints import name_endpoint, name_stream
from analyzer.decode.request_fields import find_requests
from analyzer.messages import defects
from analyzer.messages.index import FROM_CLIENT, RowMark
from analyzer.messages.row_findings import decode_findings
from analyzer.session import Analysis
from dissectors.api import Body, Context, Dissector, Role, State
from dissectors.finding import Finding
from dissectors.wire.fast_path import NULL, NULL64

CHUNK, CHUNK_BYTES = 4096, 1 << 20
"""Rows, and bytes of their messages, that are decoded at a time by code that looks at each row."""

ROLES = [role.name.lower() for role in Role]
STATES = [state.name.lower() for state in State]
_ROLES, _STATES, _SIDES = make_text_table(ROLES), make_text_table(STATES), make_text_table(("/c/", "/s/"))


FillInNames = Callable[[Dissector, Body, Context, int], Body]
"""Returns a row's body with names in place of ids (analyzer.decode.resolved_names), for the summary line."""


class RowReader:
    """Reads keys of rows that are in memory. Caches names of streams, but no rows and no bodies.

    `streaming`: rows are read as they close, so a row has no partner that closes later, even if it is known by now.
    `hindsight`: includes findings that depend on later rows. They are for people; programs get the same findings from a
    stream and from a file.
    """

    def __init__(self, session: Analysis, *, streaming: bool = False, hindsight: bool = False) -> None:
        self.streaming, self.hindsight = streaming, hindsight
        self.session = session
        self._index = session.rows
        self._latest: Ints | None = None
        self._run = slice(0, 0)
        self._names = TextTable(lambda number: session.engine.names.text(number - 1) if number else None)
        self._stream_ids = TextTable(partial(name_stream, session))
        self._endpoints = TextTable(lambda number: name_endpoint(session, number // 2, number % 2))
        self._protocols = make_text_table(
            [*(dissector.name for dissector in session.engine.known.dissectors), "unknown"]
        )

    def read_column(self, key: str, rows: Ints) -> CellColumn:
        """Reads one key of `rows` that needs no body. Raises KeyError for an unknown key."""
        return KEYS[key](self, rows)

    def read_columns(self, keys: Sequence[str], rows: Ints) -> list[Values]:
        """Reads several keys of `rows`, a list of values for each. Raises KeyError for an unknown key."""
        if not BODY_KEYS.intersection(keys):
            return [KEYS[key](self, rows).values() for key in keys]
        objects = list(self.read_objects(keys, rows))
        return [[found[key] for found in objects] for key in keys]

    def read_objects(
        self, keys: Sequence[str], rows: Ints, named: FillInNames | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yields a dict for each row. A body is decoded when its row is reached, and is not kept.

        named: puts names into the body that `info` is formatted from; programs get `info` without names.
        """
        columns = [KEYS[key](self, rows).values() if key in KEYS else repeat(None, len(rows)) for key in keys]
        cells = zip(*columns, strict=True)
        if not BODY_KEYS.intersection(keys):
            return (dict(zip(keys, row, strict=True)) for row in cells)
        return self._read_with_bodies(keys, rows, cells, named)

    def _read_with_bodies(
        self, keys: Sequence[str], rows: Ints, cells: Iterable[tuple[Any, ...]], named: FillInNames | None
    ) -> Iterator[dict[str, Any]]:
        session, error, info, findings, fields = self.session, *(key in keys for key in BODY_KEYS_IN_ORDER)
        readable = read_undecoded(session, rows)
        requests = find_requests(session, rows, readable) if info else repeat(None, len(rows))
        for row, (dissector, message, context), number, finding_flags, request in zip(
            cells, readable, rows.tolist(), self.flag_findings(rows).tolist(), requests, strict=True
        ):
            body = (
                raw.make_raw_body(session, number, message)
                if dissector is None
                else defects.decode_values(dissector, message, context)
            )
            if request is not None:
                body = request.add_to_body(body)
            if finding_flags:
                body = add_row_findings(session, number, body, decode_findings(finding_flags))
            found = dict(zip(keys, row, strict=True))
            if error:
                found["error"] = make_error(body)
            if info and dissector is None:
                found["info"] = raw.format_raw_info(session, number, message, body)
            elif info and dissector is not None:
                seen = body if named is None else named(dissector, body, context, number)
                found["info"] = defects.format_info(dissector, seen, context)
            if findings:
                found["findings"] = make_findings(body)
            if fields:
                found["fields"] = body.values
            yield found

    def flag_findings(self, rows: Ints) -> Ints:
        """Returns the findings that the index shows about rows, as bits; see row_findings."""
        return flag_row_findings(self.session, rows, late=self.hindsight and self.session.ended)

    def take_cells(self, name: str, rows: Ints) -> Array:
        """Returns the cells of one index column in n rows."""
        column = self._index.column(name)
        return column[self._run] if rows is self._latest else column[rows]

    def select_range(self, first: int, stop: int) -> Ints:
        """Returns the rows from `first` to before `stop`. Their columns are slices, so nothing is gathered."""
        self._latest, self._run = np.arange(first, stop), slice(first, stop)
        return self._latest

    def read_integers(self, name: str, rows: Ints) -> IntegerColumn:
        """Returns the cells of one index column as integers that may be null."""
        return make_nullable(self.take_cells(name, rows))

    def read_names(self, name: str, rows: Ints) -> TextColumn:
        """Returns the texts of name numbers."""
        numbers = self.take_cells(name, rows)
        return TextColumn(self._names, np.where(numbers == NULL, 0, numbers + 1))

    def read_times(self, rows: Ints) -> TimeColumn:
        """Returns the times of rows as ISO 8601 texts in UTC with nanoseconds."""
        return TimeColumn(self.take_cells("time", rows))

    def read_stream_ids(self, rows: Ints) -> TextColumn:
        """Returns the ids of the connections of rows, as `CLIENT>SERVER`."""
        return TextColumn(self._stream_ids, self.take_cells("stream", rows))

    def read_ids(self, rows: Ints) -> ConcatenatedColumn:
        """Returns the ids of rows, as `stream_id/c/OFFSET` or `stream_id/s/OFFSET`."""
        return ConcatenatedColumn(
            [
                self.read_stream_ids(rows),
                TextColumn(_SIDES, self.take_cells("side", rows)),
                IntegerColumn(self.take_cells("offset", rows)),
            ]
        )

    def read_partner_ids(self, rows: Ints) -> ConcatenatedColumn:
        """Returns the id of the other half of the exchange."""
        partners = self.find_partner_rows(rows)
        null = partners == NULL64
        return replace(self.read_ids(np.where(null, rows, partners)), null=null)

    def read_partners(self, rows: Ints) -> IntegerColumn:
        """Returns the number of the other half of the exchange."""
        partners = self.find_partner_rows(rows)
        return IntegerColumn(partners + 1, partners == NULL64)

    def read_correlations(self, rows: Ints) -> CellColumn:
        """Returns correlation numbers, as text with the scope where a number is valid in a scope only."""
        signed, scopes = self.read_integers("correlation", rows), self.take_cells("scope", rows)
        scoped = scopes != NULL
        if not scoped.any():
            return signed
        unsigned = IntegerColumn(signed.numbers.astype(np.uint64))
        return ScopedColumn(self.read_names("scope", rows), scoped, signed, unsigned)

    def read_clients(self, rows: Ints) -> TextColumn:
        """Returns the client names; while streaming, without names that only a later answer gives."""
        named = self.read_names("client", rows)
        if not self.streaming:
            return named
        is_resolved = self.take_cells("marks", rows) & RowMark.CLIENT_NAMED_LATER != 0
        return TextColumn(named.texts, np.where(is_resolved, 0, named.numbers))

    def find_partner_rows(self, rows: Ints) -> Ints:
        """Returns the rows of partners; NULL64 for none."""
        partners = self.take_cells("partner", rows).astype(np.int64)
        unknown = (partners == NULL) | (partners > rows) if self.streaming else partners == NULL
        return np.where(unknown, NULL64, partners)

    def read_latencies(self, rows: Ints) -> IntegerColumn:
        """Returns nanoseconds, for responses whose request is known."""
        partners = self.take_cells("partner", rows)
        answer = self.take_cells("role", rows) == Role.RESPONSE
        answer &= partners >= 0
        if self.streaming:
            answer &= partners <= rows
        places = np.flatnonzero(answer)
        found = np.zeros(len(rows), np.int64)
        found[places] = self.take_cells("time", rows)[places] - self._index.column("time")[partners[places]]
        return IntegerColumn(found, ~answer)

    def read_endpoints(self, rows: Ints, sender: bool) -> TextColumn:
        """Returns `address:port` of the sender or the receiver of each row."""
        side = self.take_cells("side", rows).astype(np.int64)
        key = self.take_cells("stream", rows).astype(np.int64) * 2 + (side if sender else 1 - side)
        return TextColumn(self._endpoints, key)

    def read_protocols(self, rows: Ints) -> TextColumn:
        """Returns protocol names; `unknown` for raw bytes."""
        numbers = self.take_cells("protocol", rows)
        return TextColumn(self._protocols, np.where(numbers < 0, len(self.session.engine.known.dissectors), numbers))


def make_error(body: Body) -> dict[str, Any] | None:
    """Returns the error that a message reports."""
    return None if body.error is None else {"code": body.error[0], "name": body.error[1]}


def make_findings(body: Body) -> list[dict[str, str]]:
    """Makes the findings of a message for output."""
    return [make_finding(finding) for finding in body.findings] if body.findings else []


def make_finding(finding: Finding) -> dict[str, str]:
    """Returns the JSON object of a finding."""
    return {"severity": finding.severity.name.lower(), "code": finding.code, "text": finding.text}


def make_nullable(numbers: Array) -> IntegerColumn:
    """Makes a column of numbers that are null where a cell is NULL or NULL64."""
    return IntegerColumn(numbers, numbers == (NULL64 if numbers.dtype == np.int64 else NULL))


KEYS: Mapping[str, Callable[[RowReader, Ints], CellColumn]] = {
    "number": lambda self, rows: IntegerColumn(rows + 1),
    "id": RowReader.read_ids,
    "stream_id": RowReader.read_stream_ids,
    "partner_id": RowReader.read_partner_ids,
    "time": RowReader.read_times,
    "stream": lambda self, rows: IntegerColumn(self.take_cells("stream", rows)),
    "protocol": RowReader.read_protocols,
    "source": lambda self, rows: self.read_endpoints(rows, True),
    "destination": lambda self, rows: self.read_endpoints(rows, False),
    "from_client": lambda self, rows: FlagColumn(self.take_cells("side", rows) == FROM_CLIENT),
    "role": lambda self, rows: TextColumn(_ROLES, self.take_cells("role", rows)),
    "operation": lambda self, rows: self.read_names("operation", rows),
    "code": lambda self, rows: self.read_integers("code", rows),
    "version": lambda self, rows: self.read_integers("version", rows),
    "correlation": RowReader.read_correlations,
    "client": RowReader.read_clients,
    "length": lambda self, rows: IntegerColumn(self.take_cells("length", rows)),
    "offset": lambda self, rows: IntegerColumn(self.take_cells("offset", rows)),
    "first_packet": lambda self, rows: IntegerColumn(self.take_cells("first", rows)),
    "last_packet": lambda self, rows: IntegerColumn(self.take_cells("last", rows)),
    "partner": RowReader.read_partners,
    "latency_ns": RowReader.read_latencies,
    "state": lambda self, rows: TextColumn(_STATES, self.take_cells("state", rows)),
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
"""The keys of a row, in order; `fields` follows if requested."""


def list_keys() -> Iterable[str]:
    """Returns all keys that -e accepts."""
    return (*ROW_KEYS, *ALIASES, "fields")


def split_rows(
    session: Analysis, rows: range | Ints, most: int = CHUNK, most_bytes: int = CHUNK_BYTES
) -> Iterator[Ints]:
    """Yields runs of at most `most` rows and about `most_bytes` of messages."""
    numbers = np.arange(rows.start, rows.stop) if isinstance(rows, range) else rows
    sizes = np.cumsum(session.rows.column("length")[numbers], dtype=np.int64)
    first = 0
    while first < len(sizes):
        before = int(sizes[first - 1]) if first else 0
        last = min(first + most, int(np.searchsorted(sizes, before + most_bytes)) + 1, len(sizes))
        yield numbers[first:last]
        first = last
