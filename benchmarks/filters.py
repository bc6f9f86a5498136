"""The display filter: on columns by the row, in this process; on fields of bodies beside tshark's, as whole programs.

tshark is asked twice for the same rows: for a column, as ours is, and for its default lines, which cost it less than a
tree of fields does.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from analyzer.decode.rows import RowReader
from analyzer.query.filter import compile_filter
from analyzer.session import Session
from benchmarks.comparison import Bench, installed
from benchmarks.measure import Failed, alternated, ours, told
from benchmarks.table import Line
from benchmarks.works import FIELDS_OF_ALL, lines

COLUMNS = (
    *("length >= 1KiB", "role == response", 'operation contains "Fetch"', "latency > 2ms", 'client matches "^cons"'),
    *("port == 9092", "code == 1 and version > 10", "source.ip == 10.0.0.0/8", 'time > "2026-01-01"'),
)
COLUMN_GOAL = 5.0
"""Milliseconds for a million rows."""

BODIES = ("kafka.max_wait_time > 100", 'kafka.topic_name contains "a"')
TSHARK_GOAL, NDJSON_GOAL = 12, 0.5


def filters(bench: Bench) -> Iterator[Line]:
    """Both kinds, on small messages."""
    capture = bench.capture("small")
    costs = column_costs(capture, COLUMNS, bench.times)
    shown = f"{max(costs):.1f} ms, mean {statistics.mean(costs):.1f} ms"
    yield Line("filter on columns, a million rows", "small", shown, goal=f"{COLUMN_GOAL:g} ms")
    for text in BODIES:
        yield from _body(bench, capture, text)


def column_costs(capture: Path, texts: Sequence[str], times: int) -> list[float]:
    """Milliseconds of CPU that each filter takes for a million rows; medians."""
    found = []
    with Session([capture]) as session:
        reader, rows = RowReader(session.load()), range(len(session.rows))
        for text in texts:
            asked = compile_filter(text)
            asked.select_rows(reader, rows)
            runs = []
            for _ in range(max(times, 3)):
                began = time.process_time()
                asked.select_rows(reader, rows)
                runs.append(time.process_time() - began)
            found.append(statistics.median(runs) * 1e9 / len(rows))
    return found


def _body(bench: Bench, capture: Path, text: str) -> Iterator[Line]:
    mine = ours("list", "-Y", text, "-e", "last_packet", str(capture))
    pipelines = [mine, FIELDS_OF_ALL.ours(capture)]
    if installed("tshark"):
        asked = ["tshark", "-n", "-r", str(capture), "-Y", text]
        theirs = ([*asked, "-T", "fields", "-e", "frame.number"],)
        if (found := told(mine, lines(1))) != (other := told(theirs, lines(0))):
            raise Failed(f"{text}: {found:,} rows, tshark {other:,}")
        pipelines += [theirs, (asked,)]
    runs = alternated(pipelines, bench.times)
    own, whole = (run.cpu for run in runs[:2])
    name = f"`list -Y '{text}'`"
    share = f"ndjson --fields, {whole:.2f} s"
    yield Line(name, "small", f"{own:.2f} s", "share of", share, own / whole, f"{NDJSON_GOAL:g}")
    for said, run in zip(("`-T fields`", "its default lines"), runs[2:], strict=False):
        beside = f"tshark, `-Y`, {said}"
        yield Line(name, "small", f"{own:.2f} s", beside, run.text(), run.cpu / own, f"{TSHARK_GOAL}")
