"""Evicts the oldest rows of an endless analysis, and the state of connections that will bring no more rows.

Theory. Rows are evicted from the front, and the others keep their numbers, so they are those of the whole capture.
Memory is freed page by page (analyzer.columns.tables). Everything that only evicted rows need follows them: pieces,
retransmissions, names and streams without a row, and files of the capture before the first packet that is needed. An
open connection may hold older bytes of an incomplete message; these are copied to the annex of the store.

Three things could grow without any row, so they have bounds of their own. An idle connection is dropped after an hour
of silence, when its next packet would begin another stream anyway. A connection with something unfinished is dropped
when everything else of that time has been evicted. Bytes that no message claims become one row when their connection
ends; if there are too many of them, the row begins later.

Nothing is evicted before the first call of find_due_row(), so a file is kept as a whole.
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
"""Smallest number of rows that are evicted at a time, and number of last rows that are never evicted."""

REACH = 1 << 16
"""Number of packets, before the one that completed the first kept row, that the capture keeps for rows that began
there.
"""

LOOK_NS, LOOK_PACKETS = 60 * 10**9, 1 << 15
"""How often connections are checked: for silence by capture time (ns), for unclaimed bytes by packets."""

MOST_UNREAD = 1 << 17
"""Number of pieces of unclaimed bytes that all connections together may keep."""

_PIECE, _NAME, _CONNECTION = 240, 180, 4000
"""Approximate bytes of a piece, a name and a connection."""


class EvictionListener(Protocol):
    """Keeps data about rows outside the index."""

    def evict(self, before: int, streams: Bools) -> None:
        """Drops data about the rows before one. streams: which of them stay (bool, n)."""


class Eviction:
    """Decides which rows are evicted, and evicts them; used by the reading thread, between two blocks.

    Rows before `rows.first` are counted but cannot be read. Other threads may read `first` at any time. Rows may be
    evicted while they read, so they must check `first` before and after reading rows. listeners: called before rows are
    evicted, by their type.
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
        """Number of connections that were dropped with something unfinished."""
        self.shortened = 0
        """Unclaimed bytes that were dropped before their connection ended."""

    @property
    def memory_bytes(self) -> int:
        """Bytes that everything takes: tables and, approximately, names and connections."""
        engine = self._engine
        tables = (engine.streams, engine.finished, engine.network, engine.assigner, engine.flows)
        names = len(engine.names) * _NAME + len(engine.names.texts) * 8
        carried = len(engine.connections) * _CONNECTION + self._unread * _PIECE
        return self._row_bytes() + sum(each.memory_bytes for each in tables) + names + carried

    def _row_bytes(self) -> int:
        """Returns the bytes of tables that shrink with rows."""
        engine = self._engine
        return sum(
            each.memory_bytes
            for each in (engine.rows, engine.pieces, engine.serial_rows, engine.repeats, engine.stream_findings)
        )

    def find_due_row(self, limit: int | None) -> int:
        """Returns the row before which rows should be evicted, at least the first row in memory.

        If memory is above `limit` (bytes), enough rows are due that `memory_bytes` falls to seven eighths of it. Rows
        that closed in removed files of a ring are due as well. The last LEAST rows stay. The first call marks the input
        as endless: from then on silent and unfinished connections are dropped, too.
        """
        self._follows = True
        rows = self._engine.rows
        first = before = rows.first
        if self._source.removed_before > self._removed_before:
            here = rows.column("last")[first:] >= self._source.removed_before
            before += int(here.argmax()) if here.any() else len(here)
        used_bytes = 0 if limit is None else self.memory_bytes
        if limit is not None and used_bytes > limit:
            each = max(self._row_bytes() // max(len(rows) - first, 1), 1)
            some = max(-((limit * 7 // 8 - used_bytes) // each), LEAST)
            before = max(before, min(first + some, len(rows) - LEAST))
        return max(before, first)

    def evict(self, before: int) -> None:
        """Evicts the rows before a number, if they are still there.

        If half of an exchange is evicted, the other half no longer has a partner or a latency.
        """
        if before > self._engine.rows.first:
            self._leave(before)

    def _leave(self, before: int) -> None:
        for each in self.listeners.values():
            each.evict(before, self._find_staying(before))
        engine, rows = self._engine, self._engine.rows
        self._removed_before = max(self._source.removed_before, self._removed_before)
        needed = self._find_needed_packet(before)
        self._unpair(before)  # first, so that no thread looks for an evicted partner
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
        """Drops silent connections and shortens unclaimed bytes of an endless input; called after each block."""
        engine = self._engine
        if not self._follows:
            return
        if abs(engine.time - self._silence_looked) >= LOOK_NS:
            self._silence_looked = engine.time
            self._leave_silent()
        if engine.packet - self._unread_looked >= LOOK_PACKETS:
            self._unread_looked = engine.packet
            self._shorten()
        removed = self._source.removed_before
        if removed > self._removed_before and not (engine.rows.column("last")[engine.rows.first :] < removed).any():
            self._leave(engine.rows.first)  # no row of the removed files is left, so listeners are not called

    def findings(self) -> list[Finding]:
        """Returns findings about what was evicted before it was complete."""
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
        """Returns the first packet that the capture must keep, apart from bytes that move to the annex."""
        engine, rows = self._engine, self._engine.rows
        # Without a row nothing is needed; files without TCP may follow the last packet.
        last = rows.cell("last", before) if before < len(rows) else max(engine.packet + 1, self._removed_before)
        reach = max(min(last, engine.packet) - REACH, 1)
        first = rows.column("first")[before:]
        return int(first[first >= reach].min(initial=last))

    def _unpair(self, before: int) -> None:
        """Removes the partner of rows whose partner is evicted."""
        partner, marks = (self._engine.rows.column(name)[before:] for name in ("partner", "marks"))
        alone = np.flatnonzero((partner != NULL) & (partner < before))
        partner[alone] = NULL
        marks[alone] |= np.uint8(RowMark.PARTNER_LEFT)

    def _move_rows(self, before: int, needed: int) -> None:
        """Copies the bytes of kept rows that lie before the needed packets to the annex."""
        rows, pieces = self._engine.rows, self._engine.pieces
        if not (rows.column("first")[before:] < needed).any():
            return
        at, length, packet = (pieces.column(name)[pieces.first :] for name in ("at", "length", "packet"))
        for place in np.flatnonzero((packet < needed) & (at >= 0)).tolist():
            at[place] = self._store.append(self._store.read_bytes(int(at[place]), int(length[place])))

    def _leave_names(self, before: int) -> None:
        """Drops names that no row has any more, when their number has doubled."""
        names, rows = self._engine.names, self._engine.rows
        if len(names) < 2 * self._names + LEAST:
            return
        self._engine.settle_all_requests()  # columns hold numbers of names, which change here
        used = np.zeros(len(names.texts), bool)
        for name in ("operation", "client", "scope"):
            numbers = rows.column(name)[before:]
            used[numbers[numbers != NULL]] = True
        names.keep_only(set(np.flatnonzero(used).tolist()))
        self._names = len(names)

    def _leave_streams(self, before: int) -> None:
        """Drops streams without a row that can get no more packets, when many new ones have come."""
        engine = self._engine
        if len(engine.streams) < self._streams + LEAST:
            return
        self._streams = len(engine.streams)
        staying = np.flatnonzero(self._find_staying(before))
        engine.streams.keep_only(staying)
        engine.finished.keep_only(staying)
        engine.network.keep_only(staying)

    def _find_staying(self, before: int) -> Bools:
        """Returns which streams have rows from one on, or may get packets."""
        engine = self._engine
        used = np.zeros(len(engine.streams), bool)
        used[engine.rows.column("stream")[before:]] = True
        used[list(engine.connections)] = True
        used[engine.assigner.open_streams] = True
        return used

    # ---- connections

    def _leave_silent(self) -> None:
        """Drops idle connections without a packet for an hour."""
        engine, long_ago = self._engine, self._engine.time - SILENCE_NS
        numbers = np.fromiter(engine.connections, np.int64, len(engine.connections))
        for stream in numbers[engine.streams.column("end")[numbers] < long_ago].tolist():
            if engine.connections[stream].is_idle:
                engine.drop(stream)
        left = np.fromiter(engine.connections, np.int64, len(engine.connections))
        engine.assigner.close_silent(long_ago, left)

    def _leave_connections(self, before: int, needed: int) -> None:
        """Drops the state of old connections, or moves it out of evicted packets."""
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
        """Copies bytes of packets before `needed` that a connection holds to the annex."""
        for framer in connection.framers or ():
            old = sum(piece.packet < needed for piece in framer.pieces)
            self._cut(framer, min(old, _count_unclaimed(framer, connection)))
        for half in connection.halves:
            half.recent.forget_before(needed)

        def place(at: int, length: int, packet: int) -> int:
            if at < 0 or packet >= needed:
                return at
            return self._store.append(self._store.read_bytes(at, length))

        def move(piece: Piece) -> Piece:
            return piece._replace(at=place(piece.at, piece.length, piece.packet))

        for framer in connection.framers or ():
            framer.pieces[:] = map(move, framer.pieces)
        connection.undecided[:] = [(side, move(piece)) for side, piece in connection.undecided]
        if connection.tls is not None:
            connection.tls.renumber(int, move)
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
        """Keeps only the last of the unclaimed bytes, if there are too many."""
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
        """Drops the first pieces."""
        if count > 0:
            self.shortened += sum(piece.length for piece in framer.pieces[:count])
            del framer.pieces[:count]


def _count_unclaimed(framer: StreamFramer, connection: Connection) -> int:
    """Returns how many pieces at the front of a framer no message will claim, not counting the last one.

    While the framer hunts, these are the pieces that it has searched without finding a possible message.
    """
    if len(framer.pieces) < 2 or framer.gaps or (connection.dissector is not None and framer.synced):
        return 0
    if connection.dissector is None:
        return len(framer.pieces) - 1
    looked = min(framer.tried, framer.open[0] if framer.open else framer.tried)
    return min(bisect_right(framer.pieces, looked, key=attrgetter("end")), len(framer.pieces) - 1)


def _find_first(column: Array, first: int, least: int) -> int:
    """Returns the first row from `first` on with at least a value, or the end."""
    here = column[first:] >= least
    return first + (int(here.argmax()) if here.any() else len(here))
