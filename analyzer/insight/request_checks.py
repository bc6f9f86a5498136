"""Checks of requests and answers: one captured direction, numbers used twice, too many requests that wait.

Theory. If the capture point is on one of two links of a connection, or on a mirror port for one direction, the capture
has no packet of the other direction at all. This says nothing about the peer, so such requests are not reported one by
one.

Theory. If responses come in any order (Dissector.lone_numbers), only the number says which request a response belongs
to. A client that uses a number twice may take a response for the wrong request. The index shows it: two requests of one
side have the same number, and the first was not answered when the second came. A request that is never answered counts
only for a while, because its client has given up. It does not count if bytes are missing in between, because they may
contain its response.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analyzer.columns.arrays import Bools, Ints, argsort_stable, make_group_keys
from analyzer.decode.endpoints import number_servers
from analyzer.messages.index import NO_PROTOCOL
from analyzer.session import Analysis
from dissectors.api import Role
from dissectors.finding import Finding, Severity
from dissectors.wire.amounts import count_text
from dissectors.wire.fast_path import NULL, NULL64
from dissectors.wire.times import lasting

LONE = frozenset({"unanswered", "closed-unanswered", "orphan-response"})
"""Codes of findings about a message without partner."""

_BOTH = 0b11


def find_one_way_streams(session: Analysis) -> Bools:
    """Returns for each stream whether the capture has a known protocol in one direction only."""
    streams = session.engine.streams
    sides = streams.column("sides")
    found: Bools = (sides > 0) & (sides < _BOTH) & (streams.column("protocol") != NO_PROTOCOL)
    return found


def check_directions(session: Analysis) -> Iterator[Finding]:
    """Yields a finding for each direction that some streams lack."""
    streams, alone = session.engine.streams, find_one_way_streams(session)
    from_client = streams.column("sides") == 1 << streams.column("client").clip(0)
    for which, direction in ((from_client, "client to server"), (~from_client, "server to client")):
        count = int(np.count_nonzero(alone & which))
        if count:
            whose = count_text(count, ",connection")
            text = f"only one direction of {whose} was captured ({direction}): answers cannot be paired"
            yield Finding(Severity.NOTE, "one-direction", text)


WAITS = 60 * 10**9
"""Nanoseconds that a request without response counts as waiting."""

_KEY = ("stream", "side", "scope", "correlation")


def find_reused(session: Analysis, examined: range, losses: Ints) -> list[tuple[int, int]]:
    """Finds requests that reuse the number of a waiting request, each with that request.

    losses: as events.losses(), from the first of the examined rows on.
    """
    table, first, stop = session.rows, examined.start, examined.stop
    protocol, role, number = (table.column(name)[first:stop] for name in ("protocol", "role", "correlation"))
    lone = [place for place, each in enumerate(session.engine.known.dissectors) if each.lone_numbers]
    rows = np.flatnonzero((role == Role.REQUEST) & (number != NULL64) & np.isin(protocol, lone)) + first
    _, keys = make_group_keys([table.column(name)[rows] for name in _KEY])
    order = argsort_stable(keys)
    same = np.diff(keys[order]) == 0
    before, after = rows[order][:-1][same], rows[order][1:][same]
    answer, time = table.column("partner")[before], table.column("time")
    lost = losses[after - first] != losses[before - first]
    forgotten = (answer == NULL) & (lost | (time[after] - time[before] > WAITS))
    waits = ((answer == NULL) | (answer > after)) & ~forgotten
    found = zip(after[waits].tolist(), before[waits].tolist(), strict=True)
    return sorted(found)


def check_reused_numbers(session: Analysis, examined: range, losses: Ints) -> Iterator[tuple[int, Finding]]:
    """Yields findings about requests that reuse the number of a waiting request."""
    for row, waiting in find_reused(session, examined, losses):
        number = session.rows.cell("correlation", row)
        why = "which has no answer yet: their answers may be taken for one another"
        yield (
            row,
            Finding(Severity.WARNING, "number-reused", f"number {number} is that of row {waiting + 1} too, {why}"),
        )


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
