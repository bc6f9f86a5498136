"""The cells of rows and streams in the list: plain texts and numbers, read for the lines on the screen only.

Theory. Columns of the index are read anew each time, for all visible rows at once, because they still change: an answer
that comes later gives its request a partner. Error, info and findings need the body; they are decoded once and cached
for the last few thousand rows. A long body is not decoded here, because that would delay the next key: `list_missing`
names such rows, and another thread may call `decode_bodies` for them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from analyzer.decode.endpoints import name_endpoint
from analyzer.decode.name_resolver import NameResolver
from analyzer.decode.resolved_names import TopicNamer
from analyzer.decode.rows import RowReader
from analyzer.session import Session
from dissectors.slotted import make_slotted

MOST_BODIES = 4096
"""The number of rows whose body cells are cached."""

LONG = 1 << 16
"""A message of at least so many bytes is decoded by another thread."""

REFUSED_PACKETS = 2
"""The packets of a refused connection: a SYN and an RST."""

INDEX_KEYS = ("number", "time", "stream", "protocol", "role", "operation", "version", "length", "partner")
TIME_KEYS = ("latency_ns", "state")
BODY_KEYS = ("error", "info", "findings")


@make_slotted
class BodyCells:
    """The cells that need the body: error name, info, and findings as (severity, code)."""

    error: str | None
    info: str
    findings: tuple[tuple[str, str], ...]


@make_slotted
class RowCells:
    """The cells of a row.

    number, partner: from 1. latency: ns. body: None while it has not been decoded.
    """

    number: int
    time: str
    stream: int
    protocol: str
    role: str
    operation: str | None
    version: int | None
    length: int
    partner: int | None
    latency: int | None
    state: str
    body: BodyCells | None

    @property
    def sign(self) -> str:
        """One character for the state: `!` an error, `*` a warning, `%` partial, `?` uncertain."""
        decoded = self.body
        if decoded is not None and (decoded.error or any(severity == "error" for severity, _ in decoded.findings)):
            return "!"
        if self.state == "partial":
            return "%"
        if decoded is not None and any(severity == "warning" for severity, _ in decoded.findings):
            return "*"
        return "?" if self.state in ("guessed", "undecoded") and self.role != "raw" else " "


@make_slotted
class StreamCells:
    """The cells of a stream.

    client, server: with the names that the capture has. duration: ns between its first and last packet. matches:
    messages that a filter keeps, None without one. evicted: messages that were evicted.
    """

    number: int
    client: str
    server: str
    protocol: str
    messages: int
    packets: int
    duration: int
    matches: int | None = None
    evicted: int = 0


class CellReader:
    """Reads the cells of visible lines; used by one thread, except decode_bodies().

    resolver: resolved names of topics.
    """

    def __init__(self, session: Session, resolver: NameResolver | None = None) -> None:
        self._session = session
        self._rows = RowReader(session)
        self._naming = TopicNamer(session, resolver=NameResolver(session) if resolver is None else resolver)
        self._bodies: dict[int, BodyCells] = {}

    def read_rows(self, rows: Sequence[int], *, without: Collection[int] = ()) -> list[RowCells]:
        """Returns the cells of rows; decodes short bodies, except those of `without`."""
        if not rows:
            return []
        numbers = np.array(rows, np.int64)
        columns = self._rows.read_columns([*INDEX_KEYS, *TIME_KEYS], numbers)
        short = self._session.rows.column("length")[numbers] < LONG
        read = [row for row, fits in zip(rows, short.tolist(), strict=True) if fits and row not in without]
        self.cache_bodies({row: self._bodies[row] for row in rows if row in self._bodies} | self.decode_bodies(read))
        columns.append([self._bodies.get(row) for row in rows])
        return [RowCells(*cells) for cells in zip(*columns, strict=True)]

    def find_stream(self, row: int) -> int:
        """Returns the stream of a row."""
        return self._session.rows.cell("stream", row)

    def list_missing(self, rows: Iterable[int]) -> list[int]:
        """Returns those of the rows whose bodies have not been decoded."""
        return [row for row in rows if row not in self._bodies]

    def decode_bodies(self, rows: Sequence[int]) -> dict[int, BodyCells]:
        """Decodes the bodies of rows that are not cached; changes nothing, so any thread may call it."""
        wanted = np.array(self.list_missing(rows), np.int64)
        found = self._rows.read_objects(BODY_KEYS, wanted, self._naming.fill_in_names) if len(wanted) else ()
        return {row: _make_body_cells(cells) for row, cells in zip(wanted.tolist(), found, strict=True)}

    def cache_bodies(self, decoded: Mapping[int, BodyCells]) -> None:
        """Caches decoded bodies, and drops those that were not used for longest."""
        for row in decoded:
            self._bodies.pop(row, None)
        self._bodies |= decoded
        while len(self._bodies) > MOST_BODIES:
            del self._bodies[next(iter(self._bodies))]

    def clear(self) -> None:
        """Drops all decoded bodies, because names were resolved."""
        self._bodies.clear()

    def read_stream(self, stream: int, messages: int, shown: int | None = None, left: int = 0) -> StreamCells:
        """Returns the cells of a stream.

        messages: those announced. shown: those that a filter keeps. left: those that were evicted.
        """
        session = self._session
        cell = session.engine.streams.cell
        dissector = session.engine.dissector(cell("protocol", stream))
        return StreamCells(
            stream,
            session.hosts.annotate_endpoint(name_endpoint(session, stream, 0)),
            session.hosts.annotate_endpoint(name_endpoint(session, stream, 1)),
            self._name_unknown(stream, messages) if dissector is None else dissector.name,
            messages,
            cell("packets", stream),
            cell("end", stream) - cell("begin", stream),
            shown,
            left,
        )

    def _name_unknown(self, stream: int, messages: int) -> str:
        """Returns the text in place of a protocol: `refused` for a SYN that was answered by RST."""
        cell = self._session.engine.streams.cell
        server = 1 - max(cell("client", stream), 0)
        refused = not messages and cell("packets", stream) == REFUSED_PACKETS and cell("closer", stream) == server
        return "refused" if refused else "unknown"


def _make_body_cells(found: dict[str, Any]) -> BodyCells:
    error = found["error"]
    findings = tuple((finding["severity"], finding["code"]) for finding in found["findings"])
    return BodyCells(None if error is None else error["name"], found["info"] or "", findings)
