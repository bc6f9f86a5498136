"""The rows that one block adds to the index, before they have row numbers.

Rows come from the slow and the fast path in any order. They become columns here, are sorted by closing packet, and are
appended to the index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from operator import itemgetter
from typing import Protocol

import numpy as np

from analyzer.columns.arrays import Array, Ints, encode_null, encode_null64
from analyzer.messages.connection import Connection, PendingRow
from analyzer.messages.index import FROM_CLIENT, FROM_SERVER, NO_PROTOCOL, MessageTable, PieceTable
from analyzer.tcp.reassembly import Piece
from dissectors.api import Dissector
from dissectors.slotted import field, make_slotted
from dissectors.wire.fast_path import NULL

EXTRA = ("closed", "serial", "ask")
"""Columns that only sorting and pairing need: closing packet, serial, the partner's serial or -1."""


class RowNumbering(Protocol):
    """Numbers names, so that columns can hold them; implemented by the engine."""

    def number_name(self, text: str | None) -> int:
        """Returns the number of an operation's or client's name."""

    def number_extra(self, extra: Mapping[str, str] | None) -> int:
        """Returns the number of an extra context."""

    def number_protocol(self, dissector: Dissector | None) -> int:
        """Returns the number of a dissector."""


ORDERING = ("offset", "side", "stream", "last", "closed")
"""Columns that rows are sorted by, the most significant one last."""


@make_slotted(frozen=False)
class RowBatch:
    """Collects the columns of one block.

    `parts` are those of MessageTable (with EXTRA, without `partner`), `pieces` those of PieceTable.
    """

    numbers: RowNumbering
    parts: list[dict[str, Array]] = field(default_factory=list)
    pieces: list[dict[str, Array]] = field(default_factory=list)
    piece_count: int = 0
    scalar_rows: list[tuple[Connection, PendingRow]] = field(default_factory=list)

    def add(self, rows: Mapping[str, Array], count: Ints, *pieces: Ints) -> None:
        """Adds n rows; `count` (int, n) is the number of pieces of each, and `pieces` are the columns of PieceTable."""
        first = self.piece_count + np.cumsum(count) - count
        self.parts.append({**rows, "pieces": first, "count": count})
        self.pieces.append(dict(zip(PieceTable.TYPES, pieces, strict=True)))
        self.piece_count += len(pieces[0])

    def add_scalar_rows(self) -> None:
        """Turns the rows of the slow path into columns, all at once."""
        if not self.scalar_rows:
            return
        columns = np.array(
            [_make_cells(connection, row, self.numbers) for connection, row in self.scalar_rows], np.int64
        ).T
        count = np.array([len(row.frame.pieces) for _, row in self.scalar_rows], np.int64)
        # A snapshot has more pieces than a block has packets, so no object is created for each piece.
        pieces = [row.frame.pieces for _, row in self.scalar_rows]
        columns_of = (map(take, chain.from_iterable(pieces)) for take in _OF_PIECE)
        places = [np.fromiter(column, np.int64, int(count.sum())) for column in columns_of]
        typed = {name: column.astype(TYPES[name]) for name, column in zip(CELLS, columns, strict=True)}
        self.add(typed, count, *places)
        self.scalar_rows.clear()

    def append_to(
        self, messages: MessageTable, pieces: PieceTable, serials: Callable[[Ints, Ints], None]
    ) -> tuple[Ints, range]:
        """Sorts and appends all rows; calls `serials(serial, row)` with their numbers.

        Returns the partner's serial of each row (-1: none), and the range of new rows.
        """
        self.add_scalar_rows()
        if not self.parts:
            return np.empty(0, np.int64), range(len(messages), len(messages))
        order = _closing_order({name: _concatenate([part[name] for part in self.parts]) for name in ORDERING})
        # Each part is dropped once it has been copied, so the rows of a block are never in memory twice.
        names = list(self.parts[0])
        columns = {name: _concatenate([part.pop(name) for part in self.parts])[order] for name in names}
        base = len(pieces)
        for part in self.pieces:
            pieces.append(len(part["at"]), part)
        columns["pieces"] = columns["pieces"] + base
        first = messages.append(len(order), {**columns, "partner": NULL})
        serials(columns["serial"], np.arange(first, first + len(order)))
        return columns["ask"], range(first, first + len(order))


def _concatenate(parts: list[Array]) -> Array:
    """Returns all rows of a column; a single part is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _closing_order(columns: Mapping[str, Array]) -> Ints:
    """Returns the order by closing packet.

    A packet closes rows of one direction, in order; only RST and the end close more.
    """
    order = np.argsort(columns["closed"], kind="stable")
    closed, offset, side = (columns[name][order] for name in ("closed", "offset", "side"))
    tied = closed[1:] == closed[:-1]
    if not (tied & ((offset[1:] <= offset[:-1]) | (side[1:] != side[:-1]))).any():
        return order
    return np.lexsort([columns[name] for name in ORDERING])


CELLS = (
    *("stream", "side", "role", "state", "protocol", "marks", "operation", "code", "version", "correlation", "scope"),
    *("client", "extra", "offset", "length", "first", "last", "time", *EXTRA),
)


TYPES = {**MessageTable.TYPES, **dict.fromkeys(EXTRA, np.int64)}


_OF_PIECE = [itemgetter(Piece._fields.index(name)) for name in PieceTable.TYPES]


def _make_cells(connection: Connection, row: PendingRow, numbers: RowNumbering) -> tuple[int, ...]:
    header = row.outcome.header
    return (
        connection.number,
        FROM_CLIENT if row.side == connection.client else FROM_SERVER,
        header.role,
        header.state,
        numbers.number_protocol(connection.dissector) if row.ours else NO_PROTOCOL,
        row.marks,
        numbers.number_name(header.operation),
        encode_null(header.code),
        encode_null(header.version),
        encode_null64(header.correlation, scoped=header.scope is not None),
        numbers.number_name(header.scope),
        numbers.number_name(header.client),
        numbers.number_extra(row.outcome.extra),
        row.frame.offset,
        row.frame.length,
        min(piece.packet for piece in row.frame.pieces),
        row.last,
        row.time,
        row.closed,
        row.serial,
        -1 if row.outcome.partner is None else row.outcome.partner,
    )
