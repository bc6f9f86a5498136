"""The columns of `streams`: connections, with what was written of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from analyzer.columns.arrays import Ints
from analyzer.decode.endpoints import name_endpoint, name_stream
from analyzer.messages.index import FROM_CLIENT, FROM_SERVER
from analyzer.pipeline.arrays import picked
from analyzer.pipeline.chosen import Chosen
from analyzer.pipeline.found import MOST, Columns, days
from analyzer.session import Analysis
from analyzer.tcp.streams import UNKNOWN_SIDE
from dissectors.wire.fast_path import distinct

_ENDS = ("client", "server", None)
_SIDES = (("client", FROM_CLIENT), ("server", FROM_SERVER))


def columns(session: Analysis, chosen: Chosen) -> Iterator[Columns]:
    """Of the chosen streams; they count the chosen messages, and those before."""
    if not len(chosen.streams):
        return
    counts = _counts(session, chosen)
    streams = session.engine.streams
    for first in range(0, len(chosen.streams), MOST):
        used = chosen.streams[first : first + MOST]
        found: Columns = {name: each[used] for name, each in counts.items()}
        found |= {"stream_id": ids(session, used), "protocol": protocols(session, used)}
        for name, side in _SIDES:
            found[name] = [name_endpoint(session, each, side) for each in used.tolist()]
        closer, client = (streams.column(name)[used].astype(np.int64) for name in ("closer", "client"))
        ends = np.where(closer == UNKNOWN_SIDE, 2, np.where(closer == np.maximum(client, 0), 0, 1))
        found["closed_by"] = picked(_ENDS, ends)
        begin = streams.column("begin")[used]
        found |= {"first_time_ns": begin, "last_time_ns": streams.column("end")[used]}
        found |= {"packets": streams.column("packets")[used], "date": days(begin)}
        yield found


def ids(session: Analysis, streams: Ints) -> pa.Array:
    """What streams are called, by their numbers."""
    used, places = distinct(streams)
    return pa.array([name_stream(session, each) for each in used.tolist()], pa.string()).take(pa.array(places))


def protocols(session: Analysis, streams: Ints) -> pa.Array:
    """What is spoken on them; `unknown` if it is none of ours."""
    known = [*(each.name for each in session.engine.known.dissectors), "unknown"]
    numbers = session.engine.streams.column("protocol")[streams].astype(np.int64)
    return picked(known, np.where(numbers < 0, len(known) - 1, numbers))


def _counts(session: Analysis, chosen: Chosen) -> Columns:
    """Messages and bytes of each stream of the analysis."""
    index, rows, size = session.rows, chosen.messages, len(session.engine.streams)
    stream, side = index.column("stream")[rows], index.column("side")[rows]
    found: Columns = {}
    for name, number in _SIDES:
        mine = side == number
        of_mine = stream[mine].astype(np.int64)
        # Not by weights, which would be floats.
        total = np.zeros(size, np.int64)
        np.add.at(total, of_mine, index.column("length")[rows][mine])
        found |= {f"{name}_messages": np.bincount(of_mine, minlength=size), f"{name}_bytes": total}
    before = chosen.before or {}
    return {name: each + before[name] if name in before else each for name, each in found.items()}
