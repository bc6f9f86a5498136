"""Rows printed by several processes: each makes the text of every Nth window of rows, and they write in turn.

Theory. Reading a capture is one timeline, and takes a small part of the time; the text of rows depends on nothing but
what has been read. So the processes fork when all is read, and share it as it is (copy on write). A token goes round in
pipes: who has it writes its window and hands it on, so the output is the same whatever the number of processes, and
nothing is copied between them. The token is the number of rows that have been printed.

A process that ends before its turn closes its pipe without a token. So do the others then, one behind the other, and
the parent, which prints windows as the others do, tells how the first of them ended.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from typing import NoReturn, Protocol

from analyzer.errors import UserError

WINDOW = 24_576
"""Rows of which one process makes the text at a time: enough to be alike, few enough to be kept until its turn."""

WORTH = 50 << 20
"""Bytes of messages below which one process is done before others have begun."""

EACH = 256 << 20
"""Bytes of memory that a process may need for itself."""

_TOKEN = 8
"""Bytes of the token."""


class DeferredOutput:
    """Where a process keeps its text until its turn; see objects.Out."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def write(self, data: bytes, /) -> None:
        """One piece."""
        self.pieces.append(data)

    def writelines(self, lines: Iterable[bytes], /) -> None:
        """Several."""
        self.pieces.extend(lines)


class PrintWindow(Protocol):
    """Prints one window to `out`, and returns how many rows there were."""

    def __call__(self, window: range, out: DeferredOutput, /) -> int:
        """Makes the text."""


def choose_jobs(size: int) -> int:
    """How many processes print messages of so many bytes: what the machine has, as far as half of its memory goes."""
    if size < WORTH or not hasattr(os, "fork"):
        return 1
    return max(min(_count_processors(), _read_free_memory() // 2 // EACH), 1)


def print_in_parallel(windows: Sequence[range], jobs: int, work: PrintWindow, printed: int) -> int:
    """Prints windows in their order on standard output; returns how many rows there were, `printed` among them.

    Raises UserError where a process was ended from outside, BrokenPipeError where nobody reads any more.
    """
    windows = [*windows, *[range(0)] * (-len(windows) % jobs)]
    pipes = [os.pipe() for _ in range(jobs)]
    sys.stdout.buffer.flush()
    children: list[int] = []
    try:
        for place in range(1, jobs):
            child = os.fork()
            if not child:
                children.clear()
                _run_child(_Turns(place, pipes), windows[place::jobs], work)
            children.append(child)
        with closing(_Turns(0, pipes)) as turns:
            turns.print_windows(windows[::jobs], work, printed)
            return turns.wait_for_turn()
    except _LostError:
        raise _find_error([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]) from None
    finally:
        for child in children:
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(child, signal.SIGTERM)
                os.waitpid(child, 0)


class _LostError(Exception):
    """The process whose turn it was has ended without handing it on."""


class _Turns:
    """One of the processes: where it gets its turn, and where it hands it on. It keeps no other end of a pipe open."""

    def __init__(self, place: int, pipes: Sequence[tuple[int, int]]) -> None:
        self._get, self._give = pipes[place][0], pipes[(place + 1) % len(pipes)][1]
        for end in {end for pipe in pipes for end in pipe} - {self._get, self._give}:
            os.close(end)

    def close(self) -> None:
        """Those that wait for this process wait no more."""
        os.close(self._get)
        os.close(self._give)

    def wait_for_turn(self) -> int:
        """Waits for the turn; returns how many rows have been printed."""
        data = os.read(self._get, _TOKEN)
        if len(data) < _TOKEN:
            raise _LostError
        return int.from_bytes(data)

    def print_windows(self, windows: Sequence[range], work: PrintWindow, printed: int | None = None) -> None:
        """Prints windows; whoever begins says what is `printed` and waits for nobody."""
        for window in windows:
            out = DeferredOutput()
            count = work(window, out) if window else 0
            before = self.wait_for_turn() if printed is None else printed
            printed = None
            sys.stdout.buffer.writelines(out.pieces)
            sys.stdout.buffer.flush()
            self._hand_on(before + count)

    def _hand_on(self, printed: int) -> None:
        try:
            os.write(self._give, printed.to_bytes(_TOKEN))
        except BrokenPipeError as error:
            raise _LostError from error


def _run_child(turns: _Turns, windows: Sequence[range], work: PrintWindow) -> NoReturn:
    """What a process does that was forked; a defect goes on up, to be told as any other."""
    try:
        turns.print_windows(windows, work)
    except (_LostError, BrokenPipeError, KeyboardInterrupt) as error:
        os._exit(_STATUS[type(error)])
    os._exit(0)


def _find_error(statuses: Sequence[int]) -> BaseException:
    """The error that is told, from how the others ended."""
    first = next((status for status in statuses if status not in (0, _STATUS[_LostError])), 1)
    if first < 0:
        return UserError(
            f"Signal {-first} ended one of {len(statuses) + 1} processes, perhaps because memory ran out."
            " The rows before are right. Try --jobs 1."
        )
    known = {status: error for error, status in _STATUS.items() if error is not _LostError}
    return known[first]() if first in known else SystemExit(first)


_STATUS: Mapping[type[BaseException], int] = {_LostError: 3, BrokenPipeError: 141, KeyboardInterrupt: 130}
"""With what a process ends that can't go on."""


def _count_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _read_free_memory() -> int:
    """Bytes that can be had without swapping; as good as no limit where that is not told."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            found = next(line for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return 1 << 62
    return int(found.split()[1]) << 10
