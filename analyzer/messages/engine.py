"""The engine: blocks of packets in, rows out, for files, pipes, live captures and Spark partitions.

Theory. Each block is processed in rounds. A steady connection (both directions open, in order, in step) goes through
analyzer.messages.fast_path as far as its packets are clean. The next packet, and all packets of connections that are
not steady, go through analyzer.messages.slow_path one by one. Both paths carry the same state from block to block, so
the rows depend neither on the division into blocks nor on the path.

Rows are numbered in the order in which they close. Within a block, messages have serials, assigned as they are cut. At
the end of the block they are sorted by closing packet and appended, and partners are translated from serials to rows.

The state of a finished connection is dropped at once. So is that of an idle one if another has begun on the same
addresses: it can get no more packets, and the end of the input would add no row. For endless input,
analyzer.messages.eviction drops more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from analyzer.capture.packets import FlowTable, PacketBlock
from analyzer.capture.store import Store
from analyzer.columns.arrays import Array, Ints, find_runs
from analyzer.columns.tables import ColumnTable, NameTable
from analyzer.errors import UserError
from analyzer.messages import fast_path, message_spans
from analyzer.messages.connection import Connection, ConnectionPacket, PendingRow
from analyzer.messages.decode_as import ConnectionRules
from analyzer.messages.fast_pairing import settle_requests
from analyzer.messages.fast_path import ConnectionWork
from analyzer.messages.fast_rows import FastRowBuilder
from analyzer.messages.guess_budget import GuessBudget
from analyzer.messages.index import (
    MOST_ROWS,
    NO_PROTOCOL,
    MessageTable,
    PieceTable,
    RetransmissionTable,
    RowMark,
    SerialTable,
)
from analyzer.messages.message_lengths import make_length_reader
from analyzer.messages.row_batch import RowBatch
from analyzer.messages.slow_path import SlowPath
from analyzer.messages.socket_owners import SocketOwners
from analyzer.messages.stream_findings import StreamFindings
from analyzer.messages.tls_table import TlsTable
from analyzer.tcp.metering import NetworkMeter
from analyzer.tcp.streams import SPARSE, FlowMemory, StreamAssigner, StreamTable
from dissectors.api import Dissector
from dissectors.registry import Ports
from dissectors.wire.fast_path import NULL, load_fast_path

if TYPE_CHECKING:
    from analyzer.tls.keys import Secrets

WORTH_A_ROUND = 96
"""Minimum number of clean packets of a protocol, over all connections, for a round of the fast path."""

WORTH_A_RUN = 3
"""The same for one connection in such a round."""

WORTH_DECRYPTING = 16
"""The same for one connection with TLS."""

LONGEST_UNLOOKED = 64
"""Largest number of packets of a connection that take the slow path before the fast path is considered again."""

STEPS, MOST_STEPS = 8, 4096
"""Packets of one connection that the slow path takes from the columns at once."""


MOST_PLAIN = 4096
"""Number of rows of the slow path that stay objects before they become columns."""


class FinishedStreams(ColumnTable):
    """Says for each stream, up to the last finished one, whether it is finished.

    Later packets of a finished stream are ignored.
    """

    TYPES: ClassVar[Mapping[str, type[np.generic]]] = {"over": np.bool_}
    PAGED: ClassVar[int] = SPARSE

    def add(self, stream: int) -> None:
        """Marks a stream as finished."""
        if stream >= len(self):
            self.append(stream + 1 - len(self), {"over": False})
        self.column("over")[stream] = True

    def look_up(self, streams: Ints) -> list[bool]:
        """Returns whether each stream is finished."""
        over = self.column("over")
        known = streams < len(over)
        found = np.zeros(len(streams), bool)
        found[known] = over[streams[known]]
        return found.tolist()


class Engine:
    """Makes rows from packets: `feed` blocks, then `finish`; the tables grow with each call.

    orders: rules for single connections. use_fast_path: if false, all packets take the slow path, for tests. secrets:
    of TLS; None: nothing is decrypted.
    """

    def __init__(
        self,
        store: Store,
        flows: FlowTable,
        known: Ports,
        *,
        orders: ConnectionRules | None = None,
        use_fast_path: bool = True,
        secrets: Secrets | None = None,
    ) -> None:
        self._orders = orders
        self.store, self.flows, self.known = store, flows, known
        self.streams, self.rows, self.pieces, self.repeats = (
            StreamTable(),
            MessageTable(),
            PieceTable(),
            RetransmissionTable(),
        )
        self.names = NameTable()
        self.extras: list[Mapping[str, str]] = []
        self.stream_findings = StreamFindings(store, self.repeats)
        self.tls = TlsTable()
        self.guesses: GuessBudget | None = None
        """Limits guesses of a live capture; None: all responses without request are guessed."""
        self.owners = SocketOwners()
        self.secrets = secrets
        self._extra_numbers: dict[tuple[tuple[str, str], ...], int] = {}
        self.assigner = StreamAssigner(self.streams)
        self.network = NetworkMeter(self.streams)
        self.finished = FinishedStreams()
        self.serial_rows = SerialTable()
        self.packet = self.time = 0
        """Of the last packet that was taken."""
        self._connections: dict[int, Connection] = {}
        self._serial = 0
        self._slow_path = SlowPath(store, known, self._next_serial, secrets)
        self._use_fast_path = use_fast_path
        self._protocols = {dissector.name: number for number, dissector in enumerate(known.dissectors)}

    def feed(self, block: PacketBlock) -> range:
        """Takes the next packets of the timeline; returns the rows that they closed."""
        stream, order = self.assigner.assign(block)
        if len(block):
            self.packet, self.time = int(block.number[-1]), int(block.time[-1])
        begin, end = find_runs(stream[order])
        numbers = stream[order[begin]]
        self.network.measure(block, order, numbers, begin, end)
        works = [
            ConnectionWork(self._connection(number), order[first:last])
            for number, first, last, over in zip(
                numbers.tolist(), begin.tolist(), end.tolist(), self.finished.look_up(numbers), strict=True
            )
            if not over
        ]
        chunk = RowBatch(self)
        todo = works
        while todo := [work for work in todo if work.left]:
            if steady := self._walk_round(block, todo, chunk):
                self._fast_round(block, steady, chunk)
        self._settle([work.connection for work in works])
        return self._append(chunk)

    def use_secrets(self, secrets: Secrets) -> None:
        """Sets the secrets that decrypt TLS connections that begin from now on."""
        self.secrets = secrets
        self._slow_path.use_secrets(secrets)

    def finish(self, streams: Iterable[int] | None = None) -> range:
        """Ends the input, or these streams, and returns the rows of everything unfinished."""
        chunk = RowBatch(self)
        known = self._connections
        for connection in known.values() if streams is None else [known[each] for each in streams if each in known]:
            settle_requests(connection, self.text)
            self._keep(connection, self._slow_path.end(connection), chunk)
            self.tls.note(connection)
        self._describe([*known.values()])
        return self._append(chunk)

    def current(self, flow: int) -> tuple[int, FlowMemory]:
        """Returns a flow's current stream, and what is kept of the flow."""
        return self.assigner.current(flow), self.assigner.memory(flow)

    def connection(self, stream: int) -> Connection | None:
        """Returns the state of a stream, whose conversation has its waiting requests; None if it is finished."""
        found = self._connections.get(stream)
        if found is not None:
            settle_requests(found, self.text)
        return found

    def find_rows(self, serials: Sequence[int]) -> Ints:
        """Returns the rows (int64, n) of messages by their serials; none of them may be evicted."""
        return self.serial_rows.column("row")[np.array(serials, np.int64)].astype(np.int64) - 1

    def resume(
        self, flow: int, memory: FlowMemory, cells: Mapping[str, int] | None, connection: Connection | None
    ) -> int:
        """Continues a flow of another engine, before its first packet; returns its stream, -1 if that has ended.

        cells: see StreamAssigner.resume. connection: None if the stream is finished.
        """
        stream = self.assigner.resume(flow, memory, cells)
        if connection is not None:
            connection.number = stream
            self._connections[stream] = connection
        elif stream >= 0:
            self.finished.add(stream)
        return stream

    @property
    def connections(self) -> Mapping[int, Connection]:
        """The state of all streams that may still add rows, by number; connection() settles one."""
        return self._connections

    def settle_all_requests(self) -> None:
        """Gives all conversations the requests that wait in columns; these then have their names as texts."""
        for connection in self._connections.values():
            settle_requests(connection, self.text)

    def drop(self, stream: int) -> None:
        """Drops the state of a stream; anything unfinished in it is lost."""
        del self._connections[stream]

    def restore_rows(
        self, rows: Mapping[str, Array], pieces: Mapping[str, Array], answered_requests: Ints
    ) -> tuple[int, list[int]]:
        """Adds rows that another engine made, with their pieces; returns the first one's number, and serials.

        In `rows`, `partner` (NULL for none) and `pieces` count from 0. answered_requests: the rows that get a serial,
        in ascending order.
        """
        partner = rows["partner"]
        shifted = {
            "partner": np.where(partner == NULL, NULL, partner + len(self.rows)),
            "pieces": rows["pieces"] + len(self.pieces),
        }
        self.pieces.append(len(pieces["at"]), pieces)
        first = self.rows.append(len(partner), {**rows, **shifted})
        serials = self.reserve_serials(len(answered_requests))
        if len(answered_requests):
            self._learn(serials, answered_requests + first)
        return first, serials.tolist()

    def dissector(self, protocol: int) -> Dissector | None:
        """Returns the dissector of a row's or stream's protocol number."""
        return None if protocol == NO_PROTOCOL else self.known.dissectors[protocol]

    def _connection(self, number: int) -> Connection:
        found = self._connections.get(number)
        if found is None:
            flow = self.streams.cell("flow", number)
            ports = (self.flows.port(flow, 0), self.flows.port(flow, 1))
            found = self._connections[number] = Connection(number, ports, self.streams.cell("client", number))
            if self._orders:
                ends = (self.flows.endpoint(flow, 0), self.flows.endpoint(flow, 1))
                found.rule = self._orders.find_rule(number, ends, self.streams.cell("reuse", number))
        return found

    def _settle(self, connections: Sequence[Connection]) -> None:
        """Ends a block: updates the rows of streams, and drops finished connections."""
        self._describe(connections)
        for connection in connections:
            if connection.tls is not None or connection.tls_facts is not None:
                self.tls.note(connection)
            if connection.is_finished:
                self.finished.add(connection.number)
                self.drop(connection.number)
        for stream in self.assigner.superseded:
            left = self._connections.get(stream)
            if left is not None and left.is_idle:
                self.drop(stream)

    def _describe(self, connections: Sequence[Connection]) -> None:
        """Writes client and protocol of connections into the rows of their streams."""
        client, protocol = self.streams.column("client"), self.streams.column("protocol")
        for connection in connections:
            client[connection.number] = connection.client
            protocol[connection.number] = self.number_protocol(connection.dissector)

    def number_name(self, text: str | None) -> int:
        """Returns the number of an operation's or client's name."""
        return self.names.intern(text)

    def text(self, number: int) -> str | None:
        """Returns the name of a number."""
        return self.names.text(number)

    def number_extra(self, extra: Mapping[str, str] | None) -> int:
        """Returns the number of an extra context; there are few different ones."""
        if not extra:
            return NULL
        number = self._extra_numbers.setdefault(tuple(sorted(extra.items())), len(self.extras))
        if number == len(self.extras):
            self.extras.append(dict(extra))
        return number

    def number_protocol(self, dissector: Dissector | None) -> int:
        """Returns the number of a dissector."""
        return NO_PROTOCOL if dissector is None else self._protocols[dissector.name]

    def reserve_serials(self, count: int) -> Ints:
        """Reserves `count` consecutive serial numbers for messages, and returns them (int64, count)."""
        first, self._serial = self._serial, self._serial + count
        return np.arange(first, self._serial)

    def _next_serial(self) -> int:
        self._serial += 1
        return self._serial - 1

    def _walk_round(self, block: PacketBlock, todo: Sequence[ConnectionWork], chunk: RowBatch) -> list[ConnectionWork]:
        """Processes the next packets of unsteady connections one by one; returns the works that are steady then.

        The packets of all connections are read from the columns together, because many connections have only a few.
        """
        restless = [work for work in todo if work.patience > 0 or not self._steady(work.connection)]
        counts = [min(work.left, max(min(work.patience, MOST_STEPS), STEPS)) for work in restless]
        if restless:
            some = np.concatenate(
                [work.packets[work.at :][:count] for work, count in zip(restless, counts, strict=True)]
            )
            columns = (block.number, block.time, block.direction, block.seq, block.ack, block.flags, block.at)
            lists = (column[some].tolist() for column in (*columns, block.length, block.captured))
            packets = map(ConnectionPacket._make, zip(*lists, strict=True))
            for work, count in zip(restless, counts, strict=True):
                self._walk(work, list(islice(packets, count)), chunk)
        return [work for work in todo if work.left and work.patience <= 0 and self._steady(work.connection)]

    def _walk(self, work: ConnectionWork, packets: Sequence[ConnectionPacket], chunk: RowBatch) -> None:
        """Processes packets until the patience is used up and the connection is steady."""
        connection, rows = work.connection, []
        settle_requests(connection, self.text)
        for packet in packets:
            rows += self._slow_path.process_packet(connection, packet)
            work.at += 1
            work.patience -= 1
            if len(rows) > MOST_PLAIN:
                self._keep(connection, rows, chunk)
                rows = []
            if work.patience <= 0 and self._steady(connection):
                break
        self._keep(connection, rows, chunk)

    def _keep(self, connection: Connection, rows: list[PendingRow], chunk: RowBatch) -> None:
        chunk.scalar_rows += [(connection, row) for row in rows]
        if len(chunk.scalar_rows) > MOST_PLAIN:
            chunk.add_scalar_rows()
        self.stream_findings.collect(connection, rows)

    def _steady(self, connection: Connection) -> bool:
        return (
            self._use_fast_path
            and connection.is_steady
            and connection.dissector is not None
            and bool(connection.dissector.fast_path)
            and not (connection.conversation is not None and connection.conversation.beginning)
        )

    def _fast_round(self, block: PacketBlock, todo: Sequence[ConnectionWork], chunk: RowBatch) -> None:
        """Processes clean packets with the fast path; other works get the patience for the slow path."""
        by_protocol: dict[str, list[tuple[ConnectionWork, int]]] = {}
        for work, length in zip(todo, fast_path.count_clean_packets(block, todo), strict=True):
            work.patience = length + 1
            least = WORTH_A_RUN if work.connection.tls is None else WORTH_DECRYPTING
            if length >= least and work.connection.dissector is not None:
                by_protocol.setdefault(work.connection.dissector.name, []).append((work, length))
        worth = [taken for taken in by_protocol.values() if sum(length for _, length in taken) >= WORTH_A_ROUND]
        for work in todo if not worth else [work for taken in by_protocol.values() for work, _ in taken]:
            work.patience = max(work.patience, work.unlooked)
            work.unlooked = min(2 * work.unlooked, LONGEST_UNLOOKED)
        for taken in worth:
            for work, _ in taken:
                work.patience = 1
            if taken := self._decrypt(block, taken):
                self._run_fast_path(block, taken, chunk)

    def _decrypt(self, block: PacketBlock, taken: list[tuple[ConnectionWork, int]]) -> list[tuple[ConnectionWork, int]]:
        """Decrypts the packets of TLS connections; returns the works that continue, with the packets of each."""
        if all(work.connection.tls is None for work, _ in taken):
            return taken
        from analyzer.messages.tls_fast_path import decrypt_run, limit_run  # lazy: only needed with keys

        found = []
        for work, count in taken:
            layer = work.connection.tls
            if layer is None:
                found.append((work, count))
            elif self.secrets is not None:
                packets = limit_run(block, work.packets[work.at :][: min(count, work.reach)])
                run = decrypt_run(block, packets, work.repeats, layer, self.store, self.secrets)
                work.start_run(run, len(packets))
                if run is not None:
                    found.append((work, run.packets))
        return found

    def _run_fast_path(self, block: PacketBlock, taken: list[tuple[ConnectionWork, int]], chunk: RowBatch) -> None:
        """Runs the fast path for connections of one protocol."""
        dissector = taken[0][0].connection.dissector
        assert dissector is not None
        columns = load_fast_path(dissector)
        assert columns is not None
        parts = fast_path.collect_segments(block, taken)
        clients = [work.connection.client for work, _ in taken]
        cutting, refused = message_spans.cut_messages(
            parts, make_length_reader(dissector, columns, self.store), self.store, clients
        )
        if refused:
            for half in refused:
                taken[half // 2][0].patience = taken[half // 2][1]
            good = [each for index, each in enumerate(taken) if not {2 * index, 2 * index + 1} & refused]
            if good:
                self._run_fast_path(block, good, chunk)
            return
        FastRowBuilder(self, dissector, columns, taken, parts, cutting).add_to(chunk)
        fast_path.update_connections(block, taken, parts, cutting)
        for work, count in taken:
            work.at += count
            work.decrypted = None
            if work.repeats is not None:
                self.stream_findings.collect(work.connection, [])

    def _append(self, chunk: RowBatch) -> range:
        answered_requests, rows = chunk.append_to(self.rows, self.pieces, self._learn)
        if len(self.rows) > MOST_ROWS:
            raise UserError(
                f"There are more than {MOST_ROWS:,} messages, the most that a session can number. Open fewer files at a"
                " time; start a live capture again."
            )
        pairs = np.flatnonzero(answered_requests >= 0)
        request = self.serial_rows.column("row")[answered_requests[pairs]] - 1
        here = request >= self.rows.first
        if not here.all():
            self.rows.column("marks")[pairs[~here] + rows.start] |= np.uint8(RowMark.PARTNER_LEFT)
            pairs, request = pairs[here], request[here]
        answer = pairs + rows.start
        partner = self.rows.column("partner")
        partner[answer] = request
        first = np.flatnonzero(partner[request] == NULL)[::-1]  # if a request has two answers, the first one stays
        partner[request[first]] = answer[first]
        self._tell_clients(request, answer)
        return rows

    def _tell_clients(self, request: Ints, answer: Ints) -> None:
        """Gives a request the client name in its response, as in ZooKeeper's first request of a session."""
        client, marks = self.rows.column("client"), self.rows.column("marks")
        unnamed = (client[request] == NULL) & (client[answer] != NULL)
        client[request[unnamed]] = client[answer[unnamed]]
        marks[request[unnamed]] |= np.uint8(RowMark.CLIENT_NAMED_LATER)

    def _learn(self, serial: Ints, row: Ints) -> None:
        missing = int(serial.max()) + 1 - len(self.serial_rows)
        if missing > 0:
            self.serial_rows.append(missing, {"row": 0})
        self.serial_rows.column("row")[serial] = row + 1
