"""Packets captured to a file and nothing else: how many a second without loss, and what one costs.

Theory. The capturing process alone runs, as `sniff` starts it, while the wire carries packets at a rate for some
seconds. Nothing was lost if what was sent, what the receiving interface counted and what lies in the file are one
number, and the kernel says that it dropped none. The highest such rate is looked for by steps, twice each, for the
sender and other work share the machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from analyzer.capture.packets import PacketReader
from analyzer.live.capture_request import CaptureRequest
from benchmarks.comparison import Bench
from benchmarks.measure import Failed
from benchmarks.sniffed import Capturing, user
from benchmarks.table import Line, load
from benchmarks.wire import Sent, Wire, why_not

RATE, GOAL = 250_000, "250,000"
STEPS = (300_000, 350_000, 400_000, 500_000)
SECONDS, SHORT = 12.0, 5.0
TRIES = 2


class Captured(NamedTuple):
    """Packets by who counted them, the rate at which they came, and what each took of the capturing process (us)."""

    sent: Sent
    came: int
    written: int
    dropped: int
    kept: int
    size: int
    each: float

    @property
    def lost(self) -> int:
        """Packets that were sent and are not in the file."""
        return self.sent.packets - self.kept


def live_file(bench: Bench) -> Iterator[Line]:
    """The rate that is asked for, then as high as it goes."""
    if (reason := why_not()) is not None:
        yield Line("packets a second to a file, none lost", reason, "not measured", goal=GOAL)
        return
    seconds = SHORT if bench.quick else SECONDS
    best = first = tried(bench, RATE, seconds)
    for rate in STEPS if not first.lost else ():
        found = tried(bench, rate, SHORT)
        if found.lost:
            break
        best = found
    where = f"small, {seconds:.0f} s, {load()}"
    lost = "none lost" if not first.lost else f"{first.lost:,} lost ({first.lost / first.sent.packets:.2%})"
    rate = f"{first.sent.rate:,.0f}/s: {lost}"
    yield Line("captured to a file alone", where, rate, "highest without loss", f"{best.sent.rate:,.0f}/s", goal=GOAL)
    yield Line("the same, CPU of the capturing process a packet", where, f"{first.each:.2f} us")


def tried(bench: Bench, rate: float, seconds: float) -> Captured:
    """The best of a few tries."""
    found = []
    for _ in range(TRIES):
        found.append(captured(bench.capture("small"), bench.scratch, rate, seconds))
        if not found[-1].lost:
            break
    return min(found, key=lambda each: each.lost)


def captured(
    capture: Path, scratch: Path, rate: float, seconds: float, asked: CaptureRequest | None = None
) -> Captured:
    """One run; the file is taken away again. Raises Failed where the figures contradict each other."""
    path = scratch / "captured.pcapng"
    with Wire() as wire:
        with Capturing(wire, asked or CaptureRequest((wire.near(),), user=user())) as capturing:
            capturing.begin(path)
            start = capturing.cpu_now()
            sent = wire.send(capture, rate, int(rate * seconds)).wait()
            stopped = capturing.stop()
            spent = capturing.cpu_now() - start
        came = wire.counted().packets
    with PacketReader([path]) as packets:
        kept = sum(map(len, packets.blocks()))
    size = path.stat().st_size
    os.unlink(path)
    if kept != stopped.packets:
        raise Failed(f"the file has {kept:,} packets, and the capturing process says {stopped.packets:,}")
    return Captured(sent, came, stopped.packets, stopped.dropped, kept, size, spent / max(kept, 1) * 1e6)
