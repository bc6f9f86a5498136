"""Rows while packets come at a rate: whether all come out, and how far behind the wire they are.

Theory. The wire carries packets for some seconds; the program writes rows to a file, of which the last line says how
far it has got: the time in it is that of a packet. Looked at a few times a second, that is how far behind it is. When
the last packet was sent, the program is interrupted; what it does then it was behind with. All rows came out if they
are as many as those of the file that it kept, and nothing was lost if that has as many packets as were sent.
"""

from __future__ import annotations

import os
import re
import statistics
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from analyzer.capture.packets import PacketReader
from benchmarks.comparison import Bench
from benchmarks.measure import told
from benchmarks.sniffed import Cost, Sniffing, sniff
from benchmarks.table import Line, load
from benchmarks.wire import Sent, Wire, why_not
from benchmarks.works import KEYS, STATS, counted

RATE, GOAL = 100_000, "all, none lost"
SECONDS, SHORT = 12.0, 4.0
EVERY = 0.25
TAIL = 1 << 18
"""Bytes of output that are looked at for the last row: it is no longer than this."""

OUTPUTS = {
    "counting alone": ("-Y", "length < 0"),
    "`--format ndjson -e` of 3 keys": ("--format", "ndjson", "-e", "number,time,operation"),
    "`--format ndjson -e` of 12 keys": ("--format", "ndjson", "-e", KEYS),
    "`--format ndjson`": ("--format", "ndjson"),
}
"""By what is printed."""

_TIME = re.compile(rb'"time":"([^"]+)"')


class Followed(NamedTuple):
    """One run. rows: those that came out, and those of the file; kept: packets in it.

    behind: seconds that the last row was behind the wire, at each look; cost: CPU from the first packet on, of the
    analyzer and the capturing process, and how long it took to end.
    """

    sent: Sent
    kept: int
    rows: int
    listed: int
    behind: Sequence[float]
    cost: Cost
    said: str

    @property
    def lost(self) -> int:
        """Packets that were sent and are not in the file."""
        return self.sent.packets - self.kept


def live_index(bench: Bench) -> Iterator[Line]:
    """By what is printed."""
    if (reason := why_not()) is not None:
        yield Line("rows while packets come", reason, "not measured", goal=GOAL)
        return
    seconds = SHORT if bench.quick else SECONDS
    for name, options in OUTPUTS.items():
        found = followed(bench.capture("small"), bench.scratch, RATE, seconds, options)
        yield from lines(name, found)


def lines(name: str, found: Followed) -> Iterator[Line]:
    """What there is to say of a run."""
    where = f"small, {found.sent.rate:,.0f}/s, {found.sent.seconds:.0f} s, {load()}"
    rows = "all rows" if found.rows == found.listed else f"{found.rows:,} of {found.listed:,} rows"
    if name == "counting alone":
        rows = f"{found.listed:,} rows indexed"
    lost = "none lost" if not found.lost else f"{found.lost:,} packets lost"
    ours = f"{rows}, {lost}, over {found.cost.ending:.1f} s after the last packet"
    yield Line(f"sniff --headless, {name}", where, ours, goal=GOAL)
    if found.behind:
        behind = f"{statistics.median(found.behind):.2f} s, at most {max(found.behind):.2f} s"
        yield Line("the same, behind the wire", where, behind)
    packets = max(found.kept, 1)
    each = f"{found.cost.main / packets * 1e6:.2f} us + {found.cost.others / packets * 1e6:.2f} us"
    yield Line("the same, CPU a packet, analyzer + capturing process", where, each)


def followed(capture: Path, scratch: Path, rate: float, seconds: float, options: Sequence[str]) -> Followed:
    """One run; its files are taken away again."""
    kept, out = scratch / "followed.pcapng", scratch / "rows"
    behind = []
    with Wire() as wire, open(out, "wb") as output:
        command = sniff("-i", wire.near(), "--headless", "-w", str(kept), *options)
        with Sniffing(wire, command, output) as running:
            before = running.costs()
            sending = wire.send(capture, rate, int(rate * seconds))
            while sending.running:
                time.sleep(EVERY)
                if (moment := last_time(out)) is not None and sending.running:
                    behind.append(time.time() - moment)
            sent = sending.wait()
            cost = running.end().beyond(before)
            said = running.said()
    with PacketReader([kept]) as packets:
        found = sum(map(len, packets.blocks()))
    listed, rows = told(STATS.ours(kept), counted), _lines(out)
    os.unlink(kept)
    os.unlink(out)
    return Followed(sent, found, rows, listed, behind, cost, said)


def last_time(path: Path) -> float | None:
    """When the packet of the last row came; None as long as there is none."""
    with open(path, "rb") as file:
        file.seek(max(os.fstat(file.fileno()).st_size - TAIL, 0))
        found = _TIME.findall(file.read())
    return datetime.fromisoformat(found[-1].decode()).timestamp() if found else None


def _lines(path: Path) -> int:
    with open(path, "rb") as file:
        return sum(piece.count(b"\n") for piece in iter(lambda: file.read(1 << 20), b""))
