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
from analyzer.decode.name_resolver import Lore
from analyzer.decode.resolved_names import Naming
from analyzer.decode.rows import Rows
from analyzer.session import Session
from dissectors.slotted import slotted

KEPT_BODIES = 4096
"""Rows whose bodies' words are kept."""

LONG = 1 << 16
"""Bytes of a message from which on it is not decoded between two keys."""

REFUSED_PACKETS = 2
"""Packets of a connection that nobody took: a SYN and an RST."""

INDEX_KEYS = ("number", "time", "stream", "protocol", "role", "operation", "version", "length", "partner")
TIME_KEYS = ("latency_ns", "state")
BODY_KEYS = ("error", "info", "findings")


@slotted
class BodyCells:
    """What a body says: the name of its error, the line for people, its findings as (severity, code)."""

    error: str | None
    info: str
    findings: tuple[tuple[str, str], ...]


@slotted
class RowCells:
    """One row. `number` and `partner` count from 1; `said` is None while the body has not been decoded."""

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
        """One character for what should not be missed: `!` an error, `*` a warning, `%` partial, `?` uncertain."""
        said = self.body
        if said is not None and (said.error or any(severity == "error" for severity, _ in said.findings)):
            return "!"
        if self.state == "partial":
            return "%"
        if said is not None and any(severity == "warning" for severity, _ in said.findings):
            return "*"
        return "?" if self.state in ("guessed", "undecoded") and self.role != "raw" else " "


@slotted
class StreamCells:
    """One stream. client, server: with the names that the capture tells, if it does. duration: ns from its first packet
    to its last. kept: messages that a filter keeps, if any. left: how many of the messages have left.
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
    """Reads what visible lines say. Of one thread, but for `decode`. lore: names of topics, learned elsewhere."""

    def __init__(self, session: Session, lore: Lore | None = None) -> None:
        self._session = session
        self._rows = Rows(session)
        self._naming = Naming(session, lore=Lore(session) if lore is None else lore)
        self._bodies: dict[int, BodyCells] = {}

    def read_rows(self, rows: Sequence[int], *, without: Collection[int] = ()) -> list[RowCells]:
        """The cells of rows, in order; short bodies are decoded on the way, but for those of `without`."""
        if not rows:
            return []
        numbers = np.array(rows, np.int64)
        columns = self._rows.columns([*INDEX_KEYS, *TIME_KEYS], numbers)
        short = self._session.rows.column("length")[numbers] < LONG
        read = [row for row, fits in zip(rows, short.tolist(), strict=True) if fits and row not in without]
        self.cache_bodies({row: self._bodies[row] for row in rows if row in self._bodies} | self.decode_bodies(read))
        columns.append([self._bodies.get(row) for row in rows])
        return [RowCells(*cells) for cells in zip(*columns, strict=True)]

    def find_stream(self, row: int) -> int:
        """The stream of a row."""
        return self._session.rows.cell("stream", row)

    def list_missing(self, rows: Iterable[int]) -> list[int]:
        """Those of `rows` whose bodies have not been decoded."""
        return [row for row in rows if row not in self._bodies]

    def decode_bodies(self, rows: Sequence[int]) -> dict[int, BodyCells]:
        """What the bodies of rows say, of those that are not kept. Changes nothing."""
        wanted = np.array(self.list_missing(rows), np.int64)
        found = self._rows.objects(BODY_KEYS, wanted, self._naming.named) if len(wanted) else ()
        return {row: _make_body_cells(cells) for row, cells in zip(wanted.tolist(), found, strict=True)}

    def cache_bodies(self, said: Mapping[int, BodyCells]) -> None:
        """Keeps what was decoded, and lets go of what was not looked at for longest."""
        for row in said:
            self._bodies.pop(row, None)
        self._bodies |= said
        while len(self._bodies) > KEPT_BODIES:
            del self._bodies[next(iter(self._bodies))]

    def clear(self) -> None:
        """Bodies are decoded again when they are looked at: names have been learned."""
        self._bodies.clear()

    def read_stream(self, stream: int, messages: int, kept: int | None = None, left: int = 0) -> StreamCells:
        """A stream's own line; `messages` as far as they were announced; `kept`: those that a filter keeps; `left`:
        those that are not there any more.
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
            kept,
            left,
        )

    def _name_unknown(self, stream: int, messages: int) -> str:
        """What is said in place of a protocol: a SYN that was answered by RST is a connection that was refused."""
        cell = self._session.engine.streams.cell
        server = 1 - max(cell("client", stream), 0)
        refused = not messages and cell("packets", stream) == REFUSED_PACKETS and cell("closer", stream) == server
        return "refused" if refused else "unknown"


def _make_body_cells(found: dict[str, Any]) -> BodyCells:
    error = found["error"]
    findings = tuple((finding["severity"], finding["code"]) for finding in found["findings"])
    return BodyCells(None if error is None else error["name"], found["info"] or "", findings)
