"""Finds requests that reuse the number of a request that still waits; their responses cannot be told apart.

Theory. If responses come in any order (Dissector.lone_numbers), only the number says which request a response belongs
to. A client that uses a number twice may take a response for the wrong request. The index shows it: two requests of one
side have the same number, and the first was not answered when the second came. A request that is never answered counts
only for a while, because its client has given up. It does not count if bytes are missing in between, because they may
contain its response.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analyzer.columns.arrays import Ints, list_distinct
from analyzer.messages.index import NO_PROTOCOL
from analyzer.session import Analysis
from dissectors.api import Role
from dissectors.finding import Finding, Severity
from dissectors.wire.fast_path import NULL, NULL64

WAITS = 60 * 10**9
"""Nanoseconds that a request without response counts as waiting."""

_KEY = ("stream", "side", "scope", "correlation")


def find_reused(session: Analysis, examined: range, losses: Ints) -> list[tuple[int, int]]:
    """Finds requests that reuse the number of a waiting request, each with that request.

    losses: as events.losses(), from the first of the examined rows on.
    """
    table, first, stop = session.rows, examined.start, examined.stop
    protocols = table.column("protocol")[first:stop]
    known = [
        number for number in list_distinct(protocols).tolist() if number != NO_PROTOCOL and _is_lone(session, number)
    ]
    is_request = (table.column("role")[first:stop] == Role.REQUEST) & (
        table.column("correlation")[first:stop] != NULL64
    )
    rows = np.flatnonzero(is_request & np.isin(protocols, known)) + first
    keys = [table.column(name)[rows].astype(np.int64) for name in _KEY]
    order = np.lexsort((rows, *reversed(keys)))
    same = np.logical_and.reduce([key[order][1:] == key[order][:-1] for key in keys])
    before, after = rows[order][:-1][same], rows[order][1:][same]
    answer, time = table.column("partner")[before], table.column("time")
    lost = losses[after - first] != losses[before - first]
    forgotten = (answer == NULL) & (lost | (time[after] - time[before] > WAITS))
    waits = ((answer == NULL) | (answer > after)) & ~forgotten
    found = zip(after[waits].tolist(), before[waits].tolist(), strict=True)
    return sorted(found)


def _is_lone(session: Analysis, protocol: int) -> bool:
    dissector = session.engine.dissector(protocol)
    return dissector is not None and dissector.lone_numbers


def findings(session: Analysis, examined: range, losses: Ints) -> Iterator[tuple[int, Finding]]:
    """Yields findings about requests that reuse the number of a waiting request."""
    for row, waiting in find_reused(session, examined, losses):
        number = session.rows.cell("correlation", row)
        why = "which has no answer yet: their answers may be taken for one another"
        yield (
            row,
            Finding(Severity.WARNING, "number-reused", f"number {number} is that of row {waiting + 1} too, {why}"),
        )
