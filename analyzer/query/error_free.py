"""Which of many alike messages surely report no error, by a walk along their layout (analyzer.query.projection).

Theory. Hardly a message reports an error, but to know it, each would have to be decoded. Its protocol says in which
fields errors are reported; where all of these are 0 there is none. A message with another code in one of them, or with
anything unusual on the way, is for the dissector's own decoder to judge: tests/analyzer/query/test_response_errors.py
holds the two equal.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analyzer.columns.arrays import Bools, Ints
from analyzer.query.projection import Bytestore, leaves_of, walked
from dissectors.wire.bulk import Reporting
from dissectors.wire.plan import Leaf, Step


class _Codes:
    """An Eye for fields of one enum; messages that have another value than 0 in one of them drop out."""

    def __init__(self, source: Bytestore, enum: str) -> None:
        self._source, self._enum = source, enum

    def wants(self, leaf: Leaf) -> bool:
        """See Eye."""
        return leaf.enum == self._enum

    def see(self, leaf: Leaf, rows: Ints, at: Ints, size: Ints | None) -> Ints:
        """See Eye; a code that is not of fixed width is not looked at, and its message is not quiet."""
        return rows if size is not None else rows[self._source.gather(at, leaf.primitive.size).any(axis=1)]


def may_report(steps: Sequence[Step], enum: str) -> bool:
    """Whether a layout has a field of this enum."""
    return any(leaf.enum == enum for leaf in leaves_of(steps))


def quiet(reporting: Reporting, source: Bytestore, at: Ints, length: Ints) -> Bools:
    """Which of n messages, at these places and of these lengths in `source`, surely report no error."""
    good = np.ones(len(at), bool)
    place, begin = reporting.begin
    if begin:
        there = source.gather(at + place, len(begin)) == np.frombuffer(begin, np.uint8)
        good = there.all(axis=1) & (place + len(begin) <= length)
    return good & walked(reporting.layout, source, at, length, _Codes(source, reporting.enum))
