"""What a command costs with all that it starts, also what it does not wait for.

    python -m benchmarks.tree COMMAND...      runs it; prints a Tree as JSON

Theory. The kernel adds a process's CPU time to its parent's when the parent waits for it. Spark's driver does not wait
for its Java, so the command is run below a process that is made the reaper of all orphans of its tree (prctl,
PR_SET_CHILD_SUBREAPER) and waits until nothing is left. But the daemon that forks Spark's workers ignores SIGCHLD, so
whatever of them ends before it is waited for by nobody and counted nowhere. Of such processes counts what /proc said
last: they end idle, and are looked at twenty times a second, by the clock's ticks of 10 ms. Which process did how much
when, and what memory it held, is seen in the same looks.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import BinaryIO

from benchmarks.measure import ROOT, Failed, Run, anonymous

PR_SET_CHILD_SUBREAPER = 36
TICK = os.sysconf("SC_CLK_TCK")
EVERY = 0.05
"""Seconds between two looks."""

JAVA, WORKER, DRIVER, OTHER = "java", "worker", "driver", "other"


@dataclass(slots=True)
class Process:
    """One process that was seen: the most memory that it held (bytes), and what CPU it had when (seconds, since 1970).

    forgotten: nobody waits for it, so no other process has its CPU time.
    """

    pid: int
    role: str
    forgotten: bool = False
    resident: int = 0
    anonymous: int = 0
    cpu: list[tuple[float, float]] = field(default_factory=list)

    def spent(self, begin: float = 0.0, end: float = float("inf")) -> float:
        """CPU seconds between two times."""
        before = max((cpu for when, cpu in self.cpu if when < begin), default=0.0)
        return max((cpu for when, cpu in self.cpu if when <= end), default=0.0) - before


@dataclass(slots=True)
class Tree:
    """CPU seconds of all; wall seconds until the command itself ended, and until the last process did."""

    cpu: float
    wall: float
    lasted: float
    status: int
    said: str
    processes: list[Process] = field(default_factory=list)

    def of(self, role: str) -> list[Process]:
        """The processes in a role."""
        return [each for each in self.processes if each.role == role]


def run(command: Sequence[str]) -> Run:
    """The cost of a command with all that it starts. Raises Failed."""
    found = grown(command)
    return Run(found.cpu, found.wall)


def grown(command: Sequence[str]) -> Tree:
    """The same with each process. Raises Failed."""
    if not sys.platform.startswith("linux"):
        raise Failed("the CPU time of a whole tree of processes can be told on Linux alone")
    helper = [sys.executable, "-m", "benchmarks.tree", *command]
    said = json.loads(
        subprocess.run(helper, capture_output=True, check=True, cwd=ROOT, stdin=subprocess.DEVNULL).stdout
    )
    seen = [Process(**{**each, "cpu": [tuple(pair) for pair in each["cpu"]]}) for each in said.pop("processes")]
    found = Tree(**said, processes=seen)
    if found.status:
        raise Failed(f"{' '.join(command)} ended with {found.status}: {found.said[-2000:]}")
    return found


def _reap(command: Sequence[str], errors: BinaryIO) -> Tree:
    """Runs a command below this process, which waits for all orphans."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    began, ended, cpu, code = time.monotonic(), 0.0, 0.0, 0
    main = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, cwd=ROOT).pid
    watch = _Watch(main)
    done = threading.Event()
    looking = threading.Thread(target=watch.look, args=(done,), daemon=True)
    looking.start()
    waited = set()
    while True:
        try:
            pid, status, usage = os.wait4(-1, 0)
        except ChildProcessError:
            break
        cpu += usage.ru_utime + usage.ru_stime
        waited.add(pid)
        if pid == main:
            ended, code = time.monotonic() - began, os.waitstatus_to_exitcode(status)
    done.set()
    looking.join()
    lasted = time.monotonic() - began
    cpu += sum(each.spent() for each in watch.seen.values() if each.forgotten and each.pid not in waited)
    errors.seek(0)
    return Tree(cpu, ended, lasted, code, errors.read().decode(errors="replace"), list(watch.seen.values()))


class _Watch:
    """What is seen of the processes below this one."""

    def __init__(self, main: int) -> None:
        self._main = main
        self.seen: dict[int, Process] = {}

    def look(self, done: threading.Event) -> None:
        """Until it is done."""
        while not done.wait(EVERY):
            now = time.time()
            for pid, parent, cpu in below(os.getpid()):
                each = self.seen.get(pid)
                if each is None or each.role == OTHER:
                    each = self.seen[pid] = Process(pid, self._role(pid), cpu=each.cpu if each else [])
                if not each.cpu or each.cpu[-1][1] != cpu:
                    each.cpu.append((now, cpu))
                each.forgotten = _ignores_children(parent)
                each.anonymous = max(each.anonymous, anonymous(pid) or 0)
                each.resident = max(each.resident, _resident(pid))

    def _role(self, pid: int) -> str:
        """What a process is: a worker is forked by Spark's daemon, and that by Java."""
        if pid == self._main:
            return DRIVER
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return OTHER
        if any(word.startswith(b"pyspark.") for word in words):
            return WORKER
        return JAVA if os.path.basename(words[0]) == b"java" else OTHER


def below(root: int) -> Iterator[tuple[int, int, float]]:
    """Each process below one, its parent, and the CPU seconds that it had itself."""
    stats: dict[int, tuple[int, float]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()
            except OSError:
                continue
            stats[int(name)] = int(fields[1]), (int(fields[11]) + int(fields[12])) / TICK
    for pid, (parent, cpu) in stats.items():
        above = parent
        while above in stats and above != root:
            above = stats[above][0]
        if above == root:
            yield pid, parent, cpu


def _ignores_children(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    return bool(int(status.partition("SigIgn:")[2].split()[0], 16) >> signal.SIGCHLD - 1 & 1)


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def _main(*command: str) -> None:
    with tempfile.TemporaryFile() as errors:
        print(json.dumps(asdict(_reap(command, errors))))


if __name__ == "__main__":
    _main(*sys.argv[1:])
