"""Finds the errors that messages report, for many rows, as columns: at a fraction of the cost of the field `error`.

Theory. Most messages report no error, but without this module each would have to be decoded to know it. The protocol
says in which fields errors are reported. A layout without such a field reports none, as in most requests. If all these
fields are 0, the message reports none, either. Only a message with another code, or with anything unusual before these
fields, is decoded by the dissector; tests/analyzer/query/test_response_errors.py compares both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from analyzer.columns.arrays import Bools, Ints, decode_null, iterate_groups, make_group_keys
from analyzer.decode.content import read_undecoded
from analyzer.decode.multi_segment import locate_messages
from analyzer.decode.rows import split_rows
from analyzer.messages import defects
from analyzer.messages.index import NO_PROTOCOL
from analyzer.processes.jobs import divide, map_in_order
from analyzer.query.projection import GatherSource, walk_layout
from analyzer.session import Analysis
from dissectors import registry
from dissectors.api import Context, Dissector, Role, State
from dissectors.wire.fast_path import Reporting, load_fast_path
from dissectors.wire.plan import Leaf, Step, leaves_of


class _CodeVisitor:
    """A LeafVisitor for fields of one enum; messages with a value other than 0 in one of them drop out."""

    def __init__(self, source: GatherSource, enum: str) -> None:
        self._source, self._enum = source, enum

    def is_wanted(self, leaf: Leaf) -> bool:
        """Returns whether a field is of the enum."""
        return leaf.enum == self._enum

    def visit_leaf(self, leaf: Leaf, rows: Ints, at: Ints, size: Ints | None) -> Ints:
        """Returns the messages whose code is not 0, or has no fixed width and is not read."""
        return rows if size is not None else rows[self._source.gather(at, leaf.primitive.size).any(axis=1)]


def can_report(steps: Sequence[Step], enum: str) -> bool:
    """Returns whether a layout has a field of this enum."""
    return any(leaf.enum == enum for leaf in leaves_of(steps))


def find_quiet(reporting: Reporting, source: GatherSource, at: Ints, length: Ints) -> Bools:
    """Returns which of n messages at these positions of `source` certainly report no error."""
    if reporting.quiet is not None:
        return reporting.quiet(source, at, length)
    good = np.ones(len(at), bool)
    place, begin = reporting.begin
    if begin:
        there = source.gather(at + place, len(begin)) == np.frombuffer(begin, np.uint8)
        good = there.all(axis=1) & (place + len(begin) <= length)
    return good & walk_layout(reporting.layout, source, at, length, _CodeVisitor(source, reporting.enum))


WORTH = 16
"""Number of messages of one kind below which each is decoded instead."""

_KIND = ("protocol", "role", "code", "version")

FRAGMENT = 1 << 16
"""Number of rows that are examined at once."""


@registry.cache_by_plugins
def load_nothing_new() -> Mapping[tuple[str, str], Sequence[int]]:
    """Returns the codes that only say "nothing new", by protocol and operation (Dissector.nothing_new)."""
    return {
        (each.name, operation): codes for each in registry.dissectors() for operation, codes in each.nothing_new.items()
    }


class ErrorColumn(NamedTuple):
    """Holds the rows with an error among n: `places` (their indexes, ascending), and the number of each in `kinds`."""

    places: Ints
    numbers: Ints
    kinds: list[tuple[int, str]]


Looked = Callable[[int, int], None]
"""Called from time to time with the number of examined messages, and of all."""


def find_errors(session: Analysis, rows: Ints, looked: Looked = lambda done, total: None) -> ErrorColumn:
    """Returns the first error that each of these rows reports, if any."""
    places: list[int] = []
    numbers: list[int] = []
    kinds: dict[tuple[int, str], int] = {}
    parts = divide(len(rows), session.jobs, FRAGMENT)
    looked(0, len(rows))
    found = map_in_order(lambda part: _list_errors(session, rows[part.start : part.stop]), parts, session.jobs)
    for part, errors in zip(parts, found, strict=True):
        places += [place + part.start for place, _ in errors]
        numbers += [kinds.setdefault(error, len(kinds)) for _, error in errors]
        looked(part.stop, len(rows))
    return ErrorColumn(np.array(places, np.int64), np.array(numbers, np.int64), list(kinds))


def _list_errors(session: Analysis, rows: Ints) -> list[tuple[int, tuple[int, str]]]:
    """Returns the indexes in `rows` (ascending) that report an error, with their errors."""
    left = np.flatnonzero(~_find_quiet_rows(session, rows))
    found = []
    begin = 0
    for part in split_rows(session, rows[left]):
        for place, (dissector, message, context) in zip(
            left[begin:].tolist(), read_undecoded(session, part), strict=False
        ):
            error = None if dissector is None else defects.decode_values(dissector, message, context).error
            if error is not None:
                found.append((place, error))
        begin += len(part)
    return found


def find_empty(session: Analysis, rows: Ints, reported: ErrorColumn) -> Bools:
    """Returns which errors of find_errors() only say that there is nothing new."""
    if not len(reported.places):
        return np.zeros(0, bool)
    what = (session.rows.column(name)[rows[reported.places]] for name in ("protocol", "operation"))
    (protocols, operations, kinds), keys = make_group_keys([*what, reported.numbers])
    verdicts = []
    for protocol, operation, kind in zip(protocols.tolist(), operations.tolist(), kinds.tolist(), strict=True):
        dissector, name = session.engine.dissector(protocol), session.engine.names.text(operation)
        codes = () if dissector is None or name is None else load_nothing_new().get((dissector.name, name), ())
        verdicts.append(reported.kinds[kind][0] in codes)
    return np.array(verdicts, bool)[keys]


def _find_quiet_rows(session: Analysis, rows: Ints) -> Bools:
    """Returns the rows that certainly report no error."""
    table = session.rows
    columns = [table.column(name)[rows] for name in _KIND]
    found = np.asarray(columns[0] == NO_PROTOCOL)
    if not len(rows):
        return found
    kinds, keys = make_group_keys(columns)
    complete = table.column("state")[rows] == State.COMPLETE
    length = table.column("length")[rows].astype(np.int64)
    for key, places in iterate_groups(keys):
        dissector = session.engine.dissector(int(kinds[0][key]))
        known = None if dissector is None else _find_reporting(dissector, *(int(kind[key]) for kind in kinds[1:]))
        if known is None:
            continue
        looks = known.begin[1] or known.quiet is not None
        if not looks and not can_report((*known.layout.head, *known.layout.steps), known.enum):
            found[places] = complete[places]
            continue
        whole = places[complete[places]]
        for mine, source, at in locate_messages(session, rows[whole], WORTH):
            those = whole[mine]
            found[those] = find_quiet(known, source, at, length[those])
    return found


def _find_reporting(dissector: Dissector, role: int, code: int, version: int) -> Reporting | None:
    fast_path = load_fast_path(dissector)
    return (
        None if fast_path is None else fast_path.reporting(Context(Role(role), decode_null(code), decode_null(version)))
    )
