"""Counts messages by kind from columns of the index, without bodies; finds requests that were never answered.

Theory. The index has the kind of a message (protocol, operation, role), its partner and its length, so counting is
grouping. A group is a protocol and an operation. Both are small numbers, so one number stands for the pair, and each
metric is one pass of a counting sort over the column (np.bincount). Memory does not grow with the number of messages.

Theory. A request may lack its response because the server did not respond, or because the capture ended first. The time
from the request to the last packet of its connection tells the two apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat

import numpy as np

from analyzer.columns.arrays import Array, Bools, Ints, make_group_keys
from analyzer.insight.percentiles import sums
from analyzer.messages.index import NO_PROTOCOL, find_missing_partners
from analyzer.session import Analysis
from dissectors.api import Role
from dissectors.slotted import make_slotted

_COLUMNS = ("protocol", "operation", "role", "partner", "marks", "length")

UNKNOWN = "unknown"
"""The protocol of raw bytes, as in a row."""


@make_slotted
class Count:
    """Counts of the messages of one operation; of a whole protocol if `operation` is None.

    messages = requests + answers + oneway + push + raw. unanswered: requests without response. orphans: responses
    without request. bytes: of the messages, including length prefixes.
    """

    protocol: str
    operation: str | None
    messages: int
    requests: int
    answers: int
    unanswered: int
    orphans: int
    oneway: int
    push: int
    raw: int
    bytes: int


@make_slotted
class MessageCounts:
    """Counts of all messages of an analysis: by protocol, and by protocol and operation.

    Both lists begin with the protocol with the most messages, and within it with its most frequent operation. An
    operation is None for messages without one (raw bytes, a token, a truncated header).
    """

    protocols: Sequence[Count]
    operations: Sequence[Count]


def count_messages(analysis: Analysis, chosen: Ints | None = None) -> MessageCounts:
    """Counts the rows in memory, or some of them."""
    table = analysis.rows
    which = slice(analysis.rows.first, None) if chosen is None else chosen
    rows = {name: table.column(name)[which] for name in _COLUMNS}
    protocols, operations = (_count_by(analysis, rows, names) for names in (["protocol"], ["protocol", "operation"]))
    most = {each.protocol: each.messages for each in protocols}
    return MessageCounts(
        sorted(protocols, key=lambda each: (-each.messages, each.protocol)),
        sorted(
            operations,
            key=lambda each: (-most[each.protocol], each.protocol, -each.messages, each.operation or ""),
        ),
    )


def count_streams(analysis: Analysis, chosen: Ints | None = None) -> int:
    """Returns the number of connections, including those without a message, or the number of those of some rows."""
    if chosen is None:
        return len(analysis.engine.streams)
    return int(np.count_nonzero(np.bincount(analysis.rows.column("stream")[chosen])))


def _count_by(analysis: Analysis, rows: Mapping[str, Array], names: Sequence[str]) -> list[Count]:
    """Counts the messages of each protocol, or of each protocol and operation."""
    (protocols, *others), keys = make_group_keys([rows[name] for name in names])
    alone = find_missing_partners(rows["partner"], rows["marks"])
    columns = count_groups(keys, len(protocols), rows["role"], alone, rows["length"])
    known = [UNKNOWN, *(dissector.name for dissector in analysis.engine.known.dissectors)]
    titles = [known[number - NO_PROTOCOL] for number in protocols.tolist()]
    operations = [analysis.engine.names.text(number) for number in others[0].tolist()] if others else repeat(None)
    return [Count(*each) for each in zip(titles, operations, *columns, strict=False)]


def count_groups(keys: Ints, size: int, role: Array, alone: Bools, length: Array) -> list[list[int]]:
    """Returns the metrics of Count from `messages` on, a column for each, for the groups 0 .. size - 1.

    keys, role, alone (without a partner), length: of n messages.
    """
    kinds = keys * len(Role) + role
    every, lonely = (
        np.bincount(each, minlength=size * len(Role)).reshape(size, len(Role)) for each in (kinds, kinds[alone])
    )
    request, answer, *others = every.T.tolist()
    waiting = [lonely[:, which].tolist() for which in (Role.REQUEST, Role.RESPONSE)]
    return [every.sum(axis=1).tolist(), request, answer, *waiting, *others, sums(keys, length, size)]


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
