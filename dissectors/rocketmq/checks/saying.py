"""What watches share: their sentences, which messages they want, and what they remember."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import cache
from typing import Any, TypeVar

from dissectors.api import Role
from dissectors.finding import Finding, Severity
from dissectors.lesson import Path
from dissectors.remembered import Remembered
from dissectors.rocketmq.codes import operation_name
from dissectors.rocketmq.reports.fields import codes
from dissectors.rocketmq.tables import table
from dissectors.slotted import slotted
from dissectors.wire.times import lasting

SECOND = 1_000_000_000

Wanted = frozenset[tuple[int | None, Role]]

REMARK: Path = ("remark",)
"""A field that every command has: only who looks at one is shown a message."""

_Key = TypeVar("_Key", bound=Hashable)
_Kept = TypeVar("_Kept")


class Made(Remembered[_Key, _Kept]):
    """What is kept by key, and made when it is first asked for."""

    def __init__(self, make: Callable[[], _Kept]) -> None:
        super().__init__()
        self._make = make

    def of(self, key: _Key) -> _Kept:
        """What was kept, or a new one."""
        found = self.get(key)
        if found is None:
            found = self._make()
            self.keep(key, found)
        return found


@slotted(frozen=False, eq=False)
class Counted:
    """How often something happened within a time. next: at which count it is said; it doubles when that is done."""

    first: int = 0
    count: int = 0
    next: int = 0

    def add(self, time: int, window: int, times: int) -> bool:
        """Once more; whether it is to be said now. What lies further back than the window is another story."""
        if not self.count or time - self.first > window:
            self.first, self.count, self.next = time, 0, times
        self.count += 1
        if self.count < self.next:
            return False
        self.next *= 2
        return True


def of(role: Role, names: Iterable[str]) -> Wanted:
    """Some commands."""
    return frozenset((codes()[name], role) for name in names)


def in_header(*names: str) -> frozenset[Path]:
    """Members of the header."""
    return frozenset(("header", name) for name in names)


@cache
def named(code: int | None) -> str:
    """The name of an operation."""
    return "" if code is None else operation_name(code) or ""


def said(sentence: str, **words: Any) -> Finding:
    """A finding; `took` is in ns."""
    code, severity, text = table("checks")["sentences"][sentence]
    if "took" in words:
        words["took"] = lasting(words["took"])
    return Finding(Severity[severity.upper()], code, text.format(**words))
