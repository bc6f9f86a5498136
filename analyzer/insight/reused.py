"""Requests under a number that another one waits with: whose answer comes next, nobody can tell.

Theory. Where answers come in any order (Dissector.lone_numbers) the number is all that says whose they are, so a client
that gives it out twice may take the answer to one question for that to another. The index knows it: of two requests of
one side with the same number the first was not answered when the second came. One that never was counts for a while
only, for its client gave up; and not where bytes are missing in between, which may be its answer.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.messages.index import NO_PROTOCOL
from analyzer.session import Analysis
from dissectors.api import Role
from dissectors.finding import Finding, Severity
from dissectors.wire.fast_path import NULL, NULL64

WAITS = 60 * 10**9
"""Nanoseconds that a request without an answer counts as waiting."""

_KEY = ("stream", "side", "scope", "correlation")


def find_reused(session: Analysis, examined: range, losses: Ints) -> list[tuple[int, int]]:
    """Finds requests that reuse the number of a waiting request, each with that request.

    losses: as events.losses, from the first of the examined rows on.
    """
    table, first, stop = session.rows, examined.start, examined.stop
    protocols = table.column("protocol")[first:stop]
    known = [number for number in np.unique(protocols).tolist() if number != NO_PROTOCOL and _is_lone(session, number)]
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
