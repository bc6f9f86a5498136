"""Findings about streams rather than messages: gaps, conflicting retransmissions, bytes passed over, foreign protocols.

One for each occurrence, but of each kind only the first MOST in full; the rest are counted, so that a capture of a
broken network does not fill the memory with sentences. They are told in the order of packets, wherever blocks were
cut.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from analyzer.connection import Connection, Row
from analyzer.framing import Reader
from analyzer.messages import Repeats
from analyzer.reassembly import Piece, Repeat
from dissectors.finding import Finding, Severity

MOST = 1000
COMPARED_BYTES = 1 << 16


class _Remark(NamedTuple):
    """In the order in which remarks are told."""

    packet: int
    stream: int
    side: int
    offset: int
    code: str
    severity: Severity
    text: str


class Remarks:
    """Collects findings and retransmissions as connections are walked."""

    def __init__(self, reader: Reader, repeats: Repeats) -> None:
        self._reader, self._repeats = reader, repeats
        self._kept: dict[str, list[_Remark]] = {}
        self._counts: Counter[str] = Counter()
        self.of_streams: Counter[tuple[str, int]] = Counter()
        """How many there are of each code in each stream."""

    @property
    def findings(self) -> list[Finding]:
        """What was found, and one line for each kind of which there was more."""
        more = [
            Finding(Severity.NOTE, code, f"{count - MOST} more of this kind are not listed")
            for code, count in self._counts.items()
            if count > MOST
        ]
        kept = sorted(remark for remarks in self._kept.values() for remark in sorted(remarks)[:MOST])
        return [Finding(remark.severity, remark.code, remark.text) for remark in kept] + more

    def of(self, connection: Connection, rows: list[Row]) -> None:
        """Takes what a connection's walk left behind; its rows tell of raw runs."""
        if connection.client < 0:
            return  # nobody knows yet whose bytes these are; nothing is framed before that is decided
        for side, half in enumerate(connection.halves):
            for gap in half.gaps:
                self._gap(connection, side, gap)
            for repeat in half.repeats:
                self._repeat(connection, side, repeat)
            half.gaps.clear()
            half.repeats.clear()
        if rows and connection.decision is not None and connection.decision.expected is not None:
            self._unexpected(connection, rows[0], connection.decision.expected)
            connection.decision = connection.decision._replace(expected=None)
        if rows and connection.decision is not None and connection.decision.against is not None:
            self._forced(connection, rows[0], connection.decision.against)
            connection.decision = connection.decision._replace(against=None)
        for row in rows:
            if row.frame.raw:
                self._raw(connection, row)

    def _unexpected(self, connection: Connection, row: Row, expected: str) -> None:
        assert connection.dissector is not None
        port = connection.ports[1 - connection.client]
        text = f"{connection.dissector.name} is spoken on port {port}, which usually is that of {expected}"
        self._add(Severity.NOTE, "wrong-protocol", connection, row.side, row.last, row.frame.offset, text)

    def _forced(self, connection: Connection, row: Row, against: str) -> None:
        assert connection.dissector is not None
        text = f"read as {connection.dissector.name}, as was asked for; its first bytes are {against}"
        self._add(Severity.NOTE, "wrong-protocol", connection, row.side, row.last, row.frame.offset, text)

    def _gap(self, connection: Connection, side: int, gap: Piece) -> None:
        text = f"{gap.length} bytes are missing at offset {gap.offset}, before packet {gap.packet}"
        self._add(Severity.WARNING, "gap", connection, side, gap.packet, gap.offset, text)

    def _repeat(self, connection: Connection, side: int, repeat: Repeat) -> None:
        new, old = repeat
        self._repeats.append(
            1,
            {
                "stream": connection.number,
                "side": side,
                "offset": new.offset,
                "length": new.length,
                "packet": new.packet,
                "time": new.time,
            },
        )
        if old is None or old.lost or new.lost:
            return
        length = min(new.length, COMPARED_BYTES)
        if self._reader.read(new.at, length) != self._reader.read(old.at, length):
            text = (
                f"{new.length} bytes at offset {new.offset} came again in packet {new.packet} with other contents; "
                f"those of packet {old.packet} are kept"
            )
            self._add(Severity.WARNING, "conflicting-overlap", connection, side, new.packet, new.offset, text)

    def _raw(self, connection: Connection, row: Row) -> None:
        decision = connection.decision
        if decision is not None and decision.other is not None:
            text = f"{row.frame.length} bytes at offset {row.frame.offset} are not read: {decision.other.text}"
            self._add(Severity.NOTE, "wrong-protocol", connection, row.side, row.last, row.frame.offset, text)
        elif decision is not None and 0 < decision.preamble == row.frame.length and row.frame.offset == 0:
            text = f"a HAProxy preamble of {row.frame.length} bytes comes before the conversation"
            self._add(Severity.NOTE, "proxy-preamble", connection, row.side, row.last, 0, text)
        elif connection.dissector is not None:
            text = f"{row.frame.length} bytes at offset {row.frame.offset} were passed over: no message begins in them"
            self._add(Severity.WARNING, "bytes-skipped", connection, row.side, row.last, row.frame.offset, text)

    def _add(
        self, severity: Severity, code: str, connection: Connection, side: int, packet: int, offset: int, text: str
    ) -> None:
        sender = "client" if side == connection.client else "server"
        number, kept = connection.number, self._kept.setdefault(code, [])
        self._counts[code] += 1
        self.of_streams[code, number] += 1
        kept.append(
            _Remark(packet, number, side, offset, code, severity, f"stream {number}, from the {sender}: {text}")
        )
        if len(kept) >= 2 * MOST:
            kept.sort()
            del kept[MOST:]
