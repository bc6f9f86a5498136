"""One part of a partition in a batch that others precede or follow: what comes back, what is final, what is left.

Theory. A row is final when no later packet can change it. A request without answer is not, as long as its connection
may bring one; even where the conversation has given it up, only the connection's end tells what is to be said of it.
All other rows are final when they close. Some are needed after that: a request that may be answered twice, and what
numbers the things that later messages speak of. They go along, marked as written. A stream ends when another takes its
place, after an hour of silence, or when all ends; then it is finished as at the end of a capture, and its row is
written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from analyzer.columns.arrays import Bools, Ints, find_runs
from analyzer.messages import defects
from analyzer.messages.index import FROM_CLIENT
from analyzer.messages.row_findings import RowFacts
from analyzer.pipeline.checkpoint import StreamCounts
from analyzer.pipeline.flow_transfer import PacketRegistry, RowFate, restore_flow, save_flow
from analyzer.pipeline.state_file import BatchContext, ConnectionState, StateCodec, build_state_rows
from analyzer.query.fields.sessions import follow_sessions
from analyzer.session import Analysis
from analyzer.tables.arrow_columns import escape_surrogates
from analyzer.tables.origins import PacketOrigins, RowSelection
from analyzer.tcp.streams import SILENCE_NS
from dissectors.api import Conversation, Role, State

MOST_WAITING = 1 << 16
MOST_BYTES = 64 << 20
"""Requests of one connection that wait for its end, and their bytes; the oldest are written before, as unanswered."""

MOST_BINDING_ROWS = 1 << 12
"""Messages of one connection that go along for what they name; the oldest are left behind."""

COUNT_COLUMNS = ("client_messages", "server_messages", "client_bytes", "server_bytes")


@dataclass(slots=True)
class ConnectionCarrier:
    """Carries the connections of one Analysis. `names`: by flow; `cut`: the one that the next part continues."""

    carry: BatchContext
    codec: StateCodec
    session: Analysis
    part: PacketRegistry
    origins: PacketOrigins
    names: dict[int, bytes] = field(default_factory=dict)
    cut: bytes | None = None
    _counts: dict[int, StreamCounts] = field(default_factory=dict)
    _written: list[int] = field(default_factory=list)
    _passed: list[tuple[bytes, ConnectionState]] = field(default_factory=list)
    _final: _FinalRows | None = None

    def handle_idle(self, connection: bytes, left: ConnectionState) -> None:
        """Handles a connection without new packets."""
        if left.data is not None and (self.carry.close or self._is_silent(left.capture, left.end_ns)):
            self.resume(connection, left)
        else:
            self._passed.append((connection, left))

    def resume(self, connection: bytes, left: ConnectionState) -> None:
        """Goes on with a connection before its first packet here."""
        state = None if left.data is None else self.codec.decode(left.data)
        back = restore_flow(self.session.engine, self.part, connection, left, state, today=left.today)
        self.names[back.flow] = connection
        self._written += back.written
        if state is not None:
            self._counts[back.stream] = state.counts
            follow_sessions(self.session).resume(back.stream, state.sessions, back.first, len(self.session.rows))

    def _is_silent(self, capture: str, end_ns: int | None) -> bool:
        """Whether a stream of a capture whose last packet came then has ended."""
        return end_ns is not None and self.carry.latest.get(capture, end_ns) - end_ns > SILENCE_NS

    def may_cut(self, connection: bytes) -> bool:
        """Returns whether another part can continue a connection; some conversations cannot be saved."""
        engine = self.session.engine
        streams = [engine.current(flow)[0] for flow, name in self.names.items() if name == connection]
        conversations = [found.conversation for each in streams if (found := engine.connection(each)) is not None]
        return all(each is None or type(each).handles is not Conversation.handles for each in conversations)

    def list_ended_streams(self) -> list[int]:
        """Returns the streams that have ended by now."""
        streams = self.session.engine.streams
        ended = np.ones(len(streams), bool)
        for flow, name in self.names.items():
            current = self.session.engine.current(flow)[0]
            if current >= 0 and name == self.cut:
                ended[current] = False
            elif current >= 0 and not self.carry.close:
                ended[current] = self._is_silent(self._capture, streams.cell("end", current))
        found: list[int] = np.flatnonzero(ended).tolist()
        return found

    def select_final_rows(self) -> RowSelection:
        """Returns the rows to write now; call it after those of list_ended_streams() are finished."""
        index, streams = self.session.rows, self.session.engine.streams
        live = np.ones(len(streams), bool)
        live[self.list_ended_streams()] = False
        facts = RowFacts.from_rows(index, streams, np.arange(len(index)))
        new = np.ones(len(index), bool)
        new[self._written] = False
        going_on = np.array([each in self.session.engine.connections for each in range(len(streams))], bool)
        waits = facts.is_request & ~facts.paired & new & (live & going_on)[index.column("stream")]
        abandoned = self._find_excess(waits)
        waits &= ~abandoned
        final = np.flatnonzero(new & ~waits)
        requests = final[index.column("role")[final] == Role.REQUEST]
        before = np.zeros((len(COUNT_COLUMNS), len(streams)), np.int64)
        for stream, counts in self._counts.items():
            before[:, stream] = counts
        self._final = _FinalRows(live, RowFate(waits, abandoned), final, before)
        return RowSelection(final, requests, np.flatnonzero(~live), True, dict(zip(COUNT_COLUMNS, before, strict=True)))

    def _find_excess(self, waits: Bools) -> Bools:
        """Those of the rows that wait which are not carried on."""
        found = np.zeros(len(waits), bool)
        rows = np.flatnonzero(waits)[::-1]
        stream = self.session.rows.column("stream")[rows]
        rows = rows[np.argsort(stream, kind="stable")]
        length = self.session.rows.column("length")[rows].astype(np.int64)
        for begin, end in zip(*find_runs(self.session.rows.column("stream")[rows]), strict=True):
            over = np.cumsum(length[begin:end]) > MOST_BYTES
            over[MOST_WAITING:] = True
            found[rows[begin:end][over]] = True
        return found

    def save_states(self, put_back: Callable[[bytes, ConnectionState], None]) -> pa.RecordBatch:
        """Returns a row for each connection that the next batch may go on with; call it after select_final_rows().

        put_back: takes the state of the connection that goes on in the next part.
        """
        assert self._final is not None
        counts = self._count_written(self._final)
        carried_rows = self._select_carried_rows(self._final)
        left = []
        for flow, name in self.names.items():
            if name == self.cut:
                found = self._save_flow(flow, self._final, carried_rows, counts)
                put_back(name, found._replace(today=True))
            elif not self.carry.close:
                left.append((name, self._save_flow(flow, self._final, carried_rows, counts)))
        return build_state_rows(() if self.carry.close else chain(self._passed, left))

    @property
    def _capture(self) -> str:
        capture: str = escape_surrogates(self.origins.capture)
        return capture

    def _save_flow(
        self, flow: int, final: _FinalRows, carried_rows: Mapping[int, Ints], counts: Ints
    ) -> ConnectionState:
        stream, memory = self.session.engine.current(flow)
        lower = self.part.is_lower(flow)
        if stream < 0 or not final.live[stream]:
            return ConnectionState(self._capture, None, memory.uses, lower, None)
        rows = carried_rows.get(stream, np.empty(0, np.int64))
        packed_counts = tuple(counts[:, stream].tolist())
        state = save_flow(self.session, self.origins, flow, lower, rows, final.fate, packed_counts)
        end = self.session.engine.streams.cell("end", stream)
        return ConnectionState(self._capture, end, memory.uses, lower, self.codec.encode(state))

    def _count_written(self, final: _FinalRows) -> Ints:
        """By COUNT_COLUMNS and stream, what has been written up to now."""
        index, found = self.session.rows, final.before.copy()
        stream, side, length = (
            index.column(name)[final.rows].astype(np.int64) for name in ("stream", "side", "length")
        )
        of_server = (side != FROM_CLIENT).astype(np.int64)
        np.add.at(found, (of_server, stream), 1)
        np.add.at(found, (of_server + 2, stream), length)
        return found

    def _select_carried_rows(self, final: _FinalRows) -> dict[int, Ints]:
        """By live stream the rows that go along, but for those that only its conversation knows."""
        index = self.session.rows
        rows = np.flatnonzero(final.fate.waits)
        binding_rows = self._select_binding_rows(final.live)
        rows = np.union1d(rows, binding_rows)
        stream = index.column("stream")[rows]
        order = np.argsort(stream, kind="stable")
        rows, stream = rows[order], stream[order]
        return {int(stream[begin]): rows[begin:end] for begin, end in zip(*find_runs(stream), strict=True)}

    def _select_binding_rows(self, live: Bools) -> Ints:
        """Rows that name what later messages of their connection speak of by numbers."""
        index, found = self.session.rows, [np.empty(0, np.int64)]
        protocol, code, role = (index.column(name) for name in ("protocol", "code", "role"))
        for number, dissector in enumerate(self.session.engine.known.dissectors):
            scoped_sources = {(each.code, each.role) for each in defects.list_binding_sources(dissector) if each.scoped}
            for source_code, part in scoped_sources:
                mine = (protocol == number) & (code == source_code) & (role == part)
                mine &= live[index.column("stream")] & (index.column("state") == State.COMPLETE)
                found.append(np.flatnonzero(mine))
        rows = np.sort(np.concatenate(found))
        rows = rows[np.argsort(index.column("stream")[rows], kind="stable")]
        runs = zip(*find_runs(index.column("stream")[rows]), strict=True)
        latest = [rows[begin:end][-MOST_BINDING_ROWS:] for begin, end in runs]
        return np.concatenate([np.empty(0, np.int64), *latest])


class _FinalRows(NamedTuple):
    """By stream: whether it is `live`, and what was written of it `before`. rows: those that are written."""

    live: Bools
    fate: RowFate
    rows: Ints
    before: Ints
