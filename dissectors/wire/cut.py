"""Lists too long to be made: their first items, and how many there are.

Theory. A message may be larger than what anybody wants to hold of it. Its reader then makes values of the first items
of a list, passes over the others and counts them. Such a list looks like a shorter one; who must tell the truth about
it asks length_of().
"""

from __future__ import annotations

from collections.abc import Iterable, Sized
from typing import Any


class CutList(list[Any]):
    """The first items of a list of `length` items. hides: whether one of those that were not made may be a secret."""

    __slots__ = ("hides", "length")

    def __init__(self, items: Iterable[Any] = (), length: int = 0, *, hides: bool = False) -> None:
        super().__init__(items)
        self.length, self.hides = length, hides


def length_of(items: Sized) -> int:
    """Returns the number of items of a list, also of those that were not decoded."""
    return items.length if isinstance(items, CutList) else len(items)
