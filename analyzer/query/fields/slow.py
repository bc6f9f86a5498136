"""Marks responses that are slow for their operation: above the 99th percentile of its latencies.

Theory. A latency that is slow for a Heartbeat is fast for a long-polling Fetch. The percentile uses the nearest rank,
so an operation with fewer than a hundred responses has no slow one. All latencies are sorted by operation and latency
once, and again when the number of rows has doubled or the input has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from analyzer.columns.arrays import Bools, Ints
from analyzer.decode.rows import RowReader
from analyzer.query.fields.dense import ChoiceColumn, ChoiceTable, Dense
from analyzer.session import Analysis
from dissectors.api import Role

PERCENT = 99

_FLAGS = ChoiceTable(bool)


class LatencyBounds(NamedTuple):
    """Holds for each kind of message (n, ascending) the latency above which it is slow (ns). rows: rows used."""

    kinds: Ints
    bounds: Ints
    rows: int
    is_final: bool


_KNOWN: WeakKeyDictionary[Analysis, LatencyBounds] = WeakKeyDictionary()


def read_slow(reader: RowReader, rows: Ints) -> Sequence[Dense]:
    """Reads the field `slow`: true for slow responses, else no value."""
    session = reader.session
    latencies, answered = _measure_latencies(session, rows)
    answered &= not reader.streaming  # later rows would count, too
    bounds = find_latency_bounds(session)
    kinds = _find_kinds(session, rows)
    place = np.minimum(np.searchsorted(bounds.kinds, kinds), max(len(bounds.kinds) - 1, 0))
    known = bounds.kinds[place] == kinds if len(bounds.kinds) else np.zeros(len(rows), bool)
    slow = answered & known
    slow[slow] = latencies[slow] > bounds.bounds[place[slow]]
    return (ChoiceColumn(_FLAGS, np.where(slow, 1, -1).astype(np.int8)),)


def find_latency_bounds(session: Analysis) -> LatencyBounds:
    """Returns the bounds of a session, computed anew if its rows have doubled or its input has ended since."""
    known, rows = _KNOWN.get(session), len(session.rows)
    if known is None or rows >= 2 * known.rows or (session.ended and not known.is_final):
        known = _KNOWN[session] = _compute_bounds(session, rows)
    return known


def _compute_bounds(session: Analysis, rows: int) -> LatencyBounds:
    is_final = session.ended
    numbers = np.arange(session.rows.first, rows)
    latencies, answered = _measure_latencies(session, numbers)
    kinds, latencies = _find_kinds(session, numbers[answered]), latencies[answered]
    order = np.lexsort((latencies, kinds))
    distinct, begins, counts = np.unique(kinds[order], return_index=True, return_counts=True)
    ranks = (counts * PERCENT + 99) // 100 - 1
    return LatencyBounds(distinct, latencies[order][begins + ranks], rows, is_final)


def _measure_latencies(session: Analysis, rows: Ints) -> tuple[Ints, Bools]:
    """Returns the latencies of rows (ns, undefined for rows without one), and which rows have one."""
    column = session.rows.column
    partners, times = column("partner")[rows], column("time")
    answered = (column("role")[rows] == Role.RESPONSE) & (partners >= session.rows.first)
    return times[rows] - times[np.where(answered, partners, rows)], answered


def _find_kinds(session: Analysis, rows: Ints) -> Ints:
    """Returns a number for the protocol and operation of each row."""
    column = session.rows.column
    return column("protocol")[rows].astype(np.int64) << 32 | (column("operation")[rows].astype(np.int64) + 1)
