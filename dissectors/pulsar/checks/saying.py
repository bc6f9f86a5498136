"""What watches share: their sentences, which messages they want, and how producers and consumers are called."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Generic, TypeVar

from dissectors.api import Role
from dissectors.finding import Finding, Severity
from dissectors.pulsar.commands import commands
from dissectors.pulsar.reports.fields import codes, text
from dissectors.pulsar.tables import table
from dissectors.wire.times import lasting

SECOND = 1_000_000_000

MOST = 65_536
"""Connections, producers and consumers that a watch remembers, each for itself."""

Wanted = frozenset[tuple[int | None, Role]]


Key = tuple[int, int]
"""Connection, and number of a producer or consumer there."""

_Kept = TypeVar("_Kept")


class Numbered(Generic[_Kept]):
    """What is kept of producers or consumers; beyond MOST the oldest is forgotten."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Key, _Kept] = OrderedDict()
        self._on: dict[int, set[Key]] = {}

    def put(self, key: Key, kept: _Kept) -> tuple[Key, _Kept] | None:
        """One more; what is forgotten for it."""
        self._kept[key] = kept
        self._on.setdefault(key[0], set()).add(key)
        if len(self._kept) <= MOST:
            return None
        oldest = next(iter(self._kept))
        forgotten = oldest, self._kept[oldest]
        self.drop(oldest)
        return forgotten

    def get(self, key: Key) -> _Kept | None:
        """What was kept."""
        return self._kept.get(key)

    def drop(self, key: Key) -> None:
        """Forgets one, if it is there."""
        if self._kept.pop(key, None) is None:
            return
        others = self._on[key[0]]
        others.discard(key)
        if not others:
            del self._on[key[0]]

    def on(self, stream: int) -> list[_Kept]:
        """Those of a connection, by their numbers."""
        return [self._kept[key] for key in sorted(self._on.get(stream, ()))]

    def values(self) -> Iterable[_Kept]:
        """All of them, the oldest first."""
        return self._kept.values()


def of(role: Role, names: Iterable[str]) -> Wanted:
    """Some commands."""
    return frozenset((codes()[name], role) for name in names)


@cache
def named(code: int | None) -> str:
    """The name of a command's type."""
    command = None if code is None else commands().get(code)
    return "" if command is None else command.name


def said(sentence: str, **words: Any) -> Finding:
    """A finding; `took` is in ns."""
    code, severity, said = table("checks")["sentences"][sentence]
    if "took" in words:
        words["took"] = lasting(words["took"])
    return Finding(Severity[severity.upper()], code, said.format(**words))


def producer_of(number: int, topic: str | None) -> str:
    """How people call a producer."""
    return f"producer {number}" + (f" of {topic}" if topic else "")


def consumer_of(number: int, values: Mapping[str, Any]) -> str:
    """How people call a consumer, by its SUBSCRIBE."""
    parts = [f"consumer {number}"]
    parts += [f"{word} {name}" for word, key in _NAMES if (name := text(values, key)) is not None]
    return ", ".join(parts)


_NAMES = (("subscription", "subscription"), ("topic", "topic"))
