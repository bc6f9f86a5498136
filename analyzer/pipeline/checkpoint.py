"""One flow as it waits for its next packet in another process: plain data, and the bytes that are still needed.

Theory. The engine knows packets by numbers, bytes by locations and messages by serials, which all mean something in one
analysis alone. So packets go along as what they are numbers of (a record of a file), bytes as a copy, and whoever goes
on gives all of them numbers and locations of its own. Only order counts, and that stays: what was carried comes before
all that follows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analyzer.capture.store import Store
from analyzer.columns.arrays import Array, Ints
from analyzer.messages.connection import Connection, EarlyPiece
from analyzer.messages.index import MessageTable
from analyzer.messages.index import PieceTable as PieceColumns
from analyzer.query.fields.session_values import RequestHistory
from analyzer.tcp.reassembly import HalfStream, Piece, Retransmission
from analyzer.tcp.streams import FlowMemory

NAME_COLUMNS = ("operation", "client", "scope")
"""Columns of rows that are numbers of names."""

CARRIED_COLUMNS = tuple(name for name in MessageTable.TYPES if name != "stream")
"""Columns of rows that go along; `pieces` and `partner` count among those that do."""

StreamCounts = tuple[int, int, int, int]
"""What was written of a stream: messages of the client, of the server, bytes of the client, of the server."""


@dataclass(slots=True)
class CarriedRows:
    """Rows that are not done with, and their pieces: columns, as the bytes of Messages.TYPES and Pieces.TYPES.

    names, extras, protocols: what the numbers in the columns stand for. written: rows that have been written
    and are only here for later findings about them. handles: handles of some rows in the conversation; handle_rows: the
    numbers of these rows. Both rise.
    """

    columns: Mapping[str, bytes]
    pieces: Mapping[str, bytes]
    names: tuple[str, ...]
    extras: tuple[Mapping[str, str], ...]
    protocols: tuple[str, ...]
    written: bytes
    handles: tuple[int, ...]
    handle_rows: tuple[int, ...]


@dataclass(slots=True)
class CarriedPackets:
    """The packets that a checkpoint refers to: their numbers, ascending, and the file record of each."""

    numbers: bytes
    files: tuple[str, ...]
    file: bytes
    record: bytes


@dataclass(slots=True)
class FlowCheckpoint:
    """lower: the flow's side a is its lower end. cells: of the current stream, whose protocol is `protocol`.

    connection: None where the stream is over. data: the bytes, in which locations count. sessions: by code of their
    operation what requests have opened and changed; rows count among those that go along.
    """

    lower: bool
    memory: FlowMemory
    cells: Mapping[str, int]
    protocol: str | None
    counts: StreamCounts
    connection: Connection | None
    rows: CarriedRows
    packets: CarriedPackets
    data: bytes
    sessions: Mapping[int, RequestHistory]


def pack_column(numbers: npt.ArrayLike, kind: type[np.generic]) -> bytes:
    """Makes bytes of a column for a checkpoint."""
    return np.ascontiguousarray(numbers, kind).tobytes()


def unpack_column(data: bytes, kind: type[np.generic]) -> Array:
    """Makes a column of the bytes of pack_column."""
    return np.frombuffer(data, kind).copy()


def unpack_rows(rows: CarriedRows) -> tuple[dict[str, Array], dict[str, Array]]:
    """Returns rows and their pieces as columns."""
    columns = {name: unpack_column(rows.columns[name], MessageTable.TYPES[name]) for name in CARRIED_COLUMNS}
    return columns, {name: unpack_column(rows.pieces[name], kind) for name, kind in PieceColumns.TYPES.items()}


class CarriedBytes:
    """The bytes at some places of a store, in one piece; what overlaps goes once."""

    def __init__(self, at: Ints, length: Ints) -> None:
        here = np.flatnonzero((at >= 0) & (length > 0))
        here = here[np.argsort(at[here], kind="stable")]
        at, end = at[here], np.maximum.accumulate((at + length)[here])
        first = np.ones(len(at), bool)
        first[1:] = at[1:] > end[:-1]
        last = np.append(first[1:], True)[: len(at)]
        self._at, self._length = at[first], end[last] - at[first]
        self._begin = np.cumsum(self._length) - self._length

    def read_data(self, store: Store) -> bytes:
        """Reads all bytes that the checkpoint needs."""
        return b"".join(store.read_many(self._at, self._length))

    def relocate(self, at: Ints) -> Ints:
        """Returns the new place of each location; lost ones stay lost."""
        if not len(self._at):
            return np.minimum(at, 0)
        span = np.maximum(np.searchsorted(self._at, at, "right") - 1, 0)
        inside = np.clip(at - self._at[span], 0, self._length[span])
        return np.where(at < 0, at, self._begin[span] + inside)


Move = Callable[[Piece], Piece]
Number = Callable[[int], int]


def replace_pieces(connection: Connection, move: Move, number: Number) -> None:
    """Replaces all pieces that a connection holds, and the numbers of packets that it speaks of otherwise."""
    for half in connection.halves:
        _replace_half_pieces(half, move)
    for framer in connection.framers or ():
        framer.pieces = [*map(move, framer.pieces)]
    connection.undecided = [(side, move(piece)) for side, piece in connection.undecided]
    for early in connection.early:
        moved = [EarlyPiece(each.needed, move(each.piece), each.time, each.tick) for each in early]
        early.clear()
        early += moved
    connection.needs = {number(packet): needed for packet, needed in connection.needs.items()}
    if connection.tls is not None:
        connection.tls.renumber(number, move)
    for seen in (connection.fin_seen, connection.latest):
        seen[:] = [(number(packet), time) for packet, time in seen]


def _replace_half_pieces(half: HalfStream, move: Move) -> None:
    half.waiting = [*map(move, half.waiting)]
    half.recent.replace(move)
    half.retransmissions = [Retransmission(move(new), old and move(old)) for new, old in half.retransmissions]
    half.gaps = [*map(move, half.gaps)]
    unopened = []
    for seq, at, length, captured, packet, time in half.unopened:
        piece = move(Piece(0, at, captured, packet, time))
        unopened.append((seq, piece.at, length, captured, piece.packet, time))
    half.unopened = unopened
