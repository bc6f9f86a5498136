"""Resolves ids to names: reads the bindings in a capture's messages once, and looks names up when a row is shown.

Theory. The index finds the rows that may bind names (analyzer.decode.binding_sources). Only these are decoded, each
once, in the order of rows, up to the row that a caller needs; a later call continues from there. For each id the
resolver keeps its names and the rows that gave them. A row is shown with the name that was valid there: the last one
given at or before it, else the first one after it. One thread reads bindings; another may look names up at the same
time, because entries are only added.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.decode.binding_sources import BindingSourceFinder
from analyzer.decode.content import Undecoded, read_cell, read_undecoded
from analyzer.decode.endpoints import name_endpoint
from analyzer.decode.rows import split_rows
from analyzer.messages import defects
from analyzer.messages.index import FROM_CLIENT
from analyzer.session import Analysis
from dissectors.api import Dissector, Role
from dissectors.message import Values
from dissectors.name_binding import BoundName, NameBinding

MOST = 200_000
"""Number of ids that are kept; later ones stay without name."""

MOST_NAMES = 64
"""Number of names of one id. When there are more, the oldest one except the first is dropped."""

LONGEST = 4096
"""Characters of an id or a name above which it is not remembered."""

EVERYWHERE = -1
"""Stands for the row of a binding that no message gives."""


_Id: TypeAlias = tuple[str, str] | tuple[str, str, str, int]
"""Kind and id; for an id that is valid on one connection only, also its scope and the connection's number."""


class ResolvedName(NamedTuple):
    """Holds a name, and the row that gave it, or EVERYWHERE."""

    row: int
    name: str


class NameResolver:
    """Resolves names by kind and id. `kinds`: the kinds to read; None for all."""

    def __init__(self, session: Analysis, kinds: Collection[str] | None = None) -> None:
        self.session = session
        self.read = 0
        """Number of rows, from the first on, that have been read."""
        self._sources = BindingSourceFinder(session, kinds)
        self._known: dict[_Id, list[ResolvedName]] = {
            (binding.kind, binding.key): [ResolvedName(EVERYWHERE, binding.value)]
            for binding in self._sources.list_constants()
        }

    def find(self, kind: str, key: str, row: int, scope: str | None = None) -> ResolvedName | None:
        """Returns the name of an id at a row; None if no message has given it.

        An id that is valid everywhere may also get its name from a later row. An id with a scope gets the latest name
        at or before the row.
        """
        names = self._known.get(self._make_id(kind, key, row, scope))
        if names is None:
            return None
        last = bisect_right(names, row, key=_row) - 1
        return names[max(last, 0)] if scope is None or last >= 0 else None

    def find_scoped(self, kind: str, key: str, scope: str, rows: Ints) -> tuple[list[str | None], Ints]:
        """Returns the names of an id at rows of one connection: the different ones, and for each row its number.

        None stands for no name. Each row's name is that of find().
        """
        names = self._known.get(self._make_id(kind, key, int(rows[0]), scope), [])
        places = np.searchsorted(np.array([known.row for known in names], np.int64), rows, "right")
        return [None, *(known.name for known in names)], places

    def _make_id(self, kind: str, key: str, row: int, scope: str | None) -> _Id:
        return (kind, key) if scope is None else (kind, key, scope, int(self.session.rows.cell("stream", row)))

    def find_first(self, kind: str, key: str) -> ResolvedName | None:
        """Returns the first name of an id, whichever row gave it."""
        names = self._known.get((kind, key))
        return None if names is None else names[0]

    def learn(self, rows: int, most: int | None = None) -> set[str]:
        """Reads binding sources up to row `rows`, at most `most`; returns the kinds of ids that got a name.

        Rows that were evicted before they were read bind nothing. Names from earlier reads stay.
        """
        if rows <= self.read:
            return set()
        source_rows = self._sources.find_rows(max(self.read, min(self.session.rows.first, rows)), rows)
        if most is not None and len(source_rows) > most:
            source_rows = source_rows[:most]
            rows = int(source_rows[-1]) + 1
        found = {binding.kind for row, binding in self.name_bindings(source_rows) if self._keep_binding(row, binding)}
        self.read = rows
        return found

    def _keep_binding(self, row: int, binding: NameBinding) -> bool:
        """Stores a binding; returns whether it is new."""
        if not self._sources.is_wanted(binding.kind) or len(binding.value) > LONGEST or len(binding.key) > LONGEST:
            return False
        name_key = self._make_id(binding.kind, binding.key, row, binding.scope)
        names = self._known.get(name_key)
        known = ResolvedName(row, binding.value)
        if names is None:
            if len(self._known) < MOST:
                self._known[name_key] = [known]
                return True
            return False
        if names[-1].name == known.name:
            return False
        self._sources.forget_repeats()
        # Another thread may look names up. So a list only grows, and is replaced when it is full.
        if len(names) < MOST_NAMES:
            names.append(known)
        else:
            self._known[name_key] = [names[0], *names[2:], known]
        return True

    def name_bindings(self, rows: Ints) -> Iterator[tuple[int, NameBinding]]:
        """Yields the bindings in these rows, each with its row; skips repeated messages."""
        session = self.session
        for part in split_rows(session, rows):
            for row, readable in zip(part.tolist(), read_undecoded(session, part), strict=True):
                dissector, message, context = readable
                if dissector is None or self._sources.is_repeat(dissector, message, context):
                    continue
                body = defects.decode_values(dissector, message, context)
                host = (
                    name_endpoint(session, session.rows.cell("stream", row), FROM_CLIENT).rpartition(":")[0].strip("[]")
                )
                client = session.engine.names.text(session.rows.cell("client", row))
                named_message = BoundName(body.values, context, partial(read_request, session, row), client, host)
                for binding in defects.list_name_bindings(dissector, named_message):
                    yield row, binding


def _row(known: ResolvedName) -> int:
    return known.row


def read_request(session: Analysis, row: int) -> Values | None:
    """Returns the values of the request that a row answers; None if the request is unknown."""
    partner = read_cell(session, "partner", row)
    if partner is None or session.rows.cell("role", row) != Role.RESPONSE:
        return None
    return read_values(session, partner)


def read_values(session: Analysis, row: int) -> Values | None:
    """Returns the values of a row; None for raw bytes."""
    readable: Undecoded = read_undecoded(session, np.array([row]))[0]
    dissector: Dissector | None = readable[0]
    return None if dissector is None else defects.decode_values(dissector, readable[1], readable[2]).values
