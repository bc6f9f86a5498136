"""Reading only some fields of a message: up to the last one that is wanted, keeping nothing else.

Theory. A plan's emitted decoder can leave out unwanted fields (emit.projection). Here it also stops behind the last
step that has a wanted one, because later bytes do not change earlier values. So a body may be damaged or cut behind
that step, and its first fields are equal to those that values() folds from the tree. If the body breaks before it,
values() reads it: a projection gives all or nothing.

A tree is bounded, so values() shows only part of a huge message that does not fit its layout. A projection does not
count nodes, so it leaves messages to values() that may reach the bound, as they are or decompressed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from dissectors.api import Pick
from dissectors.message import Path
from dissectors.wire.budget import Budget
from dissectors.wire.emit import FAILURES, Decode, projection
from dissectors.wire.plan import Leaf, Plan, Step, Struct, When, follow_path, inside

LONGEST = 256 * 1024
"""Bytes of a message that cannot make more nodes than a tree may have: four for each, where two are known."""


class _Plenty(Budget):
    """What a short message takes is never too much."""

    __slots__ = ()

    def take(self, items: int) -> bool:
        return True


_PLENTY = _Plenty()


def pick(plan: Plan, paths: frozenset[Path], start: Callable[[bytes], int], longest: int | None = None) -> Pick:
    """Makes the function that reads the values at these paths of a body that begins at `start`.

    A path that leads nowhere in the plan has no values. None of them may go on within bytes. A message
    with arrays that has more than `longest` bytes (by default LONGEST) is left to values().
    """
    narrow, wanted = _narrow_plan(plan, paths)
    if not wanted:
        return lambda message: {}
    return _pick(_decoder(plan, paths), start, (longest or LONGEST) if any(map(_repeats, narrow.steps)) else None)


def _pick(decode: Decode, start: Callable[[bytes], int], longest: int | None) -> Pick:
    def read_projection(message: bytes) -> dict[str, Any] | None:
        end = len(message)
        if longest is not None and end > longest:
            return None
        try:
            values, stop = decode(message, start(message), _PLENTY)
        except FAILURES:
            return None
        return values if stop <= end else None

    return read_projection


@lru_cache(maxsize=256)
def _decoder(plan: Plan, paths: frozenset[Path]) -> Decode:
    return projection(*_narrow_plan(plan, paths))


def _narrow_plan(plan: Plan, paths: Iterable[Path]) -> tuple[Plan, frozenset[Path]]:
    """The plan up to the last step that is wanted, and the paths that lead somewhere, up to a value."""
    last, wanted = 0, set()
    for path in paths:
        for number, step in enumerate(plan.steps, 1):
            found = max((len(path) - len(rest) for _, rest in follow_path((step,), path)), default=0)
            if found:
                last = max(last, number)
                wanted.add(path[:found])
    return Plan(plan.name, plan.version, plan.steps[:last]), frozenset(wanted)


def _repeats(step: Step) -> bool:
    """Whether a step takes as much as the message says: only a fixed number of values does not."""
    if isinstance(step, When | Struct):
        return any(map(_repeats, inside(step)))
    return not isinstance(step, Leaf)
