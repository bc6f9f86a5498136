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

from analyzer.columns.arrays import Ints
from analyzer.decode.endpoints import name_endpoint
from analyzer.decode.name_resolver import NameResolver
from analyzer.decode.resolved_names import TopicNamer
from analyzer.decode.rows import RowReader
from analyzer.session import Session
from dissectors.api import Role
from dissectors.slotted import make_slotted

MOST_BODIES = 4096
"""The number of rows whose body cells are cached."""

LONG = 1 << 16
"""A message of at least so many bytes is decoded by another thread."""

MOST_CLIENTS = 1 << 14
"""The number of streams whose client's name is cached."""

REFUSED_PACKETS = 2
"""The packets of a refused connection: a SYN and an RST."""

INDEX_KEYS = ("number", "time", "stream", "protocol", "role", "operation", "version", "length", "partner")
TIME_KEYS = ("latency_ns", "state")
LATENCY = len(INDEX_KEYS)
"""The place of the latency among these."""

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

    number, partner: from 1. latency: ns, of a response and of the request that it answers. body: None while it has not
    been decoded.
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
    messages that a filter keeps, None without one. evicted: messages that were evicted. who: the client's own name, ""
    if the messages do not tell it.
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
    who: str = ""

    @property
    def addresses(self) -> str:
        """`CLIENT > SERVER`; an address that both have is left out."""
        client, server = self.client.rpartition(":"), self.server.rpartition(":")
        if client[0] and client[0] == server[0]:
            return f":{client[2]} > :{server[2]}"
        return f"{self.client} > {self.server}"


class CellReader:
    """Reads the cells of visible lines; used by one thread, except decode_bodies().

    resolver: resolved names of topics.
    """

    def __init__(self, session: Session, resolver: NameResolver | None = None) -> None:
        self._session = session
        self._rows = RowReader(session)
        self._naming = TopicNamer(session, resolver=NameResolver(session) if resolver is None else resolver)
        self._bodies: dict[int, BodyCells] = {}
        self._clients: dict[int, str] = {}

    def read_rows(self, rows: Sequence[int], *, without: Collection[int] = ()) -> list[RowCells]:
        """Returns the cells of rows; decodes short bodies, except those of `without`."""
        if not rows:
            return []
        numbers = np.array(rows, np.int64)
        columns = self._rows.read_columns([*INDEX_KEYS, *TIME_KEYS], numbers)
        columns[LATENCY] = self._add_request_latencies(numbers, columns[LATENCY])
        short = self._session.rows.column("length")[numbers] < LONG
        read = [row for row, fits in zip(rows, short.tolist(), strict=True) if fits and row not in without]
        self.cache_bodies({row: self._bodies[row] for row in rows if row in self._bodies} | self.decode_bodies(read))
        columns.append([self._bodies.get(row) for row in rows])
        return [RowCells(*cells) for cells in zip(*columns, strict=True)]

    def _add_request_latencies(self, rows: Ints, latencies: Sequence[int | None]) -> list[int | None]:
        """Returns the latencies of rows, also of requests: those of their responses."""
        column = self._session.rows.column
        partners = column("partner")[rows]
        times = column("time")
        requests = (column("role")[rows] == Role.REQUEST) & (partners >= 0)
        waited = np.where(requests, times[np.maximum(partners, 0)] - times[rows], 0).tolist()
        return [
            waited[place] if is_answered else latency
            for place, (is_answered, latency) in enumerate(zip(requests.tolist(), latencies, strict=True))
        ]

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

    def read_stream(
        self, stream: int, messages: int, shown: int | None = None, left: int = 0, first_rows: Sequence[int] = ()
    ) -> StreamCells:
        """Returns the cells of a stream.

        messages: those announced. shown: those that a filter keeps. left: those that were evicted. first_rows: some of
        its first rows, which may tell who the client is.
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
            self._find_client(stream, first_rows),
        )

    def _find_client(self, stream: int, rows: Sequence[int]) -> str:
        """Returns the name that the client of a stream gives itself, else the host's, else ""."""
        found = self._clients.get(stream)
        if found is None and len(rows):
            (names,) = self._rows.read_columns(["client"], np.array(rows, np.int64))
            found = next(filter(None, names), None)
            if found is not None:
                if len(self._clients) >= MOST_CLIENTS:
                    self._clients.clear()
                self._clients[stream] = found
        if found is None:
            found = self._session.hosts.find_name(
                name_endpoint(self._session, stream, 0).rpartition(":")[0].strip("[]")
            )
        return found or ""

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
