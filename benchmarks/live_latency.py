"""From the wire to the row: to standard output, and to a terminal.

Theory. A packet's time is the kernel's, taken when it came, and a row carries the time of the packet that completed its
message. So a row's latency is when it was read, or stood on the screen, less what it says itself; both clocks are the
machine's. At a few messages a second what counts is how long each stage waits for more; at many, how long it works.
"""

from __future__ import annotations

import csv
import os
import re
import select
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from benchmarks import panes
from benchmarks.comparison import Bench
from benchmarks.keys import played
from benchmarks.measure import Failed, ours, output
from benchmarks.screen import Screen
from benchmarks.sniffed import Sniffing, sniff
from benchmarks.table import Line, load
from benchmarks.terminal import COLUMNS, LINES, Terminal
from benchmarks.wire import Wire, why_not

RATES = (10, 1_000, 10_000)
"""Messages a second."""

PACKETS = 1.66
"""Packets that a small message comes with: acknowledgements, and what does not fit one."""

HEAD = 1000
"""Packets that come at once: the first ones open connections, and have no rows."""

SECONDS, SHORT = 20.0, 6.0
GOAL = "p95 200 ms"
SETTLING, LONGER = 1.0, 60.0
"""Seconds for what comes in between; and for which more is sent than is looked at."""

_COUNT, _ROW = re.compile(rb"[1-9][\d,]* messages"), re.compile(r"[^\d▸▾]{0,8}([\d,]+) [<>-]")
"""The title that counts something; a line of the list, from its beginning."""

_TIME = re.compile(rb'"time":"([^"]+)"')


def live_latency(bench: Bench) -> Iterator[Line]:
    """On standard output at several rates; in the TUI at the lowest."""
    if (reason := why_not()) is not None:
        yield Line("wire to row", reason, "not measured", goal=GOAL)
        return
    seconds = SHORT if bench.quick else SECONDS
    for rate in RATES:
        found = headless(bench.capture("small"), rate, seconds)
        where = f"{rate:,} messages/s, {len(found):,} rows, {load()}"
        yield Line("wire to a row of sniff --headless (wall)", where, spread(found), goal=GOAL)
    for rate in RATES[:2]:
        found = painted(bench.capture("small"), bench.scratch, rate, seconds)
        where = f"{rate:,} messages/s, {len(found):,} rows, {load()}"
        yield Line("wire to a row painted by the TUI (wall)", where, spread(found), goal=GOAL)


def spread(seconds: Sequence[float]) -> str:
    """Median, 95 %, 99 %, and the most."""
    marks = statistics.quantiles(seconds, n=100, method="inclusive")
    return " ".join(
        f"{name} {value * 1000:.0f} ms"
        for name, value in zip(
            ("p50", "p95", "p99", "max"), (marks[49], marks[94], marks[98], max(seconds)), strict=True
        )
    )


def headless(capture: Path, rate: float, seconds: float) -> list[float]:
    """Seconds from the packet to its row, for each row."""
    packets = rate * PACKETS
    reading, writing = os.pipe()
    with Wire() as wire:
        command = sniff("-i", wire.near(), "--headless", "--format", "ndjson", "-e", "number,time")
        try:
            with Sniffing(wire, command, writing) as running:
                os.close(writing)
                began = time.time() + SETTLING
                sending = wire.send(capture, packets, HEAD + int(packets * seconds), head=HEAD)
                found = _read(reading, lambda: sending.running)
                sending.wait()
                reader = threading.Thread(target=_drain, args=(reading,), daemon=True)
                reader.start()
                running.end()
                reader.join()
        finally:
            os.close(reading)
    return [when - moment for when, moment in found if moment > began]


def _read(stream: int, running: Callable[[], bool]) -> list[tuple[float, float]]:
    """When each line was read, and the time in it; until nothing more is sent and nothing has come for a second."""
    found, rest = [], b""
    while select.select([stream], [], [], SETTLING)[0] or running():
        if not select.select([stream], [], [], 0)[0]:
            continue
        data = os.read(stream, 1 << 20)
        now = time.time()
        if not data:
            break
        *lines, rest = (rest + data).split(b"\n")
        found += [(now, _moment(match[1].decode())) for line in lines if (match := _TIME.search(line))]
    return found


def _drain(stream: int) -> None:
    while os.read(stream, 1 << 20):
        pass


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def painted(capture: Path, scratch: Path, rate: float, seconds: float) -> list[float]:
    """Seconds from the packet to the first frame that shows its row, or a later one, at the end of the list."""
    kept, packets = scratch / "painted.pcapng", rate * PACKETS
    size = (COLUMNS, LINES)
    with Wire() as wire:
        command = wire.sniffing(*sniff("-i", wire.near(), "-w", str(kept)))
        with Terminal(command, scratch / "painted", size) as terminal:
            wire.ready()
            terminal.sleep(2.0)
            sending = wire.send(capture, packets, HEAD + int(packets * (seconds + LONGER)), head=HEAD)
            terminal.until(lambda shown: _COUNT.search(shown) is not None)
            terminal.sleep(SETTLING)
            screen, first = played(terminal, Screen(*size)), len(terminal.output)
            shown = _newest(screen)
            offset = time.time() - time.monotonic()
            terminal.sleep(seconds)
            sending.end()
            terminal.sleep(SETTLING)
            seen = _seen(terminal, screen, first, shown)
    rows = _moments(kept)
    os.unlink(kept)
    found = [when + offset - rows[row] for row, when in seen.items() if row in rows]
    if len(found) < seconds * min(rate, 1) / 2:
        raise Failed(f"only {len(found)} rows were seen at the end of the list:\n{screen.shown()}")
    return found


def _seen(terminal: Terminal, screen: Screen, first: int, newest: int) -> dict[int, float]:
    """Rows by number, and when each, or one behind it, first stood in the list."""
    found: dict[int, float] = {}
    for frame in terminal.frames(first):
        screen.feed(frame.data)
        now = _newest(screen)
        found |= dict.fromkeys(range(newest + 1, now + 1), frame.time)
        newest = max(newest, now)
    return found


def _newest(screen: Screen) -> int:
    """The greatest number of a message in the list."""
    found = map(_ROW.match, panes.pane(screen, 0)[1:])
    return max((panes.number(each[1]) for each in found if each is not None), default=0)


def _moments(kept: Path) -> dict[int, float]:
    """The time of each row, by number."""
    text = output(ours("list", "--format", "tsv", "-e", "number,time", str(kept))).decode()
    return {int(number): _moment(moment) for number, moment in list(csv.reader(text.splitlines(), delimiter="\t"))[1:]}
