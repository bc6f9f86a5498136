"""CPU of a live capture beside tshark's, at a rate where neither loses anything.

Theory. The same packets pass both at the same rate, in turn, and each prints what tells a user the same. Counted is
what all processes of either take from the first packet to their end, dumpcap's and the capturing process's share too;
what they took to start is told apart. tshark's lines are one a packet, so they say whether it lost any. An idle wire is
a case of its own: half of the time a capture waits.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.comparison import Bench, installed
from benchmarks.measure import Failed
from benchmarks.sniffed import Cost, Sniffing, sniff
from benchmarks.table import Line, load
from benchmarks.wire import NEAR, Wire, why_not
from benchmarks.works import FIELDS, KEYS

RATE, GOAL = 10_000, "5"
SECONDS, SHORT, IDLE = 20.0, 5.0, 10.0
FILTER = ("-f", "tcp port 9092")
TSHARK = ("tshark", "-i", NEAR, "-n", *FILTER)

PAIRS = {
    "12 keys": (("--format", "tsv", "-e", KEYS), FIELDS, "`-T fields`, 11 of Kafka's"),
    "table": ((), (), "its default lines"),
    "ndjson": (("--format", "ndjson"), ("-T", "ek", "-J", "kafka"), "`-T ek -J kafka`"),
}
"""Options of ours, options of tshark's, what those are called."""


class Spent(NamedTuple):
    """CPU seconds of a run from the first packet on, and before; packets sent; lines written."""

    cost: Cost
    starting: float
    packets: int
    lines: int

    @property
    def each(self) -> float:
        """us a packet."""
        return self.cost.cpu / max(self.packets, 1) * 1e6


def live_cpu(bench: Bench) -> Iterator[Line]:
    """Beside tshark, where it is installed; then with nothing to do."""
    if (reason := why_not()) is not None:
        yield Line("CPU of a live capture", reason, "not measured", goal=GOAL)
        return
    seconds, times = (SHORT, 1) if bench.quick else (SECONDS, bench.few_times)
    for name, (mine, theirs, said) in PAIRS.items():
        command = sniff("-i", NEAR, "--headless", *FILTER, *mine)
        found = spent(bench, command, seconds, times)
        where = f"small, {RATE:,}/s, {seconds:.0f} s, {load()}"
        ours = f"{found.each:.2f} us ({found.cost.main:.2f} + {found.cost.others:.2f} s, start {found.starting:.2f} s)"
        work = f"sniff --headless, {name}, CPU a packet"
        if not installed("tshark"):
            yield Line(work, where, ours, goal=GOAL)
            continue
        beside = spent(bench, [*TSHARK, *theirs], seconds, times)
        if name != "ndjson" and beside.lines < beside.packets:  # two lines a packet there
            raise Failed(f"tshark lost {beside.packets - beside.lines:,} of {beside.packets:,} packets")
        their = f"{beside.each:.2f} us (dumpcap {beside.cost.others:.2f} s, start {beside.starting:.2f} s)"
        yield Line(work, where, ours, f"tshark, {said}", their, beside.each / found.each, GOAL)
    yield from _idle()


def _idle() -> Iterator[Line]:
    ours = idle(sniff("-i", NEAR, "--headless", "--format", "ndjson"))
    beside = idle(list(TSHARK)) if installed("tshark") else None
    yield Line(
        "CPU with nothing to do",
        load(),
        f"{ours:.2%}",
        "tshark" if beside is not None else "",
        f"{beside:.2%}" if beside is not None else "",
    )


def spent(bench: Bench, command: Sequence[str], seconds: float, times: int) -> Spent:
    """The median of some runs, by CPU a packet."""
    found = [once(bench.capture("small"), bench.scratch / "lines", command, RATE, seconds) for _ in range(times)]
    return sorted(found, key=lambda each: each.each)[len(found) // 2]


def once(capture: Path, out: Path, command: Sequence[str], rate: float, seconds: float) -> Spent:
    """One run; its output is taken away again."""
    with Wire() as wire, open(out, "wb") as output, Sniffing(wire, command, output) as running:
        before = running.costs()
        sent = wire.send(capture, rate, int(rate * seconds)).wait()
        time.sleep(0.5)  # what tshark has not taken by the time it is interrupted it leaves
        cost = running.end().beyond(before)
    lines = out.read_bytes().count(b"\n")
    os.unlink(out)
    return Spent(cost, before.cpu, sent.packets, lines)


def idle(command: Sequence[str]) -> float:
    """The share of a processor that a program takes on a silent wire."""
    with Wire() as wire, open(os.devnull, "wb") as output, Sniffing(wire, command, output) as running:
        time.sleep(1.0)
        before = running.costs().cpu
        time.sleep(IDLE)
        share = (running.costs().cpu - before) / IDLE
        running.end()
    return share
