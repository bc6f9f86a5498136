"""Many records hopped over at once: the fast fast path of the plain loops in pcap.py and pcapng.py.

Theory. Records are a chain: only a header tells where the next one is. But a chain can be picked up in the middle,
wherever a record can be guessed. So a window is cut into lanes that begin at guesses, and NumPy moves the cursors of
all lanes in step. A guess is never believed: what counts is that the lane before it, followed to its end, lands exactly
on it. The first lane begins at a record that is certain, certainty goes from lane to lane, and where one misses, all
behind it is dropped and the plain loop goes on. So what comes out is what the plain loop reads, whatever the bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dissectors.slotted import slotted

Ints = NDArray[np.int64]

PROBE = 64
"""Records read plainly before: they tell how long records are."""

RECORDS = 128
"""Of a lane, about: so many steps, and one guess, which costs as much as ten records do in the plain loop."""

LONGEST = 4096
"""Records that are longer on average are too few for a guess each, and their bytes would be read for nothing else."""

SEARCHED = 8
"""Records within which one must be found."""

STEPS = 32
"""Steps between two looks at which lanes have come to their end."""

FEW = 32
"""Lanes below which the plain loop is faster."""

Guess = Callable[[int, int], int]
"""(from, to) -> position of something like a record that begins there, -1 for none."""


def scan_records(
    lengths: NDArray[np.uint32], shortest: int, added: int, position: int, usual: int, guess: Guess
) -> Ints:
    """Positions (int64, at least one) of records that follow each other from `position` on.

    lengths: for each position in the window, what a record there would say of its length; it is max(that, shortest) +
    added bytes long. usual: bytes of a record, on average. The last one given is where the plain loop is to go on.
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


@slotted(frozen=False)
class _Part:
    """What steps of some lanes found: `taken` of each, one lane after the other, behind `before` found earlier."""

    positions: Ints
    lanes: Ints
    before: Ints
    taken: Ints


def _walk(lengths: NDArray[np.uint32], shortest: int, added: int, begins: Ints) -> Ints:
    """Positions up to the first lane that misses the next one; the last is where the plain loop is to go on."""
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
    # The last record of a lane that misses is sound, where it leads to may be behind the window.
    return found[: int(count[: missed[0] + 1].sum())] if len(missed) else found


def _follow(lengths: NDArray[np.uint32], shortest: int, added: int, start: int, stop: int) -> list[int]:
    """One lane, by itself: its positions before `stop`, and the first that is not."""
    positions = [start]
    while start < stop:
        start += max(int(lengths[start]), shortest) + added
        positions.append(start)
    return positions


def _in_order(parts: list[_Part], count: Ints) -> Ints:
    """All positions, lane by lane; lane n has count[n] of them."""
    found = np.empty(int(count.sum()), np.int64)
    begin = np.cumsum(count) - count
    for part in parts:
        first = begin[part.lanes] + part.before - (np.cumsum(part.taken) - part.taken)
        found[np.repeat(first, part.taken) + np.arange(len(part.positions))] = part.positions
    return found
