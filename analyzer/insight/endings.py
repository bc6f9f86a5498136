"""Finds the ends of connections among rows: the side that closed each, and the row after which this is known.

Theory. An end is reported after the connection's last row, as soon as a row is later than the end. This depends only on
the capture, not on how it was read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from analyzer.session import Analysis
from analyzer.tcp.streams import UNKNOWN_SIDE
from dissectors.correlator import ConnectionEnd


class End(NamedTuple):
    """The end of a connection. at: the row before which reports get it; last: the connection's last row."""

    at: int
    last: int
    ending: ConnectionEnd


def endings(session: Analysis, rows: range) -> list[End]:
    """Returns the ends of the connections of some rows, in the order in which reports get them.

    A connection with later rows still counts as open, because those rows may end it.
    """
    table, streams = session.rows, session.engine.streams
    part = slice(rows.start, rows.stop)
    latest = np.maximum.accumulate(table.column("time")[part])
    last = np.full(len(streams), -1, np.int64)
    np.maximum.at(last, table.column("stream")[part], np.arange(rows.start, rows.stop))
    goes_on = np.zeros(len(streams), bool)
    goes_on[table.column("stream")[rows.stop :]] = True
    closer, client, end = (streams.column(name) for name in ("closer", "client", "end"))
    ended = np.flatnonzero((closer != UNKNOWN_SIDE) & (last >= 0) & ~goes_on)
    at = np.maximum(last[ended] + 1, rows.start + np.searchsorted(latest, end[ended], "right"))
    order = np.lexsort((ended, end[ended], at))
    columns = (each[order].tolist() for each in (at, last[ended], ended, end[ended], closer[ended], client[ended]))
    return [
        End(place, row, ConnectionEnd(stream, time, closed == max(opened, 0)))
        for place, row, stream, time, closed, opened in zip(*columns, strict=True)
    ]


def still_open(session: Analysis) -> list[tuple[int, int]]:
    """Returns the connections that have not ended, each with its last row, in the order of these rows."""
    streams = session.engine.streams
    last = np.full(len(streams), -1, np.int64)
    rows = np.arange(session.rows.first, len(session.rows))
    np.maximum.at(last, session.rows.column("stream")[session.rows.first :], rows)
    found = np.flatnonzero((streams.column("closer") == UNKNOWN_SIDE) & (last >= 0))
    return [(stream, int(last[stream])) for stream in found[np.argsort(last[found])].tolist()]
