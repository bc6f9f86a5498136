"""Which frame answered which key: found by playing what was written again, frame by frame (screen.py).

Theory. Where a key leads is known before. In the list that is a message, so a key is answered by the first frame with
the cursor on it, however many keys are under way. In another pane it is whatever stands there before the next key, so
the key is answered by the first frame in which the pane looks like that, cursor and all.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from benchmarks import panes
from benchmarks.measure import Failed
from benchmarks.screen import Screen
from benchmarks.terminal import Output, Pressed


class Painted(NamedTuple):
    """Seconds from a key to the pane that shows where it leads, and to the last change that it brings about."""

    pane: float
    whole: float


def listed(frames: Iterable[Output], keys: Sequence[Pressed], wanted: Sequence[int], screen: Screen) -> list[Painted]:
    """What keys took that lead to the lines `wanted`; `screen` is as it was before the first. Raises Failed.

    A frame that shows where a key leads answers those before it, too: they were dealt with together.
    """
    answered: list[float] = []
    ends = [0.0] * len(keys)
    down = 0
    before = panes.content(screen)
    for moment, data in frames:
        while down < len(keys) and keys[down].time < moment:
            down += 1
        screen.feed(data)
        if down > len(answered):
            at = panes.selected(screen)
            for number in reversed(range(len(answered), down)):
                if wanted[number] == at:
                    answered += [moment] * (number + 1 - len(answered))
                    break
        now = panes.content(screen)
        if answered and now != before:
            ends[len(answered) - 1] = moment
        before = now
    if len(answered) < len(keys):
        number = len(answered)
        raise Failed(
            f"key {number + 1} did not lead to {wanted[number]} but to {panes.selected(screen)}:\n{screen.shown()}"
        )
    return [
        Painted(moment - key.time, max(end, moment) - key.time)
        for key, moment, end in zip(keys, answered, ends, strict=True)
    ]


def changed(frames: Iterable[Output], keys: Sequence[Pressed], screen: Screen, pane: int) -> list[Painted]:
    """What keys took that change a pane, until it looks as it does before the next one. Raises Failed where none does.

    `screen` is as it was before the first.
    """
    waiting = iter(frames)
    frame = next(waiting, None)
    found = []
    for key, following in itertools.zip_longest(keys, keys[1:]):
        while frame is not None and frame.time <= key.time:
            screen.feed(frame.data)
            frame = next(waiting, None)
        states = [(key.time, panes.cells(screen, pane))]
        while frame is not None and (following is None or frame.time <= following.time):
            screen.feed(frame.data)
            states.append((frame.time, panes.cells(screen, pane)))
            frame = next(waiting, None)
        if states[-1][1] == states[0][1]:
            raise Failed(f"the key {key.data!r} changed nothing:\n{screen.shown()}")
        shown = next(moment for moment, cells in states if cells == states[-1][1])
        found.append(Painted(shown - key.time, states[-1][0] - key.time))
    return found


def spread(seconds: Iterable[float]) -> tuple[float, float, float]:
    """Median, the one of twenty that is exceeded by one, and the longest, in milliseconds."""
    ordered = sorted(seconds)
    p50, p95 = (ordered[min(int(share * len(ordered)), len(ordered) - 1)] for share in (0.5, 0.95))
    return p50 * 1000, p95 * 1000, ordered[-1] * 1000


def said(seconds: Iterable[float]) -> str:
    """The same, for people."""
    p50, p95, most = spread(seconds)
    return f"p50 {p50:.0f}, p95 {p95:.0f}, max {most:.0f} ms"
