"""Finds rows that bind names to ids in the index, and skips those that only repeat a known binding.

Theory. A dissector lists its binding sources by operation and role, so the index finds them column by column. Most of
them repeat: clients request the same metadata every few minutes. Messages that are equal apart from the correlation id
are decoded once, until a name changes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from analyzer.columns.arrays import Ints, list_distinct
from analyzer.messages import defects
from analyzer.session import Analysis
from dissectors.api import Context, Dissector, Role, State, Window
from dissectors.name_binding import BindingSource, NameBinding
from dissectors.wire.fast_path import NULL

LONGEST = 32 << 20
"""Length in bytes above which a message is not read for bindings."""

MOST_REMEMBERED = 50_000
"""Number of messages whose repeats are recognised."""

_ROLES = 8
"""Factor that combines a code and a role into one integer; there are fewer roles."""

_What = tuple[str, int | None, int | None, Role]
"""Protocol, code, version and role of a message."""


class BindingSourceFinder:
    """Finds the rows that bind names. `kinds`: the kinds of ids that need names; None for all."""

    def __init__(self, session: Analysis, kinds: Collection[str] | None) -> None:
        self._session, self._kinds = session, kinds
        self._binding_sources: dict[int, list[BindingSource]] = {}
        self._clients: dict[str, tuple[int, list[int]]] = {}
        self._alike: dict[_What, int | None] = {}
        self._seen_messages: set[tuple[_What, int]] = set()

    def is_wanted(self, kind: str) -> bool:
        """Returns whether ids of a kind need names."""
        return self._kinds is None or kind in self._kinds

    def list_constants(self) -> Iterator[NameBinding]:
        """Returns the bindings that are the same in every capture, so no message has to give them."""
        for dissector in self._session.engine.known.dissectors:
            yield from (each for each in defects.list_constants(dissector) if self.is_wanted(each.kind))

    def find_rows(self, first: int, last: int) -> Ints:
        """Returns the rows from `first` to before `last` that may bind a wanted name, in order."""
        table = self._session.rows
        protocol, code, role = (table.column(name)[first:last] for name in ("protocol", "code", "role"))
        what = np.where(code == NULL, NULL, code.astype(np.int64) * _ROLES + role)
        found = np.zeros(last - first, bool)
        for number in list_distinct(protocol).tolist():
            binding_sources = self._list_sources(number)
            every = [each.code * _ROLES + each.role for each in binding_sources if not each.client]
            has_bindings = np.isin(what, every)
            for each in binding_sources:
                if each.client:
                    clients = np.isin(table.column("client")[first:last], self._find_clients(each.client))
                    has_bindings |= clients & (what == each.code * _ROLES + each.role)
            found |= has_bindings & (protocol == number)
        found &= table.column("state")[first:last] == State.COMPLETE
        found &= table.column("length")[first:last] <= LONGEST
        return np.flatnonzero(found) + first

    def _list_sources(self, number: int) -> list[BindingSource]:
        """Returns the binding sources of a protocol, by its number in the index."""
        found = self._binding_sources.get(number)
        if found is None:
            dissector = self._session.engine.dissector(number)
            every = () if dissector is None else defects.list_binding_sources(dissector)
            found = self._binding_sources[number] = [each for each in every if self.is_wanted(each.kind)]
        return found

    def _find_clients(self, prefix: str) -> list[int]:
        """Returns the numbers of all client names seen so far that begin with a prefix."""
        texts = self._session.engine.names.texts
        seen, found = self._clients.get(prefix, (0, []))
        known = len(texts)
        found += [number for number in range(seen, known) if texts[number].startswith(prefix)]
        self._clients[prefix] = known, found
        return found

    def is_repeat(self, dissector: Dissector, message: bytes | Window, context: Context) -> bool:
        """Returns whether a message gives the same bindings as an earlier one, and no name has changed since."""
        what = dissector.name, context.code, context.version, context.role
        if what not in self._alike:
            ours = [
                each
                for each in defects.list_binding_sources(dissector)
                if (each.code, each.role) == (context.code, context.role)
            ]
            begins = [each.alike for each in ours if self.is_wanted(each.kind)]
            self._alike[what] = None if None in begins else max(each or 0 for each in begins)
        begin = self._alike[what]
        if begin is None or context.extra is not None:
            return False
        message_key = what, hash(defects.read_whole(message)[begin:])
        if message_key in self._seen_messages:
            return True
        if len(self._seen_messages) < MOST_REMEMBERED:
            self._seen_messages.add(message_key)
        return False

    def forget_repeats(self) -> None:
        """Forgets all repeats. Called when a name has changed, because a repeated message may change it back."""
        self._seen_messages.clear()
