"""Weighs what many messages of one length have in common, once for all of them (guessing.fast_path)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dissectors.kafka.guessing.weighing import ENTRIES, LAYOUTS, LOOKED_AT, TAGS, TEXT, Piece, Scales
from dissectors.kafka.records.layout import MAGIC_AT
from dissectors.wire.varint import Unfit

_VARINT = 5
_LOOKED_AT = {TEXT: LOOKED_AT, ENTRIES: MAGIC_AT + 1}
"""Bytes of contents that their price depends on."""


class Differ(Exception):
    """The messages have different bytes where a piece would be weighed."""


PriceMany = Callable[[str, str, int], Any]
"""Returns what a number at a place costs in each message (float64, n), by its kind and its code of struct."""


class CommonScales(Scales):
    """Weighs one of the messages, with prices of all (float64, n) where numbers differ.

    Raises Differ before it looks at other bytes that are not the same in all of them.

    before: how many bytes differ in front of each place, and of the end. price_many: see PriceMany.
    """

    __slots__ = ("before", "price_many")

    def __init__(self, data: bytes, before: Sequence[int]) -> None:
        super().__init__(data, 0)
        self.before = before
        self.price_many: PriceMany

    def one(self, piece: Piece, at: int) -> tuple[float, int]:
        """See Scales.one."""
        kind, detail = piece
        if type(detail) is str:
            stop = at + LAYOUTS[detail].size
            if stop <= len(self.data) and self.before[at] != self.before[stop]:
                self.left -= 1
                if self.left < 0:
                    raise Unfit
                return self.price_many(kind, detail, at), stop
        elif kind == TAGS:
            count, begin = self._length(("", 0), at)
            if 0 < 2 * count <= len(self.data) - begin:
                raise Differ
        elif detail[0] is not None:
            size, begin = self._length(detail[0], at)
            if begin + size <= len(self.data):
                self._check(begin, begin + min(size, _LOOKED_AT.get(kind, 0)))
        return super().one(piece, at)

    def _length(self, form: tuple[str, int], at: int) -> tuple[int, int]:
        self._check(at, at + 1)
        if form[0]:
            self._check(at, at + LAYOUTS[form[0]].size)
        elif self.data[at : at + 1] >= b"\x80":
            self._check(at, at + _VARINT)
        return super()._length(form, at)

    def _check(self, begin: int, end: int) -> None:
        last = len(self.data)
        if self.before[min(begin, last)] != self.before[min(max(end, begin), last)]:
            raise Differ
