"""Requests that were never answered, and how long they had waited at the last packet of their connection.

Theory. A request may lack its response because the server did not respond, or because the capture ended first. The time
from the request to the last packet of its connection tells the two apart.
"""

from __future__ import annotations

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.messages.index import find_missing_partners
from analyzer.session import Analysis
from dissectors.api import Role
from dissectors.slotted import make_slotted


@make_slotted
class Waiting:
    """A request without response. waited: ns to its connection's last packet; before_end: to the end of the capture."""

    row: int
    waited: int
    before_end: int


def find_unanswered(session: Analysis, rows: Ints) -> Ints:
    """Returns those of `rows` that are requests without response."""
    table = session.rows
    alone = find_missing_partners(table.column("partner")[rows], table.column("marks")[rows])
    found: Ints = rows[(table.column("role")[rows] == Role.REQUEST) & alone]
    return found


def longest(session: Analysis, rows: Ints, most: int) -> list[Waiting]:
    """Returns the `most` unanswered requests that waited longest, the longest first."""
    table, ends = session.rows, session.engine.streams.column("end")
    time = table.column("time")[rows]
    waited = ends[table.column("stream")[rows]] - time
    before_end = int(ends.max(initial=0)) - time
    order = np.lexsort((rows, -waited))[:most]
    columns = (each[order].tolist() for each in (rows, waited, before_end))
    return [Waiting(*each) for each in zip(*columns, strict=True)]
