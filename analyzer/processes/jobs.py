"""Divides work between several processes: rows printed in turns, or parts whose results are merged.

Theory. Reading a capture is one timeline; what comes behind it (the text of rows, fields of bodies, findings) depends
on nothing but what has been read. So processes fork when all is read, and share it as it is (copy on write). Each gets
every Nth part, and parts are the same whatever the number of processes. There are two ways to bring results together:

- `print_in_turns`: text goes to one file. A token goes round in pipes: who has it writes its part and hands it on, so
  nothing is copied between processes. The token is the number of rows that have been printed.
- `map_in_order`: results go to the parent through a pipe for each process. The parent takes them in the order of parts,
  and merges while the others work ahead.

A process that ends early closes its pipe. The parent notices, ends the others and tells how the first of them ended.
Processes end with their parent, whatever ended that.
"""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from typing import Any, BinaryIO, NoReturn, Protocol, TypeVar

from analyzer.errors import UserError
from analyzer.processes.libc import end_with_parent

WORTH = 50 << 20
"""Bytes of captures below which one process is done before others have begun."""

EACH = 256 << 20
"""Bytes of memory that a process may need for itself."""

PARTS, LEAST = 4, 4096
"""Into how many parts the work of each process is divided, and the rows below which a part is too small for that."""

_HEAD = 8
"""Bytes of a token, and of the length in front of a result."""

_Part = TypeVar("_Part")
_Result = TypeVar("_Result")


class DeferredOutput:
    """Where a process keeps its text until its turn; see objects.Out."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def write(self, data: bytes, /) -> None:
        """Keeps one piece of text."""
        self.pieces.append(data)

    def writelines(self, lines: Iterable[bytes], /) -> None:
        """Keeps several pieces of text."""
        self.pieces.extend(lines)


class SharedOutput(Protocol):
    """A file that several processes write to, each in its turn."""

    def write(self, data: bytes, /) -> object:
        """Writes `data` to the file, in the turn of this process."""

    def writelines(self, lines: Iterable[bytes], /) -> None:
        """Writes all `lines` one after the other, in the turn of this process."""

    def flush(self) -> None:
        """Leaves nothing in a buffer."""


class PrintWindow(Protocol):
    """Prints one window to `out`, and returns how many rows there were."""

    def __call__(self, window: range, out: DeferredOutput, /) -> int:
        """Makes the text."""


def choose_jobs(size: int) -> int:
    """How many processes share work on so many bytes of captures: what the machine has, within half of its memory."""
    if size < WORTH or not hasattr(os, "fork"):
        return 1
    return max(min(_count_processors(), _read_free_memory() // 2 // EACH), 1)


def divide(count: int, jobs: int, most: int) -> list[range]:
    """Ranges of at most `most` of `count` rows; where work is shared, several for each process, to end alike."""
    size = most if jobs == 1 else min(max(-(-count // (PARTS * jobs)), LEAST), most)
    return [range(first, min(first + size, count)) for first in range(0, count, size)]


def map_in_order(work: Callable[[_Part], _Result], parts: Sequence[_Part], jobs: int) -> Iterator[_Result]:
    """Yields work(part) for each part, in order, as soon as it is there. Results of other processes are pickled.

    Raises UserError where a process was ended from outside.
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
            workers.append((stack.enter_context(os.fdopen(get, "rb")), child))
        for number in range(len(parts)):
            yield _receive_result(*workers[number % jobs])


def print_in_turns(windows: Sequence[range], jobs: int, work: PrintWindow, printed: int, out: SharedOutput) -> int:
    """Prints windows in their order to `out`; returns how many rows there were, `printed` among them.

    Raises UserError where a process was ended from outside, BrokenPipeError where nobody reads any more.
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
    """The process whose turn it was has ended without handing it on."""


class _Worker:
    """What a process knows of itself. running: it is one of those that share work, and shares its own with nobody."""

    running = False


class _Group:
    """The processes that a parent has forked."""

    def __init__(self) -> None:
        self._children: list[int] = []

    def fork(self) -> int:
        """Forks one; 0 in the new process, which ends with its parent."""
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
        """The error that is told when one is lost, from how it has ended; None: whichever has ended early."""
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
        """Ends those that are left."""
        for child in self._children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        for child in self._children:
            with suppress(ChildProcessError):
                os.waitpid(child, 0)


@contextmanager
def _run_group() -> Iterator[_Group]:
    """Processes that all end with the block."""
    group = _Group()
    try:
        yield group
    except _LostError as error:
        raise group.find_error(*error.args) from None
    finally:
        group.end()


def _run_child(act: Callable[[], None]) -> NoReturn:
    """What a process does that was forked; a defect goes on up, to be told as any other."""
    try:
        act()
    except (_LostError, BrokenPipeError, KeyboardInterrupt) as error:
        os._exit(_STATUS[type(error)])
    os._exit(0)


def _send_results(results: Iterable[Any], give: int) -> None:
    """Writes each result, behind its length."""
    with os.fdopen(give, "wb", 0) as pipe:
        for each in results:
            data = pickle.dumps(each, pickle.HIGHEST_PROTOCOL)
            for piece in (len(data).to_bytes(_HEAD), data):
                view = memoryview(piece)
                while view:
                    view = view[pipe.write(view) :]


def _receive_result(pipe: BinaryIO, child: int) -> Any:
    """Reads one result. Raises _LostError if the process has ended before."""
    head = pipe.read(_HEAD)
    data = pipe.read(int.from_bytes(head)) if len(head) == _HEAD else b""
    if not data or len(data) < int.from_bytes(head):
        raise _LostError(child)
    return pickle.loads(data)  # noqa: S301  what a child of this process has written


class _Turns:
    """One of the processes: where it gets its turn, and where it hands it on. It keeps no other end of a pipe open."""

    def __init__(self, place: int, pipes: Sequence[tuple[int, int]], out: SharedOutput) -> None:
        self._get, self._give, self._out = pipes[place][0], pipes[(place + 1) % len(pipes)][1], out
        for end in {end for pipe in pipes for end in pipe} - {self._get, self._give}:
            os.close(end)

    def close(self) -> None:
        """Those that wait for this process wait no more."""
        os.close(self._get)
        os.close(self._give)

    def wait_for_turn(self) -> int:
        """Waits for the turn; returns how many rows have been printed."""
        data = os.read(self._get, _HEAD)
        if len(data) < _HEAD:
            raise _LostError(None)
        return int.from_bytes(data)

    def print_windows(self, windows: Sequence[range], work: PrintWindow, printed: int | None = None) -> None:
        """Prints windows; whoever begins says what is `printed` and waits for nobody."""
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
