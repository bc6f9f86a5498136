"""Fields about the TLS connection that carried a message.

Theory. The facts of a handshake are the same for all rows of a connection, so they are looked up once for each
connection. When rows are printed as they close, and the connection has no keys, only its rows up to there count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from analyzer.columns.arrays import Ints, list_distinct
from analyzer.decode.rows import RowReader
from analyzer.messages.index import NO_PROTOCOL
from analyzer.query.fields.dense import ChoiceColumn, ChoiceTable, Dense
from dissectors.wire.fast_path import distinct

if TYPE_CHECKING:
    from analyzer.tls.facts import TlsFacts


def read_tls(read: Callable[[TlsFacts], str]) -> Callable[[RowReader, Ints], tuple[Dense, ...]]:
    """Returns a reader of one of the facts; rows have no value where it is empty."""

    def read_column(reader: RowReader, rows: Ints) -> tuple[Dense, ...]:
        streams, places = distinct(reader.take_cells("stream", rows).astype(np.int64))
        known = list(map(reader.session.engine.tls.find, streams.tolist()))
        texts = [None if facts is None else read(facts) or None for facts in known]
        numbers = places.astype(np.int64)
        unknown = np.array([facts is None for facts in known], bool)[places]
        raw = np.flatnonzero(unknown & (reader.take_cells("protocol", rows) == NO_PROTOCOL))
        for place, facts in _read_raw(reader, rows, streams[places], raw):
            numbers[place] = len(texts)
            texts.append(read(facts) or None)
        return (ChoiceColumn(ChoiceTable(texts.__getitem__, texts), numbers),)

    return read_column


def _read_raw(reader: RowReader, rows: Ints, streams: Ints, places: Ints) -> Iterator[tuple[int, TlsFacts]]:
    """Yields the facts of raw rows, for connections on which no keys were tried."""
    if not len(places):
        return
    from analyzer.decode.tls_facts import list_raw_rows, read_facts  # lazy: few captures have raw rows of TLS

    session = reader.session
    first_rows = list_raw_rows(session, list_distinct(streams[places]))
    known: dict[tuple[int, ...], TlsFacts | None] = {}
    for place, stream, row in zip(places.tolist(), streams[places].tolist(), rows[places].tolist(), strict=True):
        found = first_rows.get(stream, {})
        if reader.streaming:
            found = {side: first for side, first in found.items() if first <= row}
        key = stream, *found.values()
        if key not in known:
            known[key] = read_facts(session, stream, found)
        if (facts := known[key]) is not None:
            yield place, facts
