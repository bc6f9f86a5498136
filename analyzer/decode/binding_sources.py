"""Finds rows that bind names to ids in the index, and skips those that only repeat a known binding.

Theory. A dissector names its binding sources by operation and role, so they are found a column at a time. Most of them
repeat: clients ask for the same metadata every few minutes. What is the same but for its correlation id is decoded
once, until something that was told has changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.messages import defects
from analyzer.session import Analysis
from dissectors.api import Context, Dissector, Role, State, Window
from dissectors.name_binding import BindingSource, NameBinding
from dissectors.wire.fast_path import NULL

LONGEST = 32 << 20
"""Bytes of a message beyond which nothing is learned of it."""

MOST_REMEMBERED = 50_000
"""Messages that need not be decoded when they come again."""

_ROLES = 8
"""More than there are."""

_What = tuple[str, int | None, int | None, Role]
"""Protocol, code, version and role of a message."""


class BindingSourceFinder:
    """Finds what teaches. `kinds`: what is to be learned; None is everything."""

    def __init__(self, session: Analysis, kinds: Collection[str] | None) -> None:
        self._session, self._kinds = session, kinds
        self._binding_sources: dict[int, list[BindingSource]] = {}
        self._clients: dict[str, tuple[int, list[int]]] = {}
        self._alike: dict[_What, int | None] = {}
        self._seen_messages: set[tuple[_What, int]] = set()

    def is_wanted(self, kind: str) -> bool:
        """Returns whether names of a kind are to be learned."""
        return self._kinds is None or kind in self._kinds

    def list_constants(self) -> Iterator[NameBinding]:
        """Returns the bindings that hold everywhere, so that no message has to give them."""
        for dissector in self._session.engine.known.dissectors:
            yield from (each for each in defects.list_constants(dissector) if self.is_wanted(each.kind))

    def find_rows(self, first: int, last: int) -> Ints:
        """Returns the rows from `first` to before `last` that can teach something that is wanted, in order."""
        table = self._session.rows
        protocol, code, role = (table.column(name)[first:last] for name in ("protocol", "code", "role"))
        what = np.where(code == NULL, NULL, code.astype(np.int64) * _ROLES + role)
        found = np.zeros(last - first, bool)
        for number in np.unique(protocol).tolist():
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
        """What teaches in a protocol, by its number in the index."""
        found = self._binding_sources.get(number)
        if found is None:
            dissector = self._session.engine.dissector(number)
            every = () if dissector is None else defects.list_binding_sources(dissector)
            found = self._binding_sources[number] = [each for each in every if self.is_wanted(each.kind)]
        return found

    def _find_clients(self, prefix: str) -> list[int]:
        """Numbers of the clients whose name begins so, of all that are known by now."""
        texts = self._session.engine.names.texts
        seen, found = self._clients.get(prefix, (0, []))
        known = len(texts)
        found += [number for number in range(seen, known) if texts[number].startswith(prefix)]
        self._clients[prefix] = known, found
        return found

    def is_repeat(self, dissector: Dissector, message: bytes | Window, context: Context) -> bool:
        """Returns whether a message gives the same bindings as an earlier one, with no others in between."""
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
        """Forgets the repeats: a name has changed, so repeated messages count again."""
        self._seen_messages.clear()
