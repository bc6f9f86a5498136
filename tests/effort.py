"""Bounds of work that a loaded machine cannot break.

Theory. A clock says how busy the machine is, too, and one collection of garbage in a large process takes longer than
most of what is tested. So work is counted where it is Python (`steps`, `within_steps`): the same number anywhere.
Where it is not, `within` holds a bound of at least a hundred times the usual CPU, which the wrong algorithm exceeds by
far because the input is large; and a loop without end fails there, instead of hanging until somebody looks.
"""

from __future__ import annotations

import gc
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

COUNTED = ("call", "line")


@contextmanager
def within(seconds: float, what: str = "it") -> Iterator[None]:
    """Fails what takes more CPU (user and system, of this process), at latest when the C call that runs then has ended.

    It is collected no garbage meanwhile. gc.freeze would do, too, but starts the counts of collections anew: a property
    that asks thousands of times would never see one of the oldest generation.
    """

    def too_long(*_: object) -> None:
        # What tests raise is no Exception, so no road for damaged bytes takes it for a defect.
        pytest.fail(f"{what} takes more than {seconds:g} s of CPU")

    collecting = gc.isenabled()
    gc.disable()
    before = signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    began = time.process_time()
    try:
        yield
        if time.process_time() - began > seconds:  # within one call that is not Python
            too_long()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        if collecting:
            gc.enable()


@contextmanager
def within_steps(most: int, what: str = "it") -> Iterator[None]:
    """Fails what executes more lines and calls of Python, in this thread, than `most`, as soon as it does."""
    left = most

    def count(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal left
        left -= event in COUNTED
        if left < 0:
            sys.settrace(before)
            pytest.fail(f"{what} takes more than {most:,} steps")
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        yield
    finally:
        sys.settrace(before)


def steps(work: Callable[[], object]) -> int:
    """The lines and calls of Python that it executes in this thread."""
    taken = 0

    def count(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal taken
        taken += event in COUNTED
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return taken
