"""Finds servers with so many waiting requests that they stop reading, if the protocol has such a limit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.decode.endpoints import number_servers
from analyzer.session import Analysis
from dissectors.finding import Finding, Severity
from dissectors.message import Role
from dissectors.wire.times import lasting


def find_outstanding(session: Analysis) -> Iterator[tuple[int, Finding]]:
    """Yields a finding for each server with too many unanswered requests at a time, with the first row."""
    rows = session.rows
    for protocol, dissector in enumerate(session.engine.known.dissectors):
        if dissector.outstanding_limit is None:
            continue
        requests = np.flatnonzero(
            (rows.column("protocol") == protocol)
            & (rows.column("role") == Role.REQUEST)
            & (rows.column("partner") >= rows.first)
        )
        limit, setting = dissector.outstanding_limit
        if len(requests) < limit:
            continue
        numbers, servers = number_servers(session, requests)
        for place, server in enumerate(servers):
            yield from _check_server(session, server, requests[numbers == place], limit, setting)


def _check_server(
    session: Analysis, server: str, requests: Ints, limit: int, setting: str
) -> Iterator[tuple[int, Finding]]:
    """Counts the waiting requests at each request and answer. requests: rows with answers (int64, n)."""
    times = session.rows.column("time")
    begin, end = times[requests], times[session.rows.column("partner")[requests]]
    moments = np.concatenate([begin, end])
    order = np.argsort(moments, kind="stable")
    waiting = np.cumsum(np.where(order < len(requests), 1, -1))
    above = waiting >= limit
    if not above.any():
        return
    moments = moments[order]
    total = int(np.diff(moments, append=moments[-1])[above].sum())
    text = (
        f"{int(waiting.max()):,} requests waited for {server} at the same time, at least {limit:,} of them for "
        f"{lasting(total)}: with so many waiting ({setting}), a server stops reading from its clients"
    )
    row = int(requests[order[np.argmax(above)]])
    yield row, Finding(Severity.WARNING, "outstanding-limit", text, subject=f"server {server}")
