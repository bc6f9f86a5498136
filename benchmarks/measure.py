"""Running commands and telling what they cost.

Theory. CPU time is user + system as the kernel counts it for a finished process and its children; it hardly depends on
what else the machine does, and wall time would flatter a program that uses more processors. Of several commands each
runs once to warm up (page cache, compiled modules) and then all in turn, so that a machine that slows down slows them
alike; medians are compared. A command that takes LONG runs once, and the table says so. Anonymous memory (RssAnon) is
what a process holds of its own: pages of a mapped capture belong to the page cache, which the kernel takes back when it
likes.
"""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PROGRAM = (sys.executable, "-m", "analyzer.cli")

Pipeline = Sequence[Sequence[str]]
"""Commands, each reading what the one before it writes."""

Check = Callable[[Iterable[bytes]], int]
"""How many messages an output, given as lines, speaks of."""


LONG = 20.0
"""Seconds of CPU of a command from which on one run is enough."""


class Run(NamedTuple):
    """CPU seconds and wall seconds of one finished pipeline."""

    cpu: float
    wall: float

    def text(self) -> str:
        """The CPU seconds with their unit; of a long command it says that it ran once."""
        return f"{self.cpu:.2f} s{', one run' * (self.cpu >= LONG)}"


class Failed(Exception):
    """A command ended with an error."""


def ours(*arguments: str) -> Pipeline:
    """Our program, as the console script runs it."""
    return ([*PROGRAM, *arguments],)


def run(pipeline: Pipeline) -> Run:
    """Runs it to its end, its output thrown away. Raises Failed."""
    began = time.monotonic()
    processes: list[subprocess.Popen[bytes]] = []
    for number, command in enumerate(pipeline):
        processes.append(
            subprocess.Popen(
                command,
                stdin=processes[-1].stdout if processes else subprocess.DEVNULL,
                stdout=subprocess.PIPE if number + 1 < len(pipeline) else subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=ROOT,
            )
        )
    cpu = 0.0
    for process in processes:
        if process.stdout is not None:
            process.stdout.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        cpu += usage.ru_utime + usage.ru_stime
    for process, command in zip(processes, pipeline, strict=True):
        if process.returncode:
            raise Failed(f"{' '.join(command)} ended with {process.returncode}")
    return Run(cpu, time.monotonic() - began)


def output(pipeline: Pipeline) -> bytes:
    """What it writes. Raises Failed."""
    data = b""
    for command in pipeline:
        done = subprocess.run(command, input=data, capture_output=True, cwd=ROOT, check=False)
        if done.returncode:
            raise Failed(f"{' '.join(command)} ended with {done.returncode}")
        data = done.stdout
    return data


def told(pipeline: Pipeline, check: Check) -> int:
    """How many messages one command's output speaks of; it may be long, so it is read line by line. Raises Failed."""
    (command,) = pipeline
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT) as process:
        assert process.stdout is not None
        found = check(process.stdout)
    if process.returncode:
        raise Failed(f"{' '.join(command)} ended with {process.returncode}")
    return found


def alternated(
    pipelines: Sequence[Pipeline], times: int, warm: int = 1, cost: Callable[[Pipeline], Run] = run
) -> list[Run]:
    """The median of `times` runs of each, in alternation, behind `warm` runs that do not count.

    Of a pipeline that takes LONG the first run counts, and is the only one.
    """
    runs: list[list[Run]] = [[] for _ in pipelines]
    for number in range(warm + times):
        for side, pipeline in zip(runs, pipelines, strict=True):
            if side and side[0].cpu >= LONG:
                continue
            found = cost(pipeline)
            if number >= warm or found.cpu >= LONG:
                side.append(found)
    return [median(side) for side in runs]


def median(runs: Sequence[Run]) -> Run:
    """The median of each figure."""
    return Run(*(statistics.median(figures) for figures in zip(*runs, strict=True)))


def slope(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The exponent e of costs ~ sizes^e: of the straight line through their logarithms, by least squares."""
    found = statistics.linear_regression([math.log(size) for size in sizes], [math.log(cost) for cost in costs])
    return found.slope


def anonymous(pid: int) -> int | None:
    """RssAnon of a process in bytes; None where it has ended or the system does not tell."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    lines = [line for line in status.splitlines() if line.startswith("RssAnon:")]
    return int(lines[0].split()[1]) << 10 if lines else None


def watched(pipeline: Pipeline, interval: float = 0.002) -> int:
    """Runs one command and looks at its anonymous memory every `interval` seconds; the most, in bytes. Raises Failed.

    The most and not the last, for some programs give all back, piece by piece, before they end.
    """
    (command,) = pipeline
    most = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT) as process:
        while process.poll() is None:
            most = max(most, anonymous(process.pid) or 0)
            time.sleep(interval)
    if process.returncode:
        raise Failed(f"{' '.join(command)} ended with {process.returncode}")
    return most
