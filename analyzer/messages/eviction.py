"""What leaves memory, so that an analysis can follow for days what never ends: the oldest rows, and what is left of
connections of which nothing more is to be expected.

Theory. Rows leave from the front and keep their numbers, so those that are there are those of the whole capture. Memory
goes back page by page (analyzer.columns.arrays); what rows point at follows them: pieces, retransmissions, names that
no row has any more, streams without a row, and the files of the capture up to the first packet that is still needed.
What is not over by then and holds older bytes, a message of which the rest has not come, has them copied to the store's
annex.

Three things could grow where no row does, and are bounded by themselves. A connection of which nothing came for an
hour is forgotten where nothing of it is unfinished: were it to go on, that would be another stream anyway. What is
unfinished is forgotten when all else of that time has left. And bytes that no message claims are one row when their
connection ends; if that is long, the row begins later than they did.

Nothing of this happens before somebody asks what is due: a file that is read as a whole is kept as a whole.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import Protocol

import numpy as np

from analyzer.capture.packets import PacketSource
from analyzer.columns.arrays import Array, Bools
from analyzer.messages.connection import Connection
from analyzer.messages.engine import Engine
from analyzer.messages.framing import StreamFramer
from analyzer.messages.index import RowMark
from analyzer.tcp.reassembly import Piece
from analyzer.tcp.streams import SILENCE_NS
from dissectors.finding import Finding, Severity
from dissectors.wire.fast_path import NULL

LEAST = 1024
"""Rows that leave at one time at least, and of the last ones that never do."""

REACH = 1 << 16
"""Packets before the one that completed the first kept row which the capture keeps for rows that began there."""

LOOK_NS, LOOK_PACKETS = 60 * 10**9, 1 << 15
"""How often connections are looked at: for silence by the capture's time, for what nobody reads by packets."""

MOST_UNREAD = 1 << 17
"""Pieces that are kept of bytes that nobody reads, of all connections together."""

_PIECE, _NAME, _CONNECTION = 240, 180, 4000
"""Bytes that each takes, about."""


class EvictionListener(Protocol):
    """What keeps something of rows beside the index."""

    def evict(self, before: int, streams: Bools) -> None:
        """Rows before one are about to leave. streams: which of them stay."""


class Eviction:
    """Decides what leaves, and lets it go. By the thread that reads, between two blocks.

    Rows before `rows.first` have left: they are counted, and cannot be read. Numbers never change. `first` may be asked
    from any thread; but rows leave while others are read, so who reads rows in a thread of its own asks before, and
    once more behind it whether they were still there. followers: who is told before rows leave, by what they are.
    """

    def __init__(self, engine: Engine, source: PacketSource) -> None:
        self._engine, self._source, self._store = engine, source, source.store
        self.listeners: dict[type[EvictionListener], EvictionListener] = {}
        self._follows = False
        self._removed_before = 1
        self._silence_looked = self._unread_looked = 0
        self._unread = 0
        self._names = self._streams = 0
        self.forgotten = 0
        """Connections that were forgotten with something unfinished."""
        self.shortened = 0
        """Bytes that nobody reads and that were forgotten before their connection ended."""

    @property
    def memory_bytes(self) -> int:
        """Bytes that is all takes: tables and, as far as that can be told, names and connections."""
        engine = self._engine
        tables = (engine.streams, engine.finished, engine.assigner, engine.flows)
        names = len(engine.names) * _NAME + len(engine.names.texts) * 8
        carried = len(engine.connections) * _CONNECTION + self._unread * _PIECE
        return self._row_bytes() + sum(each.memory_bytes for each in tables) + names + carried

    def _row_bytes(self) -> int:
        """The part of it that goes with rows."""
        engine = self._engine
        return sum(
            each.memory_bytes
            for each in (engine.rows, engine.pieces, engine.serial_rows, engine.repeats, engine.stream_findings)
        )

    def find_due_row(self, limit: int | None) -> int:
        """The row before which rows should leave, at least the first that is there.

        That is: so many that at most seven eighths of `limit` (bytes) are `held` again, if it is more than that; and
        those that closed in files which a ring took away. The last thousand stay. Who asks follows something that may
        never end: from then on what is silent or never whole is forgotten, too.
        """
        self._follows = True
        rows = self._engine.rows
        first = before = rows.first
        if self._source.removed_before > self._removed_before:
            here = rows.column("last")[first:] >= self._source.removed_before
            before += int(here.argmax()) if here.any() else len(here)
        held = 0 if limit is None else self.memory_bytes
        if limit is not None and held > limit:
            each = max(self._row_bytes() // max(len(rows) - first, 1), 1)
            some = max(-((limit * 7 // 8 - held) // each), LEAST)
            before = max(before, min(first + some, len(rows) - LEAST))
        return max(before, first)

    def evict(self, before: int) -> None:
        """Rows before a number leave. Nothing, if they have left.

        Of an exchange of which one half has left the other has no partner, and no latency.
        """
        if before > self._engine.rows.first:
            self._leave(before)

    def _leave(self, before: int) -> None:
        for each in self.listeners.values():
            each.evict(before, self._find_staying(before))
        engine, rows = self._engine, self._engine.rows
        self._removed_before = max(self._source.removed_before, self._removed_before)
        needed = self._find_needed_packet(before)
        self._unpair(before)  # first: whoever paints a row of which the partner leaves must not look for it
        rows.forget(before)
        place = rows.column("pieces")[before:]
        engine.pieces.forget(int(place.min()) if len(place) else len(engine.pieces))
        row_of = engine.serial_rows.column("row")
        engine.serial_rows.forget(_find_first(row_of, engine.serial_rows.first, before + 1))
        packet = engine.repeats.column("packet")
        engine.repeats.forget(_find_first(packet, engine.repeats.first, needed))
        engine.stream_findings.evict(needed)
        self._leave_connections(before, needed)
        self._move_rows(before, needed)
        self._leave_names(before)
        self._leave_streams(before)
        self._source.release(needed)

    def evict_silent(self) -> None:
        """If somebody follows: what is silent is forgotten, and what nobody reads shortened. Behind each block."""
        engine = self._engine
        if not self._follows:
            return
        if abs(engine.time - self._silence_looked) >= LOOK_NS:
            self._silence_looked = engine.time
            self._leave_silent()
        if engine.packet - self._unread_looked >= LOOK_PACKETS:
            self._unread_looked = engine.packet
            self._shorten()
        gone = self._source.removed_before
        if gone > self._removed_before and not (engine.rows.column("last")[engine.rows.first :] < gone).any():
            self._leave(engine.rows.first)  # files have gone of which no row is left, so nobody is told

    def findings(self) -> list[Finding]:
        """What left before it was whole."""
        found = []
        if self.forgotten:
            text = f"{self.forgotten:,} connections were forgotten with something unfinished"
            found.append(
                Finding(
                    Severity.NOTE, "left-unfinished", f"{text}: nothing came of them for an hour, or others followed"
                )
            )
        if self.shortened:
            text = f"{self.shortened:,} bytes that nobody reads left memory before their connections ended"
            found.append(Finding(Severity.NOTE, "left-unfinished", f"{text}: the rows about them begin later"))
        return found

    # ---- rows

    def _find_needed_packet(self, before: int) -> int:
        """The first packet of which the capture is still needed, but for what is move to the annex."""
        engine, rows = self._engine, self._engine.rows
        # Without a row nothing is needed: behind the last packet of TCP there may be files of others.
        last = rows.cell("last", before) if before < len(rows) else max(engine.packet + 1, self._removed_before)
        reach = max(min(last, engine.packet) - REACH, 1)
        first = rows.column("first")[before:]
        return int(first[first >= reach].min(initial=last))

    def _unpair(self, before: int) -> None:
        """Rows whose partner leaves have none from now on."""
        partner, marks = (self._engine.rows.column(name)[before:] for name in ("partner", "marks"))
        alone = np.flatnonzero((partner != NULL) & (partner < before))
        partner[alone] = NULL
        marks[alone] |= np.uint8(RowMark.PARTNER_LEFT)

    def _move_rows(self, before: int, needed: int) -> None:
        """Bytes of kept rows that lie before what is needed otherwise: those of messages that took that long."""
        rows, pieces = self._engine.rows, self._engine.pieces
        if not (rows.column("first")[before:] < needed).any():
            return
        at, length, packet = (pieces.column(name)[pieces.first :] for name in ("at", "length", "packet"))
        for place in np.flatnonzero((packet < needed) & (at >= 0)).tolist():
            at[place] = self._store.append(self._store.read_bytes(int(at[place]), int(length[place])))

    def _leave_names(self, before: int) -> None:
        """Names that no row has any more, when there are twice as many as last time."""
        names, rows = self._engine.names, self._engine.rows
        if len(names) < 2 * self._names + LEAST:
            return
        used = np.zeros(len(names.texts), bool)
        for name in ("operation", "client", "scope"):
            numbers = rows.column(name)[before:]
            used[numbers[numbers != NULL]] = True
        names.keep_only(set(np.flatnonzero(used).tolist()))
        self._names = len(names)

    def _leave_streams(self, before: int) -> None:
        """Streams that have no row any more and to which nothing can come, when there are many new ones."""
        engine = self._engine
        if len(engine.streams) < self._streams + LEAST:
            return
        self._streams = len(engine.streams)
        kept = np.flatnonzero(self._find_staying(before))
        engine.streams.keep_only(kept)
        engine.finished.keep_only(kept)

    def _find_staying(self, before: int) -> Bools:
        """The streams that have rows from one on, or to which something can come."""
        engine = self._engine
        used = np.zeros(len(engine.streams), bool)
        used[engine.rows.column("stream")[before:]] = True
        used[list(engine.connections)] = True
        used[engine.assigner.open_streams] = True
        return used

    # ---- connections

    def _leave_silent(self) -> None:
        """Connections of which nothing came for an hour, and with which nothing is unfinished."""
        engine, long_ago = self._engine, self._engine.time - SILENCE_NS
        numbers = np.fromiter(engine.connections, np.int64, len(engine.connections))
        for stream in numbers[engine.streams.column("end")[numbers] < long_ago].tolist():
            if engine.connections[stream].is_idle:
                engine.drop(stream)
        left = np.fromiter(engine.connections, np.int64, len(engine.connections))
        engine.assigner.close_silent(long_ago, left)

    def _leave_connections(self, before: int, needed: int) -> None:
        """What is carried of connections leaves with the packets that brought it, or is move."""
        engine = self._engine
        time = engine.rows.cell("time", before) if before < len(engine.rows) else engine.time
        end, flow = engine.streams.column("end"), engine.streams.column("flow")
        numbers = np.fromiter(engine.connections, np.int64, len(engine.connections))
        quiet = end[numbers] < time
        done = quiet & (engine.assigner.currents(flow[numbers]) != numbers)
        done |= quiet & (end[numbers] < engine.time - SILENCE_NS)
        for stream, over in zip(numbers.tolist(), done.tolist(), strict=True):
            connection = engine.connections[stream]
            if over:
                self.forgotten += not connection.is_idle
                engine.drop(stream)
            else:
                self._relieve(connection, needed)
        engine.assigner.close_silent(engine.time - SILENCE_NS, numbers[~done])

    def _relieve(self, connection: Connection, needed: int) -> None:
        """A connection that goes on needs no packet before `needed` any more."""
        for framer in connection.framers or ():
            old = sum(piece.packet < needed for piece in framer.pieces)
            self._cut(framer, min(old, _count_unclaimed(framer, connection)))
        for half in connection.halves:
            while half.recent and half.recent[0].packet < needed:
                half.recent.popleft()

        def place(at: int, length: int, packet: int) -> int:
            if at < 0 or packet >= needed:
                return at
            return self._store.append(self._store.read_bytes(at, length))

        def move(piece: Piece) -> Piece:
            return piece._replace(at=place(piece.at, piece.length, piece.packet))

        for framer in connection.framers or ():
            framer.pieces[:] = map(move, framer.pieces)
        connection.undecided[:] = [(side, move(piece)) for side, piece in connection.undecided]
        for early in connection.early:
            waiting = [each._replace(piece=move(each.piece)) for each in early]
            early.clear()
            early.extend(waiting)
        for half in connection.halves:
            half.waiting[:] = map(move, half.waiting)
            half.unopened[:] = [
                (seq, place(at, captured, packet), length, captured, packet, time)
                for seq, at, length, captured, packet, time in half.unopened
            ]

    def _shorten(self) -> None:
        """Of bytes that nobody reads only the last ones are kept, when there are too many."""
        long = [
            (framer, count)
            for connection in self._engine.connections.values()
            for framer in connection.framers or ()
            if (count := _count_unclaimed(framer, connection))
        ]
        self._unread = sum(count for _, count in long)
        if self._unread <= MOST_UNREAD:
            return
        share = MOST_UNREAD // 2 // len(long)
        self._unread = 0
        for framer, count in long:
            self._cut(framer, count - share)
            self._unread += min(count, share)

    def _cut(self, framer: StreamFramer, count: int) -> None:
        """Takes the first pieces away."""
        if count > 0:
            self.shortened += sum(piece.length for piece in framer.pieces[:count])
            del framer.pieces[:count]


def _count_unclaimed(framer: StreamFramer, connection: Connection) -> int:
    """How many pieces at the front of what a framer holds no message will claim; the last one is not counted.

    While it hunts these are those in which it has looked everywhere, and found no place that may still prove one.
    """
    if len(framer.pieces) < 2 or framer.gaps or (connection.dissector is not None and framer.synced):
        return 0
    if connection.dissector is None:
        return len(framer.pieces) - 1
    looked = min(framer.tried, framer.open[0] if framer.open else framer.tried)
    return min(bisect_right(framer.pieces, looked, key=attrgetter("end")), len(framer.pieces) - 1)


def _find_first(column: Array, first: int, least: int) -> int:
    """The first row from `first` on that has at least a value; all where none has."""
    here = column[first:] >= least
    return first + (int(here.argmax()) if here.any() else len(here))
