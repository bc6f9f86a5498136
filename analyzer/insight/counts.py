"""Counts messages by kind from columns of the index, without bodies; finds requests that were never answered.

Theory. The index has the kind of a message (protocol, operation, role), its partner and its length, so counting is
grouping. A group is a protocol and an operation. Both are small numbers, so one number stands for the pair, and each
metric is one pass of a counting sort over the column (np.bincount). Memory does not grow with the number of messages.

Theory. A request may lack its response because the server did not respond, or because the capture ended first. The time
from the request to the last packet of its connection tells the two apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from analyzer.columns.arrays import Array, Bools, Ints
from analyzer.messages.index import NO_PROTOCOL, find_missing_partners
from analyzer.session import Analysis
from dissectors.api import Role
from dissectors.slotted import make_slotted
from dissectors.wire.fast_path import NULL

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
    protocol = rows["protocol"].astype(np.int64) - NO_PROTOCOL
    operation, texts = _dense(rows["operation"])
    width = len(texts)
    names = [UNKNOWN, *(dissector.name for dissector in analysis.engine.known.dissectors)]
    by_operation = _count_groups(rows, protocol * width + operation)
    operations = [
        Count(names[key // width], analysis.engine.names.text(texts[key % width]), *metrics)
        for key, metrics in by_operation.items()
    ]
    protocols = [Count(names[key], None, *metrics) for key, metrics in _count_groups(rows, protocol).items()]
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


def _dense(numbers: Ints) -> tuple[Ints, list[int]]:
    """Numbers the names that occur as 0, 1, ...; returns also these names. The table of names may be large."""
    shifted = np.where(numbers == NULL, 0, numbers + 1)
    seen = np.flatnonzero(np.bincount(shifted))
    place = np.zeros(int(seen.max(initial=0)) + 1, np.int64)
    place[seen] = np.arange(len(seen))
    return place[shifted], np.where(seen == 0, NULL, seen - 1).tolist()


def _count_groups(rows: Mapping[str, Array], keys: Ints) -> dict[int, list[int]]:
    """Returns the metrics of Count from `messages` on, for each key that occurs; keys are small and not negative."""
    role, alone = rows["role"], find_missing_partners(rows["partner"], rows["marks"])
    size = int(keys.max()) + 1 if len(keys) else 0
    request, answer = role == Role.REQUEST, role == Role.RESPONSE
    metrics = [
        np.bincount(keys, minlength=size),
        *(_count_chosen(keys, chosen, size) for chosen in (request, answer, request & alone, answer & alone)),
        *(_count_chosen(keys, role == kind, size) for kind in (Role.ONEWAY, Role.PUSH, Role.RAW)),
        # Weights are summed as floats, which are exact up to 2^53 bytes.
        np.bincount(keys, rows["length"], minlength=size).astype(np.int64),
    ]
    table = np.stack(metrics, axis=1)
    return {key: table[key].tolist() for key in np.flatnonzero(metrics[0]).tolist()}


def _count_chosen(keys: Ints, chosen: Bools, size: int) -> Ints:
    return np.bincount(keys[chosen], minlength=size)


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
