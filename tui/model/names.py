"""All names that a filter can ask for, as somebody types them: level by level, or by a word that is in them.

Theory. There are some twenty thousand names, so they are offered a level at a time, like folders: `kafka.` leads to
what people ask of any message and to the operations, `kafka.Fetch.` to request and response and the fields of both. A
word that begins nothing on its level may stand anywhere inside: names that have it follow, those that are short and
usual first. To list all names takes a third of a second, so they are read once, when a filter is first written, by a
thread that nobody waits for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache

from analyzer.query.fields.catalog import every, near, shared_names
from analyzer.query.fields.keys import FIELDS, NAMES
from dissectors import registry

MOST = 300
"""Names that are offered."""

SHORTEST = 2
"""Letters of a word that is looked for inside of names."""

ROLES = ("request", "response")
_ROLE = 2
"""The place of the role in a name: behind protocol and operation. It may be left out."""


class Names:
    """names: all of them. first: the outermost level, in order. usual and foreign ones go before and behind others."""

    def __init__(
        self, names: Iterable[str], first: Sequence[str], usual: Collection[str], foreign: Collection[str]
    ) -> None:
        self._first = first
        self._sorted = sorted(names, key=lambda name: (name not in usual, name in foreign, name.count(".")))
        self._lower = [name.lower() for name in self._sorted]
        self._said = [_said(name) for name in self._lower]
        self._inside: dict[str, dict[str, None]] = {}
        for name in self._sorted:
            self._enter(name)

    def _enter(self, name: str) -> None:
        """Puts a name on its level, and what it is in on theirs."""
        around, dot, _ = name.rpartition(".")
        while dot:
            level = self._inside.setdefault(around.lower(), {})
            if name in level:
                return
            level[name] = None
            name = around
            around, dot, _ = name.rpartition(".")

    def inside(self, around: str) -> list[str]:
        """The names one level inside of another, which may be without its role; of nothing: the first ones."""
        if not around:
            return list(self._first)
        lower = around.lower()
        found = dict(self._inside.get(lower, {}))
        parts = lower.split(".")
        if len(parts) >= _ROLE:
            for role in ROLES:
                with_role = ".".join((*parts[:_ROLE], role, *parts[_ROLE:]))
                found.update(dict.fromkeys(map(_without_role, self._inside.get(with_role, ()))))
        return list(found)

    def beginning(self, word: str) -> list[str]:
        """Names of the word's level that begin with it; of the outermost one, the shorter first."""
        lower, around = word.lower(), word.rpartition(".")[0]
        found = [name for name in self.inside(around) if name.lower().startswith(lower)]
        return found if around or not word else sorted(found, key=len)

    def matching(self, word: str) -> list[str]:
        """Names for what has been typed of one, the best first; where there are none, names that are nearly that."""
        around, _, last = word.rpartition(".")
        level, lower = self.inside(around), last.lower()
        found = dict.fromkeys((*self.beginning(word), *(self.inside(word) if word else ())))
        found.update(dict.fromkeys(name for name in level if lower in name[len(around) :].lower()))
        if len(lower) >= SHORTEST and len(found) < MOST:
            found.update(dict.fromkeys(self._having(word.lower())))
        if not found and last:
            by_last = {name[len(around) + bool(around) :]: name for name in level}
            found = dict.fromkeys(by_last[each] for each in near(last, by_last))
        found.pop(word, None)
        return list(found)[:MOST]

    def _having(self, word: str) -> Iterator[str]:
        """Names that have a word: one without a dot in the last part or in the operation; one with a dot anywhere, or
        its last part somewhere inside of what is before that. Those whose last part begins with it go first.
        """
        around, dot, last = word.rpartition(".")
        if dot:
            size, inner = len(around) + 1, f"{around}."
            hits = [at for at, n in enumerate(self._lower) if word in n or (n.startswith(inner) and last in n[size:])]
        else:
            hits = [at for at, said in enumerate(self._said) if word in said]
        begins = [f".{last}" in self._lower[at] for at in hits]
        for wanted in (True, False):
            yield from (self._sorted[at] for at, is_first in zip(hits, begins, strict=True) if is_first is wanted)


@cache
def every_name() -> Names:
    """The names of this program; takes a third of a second, once."""
    catalogs = {protocol: registry.by_name(protocol).catalog for protocol in registry.names()}
    known = [(protocol, catalog) for protocol, catalog in catalogs.items() if catalog is not None]
    field_aliases = [f"{protocol}.{short.name}" for protocol, catalog in known for short in catalog.field_aliases()]
    others = [name for name in NAMES if name not in FIELDS]
    aliases = {name for _, catalog in known for name in catalog.aliases()}
    shared = shared_names()
    first = [*FIELDS, *shared, *registry.names(), *others]
    return Names((field.name for field in every()), first, {*NAMES, *shared, *field_aliases}, aliases)


def _said(lower: str) -> str:
    """What a name says of its own: its last part, and behind it the operation."""
    parts = lower.split(".")
    return f"{parts[-1]} {parts[1] if len(parts) > _ROLE else ''}"


def _without_role(name: str) -> str:
    parts = name.split(".")
    return ".".join((*parts[:_ROLE], *parts[_ROLE + 1 :]))
