"""The message index: one row for each message or raw run, in the order in which rows close.

Bytes stay in the capture: a row refers to its pieces, and a piece to a location in the Store.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntFlag
from typing import ClassVar

import numpy as np

from analyzer.columns.arrays import Array, Bools
from analyzer.columns.tables import ColumnTable
from dissectors.api import State
from dissectors.wire.fast_path import NULL

NO_PROTOCOL = -1
FROM_CLIENT, FROM_SERVER = 0, 1


class RowMark(IntFlag):
    """Marks facts about a row beyond its state."""

    GAP = 1
    SNAPPED = 2
    CLIENT_NAMED_LATER = 4
    """Its `client` is known from its response."""
    PARTNER_LEFT = 8
    """Its partner was evicted."""
    NOTHING_OWED = 16
    """A request that needs no response."""


MOST_ROWS = (1 << 31) - 2
"""Largest row number of `partner` and SerialTable: five days at five thousand messages a second."""


class MessageTable(ColumnTable):
    """Holds one row for each message.

    `first`, `last` are packet numbers, `time` is that of `last` (ns), `partner` a row; NULL and NULL64 stand for null.
    `offset` counts from the half-stream's origin; `operation`, `client` and `extra` are numbers of the engine's names;
    `scope` is the number of the name that stands before `correlation`, which is then any 64 bits, unsigned; `protocol`
    is a number of its dissectors; `pieces` and `count` name rows of PieceTable.
    """

    TYPES: ClassVar[Mapping[str, type[np.generic]]] = {
        "stream": np.int32,
        "side": np.int8,
        "role": np.int8,
        "state": np.int8,
        "protocol": np.int8,
        "marks": np.uint8,
        "operation": np.int32,
        "code": np.int32,
        "version": np.int32,
        "correlation": np.int64,
        "scope": np.int32,
        "client": np.int32,
        "extra": np.int32,
        "offset": np.int64,
        "length": np.int64,
        "first": np.int64,
        "last": np.int64,
        "time": np.int64,
        "partner": np.int32,
        "pieces": np.int64,
        "count": np.int32,
    }
    NARROW: ClassVar[frozenset[str]] = frozenset({"correlation", "offset", "length", "first", "last", "pieces"})
    USUAL: ClassVar[Mapping[str, int]] = {"scope": NULL, "extra": NULL, "count": 1, "state": State.COMPLETE}


class PieceTable(ColumnTable):
    """Holds where bytes of messages are: `length` bytes at location `at` (negative: lost), from `packet` at `time`."""

    TYPES: ClassVar[Mapping[str, type[np.generic]]] = {
        "at": np.int64,
        "length": np.int32,
        "packet": np.int64,
        "time": np.int64,
    }
    NARROW: ClassVar[frozenset[str]] = frozenset({"packet"})


class SerialTable(ColumnTable):
    """Holds the row of each message by serial, counted from 1; 0 if there is none yet, or it was evicted."""

    TYPES: ClassVar[Mapping[str, type[np.generic]]] = {"row": np.int32}


class RetransmissionTable(ColumnTable):
    """Holds retransmitted bytes: where they are in a stream's direction (a flow's side), and in which `packet`."""

    TYPES: ClassVar[Mapping[str, type[np.generic]]] = {
        "stream": np.int32,
        "side": np.int8,
        "offset": np.int64,
        "length": np.int32,
        "packet": np.int64,
        "time": np.int64,
    }


def find_unpaired(partner: Array, marks: Array) -> Bools:
    """Returns which rows never had a partner; an evicted partner was one."""
    found: Bools = (partner == NULL) & (marks & RowMark.PARTNER_LEFT == 0)
    return found


def find_missing_partners(partner: Array, marks: Array) -> Bools:
    """Returns which requests or responses should have a partner, but never had one."""
    found: Bools = find_unpaired(partner, marks) & (marks & RowMark.NOTHING_OWED == 0)
    return found
