"""Findings about streams: gaps, conflicting retransmissions, skipped bytes, foreign protocols.

Theory. Each occurrence is one finding, and a capture of a broken network has millions. So they are stored as columns
and become sentences on demand. People see the first MOST of each kind in order of packets, however the input was
divided into blocks, and the number of the others. Programs get all of them (describe()), in sentences without packet
and stream numbers, which depend on the input.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.columns.tables import ColumnTable
from analyzer.messages import defects
from analyzer.messages.connection import Connection, PendingRow
from analyzer.messages.framing import ByteReader
from analyzer.messages.index import RetransmissionTable
from analyzer.tcp.reassembly import Piece, Retransmission
from dissectors.finding import Finding, Severity
from dissectors.foreign import Foreign, foreign

MOST = 1000
COMPARED_BYTES = 1 << 16

_BEGINNING = 64
"""Number of first bytes of a raw run that may identify its protocol."""

_ENOUGH_BYTES = 8
"""Bytes that a side must have sent before a finding says that no message begins in them."""

_OF_STREAM = 200
"""Approximate bytes of memory of an entry of `stream_counts`."""


LocatedFinding = tuple[Finding, int | None]
"""A finding and its stream; None if it is about no stream, or about several."""


class _Kind(NamedTuple):
    """Holds sentences with placeholders; the one for programs has no number of a packet."""

    code: str
    severity: Severity
    text_for_people: str
    text_for_programs: str


GAP = _Kind(
    "gap",
    Severity.WARNING,
    "{length} bytes are missing at offset {offset}, before packet {packet}",
    "{length} bytes are missing at offset {offset}",
)
CONFLICT = _Kind(
    "conflicting-overlap",
    Severity.WARNING,
    "{length} bytes at offset {offset} came again in packet {packet} with other contents; those of packet {other} "
    "are kept",
    "{length} bytes at offset {offset} came again with other contents; those that came first are kept",
)


def _make_kind(code: str, severity: Severity, text: str) -> _Kind:
    return _Kind(code, severity, text, text)


SKIPPED = _make_kind(
    "bytes-skipped",
    Severity.WARNING,
    "{length} bytes at offset {offset} were passed over: no message begins in them",
)


def _make_refused_kind(what: str) -> _Kind:
    text = f"{{length}} bytes at offset {{offset}} were passed over: they begin with {_plain(what)}"
    return _make_kind("oversized-frame", Severity.WARNING, text)


def _make_foreign_kind(connection: Connection, other: Foreign, expected: str) -> _Kind:
    """Returns the kind for a foreign protocol that only the other side's bytes show."""
    where = f"on port {connection.ports[1 - connection.client]}, which usually is that of {expected}"
    text = f"{{length}} bytes at offset {{offset}} are not read, {where}: {_plain(other.elsewhere)}; {other.advice}"
    return _make_kind("wrong-protocol", Severity.NOTE, text)


class _FindingTable(ColumnTable):
    """Holds the findings. `kind` numbers the kinds so far; `sender` is 0 for the client; `other` another packet."""

    TYPES: ClassVar[Mapping[str, type[np.generic]]] = {
        "packet": np.int64,
        "stream": np.int32,
        "side": np.int8,
        "offset": np.int64,
        "kind": np.int32,
        "sender": np.int8,
        "length": np.int64,
        "other": np.int64,
    }
    NARROW: ClassVar[frozenset[str]] = frozenset({"packet", "offset", "length", "other"})


class StreamFindings:
    """Collects findings and retransmissions of connections."""

    def __init__(self, reader: ByteReader, repeats: RetransmissionTable) -> None:
        self._reader, self._repeats = reader, repeats
        self._table = _FindingTable()
        self._kinds: dict[_Kind, int] = {}
        self._left: Counter[str] = Counter()
        self.stream_counts: Counter[tuple[str, int]] = Counter()
        """Number of findings of each code in each stream, without evicted ones."""

    def __len__(self) -> int:
        return len(self._table)

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory that the findings take."""
        return self._table.memory_bytes + len(self.stream_counts) * _OF_STREAM

    def evict(self, packet: int) -> None:
        """Evicts findings about packets before one; they still count in the reported number."""
        here = self._table.column("packet")[self._table.first :] >= packet
        before = self._table.first + (int(here.argmax()) if here.any() else len(here))
        kinds = [kind.code for kind in self._kinds]
        evicted = {name: self._table.column(name)[self._table.first : before].tolist() for name in ("kind", "stream")}
        for kind, stream in zip(evicted["kind"], evicted["stream"], strict=True):
            self._left[kinds[kind]] += 1
            self.stream_counts[kinds[kind], stream] -= 1
            if not self.stream_counts[kinds[kind], stream]:
                del self.stream_counts[kinds[kind], stream]
        self._table.forget(before)

    @property
    def findings(self) -> list[Finding]:
        """The findings, and one line for each kind that has more."""
        return [finding for finding, _ in self.located]

    @property
    def located(self) -> list[LocatedFinding]:
        """The findings with their streams."""
        kinds = list(self._kinds)
        names = [kind.code for kind in kinds]
        codes = np.array([names.index(name) for name in names], np.int64)[
            self._table.column("kind")[self._table.first :]
        ]
        order = self._in_order(kinds)
        listed, more = [], list[LocatedFinding]()
        numbers = [names.index(code) for code in dict.fromkeys(names) if self._left[code]]
        for code in dict.fromkeys([*codes.tolist(), *numbers]):
            places = np.flatnonzero(codes[order] == code)
            listed.append(places[:MOST])
            unlisted = max(len(places) - MOST, 0) + self._left[names[code]]
            if unlisted:
                text = f"{unlisted} more of this kind are not listed"
                more.append((Finding(Severity.NOTE, names[code], text), None))
        rows = order[np.sort(np.concatenate(listed))] + self._table.first if listed else np.zeros(0, np.int64)
        streams = self._table.column("stream")[rows].tolist()
        every = zip(rows.tolist(), streams, strict=True)
        return [*((self._finding(kinds, row, people=True), stream) for row, stream in every), *more]

    def _in_order(self, kinds: list[_Kind]) -> Ints:
        """Returns the order in which findings are listed; 0 is the first that is not evicted."""
        rank = np.empty(len(kinds), np.int64)
        rank[sorted(range(len(kinds)), key=kinds.__getitem__)] = np.arange(len(kinds))
        first = self._table.first
        keys = [self._table.column(name)[first:] for name in ("offset", "side", "stream", "packet")]
        return np.lexsort([rank[self._table.column("kind")[first:]], *keys])

    def describe(self, places: Ints) -> tuple[Ints, list[Finding]]:
        """Returns streams and findings at indexes from 0 to len(self), in order of arrival, for programs."""
        kinds = list(self._kinds)
        stream = self._table.column("stream")[places].astype(np.int64)
        return stream, [self._finding(kinds, row, people=False) for row in places.tolist()]

    def _finding(self, kinds: list[_Kind], row: int, *, people: bool) -> Finding:
        cell = {name: self._table.cell(name, row) for name in _FindingTable.TYPES}
        kind = kinds[cell["kind"]]
        sender, text = ("client", "server")[cell["sender"]], kind.text_for_people if people else kind.text_for_programs
        whose = f"stream {cell['stream']}, from the {sender}" if people else f"from the {sender}"
        return Finding(kind.severity, kind.code, f"{whose}: {text.format_map(cell)}")

    def collect(self, connection: Connection, rows: list[PendingRow]) -> None:
        """Collects the findings of a connection's packets, and those of the raw runs among its rows."""
        if connection.framers is None:
            return  # the client and the protocol are not decided yet
        for side, half in enumerate(connection.halves):
            for gap in half.gaps:
                self._add(GAP, connection, side, gap)
            for repeat in half.retransmissions:
                self._add_repeat(connection, side, repeat)
            half.gaps.clear()
            half.retransmissions.clear()
        ours = connection.dissector is not None
        if rows and ours and connection.decision is not None and connection.decision.expected is not None:
            self._add_unexpected(connection, rows[0], connection.decision.expected)
            connection.decision = connection.decision._replace(expected=None)
        if rows and connection.decision is not None and connection.decision.against is not None:
            self._add_forced(connection, rows[0], connection.decision.against)
            connection.decision = connection.decision._replace(against=None)
        if rows and (connection.tls is not None or connection.tls_facts is not None):
            self._add_undecrypted(connection, rows[0])
        for row in rows:
            if row.frame.raw:
                self._add_raw(connection, row)

    def _add_unexpected(self, connection: Connection, row: PendingRow, expected: str) -> None:
        assert connection.dissector is not None
        port = connection.ports[1 - connection.client]
        text = f"{connection.dissector.name} is spoken on port {port}, which usually is that of {expected}"
        self._add_row(_make_kind("wrong-protocol", Severity.NOTE, _plain(text)), connection, row)

    def _add_forced(self, connection: Connection, row: PendingRow, against: str) -> None:
        assert connection.dissector is not None
        text = f"read as {connection.dissector.name}, as was asked for; its first bytes are {against}"
        self._add_row(_make_kind("wrong-protocol", Severity.NOTE, _plain(text)), connection, row)

    def _add_undecrypted(self, connection: Connection, row: PendingRow) -> None:
        """Adds why a TLS connection is not decrypted, once."""
        from analyzer.tls.facts import Refusal  # lazy: only needed with keys

        facts = connection.tls.facts if connection.tls is not None else connection.tls_facts
        if facts is not None and facts.refusal not in (None, Refusal.NO_DATA) and not facts.is_reported:
            facts.is_reported = True
            whole = "TLS is not decrypted" if connection.tls is None else "TLS is not decrypted from here on"
            kind = _make_kind("tls-not-decrypted", Severity.WARNING, f"{whole}: {facts.refusal}")
            self._add_row(kind, connection, row)

    def _add_repeat(self, connection: Connection, side: int, repeat: Retransmission) -> None:
        new, old = repeat
        self._repeats.append(
            1,
            {
                "stream": connection.number,
                "side": side,
                "offset": new.offset if connection.tls is None else -1 - new.length,  # rows count in the plaintext
                "length": new.length,
                "packet": new.packet,
                "time": new.time,
            },
        )
        if old is None or old.lost or new.lost:
            return
        length = min(new.length, COMPARED_BYTES)
        if self._reader.read_bytes(new.at, length) != self._reader.read_bytes(old.at, length):
            self._add(CONFLICT, connection, side, new, old.packet)

    def _add_raw(self, connection: Connection, row: PendingRow) -> None:
        beginning, decision = self._beginning(row), connection.decision
        if foreign(beginning) is not None:
            return  # the row itself shows it (analyzer.decode.raw)
        if decision is not None and decision.other is not None:
            if decision.expected is not None:
                self._add_row(_make_foreign_kind(connection, decision.other, decision.expected), connection, row)
        elif connection.dissector is not None and (row.frame.offset or row.frame.length >= _ENOUGH_BYTES):
            refused, from_client = connection.dissector.refused, row.side == connection.client
            what = None if refused is None else defects.call_or_default(partial(refused, beginning, from_client), None)
            kind = SKIPPED if what is None else _make_refused_kind(what)
            self._add_row(kind, connection, row)

    def _beginning(self, row: PendingRow) -> bytes:
        """Returns the first bytes of a raw run."""
        found = b""
        for piece in row.frame.pieces:
            if piece.lost or len(found) >= _BEGINNING:
                break
            found += self._reader.read_bytes(piece.at, min(piece.length, _BEGINNING - len(found)))
        return found

    def _add_row(self, kind: _Kind, connection: Connection, row: PendingRow) -> None:
        self._add(kind, connection, row.side, _Place(row.frame.offset, row.frame.length, row.last))

    def _add(self, kind: _Kind, connection: Connection, side: int, place: Piece | _Place, other: int = 0) -> None:
        self.stream_counts[kind.code, connection.number] += 1
        self._table.append(
            1,
            {
                "packet": place.packet,
                "stream": connection.number,
                "side": side,
                "offset": place.offset,
                "kind": self._kinds.setdefault(kind, len(self._kinds)),
                "sender": int(side != connection.client),
                "length": place.length,
                "other": other,
            },
        )


class _Place(NamedTuple):
    """Locates bytes, like a Piece."""

    offset: int
    length: int
    packet: int


def _plain(text: str) -> str:
    """Returns a text with escaped braces, which has no placeholders."""
    return text.replace("{", "{{").replace("}", "}}")
