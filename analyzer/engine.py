"""Blocks of packets in, rows out: the one road that files, pipes, live captures and Spark partitions share.

Theory. Each block is taken in rounds. A connection that is steady (both directions open, in order, in step) goes through
analyzer.bulk as far as its packets stay clean; the packet that breaks the peace, and all packets of connections that are not
steady, go through analyzer.connection one by one. What is carried from block to block is the same state for both roads, so
the rows depend neither on where blocks are cut nor on which road they took.

Rows are numbered in the order in which they close. While a block is under way its messages carry serials, given as they are
cut out; at its end they are sorted by closing packet and appended, and partners are translated from serials to rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import cast

import numpy as np

from analyzer import bulk
from analyzer.bulk import Work
from analyzer.capture.packets import FlowTable, PacketBlock
from analyzer.capture.store import Store
from analyzer.chunk import Chunk
from analyzer.columns import NULL, Array, Columns, Ints, Names, runs
from analyzer.connection import Connection, Packet, Row, Walker
from analyzer.exchanges import Headers, pair
from analyzer.messages import FROM_CLIENT, FROM_SERVER, NO_PROTOCOL, Messages, Pieces, Repeats
from analyzer.remarks import Remarks
from analyzer.streams import StreamAssigner, Streams
from dissectors.api import PREFIX, Dissector, Outcome, Role, State
from dissectors.registry import Ports
from dissectors.wire.bulk import BulkDissector, BulkHeaders

WORTH_A_ROUND = 512
"""Clean packets in all connections together below which a bulk round costs more than it saves."""

WORTH_A_RUN = 16
"""The same for one connection."""

STEP = 64
"""Packets that the plain road takes from the columns at once."""


class Serials(Columns):
    """The row of each message, by serial."""

    TYPES = {"row": np.int32}


class Engine:
    """`feed` blocks, then `finish`; the tables grow with each call. `use_bulk` off: the plain road alone (tests compare)."""

    def __init__(self, store: Store, flows: FlowTable, known: Ports, *, use_bulk: bool = True) -> None:
        self.store, self.flows, self.known = store, flows, known
        self.streams, self.rows, self.pieces, self.repeats = Streams(), Messages(), Pieces(), Repeats()
        self.names = Names()
        self.extras: list[Mapping[str, str]] = []
        self.remarks = Remarks(store, self.repeats)
        self._assigner = StreamAssigner(self.streams)
        self._connections: dict[int, Connection] = {}
        self._over: set[int] = set()
        self._serials = Serials()
        self._serial = 0
        self._walker = Walker(store, known, self._next_serial)
        self._use_bulk = use_bulk
        self._protocols = {dissector.name: number for number, dissector in enumerate(known.dissectors)}

    def feed(self, block: PacketBlock) -> range:
        """Takes the next packets of the timeline; returns the rows that they closed."""
        stream, order = self._assigner.assign(block)
        begin, end = runs(stream[order])
        numbers = stream[order[begin]].tolist()
        works = [
            Work(self._connection(number), order[first:last])
            for number, first, last in zip(numbers, begin.tolist(), end.tolist(), strict=True)
            if number not in self._over
        ]
        chunk = Chunk()
        todo = works
        while todo:
            for work in todo:
                self._walk(block, work, chunk)
            todo = [work for work in todo if work.left]
            if todo:
                self._bulk_round(block, todo, chunk)
                todo = [work for work in todo if work.left]
        for work in works:
            self._leave(work.connection)
        return self._append(chunk)

    def finish(self) -> range:
        """The input has ended: what is unfinished becomes rows."""
        chunk = Chunk()
        for connection in self._connections.values():
            self._keep(connection, self._walker.end(connection), chunk)
        return self._append(chunk)

    def dissector(self, protocol: int) -> Dissector | None:
        """The dissector of a row's or stream's protocol number."""
        return None if protocol == NO_PROTOCOL else self.known.dissectors[protocol]

    def _connection(self, number: int) -> Connection:
        found = self._connections.get(number)
        if found is None:
            flow = self.streams.cell("flow", number)
            ports = (self.flows.port(flow, 0), self.flows.port(flow, 1))
            found = self._connections[number] = Connection(number, ports, self.streams.cell("client", number))
        return found

    def _leave(self, connection: Connection) -> None:
        """At the end of a block: what the stream's row should say, and whether anything has to be carried on."""
        number, decision = connection.number, connection.decision
        self.streams.set("client", number, connection.client)
        if decision is not None and decision.dissector is not None:
            self.streams.set("protocol", number, self._protocols[decision.dissector.name])
        if connection.over:
            self._over.add(number)
            del self._connections[number]

    def _next_serial(self) -> int:
        self._serial += 1
        return self._serial - 1

    def _walk(self, block: PacketBlock, work: Work, chunk: Chunk) -> None:
        """Takes packets one by one until patience is used up and the connection is steady."""
        rows: list[Row] = []
        connection = work.connection
        while work.left and (work.patience > 0 or not self._steady(connection)):
            some = work.packets[work.at : work.at + STEP]
            columns = (block.number, block.time, block.direction, block.seq, block.ack, block.flags, block.at)
            table = zip(*(column[some].tolist() for column in (*columns, block.length, block.captured)), strict=True)
            for cells in table:
                rows += self._walker.packet(connection, Packet(*cells))
                work.at += 1
                work.patience -= 1
                if work.patience <= 0 and self._steady(connection):
                    break
        self._keep(connection, rows, chunk)

    def _keep(self, connection: Connection, rows: list[Row], chunk: Chunk) -> None:
        protocol = NO_PROTOCOL if connection.dissector is None else self._protocols[connection.dissector.name]
        chunk.add_rows(connection, rows, protocol, self.names.number, self._extra)
        self.remarks.of(connection, rows)

    def _steady(self, connection: Connection) -> bool:
        return self._use_bulk and connection.steady and connection.dissector is not None and bool(connection.dissector.bulk)

    def _bulk_round(self, block: PacketBlock, todo: Sequence[Work], chunk: Chunk) -> None:
        """Takes what is clean through the bulk road; what is not gets the patience to be walked."""
        clean = bulk.clean_runs(block, todo)
        worth = [length >= WORTH_A_RUN for length in clean]
        if sum(length for length, good in zip(clean, worth, strict=True) if good) < WORTH_A_ROUND:
            for work in todo:
                work.patience = work.left
            return
        by_protocol: dict[str, list[tuple[Work, int]]] = {}
        for work, length, good in zip(todo, clean, worth, strict=True):
            work.patience = 1 if good else length + 1
            if good and work.connection.dissector is not None:
                by_protocol.setdefault(work.connection.dissector.name, []).append((work, length))
        for taken in by_protocol.values():
            self._take(block, taken, chunk)

    def _take(self, block: PacketBlock, taken: list[tuple[Work, int]], chunk: Chunk) -> None:
        """The bulk road for connections of one protocol."""
        dissector = taken[0][0].connection.dissector
        assert dissector is not None and dissector.bulk is not None
        parts = bulk.segments(block, taken)
        cutting, refused = bulk.cut(parts, dissector.framing, self.store)
        if refused:
            for half in refused:
                taken[half // 2][0].patience = taken[half // 2][1]
            good = [each for index, each in enumerate(taken) if not {2 * index, 2 * index + 1} & refused]
            if good:
                self._take(block, good, chunk)
            return
        protocol = cast(BulkDissector, import_module(dissector.bulk))
        BulkRows(self, dissector, protocol, taken, parts, cutting).add_to(chunk)
        bulk.settle(block, taken, parts, cutting)
        for work, count in taken:
            work.at += count

    def _extra(self, extra: Mapping[str, str] | None) -> int:
        if not extra:
            return NULL
        if extra not in self.extras:
            self.extras.append(dict(extra))
        return self.extras.index(extra)

    def _append(self, chunk: Chunk) -> range:
        asked, rows = chunk.append_to(self.rows, self.pieces, self._learn)
        pairs = np.flatnonzero(asked >= 0)
        answer = pairs + rows.start
        request = self._serials.column("row")[asked[pairs]]
        self.rows.column("partner")[answer] = request
        self.rows.column("partner")[request] = answer
        return rows

    def _learn(self, serial: Ints, row: Ints) -> None:
        missing = int(serial.max()) + 1 - len(self._serials)
        if missing > 0:
            self._serials.append(missing, {"row": NULL})
        self._serials.column("row")[serial] = row

    def serials(self, count: int) -> Ints:
        """Takes `count` serials at once."""
        first, self._serial = self._serial, self._serial + count
        return np.arange(first, self._serial)


class BulkRows:
    """From messages on the line to rows of the index: headers, pairing, columns."""

    def __init__(
        self,
        engine: Engine,
        dissector: Dissector,
        protocol: BulkDissector,
        taken: Sequence[tuple[Work, int]],
        parts: bulk.Segments,
        cutting: bulk.Messages,
    ) -> None:
        self._engine, self._dissector, self._protocol = engine, dissector, protocol
        self._connections = [work.connection for work, _ in taken]
        half = parts.half[cutting.first]
        packet = parts.packet[cutting.last]
        order = np.lexsort((cutting.line, packet, half // 2))
        self._parts = parts
        self._cutting = bulk.Messages(*(column[order] for column in cutting))
        self._half = half[order]
        client = np.array([connection.client for connection in self._connections], np.int64)
        self._from_client = self._half % 2 == client[self._half // 2]

    def add_to(self, chunk: Chunk) -> None:
        """Leaves the rows in the chunk, and each conversation with what is still unanswered."""
        if not len(self._half):
            return
        engine, parts, cutting = self._engine, self._parts, self._cutting
        headers, stepped = self._headers()
        odd = pair(headers, self._connections, self._protocol, engine.names.number, engine.names.text, stepped)
        for owner in odd.tolist():
            self._step(headers, owner)
        extra = np.full(len(self._half), NULL, np.int64)
        for row, found in headers.extras.items():
            extra[row] = engine._extra(found)
        raw = (headers.role == Role.RAW) & (headers.state != State.COMPLETE)
        numbers = np.array([connection.number for connection in self._connections], np.int64)
        protocol = engine._protocols[self._dissector.name]
        last = parts.packet[cutting.last]
        rows = {
            "stream": numbers[headers.owner],
            "side": np.where(self._from_client, FROM_CLIENT, FROM_SERVER),
            "role": headers.role,
            "state": headers.state,
            "protocol": np.where(raw, NO_PROTOCOL, protocol),
            "marks": np.zeros(len(raw), np.int64),
            "operation": headers.operation,
            "code": headers.code,
            "version": headers.version,
            "correlation": headers.correlation,
            "client": headers.client,
            "extra": extra,
            "offset": parts.offset[cutting.first] + cutting.line - parts.line[cutting.first],
            "length": cutting.length,
            "first": parts.packet[cutting.first],
            "last": last,
            "time": parts.time[cutting.last],
            "closed": last,
            "serial": headers.serial,
            "ask": headers.partner,
        }
        chunk.add(rows, *bulk.pieces_of(parts, cutting))

    def _headers(self) -> tuple[Headers, Array]:
        parts, cutting, engine = self._parts, self._cutting, self._engine
        inside = cutting.line - parts.line[cutting.first]
        available = np.minimum(parts.length[cutting.first] - inside, cutting.length)
        view = engine.store.gather(parts.at[cutting.first] + inside, self._protocol.WIDTH)
        found = self._protocol.headers(view, available, self._from_client)
        headers = Headers(
            owner=self._half // 2,
            serial=engine.serials(len(self._half)),
            role=found.role,
            state=found.state,
            operation=self._operations(found),
            code=found.code,
            version=found.version,
            correlation=found.correlation,
            client=self._clients(found),
            partner=np.full(len(self._half), -1, np.int64),
            extras={},
        )
        for row in np.flatnonzero(found.unsure).tolist():
            outcome = self._dissector.header(self._prefix(row), bool(self._from_client[row]))
            headers.put(row, Outcome(outcome), engine.names.number)
        return headers, found.stepped | found.unsure & (headers.state != State.COMPLETE) & self._from_client

    def _operations(self, found: BulkHeaders) -> Array:
        names = self._protocol.operations()
        numbers = np.array([self._engine.names.number(name) for name in names], np.int32)
        known = (found.code >= 0) & (found.code < len(names))
        return np.where(known, numbers[np.where(known, found.code, 0)], NULL)

    def _clients(self, found: BulkHeaders) -> Array:
        numbers = np.array([self._engine.names.number(name) for name in found.clients] or [NULL], np.int32)
        return np.where(found.client == NULL, NULL, numbers[np.where(found.client == NULL, 0, found.client)])

    def _prefix(self, row: int) -> bytes:
        """The first bytes of a message, over as many segments as it takes."""
        parts, cutting = self._parts, self._cutting
        begin, left = int(cutting.line[row]), min(int(cutting.length[row]), PREFIX)
        found = b""
        for segment in range(int(cutting.first[row]), int(cutting.last[row]) + 1):
            inside = max(begin - int(parts.line[segment]), 0)
            part = min(int(parts.length[segment]) - inside, left - len(found))
            found += self._engine.store.read(int(parts.at[segment]) + inside, part)
            if len(found) == left:
                break
        return found

    def _step(self, headers: Headers, owner: int) -> None:
        conversation = self._connections[owner].conversation
        assert conversation is not None
        first, last = np.searchsorted(headers.owner, [owner, owner + 1]).tolist()
        for row in range(first, last):
            outcome = conversation.step(int(headers.serial[row]), self._prefix(row), bool(self._from_client[row]))
            headers.put(row, outcome, self._engine.names.number)
