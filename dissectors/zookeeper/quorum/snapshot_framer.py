"""Framing of a snapshot, whose length follows only from its layout.

Theory. Behind a SNAP the leader's whole tree follows without any header. It may be gigabytes, in thousands of segments,
so its reader keeps its place and never examines a byte twice. snapshot.py uses the same reader to skip items. Items are
many and short: those that lie whole in a chunk are skipped in one loop, which is made of their layout.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from struct import Struct as Format

from dissectors.api import Window
from dissectors.field import FieldSpec
from dissectors.wire.budget import Budget
from dissectors.wire.emit import Skip, compile_skip
from dissectors.wire.plan import Array, Plan, Step, Struct, inside, leaves_of
from dissectors.wire.primitive import FixedWidth
from dissectors.wire.specs import Many
from dissectors.zookeeper.schemas import LENGTH, plan_of
from dissectors.zookeeper.tables import table

CHUNK = 65_536
"""What is read at once."""

LONGEST = 1 << 30
"""Of one value, and of all items of a list whose items have a fixed width."""

END = b"\0\0\0\1/"
"""A path of the root alone: no node, but the end of all. The root itself has the empty path."""

_INT = Format(">i")
_ENDLESS = sys.maxsize
_SIZED = -1
"""Stands for the width of a value that has its length in front."""


class Ints:
    """Reads ints (four bytes) at any offset of a window, a chunk at a time; None if the bytes have not come yet."""

    def __init__(self, window: Window, chunk: int) -> None:
        """Ints of `window`, `chunk` bytes read at once."""
        self.window, self.chunk, self.data, self.begin = window, chunk, b"", 0

    def read_int(self, offset: int) -> int | None:
        """Returns the int at an offset."""
        place = offset - self.begin
        if not 0 <= place <= len(self.data) - 4:
            self.data, self.begin, place = self.window.read_bytes(offset, self.chunk), offset, 0
            if len(self.data) < 4:
                return None
        value: int = _INT.unpack_from(self.data, place)[0]
        return value

    def pass_sized(self, at: int) -> int:
        """Returns the offset behind a value with its length in front.

        Negative for the bytes that are needed to know it, 0 if the length cannot be.
        """
        size = self.read_int(at)
        if size is None:
            return -at - 4
        return at + 4 + max(size, 0) if -1 <= size <= LONGEST else 0


@dataclass(frozen=True, eq=False)
class ItemList:
    """A list of a snapshot, its items behind their count. The nodes, which nobody counts, end with the path END."""

    plan: Plan
    spec: FieldSpec
    counted: bool

    @cached_property
    def rows(self) -> tuple[tuple[int, ...], ...]:
        """The widths of the values of an item up to the count of a list in it, of those in an item of that list, ...

        Neighbours of fixed width are one.
        """
        return tuple(_find_widths(self.plan.steps))

    @cached_property
    def width(self) -> int | None:
        """The bytes of an item, if all have the same."""
        return None if len(self.rows) > 1 or _SIZED in self.rows[0] else sum(self.rows[0])

    @cached_property
    def skip(self) -> Skip:
        """Passes over items that lie whole in some bytes."""
        return compile_skip(self.plan, None if self.counted else END[LENGTH.size :])


@cache
def lists() -> tuple[ItemList, ...]:
    """Returns the lists of a snapshot, in their order."""
    counted = [step for step in plan_of("SnapshotHead").steps if isinstance(step, Array)]
    heads = (ItemList(Plan(step.spec.name, 0, inside(step.element)), step.spec, True) for step in counted)
    return (*heads, ItemList(plan_of("SnapshotNode"), Many("nodes", "array"), False))


def _find_widths(steps: Sequence[Step]) -> list[tuple[int, ...]]:
    """The rows of steps of which only the last may be a list."""
    deeper: list[tuple[int, ...]] = []
    if isinstance(steps[-1], Array):
        assert isinstance(steps[-1].element, Struct)
        deeper, steps = _find_widths(steps[-1].element.steps), steps[:-1]
    widths: list[int] = []
    for leaf in leaves_of(steps):
        if not isinstance(leaf.primitive, FixedWidth):
            widths.append(_SIZED)
        elif widths and widths[-1] != _SIZED:
            widths[-1] += leaf.primitive.size
        else:
            widths.append(leaf.primitive.size)
    return [tuple(widths), *deeper]


@dataclass(slots=True)
class SnapshotFramer:
    """Where in a snapshot we are: `at` is the next item of the list with this `number`.

    left: how many items follow in that list, in the list within its latest item, and so on; empty before its count.
    items: of the outer lists, those that were begun; item: where the latest of them begins that was not skipped.
    """

    number: int = 0
    at: int = 0
    left: tuple[int, ...] = ()
    items: int = 0
    item: int = 0

    def length(self, message: Window) -> int:
        """Returns the bytes up to the signature's end; negative while more are needed, 0 where the layout breaks."""
        stop = self.advance_to(Ints(message, CHUNK), len(lists()))
        return stop if stop <= 0 else self._signature(message)

    def advance_to(self, ints: Ints, number: int) -> int:
        """Goes on up to the list with a number, or to the end of the last one: its offset, or else as length says.

        The offset may be behind what has come.
        """
        while self.number < number:
            stop = self._next(ints, lists()[self.number])
            if stop <= 0:
                return stop
            self.at = stop
        return self.at

    def _next(self, ints: Ints, current: ItemList) -> int:
        """The offset behind the next count or items; else as length says."""
        if not self.left:
            return self._begin(ints, current)
        if not self.left[-1]:
            self.left = self.left[:-1]
            self.number += not self.left
            return self.at
        if len(self.left) > 1:
            return self._item(ints, current)
        if current.width is not None:
            return self._pass_items(self.left[0], self.at + self.left[0] * current.width)
        first = ints.read_int(self.at)
        count, stop = current.skip(ints.data, self.at - ints.begin, self.left[0], Budget())
        if count:
            return self._pass_items(count, ints.begin + stop)
        if first == 1 and not current.counted:
            path = ints.read_int(self.at + 4)
            if path is None:
                return -self.at - 8
            if path >> 24 == END[-1]:
                self.left = (0,)
                return self.at + len(END)
        return self._item(ints, current)

    def _begin(self, ints: Ints, current: ItemList) -> int:
        if not current.counted:
            self.left = (_ENDLESS,)
            return self.at
        count = ints.read_int(self.at)
        if count is None or count < -1 or count * (current.width or 0) > LONGEST:
            return -self.at - 4 if count is None else 0
        self.left = (max(count, 0),)
        return self.at + 4

    def _pass_items(self, count: int, stop: int) -> int:
        self.items, self.left = self.items + count, (self.left[0] - count,)
        return stop

    def _item(self, ints: Ints, current: ItemList) -> int:
        """An item of the innermost list, up to the count of the list in it."""
        depth, at = len(self.left), self.at
        for width in current.rows[depth - 1]:
            at = ints.pass_sized(at) if width == _SIZED else at + width
            if at <= 0:
                return at
        below: tuple[int, ...] = ()
        if depth < len(current.rows):
            count = ints.read_int(at)
            if count is None or count < -1:
                return -at - 4 if count is None else 0
            below, at = (max(count, 0),), at + 4
        if depth == 1:
            self.items, self.item = self.items + 1, self.at
        self.left = (*self.left[:-1], self.left[-1] - 1, *below)
        return at

    def _signature(self, message: Window) -> int:
        expected = table("packets")["signature"].encode()
        stop = self.at + 4 + len(expected)
        found = message.read_bytes(self.at, stop - self.at)
        if len(found) < stop - self.at:
            return -stop
        return stop if found == len(expected).to_bytes(4) + expected else 0
