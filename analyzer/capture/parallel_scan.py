"""Finds many records at once; the loops in pcap.py and pcapng.py are the reference implementation.

Theory. Records are a chain: only a header says where the next one is. But the chain can be entered in the middle,
wherever a record can be guessed. So a window is divided into lanes that begin at guesses, and NumPy moves the cursors
of all lanes in step. A guess counts only if the lane before it lands exactly on it. The first lane begins at a certain
record, so certainty passes from lane to lane. Where a lane misses the next one, everything behind it is dropped and the
scalar loop goes on. The result is what the scalar loop would find, whatever the bytes are.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dissectors.slotted import make_slotted

Ints = NDArray[np.int64]

PROBE = 64
"""Records that are scanned one by one before, to learn how long records are."""

RECORDS = 128
"""Approximate records of a lane: the number of steps, for one guess that costs as much as ten records."""

LONGEST = 4096
"""Average bytes of a record above which guesses cost more than they save."""

SEARCHED = 8
"""Records within which a guess must find one."""

STEPS = 32
"""Steps between two checks of which lanes have ended."""

FEW = 32
"""Number of lanes below which the scalar loop is faster."""

Guess = Callable[[int, int], int]
"""Function (from, to) that returns the position of a plausible record there, or -1."""


def scan_records(
    lengths: NDArray[np.uint32], shortest: int, added: int, position: int, usual: int, guess: Guess
) -> Ints:
    """Returns the positions (int64, at least one) of records that follow each other from `position` on.

    lengths: for each position in the window, the length that a record there would claim. A record has max(that,
    shortest) + added bytes. usual: average bytes of a record. The scalar loop must go on at the last position.
    """
    lane = RECORDS * usual
    if usual > LONGEST or len(lengths) - position < FEW * lane:
        return np.array([position], np.int64)
    begins = [position]
    for target in range(position + lane & ~3, len(lengths) - lane, lane & ~3):
        found = guess(target, target + min(SEARCHED * usual, lane))
        if begins[-1] < found < len(lengths) - 1:
            begins.append(found)
    return _walk(lengths, shortest, added, np.array(begins, np.int64))


@make_slotted(frozen=False)
class _Part:
    """Holds what steps of some lanes found: `taken` positions of each lane, behind `before` found earlier."""

    positions: Ints
    lanes: Ints
    before: Ints
    taken: Ints


def _walk(lengths: NDArray[np.uint32], shortest: int, added: int, begins: Ints) -> Ints:
    """Returns the positions up to the first lane that misses the next one."""
    cursor, end = begins[:-1], begins[1:]
    lanes, beyond = np.arange(len(end)), len(lengths) - 1
    count, landed = np.zeros((2, len(end)), np.int64)
    parts: list[_Part] = []
    while len(lanes) >= FEW:
        steps = np.empty((STEPS + 1, len(lanes)), np.int64)
        steps[0] = cursor
        for here, following in pairwise(steps):
            length = lengths[here]
            np.add(here, np.maximum(length, shortest) if shortest else length, out=following)
            following += added
            np.minimum(following, beyond, out=following)
        inside = (steps[:-1] < end[lanes]).T
        taken = np.count_nonzero(inside, axis=1)
        parts.append(_Part(steps[:-1].T[inside], lanes, count[lanes], taken))
        landed[lanes] = cursor = steps[taken, np.arange(len(lanes))]
        count[lanes] += taken
        going = cursor < end[lanes]
        lanes, cursor = lanes[going], cursor[going]
    for lane, start in zip(lanes.tolist(), cursor.tolist(), strict=True):
        positions = _follow(lengths, shortest, added, start, int(end[lane]))
        landed[lane] = positions.pop()
        one = slice(lane, lane + 1)
        parts.append(
            _Part(np.array(positions, np.int64), np.array([lane]), count[one].copy(), np.array([len(positions)]))
        )
        count[one] += len(positions)
    missed = np.flatnonzero(landed != end)
    found = np.append(_in_order(parts, count), begins[-1])
    # The last record of a lane that misses is sound, but its end may lie behind the window.
    return found[: int(count[: missed[0] + 1].sum())] if len(missed) else found


def _follow(lengths: NDArray[np.uint32], shortest: int, added: int, start: int, stop: int) -> list[int]:
    """Returns the positions of one lane before `stop`, and the first one that is not."""
    positions = [start]
    while start < stop:
        start += max(int(lengths[start]), shortest) + added
        positions.append(start)
    return positions


def _in_order(parts: list[_Part], count: Ints) -> Ints:
    """Returns all positions, lane by lane; lane n has count[n] of them."""
    found = np.empty(int(count.sum()), np.int64)
    begin = np.cumsum(count) - count
    for part in parts:
        first = begin[part.lanes] + part.before - (np.cumsum(part.taken) - part.taken)
        found[np.repeat(first, part.taken) + np.arange(len(part.positions))] = part.positions
    return found
