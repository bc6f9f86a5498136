"""Divides work between several processes: rows printed in turns, or parts whose results are merged.

Theory. A capture must be read in time order. The work after that (the text of rows, fields of bodies, findings) depends
only on what has been read. So processes fork when everything is read, and share it (copy on write). Each process gets
every Nth part; the parts do not depend on the number of processes. Results are combined in one of two ways:

- `print_in_turns`: text goes to one file. A token passes from process to process through pipes. The process that has it
writes its part and passes it on, so no text is copied between processes. The token is the number of rows printed so
far.
- `map_in_order`: results go to the parent, through one pipe for each process. The parent reads them in the order of
parts, and merges while the other processes work ahead.

If a process ends early, its pipe closes. The parent notices, ends the others and reports how the first of them ended.
Processes end with their parent, however it ends.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from typing import Any, BinaryIO, NoReturn, Protocol, TypeVar

from analyzer.errors import UserError
from analyzer.processes.libc import end_with_parent

WORTH = 50 << 20
"""If captures have fewer bytes, one process finishes before others have begun."""

EACH = 256 << 20
"""Bytes of memory that a process may need for itself."""

PARTS, LEAST = 4, 4096
"""Number of parts for each process, and the minimum number of rows in a part."""

STOP_INTERVAL = 0.1
"""Seconds between two questions whether the results are still wanted."""

_HEAD = 8
"""Bytes of a token, and of the length before a result."""

_Part = TypeVar("_Part")
_Result = TypeVar("_Result")


class DeferredOutput:
    """Buffers the text of a process until its turn; see objects.Out."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def write(self, data: bytes, /) -> None:
        """Buffers one piece of text."""
        self.pieces.append(data)

    def writelines(self, lines: Iterable[bytes], /) -> None:
        """Buffers several pieces of text."""
        self.pieces.extend(lines)


class SharedOutput(Protocol):
    """A file that several processes write to, each in its turn."""

    def write(self, data: bytes, /) -> object:
        """Writes `data` to the file, in the turn of this process."""

    def writelines(self, lines: Iterable[bytes], /) -> None:
        """Writes all `lines` one after the other, in the turn of this process."""

    def flush(self) -> None:
        """Writes all buffered bytes."""


class PrintWindow(Protocol):
    """Prints one window to `out`, and returns the number of rows."""

    def __call__(self, window: range, out: DeferredOutput, /) -> int:
        """Prints the text of the window."""


def choose_jobs(size: int) -> int:
    """Returns how many processes read `size` bytes of captures: one per processor, within half of the free memory."""
    if size < WORTH or not hasattr(os, "fork"):
        return 1
    return max(min(_count_processors(), _read_free_memory() // 2 // EACH), 1)


def divide(count: int, jobs: int, most: int) -> list[range]:
    """Divides `count` rows into ranges of at most `most`. Several jobs get several ranges each, to end together."""
    size = most if jobs == 1 else min(max(-(-count // (PARTS * jobs)), LEAST), most)
    return [range(first, min(first + size, count)) for first in range(0, count, size)]


def map_in_order(
    work: Callable[[_Part], _Result], parts: Sequence[_Part], jobs: int, stop: Callable[[], bool] | None = None
) -> Iterator[_Result]:
    """Yields work(part) for each part, in order, as soon as it is there. Results of other processes are pickled.

    stop: asked while other processes work; when it returns True, they are ended and there are no more results. Raises
    UserError if a process was killed.
    """
    jobs = min(jobs, len(parts))
    if jobs <= 1 or _Worker.running:
        yield from map(work, parts)
        return
    with _run_group() as group, ExitStack() as stack:
        workers: list[tuple[BinaryIO, int]] = []
        for place in range(jobs):
            get, give = os.pipe()
            child = group.fork()
            if not child:
                os.close(get)
                for pipe, _ in workers:
                    pipe.close()
                _run_child(partial(_send_results, map(work, parts[place::jobs]), give))
            os.close(give)
            workers.append((stack.enter_context(os.fdopen(get, "rb", 0)), child))
        for number in range(len(parts)):
            pipe, child = workers[number % jobs]
            if stop is not None and not _wait_for_data(pipe, stop):
                return
            yield _receive_result(pipe, child)


def print_in_turns(windows: Sequence[range], jobs: int, work: PrintWindow, printed: int, out: SharedOutput) -> int:
    """Prints windows in order to `out`; returns the number of rows, including `printed`.

    Raises UserError if a process was killed, BrokenPipeError if the output has no reader any more.
    """
    windows = [*windows, *[range(0)] * (-len(windows) % jobs)]
    out.flush()
    pipes = [os.pipe() for _ in range(jobs)]
    with _run_group() as group:
        for place in range(1, jobs):
            if not group.fork():
                _run_child(partial(_Turns(place, pipes, out).print_windows, windows[place::jobs], work))
        with closing(_Turns(0, pipes, out)) as turns:
            turns.print_windows(windows[::jobs], work, printed)
            return turns.wait_for_turn()


class _LostError(Exception):
    """A process has ended without passing on its turn or its result."""


class _Worker:
    """The state of a process. running: it is a forked worker, and forks no others."""

    running = False


class _Group:
    """The processes that a parent has forked."""

    def __init__(self) -> None:
        self._children: list[int] = []

    def fork(self) -> int:
        """Forks a process that ends with its parent; returns 0 in the new process."""
        parent = os.getpid()
        child = os.fork()
        if child:
            self._children.append(child)
        else:
            self._children.clear()
            _Worker.running = True
            end_with_parent(parent)
        return child

    def find_error(self, lost: int | None) -> BaseException:
        """Returns the error for a lost process, from its exit status. None: the first that has ended early."""
        ended = self._children if lost is None else [lost]
        statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in ended]
        first = next((status for status in statuses if status not in (0, _STATUS[_LostError])), 1)
        if first < 0:
            return UserError(
                f"Signal {-first} ended one of {len(self._children) + (lost is None)} processes, perhaps because memory"
                " ran out. What was printed is right. Try --jobs 1."
            )
        known = {status: error for error, status in _STATUS.items() if error is not _LostError}
        return known[first]() if first in known else SystemExit(first)

    def end(self) -> None:
        """Kills the remaining processes."""
        for child in self._children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        for child in self._children:
            with suppress(ChildProcessError):
                os.waitpid(child, 0)


@contextmanager
def _run_group() -> Iterator[_Group]:
    """Yields a group whose processes all end with the block."""
    group = _Group()
    try:
        yield group
    except _LostError as error:
        raise group.find_error(*error.args) from None
    finally:
        group.end()


def _run_child(act: Callable[[], None]) -> NoReturn:
    """Runs a forked process; a defect is raised, and reported like any other."""
    try:
        act()
    except (_LostError, BrokenPipeError, KeyboardInterrupt) as error:
        os._exit(_STATUS[type(error)])
    os._exit(0)


def _send_results(results: Iterable[Any], give: int) -> None:
    """Writes each result, after its length."""
    with os.fdopen(give, "wb", 0) as pipe:
        for each in results:
            data = pickle.dumps(each, pickle.HIGHEST_PROTOCOL)
            for piece in (len(data).to_bytes(_HEAD), data):
                view = memoryview(piece)
                while view:
                    view = view[pipe.write(view) :]


def _wait_for_data(pipe: BinaryIO, stop: Callable[[], bool]) -> bool:
    """Waits until an unbuffered pipe can be read or has ended; returns False if `stop` returns True before that."""
    while not stop():
        if select.select([pipe], [], [], STOP_INTERVAL)[0]:
            return True
    return False


def _receive_result(pipe: BinaryIO, child: int) -> Any:
    """Reads one result. Raises _LostError if the process has ended before."""
    size = int.from_bytes(_read_exactly(pipe, _HEAD, child))
    return pickle.loads(_read_exactly(pipe, size, child))  # noqa: S301  written by a child of this process


def _read_exactly(pipe: BinaryIO, size: int, child: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = pipe.read(size - len(data))
        if not piece:
            raise _LostError(child)
        data += piece
    return bytes(data)


class _Turns:
    """A process of a group, and the pipes by which it gets the turn and passes it on. Closes all other pipe ends."""

    def __init__(self, place: int, pipes: Sequence[tuple[int, int]], out: SharedOutput) -> None:
        self._get, self._give, self._out = pipes[place][0], pipes[(place + 1) % len(pipes)][1], out
        for end in {end for pipe in pipes for end in pipe} - {self._get, self._give}:
            os.close(end)

    def close(self) -> None:
        """Closes the pipes, so that no process waits for this one."""
        os.close(self._get)
        os.close(self._give)

    def wait_for_turn(self) -> int:
        """Waits for the turn; returns the number of rows printed so far."""
        data = os.read(self._get, _HEAD)
        if len(data) < _HEAD:
            raise _LostError(None)
        return int.from_bytes(data)

    def print_windows(self, windows: Sequence[range], work: PrintWindow, printed: int | None = None) -> None:
        """Prints windows. The first process passes `printed`, and does not wait for its first turn."""
        for window in windows:
            out = DeferredOutput()
            count = work(window, out) if window else 0
            before = self.wait_for_turn() if printed is None else printed
            printed = None
            self._out.writelines(out.pieces)
            self._out.flush()
            self._hand_on(before + count)

    def _hand_on(self, printed: int) -> None:
        try:
            os.write(self._give, printed.to_bytes(_HEAD))
        except BrokenPipeError as error:
            raise _LostError(None) from error


_STATUS: Mapping[type[BaseException], int] = {_LostError: 3, BrokenPipeError: 141, KeyboardInterrupt: 130}
"""Exit status of a process for each exception."""


def _count_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _read_free_memory() -> int:
    """Returns the bytes of memory available without swapping; a huge number if the system does not report it."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            found = next(line for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return 1 << 62
    return int(found.split()[1]) << 10
