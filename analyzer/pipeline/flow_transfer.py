"""Saves one flow of an engine as a checkpoint, and restores it in another engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from analyzer.columns.arrays import Array, Bools, Ints, rank_in_runs
from analyzer.errors import UserError
from analyzer.messages.connection import Connection
from analyzer.messages.engine import Engine
from analyzer.messages.index import NO_PROTOCOL, MessageTable
from analyzer.messages.index import PieceTable as PieceColumns
from analyzer.pipeline.checkpoint import (
    CARRIED_COLUMNS,
    NAME_COLUMNS,
    CarriedBytes,
    CarriedPackets,
    CarriedRows,
    FlowCheckpoint,
    StreamCounts,
    pack_column,
    replace_pieces,
    unpack_column,
    unpack_rows,
)
from analyzer.pipeline.state_file import ConnectionState
from analyzer.query.fields.sessions import follow_sessions
from analyzer.session import Analysis
from analyzer.tables.origins import PacketOrigins
from analyzer.tcp.reassembly import GAP, Piece
from analyzer.tcp.streams import FlowMemory, StreamTable
from dissectors.wire.fast_path import NULL


class PacketRegistry(Protocol):
    """Numbers the packets of a restored flow and places their bytes."""

    def find_flow(self, connection: bytes, lower: bool) -> int:
        """Returns the flow of a connection that is new here. lower: its side a is the lower end."""

    def is_lower(self, flow: int) -> bool:
        """Returns whether side a of a flow is its lower end."""

    def number_packets(self, names: Sequence[str], file: Ints, record: Ints, *, today: bool) -> int:
        """Numbers packets that were read before: records of files of these names; returns what precedes the first.

        today: they may have been read in this batch.
        """

    def store_bytes(self, data: bytes) -> int:
        """Keeps bytes for later parts, and returns their location."""


class RestoredFlow(NamedTuple):
    """A restored flow: its open stream or -1, rows that were written before, and the first row."""

    flow: int
    stream: int
    written: list[int]
    first: int = 0


class RowFate(NamedTuple):
    """For each row: whether it must still be written, and whether it was abandoned, so that its bytes can go."""

    waits: Bools
    abandoned: Bools


# ---- from an engine


def save_flow(
    session: Analysis, origins: PacketOrigins, flow: int, lower: bool, rows: Ints, fate: RowFate, counts: StreamCounts
) -> FlowCheckpoint:
    """Saves a flow with an open stream and rows. Raises UserError if its conversation cannot be saved."""
    engine = session.engine
    stream, memory = engine.current(flow)
    connection = engine.connection(stream)
    handles = _list_handles(connection)
    open_requests = engine.find_rows(handles)
    opened = follow_sessions(session).list_openings(stream)
    answered = np.concatenate((open_requests, np.array(opened, np.int64)))
    partners = engine.rows.column("partner")[answered].astype(np.int64)
    rows = np.unique(np.concatenate((rows, answered, partners[partners != NULL])))
    columns = {name: engine.rows.column(name)[rows] for name in CARRIED_COLUMNS}
    count = columns["count"].astype(np.int64)
    places = np.repeat(columns["pieces"].astype(np.int64), count) + rank_in_runs(count)
    pieces: dict[str, Array] = {name: engine.pieces.column(name)[places] for name in PieceColumns.TYPES}
    columns["pieces"] = np.cumsum(count) - count
    columns["partner"] = _renumber_partners(rows, columns["partner"])
    pieces["at"][np.repeat(fate.abandoned[rows], count)] = GAP
    references = _ConnectionReferences.from_connection(connection)
    at = np.concatenate((pieces["at"], [piece.at for piece in references.pieces])).astype(np.int64)
    length = np.concatenate((pieces["length"], [piece.length for piece in references.pieces])).astype(np.int64)
    carried = CarriedBytes(at, length)
    data = carried.read_data(session.source.store)
    moved = carried.relocate(at)
    pieces["at"] = moved[: len(places)]
    if connection is not None:
        where = dict(zip(at.tolist(), moved.tolist(), strict=True))
        replace_pieces(connection, lambda piece: piece._replace(at=where[piece.at]), int)
    numbers = [*references.packets, *(piece.packet for piece in references.pieces)]
    of_rows = [columns[name].astype(np.int64) for name in ("first", "last")]
    numbers_used = np.unique(np.concatenate((np.array(numbers, np.int64), *of_rows, pieces["packet"])))
    protocol = engine.dissector(engine.streams.cell("protocol", stream))
    return FlowCheckpoint(
        lower,
        memory,
        {name: engine.streams.cell(name, stream) for name in StreamTable.TYPES},
        None if protocol is None else protocol.name,
        counts,
        connection,
        _pack_rows(engine, columns, pieces, ~fate.waits[rows], handles, np.searchsorted(rows, open_requests)),
        _pack_packets(origins, numbers_used[numbers_used > 0]),
        data,
        follow_sessions(session).suspend(stream, rows),
    )


def _list_handles(connection: Connection | None) -> list[int]:
    """By what a conversation calls messages that it still speaks of, rising."""
    if connection is None or connection.conversation is None:
        return []
    try:
        return sorted(connection.conversation.handles())
    except NotImplementedError:
        name = "its protocol" if connection.dissector is None else connection.dissector.name
        raise UserError(
            f"Connections of {name} cannot be continued in a later run, because its conversation has no handles()."
            " Read these captures without --state."
        ) from None


def _renumber_partners(rows: Ints, partner: Array) -> Array:
    """Places of partners among the rows; NULL for those that are not there."""
    place = np.searchsorted(rows, partner)
    there = rows[np.minimum(place, len(rows) - 1)] == partner if len(rows) else np.zeros(0, bool)
    return np.where(there, place, NULL)


@dataclass(slots=True)
class _ConnectionReferences:
    """What a connection holds: its pieces, and packets that it speaks of otherwise."""

    pieces: list[Piece]
    packets: list[int]

    @classmethod
    def from_connection(cls, connection: Connection | None) -> _ConnectionReferences:
        found = cls([], [])
        if connection is not None:
            replace_pieces(connection, found._piece, found._packet)
        return found

    def _piece(self, piece: Piece) -> Piece:
        self.pieces.append(piece)
        return piece

    def _packet(self, number: int) -> int:
        self.packets.append(number)
        return number


def _pack_rows(
    engine: Engine,
    columns: dict[str, Array],
    pieces: Mapping[str, Array],
    written: Bools,
    handles: list[int],
    open_requests: Ints,
) -> CarriedRows:
    names: dict[str, int] = {}
    for name in NAME_COLUMNS:
        used, back = np.unique(columns[name], return_inverse=True)
        texts = (engine.names.text(each) for each in used.tolist())
        numbers = [NULL if text is None else names.setdefault(text, len(names)) for text in texts]
        columns[name] = np.array(numbers, np.int64)[back]
    extra, extra_back = np.unique(columns["extra"], return_inverse=True)
    extras = [engine.extras[each] for each in extra.tolist() if each != NULL]
    columns["extra"] = np.where(columns["extra"] == NULL, NULL, extra_back - (len(extra) - len(extras)))
    protocols = tuple(dissector.name for dissector in engine.known.dissectors)
    return CarriedRows(
        {name: pack_column(columns[name], MessageTable.TYPES[name]) for name in CARRIED_COLUMNS},
        {name: pack_column(pieces[name], kind) for name, kind in PieceColumns.TYPES.items()},
        tuple(names),
        tuple(dict(each) for each in extras),
        protocols,
        pack_column(written, np.bool_),
        tuple(handles),
        tuple(open_requests.tolist()),
    )


def _pack_packets(origins: PacketOrigins, numbers: Ints) -> CarriedPackets:
    file, record = origins.locate(numbers)
    used, back = np.unique(file, return_inverse=True)
    files = tuple(origins.files[each] for each in used.tolist())
    return CarriedPackets(
        pack_column(numbers, np.int64), files, pack_column(back, np.int64), pack_column(record, np.int64)
    )


# ---- into an engine


def restore_flow(
    engine: Engine,
    part: PacketRegistry,
    connection: bytes,
    left: ConnectionState,
    state: FlowCheckpoint | None,
    *,
    today: bool,
) -> RestoredFlow:
    """Brings a flow back that is new to the engine. today: it was left in this batch."""
    flow = part.find_flow(connection, left.lower)
    if state is None:
        engine.resume(flow, FlowMemory(0, left.uses), None, None)
        return RestoredFlow(flow, -1, [])
    packets = state.packets
    numbers = unpack_column(packets.numbers, np.int64)
    file, record = (unpack_column(column, np.int64) for column in (packets.file, packets.record))
    before = part.number_packets(packets.files, file, record, today=today)
    base = part.store_bytes(state.data)

    def renumber(old: Array) -> Array:
        return np.where(old > 0, np.searchsorted(numbers, old) + before + 1, old)

    new = dict(zip([0, *numbers.tolist()], [0, *renumber(numbers).tolist()], strict=True))
    if state.connection is not None:
        replace_pieces(
            state.connection,
            lambda piece: piece._replace(at=piece.at if piece.at < 0 else base + piece.at, packet=new[piece.packet]),
            new.__getitem__,
        )
    protocol = _map_protocols(engine).get(state.protocol, NO_PROTOCOL)
    stream = engine.resume(flow, state.memory, {**state.cells, "first": 0, "protocol": protocol}, state.connection)
    columns, pieces = unpack_rows(state.rows)
    pieces["at"] = np.where(pieces["at"] < 0, pieces["at"], pieces["at"] + base)
    pieces["packet"] = renumber(pieces["packet"])
    for name in ("first", "last"):
        columns[name] = renumber(columns[name])
    first = _restore_rows(engine, state, stream, columns, pieces)
    written = np.flatnonzero(unpack_column(state.rows.written, np.bool_)) + first
    return RestoredFlow(flow, stream, written.tolist(), first)


def _restore_rows(
    engine: Engine, state: FlowCheckpoint, stream: int, columns: dict[str, Array], pieces: Mapping[str, Array]
) -> int:
    """Rows into the index; the number of the first."""
    rows = state.rows
    names = np.array([*map(engine.number_name, rows.names), NULL], np.int32)
    extras = np.array([*map(engine.number_extra, rows.extras), NULL], np.int32)
    protocols = [_map_protocols(engine).get(name, NO_PROTOCOL) for name in rows.protocols]
    for name in NAME_COLUMNS:
        columns[name] = names[np.where(columns[name] == NULL, -1, columns[name])]
    columns["extra"] = extras[np.where(columns["extra"] == NULL, -1, columns["extra"])]
    columns["protocol"] = np.array([*protocols, NO_PROTOCOL], np.int8)[columns["protocol"]]
    columns["stream"] = np.full(len(columns["partner"]), stream, np.int32)
    first, serials = engine.restore_rows(columns, pieces, np.array(rows.handle_rows, np.int64))
    if state.connection is not None and state.connection.conversation is not None:
        state.connection.conversation.renumber(dict(zip(rows.handles, serials, strict=True)))
    return first


def _map_protocols(engine: Engine) -> Mapping[str | None, int]:
    """The numbers of dissectors by name."""
    return {dissector.name: number for number, dissector in enumerate(engine.known.dissectors)}
