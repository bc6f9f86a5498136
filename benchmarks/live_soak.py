"""A capture for an hour: whether its memory stands still, and nothing is lost.

    python -m benchmarks.live_soak CAPTURE MINUTES [MEMORY [RATE]]       prints what grew

Theory. The wire carries packets at a moderate rate while the anonymous memory of both processes is looked at every few
seconds. Memory is full at first: names, tables up to their limit, a spool's sources. After that warm-up a straight line
is laid through the figures by least squares; its slope, in MiB an hour, is what leaks. How sure it is says its standard
error: over a few minutes a slope of some MiB is noise. The rows are counted, and thrown away.
"""

from __future__ import annotations

import math
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.comparison import Bench
from benchmarks.measure import Failed
from benchmarks.sniffed import Look, Sniffing, sniff
from benchmarks.table import Line, load
from benchmarks.wire import Sent, Wire, why_not

RATE, GOAL = 5_000, "1 MiB/h"
EVERY = 5.0
WARM = 1 / 3
"""Share of the time that is not looked at, at first; at most LONGEST seconds."""

LONGEST = 1200.0
MEMORIES = ("1G", "256M")
MINUTE, HOUR = 60.0, 3600.0
FEWEST = 4


class Growth(NamedTuple):
    """Bytes an hour, how sure that is (one standard error), and bytes at the end; what was looked at."""

    slope: float
    error: float
    last: float
    looks: Sequence[Look]

    def __str__(self) -> str:
        return f"{self.slope / 2**20:+.2f} MiB/h (± {self.error / 2**20:.2f}) at {self.last / 2**20:.0f} MiB"


class Soaked(NamedTuple):
    """One run. rows: lines that came out; said: what it said at its end."""

    sent: Sent
    rows: int
    analyzer: Growth
    capturer: Growth
    said: str


def live_soak(bench: Bench) -> Iterator[Line]:
    """With the memory that is the default, and with little."""
    if (reason := why_not()) is not None:
        yield Line("memory of a long capture", reason, "not measured", goal=GOAL)
        return
    for memory in MEMORIES:
        found = soaked(bench.capture("small"), bench.minutes * MINUTE, memory)
        where = f"small, {found.sent.rate:,.0f}/s, {bench.minutes:g} min, --memory {memory}, {load()}"
        yield Line("anonymous memory of the analyzer", where, str(found.analyzer), goal=GOAL)
        yield Line("of the capturing process", where, str(found.capturer), goal=GOAL)
        yield Line("the same run", where, f"{found.rows:,} rows of {found.sent.packets:,} packets; {found.said}")


def soaked(capture: Path, seconds: float, memory: str, rate: float = RATE) -> Soaked:
    """One run; how far it is goes to standard error each minute."""
    with Wire() as wire, subprocess.Popen(["wc", "-l"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as counter:
        assert counter.stdin is not None
        command = sniff("-i", wire.near(), "--headless", "--format", "ndjson", "-e", "number", "--memory", memory)
        with Sniffing(wire, command, counter.stdin, every=EVERY) as running:
            sending, began = wire.send(capture, rate, int(rate * seconds)), time.monotonic()
            while sending.running:
                time.sleep(EVERY)
                _tell(running, time.monotonic() - began)
            sent, lasted = sending.wait(), time.monotonic() - began
            running.end()
            said = " ".join(running.said().split())
        counter.stdin.close()
        assert counter.stdout is not None
        rows = int(counter.stdout.read())
    warm = began + min(LONGEST, lasted * WARM)
    (capturer,) = running.others
    return Soaked(sent, rows, growth(running.looks[running.main], warm), growth(running.looks[capturer], warm), said)


def growth(looks: Sequence[Look], warm: float = 0.0) -> Growth:
    """The straight line through what was seen from a time on."""
    found = [each for each in looks if each.time >= warm]
    if len(found) < FEWEST:
        raise Failed(f"{len(found)} looks are too few for a slope: let it run longer")
    hours = [each.time / HOUR for each in found]
    sizes = [each.anonymous for each in found]
    line = statistics.linear_regression(hours, sizes)
    left = sum((size - line.slope * hour - line.intercept) ** 2 for hour, size in zip(hours, sizes, strict=True))
    spread = sum((hour - statistics.fmean(hours)) ** 2 for hour in hours)
    return Growth(line.slope, math.sqrt(left / (len(found) - 2) / spread), sizes[-1], found)


def _tell(running: Sniffing, lasted: float) -> None:
    """The last looks, once a minute."""
    if lasted % MINUTE < EVERY:
        last = [f"{looks[-1].anonymous / 2**20:.1f} MiB {looks[-1].cpu:.1f} s" for looks in running.looks.values()]
        print(f"          {lasted / MINUTE:.0f} min: {', '.join(last)}", file=sys.stderr, flush=True)


def _main(capture: str, minutes: str, memory: str = MEMORIES[0], rate: str = str(RATE)) -> None:
    found = soaked(Path(capture), float(minutes) * MINUTE, memory, float(rate))
    print(f"{found.sent.packets:,} packets sent at {found.sent.rate:,.0f}/s, {found.rows:,} rows; {found.said}")
    print(f"analyzer: {found.analyzer}\ncapturing process: {found.capturer}")


if __name__ == "__main__":
    _main(*sys.argv[1:])
