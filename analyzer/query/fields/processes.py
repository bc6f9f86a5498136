"""Fields for the processes at the ends of a message's connection, in a live capture on their machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.decode.rows import RowReader
from analyzer.messages.socket_owners import SocketOwner
from analyzer.query.fields.dense import ChoiceColumn, ChoiceTable, Dense
from dissectors.wire.fast_path import distinct


def read_owner(
    read: Callable[[SocketOwner], str | int], *, of_client: bool
) -> Callable[[RowReader, Ints], Sequence[Dense]]:
    """Returns a reader of one attribute of the client's or the server's process; other rows have no value."""

    def read_column(reader: RowReader, rows: Ints) -> Sequence[Dense]:
        session = reader.session
        streams, places = distinct(reader.take_cells("stream", rows).astype(np.int64))
        values: list[str | int | None] = []
        for stream in streams.tolist():
            client = max(session.engine.streams.cell("client", stream), 0)
            owner = session.engine.owners.find(stream, client if of_client else 1 - client)
            values.append(None if owner is None else read(owner))
        return (ChoiceColumn(ChoiceTable(values.__getitem__, values), places.astype(np.int64)),)

    return read_column
