"""The Spark pipeline: what it costs beside `list --format ndjson`, where that goes, what it needs, how it grows.

Theory. What is compared is the CPU time of whole trees of processes (tree.py): Java does a good part of the work. A run
of next to nothing costs what Java, Spark and their imports do, and is subtracted, from both sides; wall time of it is
the start-up. Shares come from one run with Spark's event log: a worker's time within the stage that writes the shuffle
is the scan, within that which reads it the making of rows.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from benchmarks import eventlog, tree
from benchmarks.cluster import Measured
from benchmarks.comparison import Bench
from benchmarks.eventlog import REDUCE, SCAN, Stage
from benchmarks.measure import Failed, Pipeline, Run, alternated, ours, slope
from benchmarks.scanning import scanned
from benchmarks.table import Line
from benchmarks.tree import JAVA, WORKER, Tree

MASTER = "local[2]"
RATIO_GOAL, START_GOAL, SCAN_GOAL, MEMORY_GOAL, GROWTH_GOAL = "2.5", "10 s", "400,000", "300 MB", "1.05"
MB = 1e6
KINDS = ("small", "large", "zookeeper", "pulsar", "rocketmq")
FEW = 1000
"""Packets of next to nothing: fewer have no message, and so no tables."""

ROOM = 3
"""Times the size of a heap of captures that must be free: for itself, the shuffle and the tables."""

SHARES = ((SCAN, WORKER), (SCAN, JAVA), (REDUCE, WORKER), (REDUCE, JAVA))
"""Stages and processes in the order of cluster.Measured."""

_TOLD = re.compile(r"([\d,]+) packets in ")


class Anatomy(NamedTuple):
    """One watched run: its processes, Spark's stages, bytes by table, and the packets that it told of."""

    tree: Tree
    stages: Sequence[Stage]
    tables: dict[str, int]
    packets: int

    def during(self, kind: str, role: str) -> float:
        """CPU seconds of the processes in a role within the stages of a kind."""
        spans = [(stage.begin, stage.end) for stage in self.stages if stage.kind == kind]
        return sum(each.spent(*span) for each in self.tree.of(role) for span in spans)

    def most(self, role: str, kind: str = "anonymous") -> float:
        """MB of memory that a process in a role held at most: anonymous, or resident."""
        return max((getattr(each, kind) for each in self.tree.of(role)), default=0) / MB

    @property
    def shuffled(self) -> int:
        """Bytes that went through the shuffle."""
        return sum(stage.written for stage in self.stages)

    @property
    def spilled(self) -> int:
        """Bytes that were put down on disk because memory was short."""
        return sum(stage.spilled for stage in self.stages)


def pipeline(bench: Bench) -> Iterator[Line]:
    """Cost beside `list`, by kind of capture; the start; the scan alone; shares; many small files."""
    few = bench.library.of_packets("small", FEW)
    sources = _sources(bench)
    start = _start(bench, few)
    yield Line("`pipeline`, start-up: wall (CPU)", f"{FEW:,} packets", _seconds(start[1]), goal=START_GOAL)
    for kind, captures in sources.items():
        yield from _beside_list(bench, kind, captures, start)
    for kind, captures in sources.items():
        found = scanned(few, captures)
        shape = f"{found.given / found.packets:.0f} B a packet"
        yield Line("scan, packets a second and core", kind, f"{found.rate:,.0f}", shape, goal=SCAN_GOAL)
    empty = anatomy(bench, [few])
    for kind in ("small", "large"):
        yield from _shares(kind, sources[kind], anatomy(bench, sources[kind]), empty)
    yield from _many(bench, start[1])


def pipeline_growth(bench: Bench) -> Iterator[Line]:
    """How the tree's CPU time grows with the capture."""
    sizes = (4, 16, 64) if bench.quick else (64, 256, 1024)
    captures = [bench.library.of_packets("small", FEW), *(bench.library.of_size(size) for size in sizes)]
    start, *runs = alternated([command(bench, [path]) for path in captures], bench.few_times, 0, _cost)
    costs = [each.cpu - start.cpu for each in runs]
    where = f"small, {'/'.join(map(str, sizes))} MiB"
    cpu = " ".join(f"{cost:.1f}" for cost in costs)
    yield Line("growth, `pipeline`", where, f"{cpu} s", ratio=slope(sizes, costs), goal=GROWTH_GOAL)


def pipeline_connection(bench: Bench) -> Iterator[Line]:
    """Memory of a worker for one connection that is as large as the capture."""
    mebibytes = 102 if bench.quick else 2048
    for messages in ("long", "short"):
        found = anatomy(bench, [bench.library.of_one_connection(mebibytes, messages)])
        where = f"one connection of {mebibytes} MiB, {messages} messages"
        yield Line("`pipeline`, most memory of a worker", where, f"{found.most(WORKER):.0f} MB", goal=MEMORY_GOAL)
        yield from _told(found, where)


def pipeline_heap(bench: Bench) -> Iterator[Line]:
    """A ring of files, far larger than memory may be: that it comes to an end, and what it takes."""
    size = 500 if bench.quick else 10_000
    free = shutil.disk_usage(bench.scratch).free / MB
    if free < ROOM * size:
        raise Failed(
            f"{bench.scratch} has {free:,.0f} MB free, {ROOM * size:,} are needed: set TMPDIR to where they are"
        )
    captures = type(bench.library)(bench.scratch / "heap")
    folder = captures.ring(size * 1000, 100_000)
    found = anatomy(bench, [folder])
    where = f"{size / 1000:g} GB in {len(list(folder.iterdir()))} files"
    shutil.rmtree(bench.scratch / "heap")
    yield Line("`pipeline`, most memory of a worker", where, f"{found.most(WORKER):.0f} MB", goal=MEMORY_GOAL)
    yield from _told(found, where)


def command(bench: Bench, captures: Sequence[Path], *options: str) -> Pipeline:
    """One run over captures, its tables in place of those of the run before."""
    out = str(bench.scratch / "tables")
    return ours("pipeline", *map(str, captures), "-o", out, "--master", MASTER, "--overwrite", *options)


def anatomy(bench: Bench, captures: Sequence[Path], *options: str) -> Anatomy:
    """One run of which everything is seen."""
    log, out = bench.scratch / "events", bench.scratch / "tables"
    for folder in (log, out):
        shutil.rmtree(folder, ignore_errors=True)
    log.mkdir()
    (whole,) = command(bench, captures, *eventlog.settings(log), *options)
    found = tree.grown(whole)
    told = _TOLD.search(found.said)
    if told is None:
        raise Failed(f"the pipeline does not tell of packets: {found.said[-500:]}")
    tables = {each.name: _size(each) for each in sorted(out.iterdir()) if each.name[0] not in "._" and each.is_dir()}
    return Anatomy(found, eventlog.stages(log), tables, int(told[1].replace(",", "")))


def _sources(bench: Bench) -> dict[str, Sequence[Path]]:
    """Captures by kind; those that are not Kafka's have a quarter of the packets. `mixed`: files of all."""
    counts = {kind: bench.packets if kind in ("small", "large") else bench.packets // 4 for kind in KINDS}
    found: dict[str, Sequence[Path]] = {kind: [bench.library.of_packets(kind, count)] for kind, count in counts.items()}
    quarter = bench.library.of_packets("small", bench.packets // 4)
    return found | {"mixed": [quarter, *(found[kind][0] for kind in KINDS[2:])]}


def _start(bench: Bench, few: Path) -> list[Run]:
    """Of `list` and of `pipeline`, with next to nothing to do."""
    lists = ours("list", "--format", "ndjson", str(few))
    return alternated([lists, command(bench, [few])], bench.few_times, 1, _cost)


def _beside_list(bench: Bench, kind: str, captures: Sequence[Path], start: Sequence[Run]) -> Iterator[Line]:
    lists = [ours("list", "--format", "ndjson", *more, *map(str, captures)) for more in ((), ("--fields",))]
    pipelines = [command(bench, captures), command(bench, captures, "--no-fields")]
    plain, fields, whole, bare = alternated([*lists, *pipelines], bench.few_times, 0, _cost)
    for name, run, theirs, said, goal in (
        ("`pipeline`", whole, plain, "`list --format ndjson`", RATIO_GOAL),
        ("`pipeline`", whole, fields, "`list --format ndjson --fields`", ""),
        ("`pipeline --no-fields`", bare, plain, "`list --format ndjson`", ""),
    ):
        cost, beside = run.cpu - start[1].cpu, theirs.cpu - start[0].cpu
        text = f"{cost:.1f} s ({run.cpu:.1f} with the start; wall {run.wall:.1f})"
        yield Line(name, kind, text, said, f"{beside:.2f} s", cost / beside, goal)


def _shares(kind: str, captures: Sequence[Path], found: Anatomy, empty: Anatomy) -> Iterator[Line]:
    """CPU by what was done, for each packet, without that of a run of next to nothing; what benchmarks.cluster asks."""
    spent = {share: found.during(*share) - empty.during(*share) for share in SHARES}
    each = {share: 1e6 * cpu / found.packets for share, cpu in spent.items()}
    whole = 1e6 * (found.tree.cpu - empty.tree.cpu) / found.packets
    said = ", ".join(f"{role} in {stage} {cost:.1f}" for (stage, role), cost in each.items())
    said += f", else {whole - sum(each.values()):.1f}"
    yield Line("`pipeline`, us of CPU a packet", kind, said)
    size = sum(path.stat().st_size for path in captures)
    bytes_each = (amount / found.packets for amount in (size, found.shuffled, sum(found.tables.values())))
    measured = Measured(*(each[share] for share in SHARES), *bytes_each)
    words = " ".join(f"{name}={value:.3g}" for name, value in asdict(measured).items())
    yield Line("`python -m benchmarks.cluster`", kind, words)
    yield from _told(found, kind)


def _told(found: Anatomy, where: str) -> Iterator[Line]:
    """What a run took and gave."""
    packets = found.packets
    cost = f"{found.tree.wall:.0f} s wall, {found.tree.cpu:.0f} s CPU, {packets:,} packets"
    memory = f"Java {found.most(JAVA, 'resident'):.0f} MB, worker {found.most(WORKER):.0f} MB of its own"
    disk = f"shuffle {found.shuffled / packets:.0f} B a packet, spilled {found.spilled / MB:.0f} MB"
    yield Line("`pipeline`, one run", where, cost, memory, disk)
    sizes = ", ".join(f"{name} {size / packets:.1f}" for name, size in found.tables.items())
    total = sum(found.tables.values())
    yield Line("`pipeline`, bytes of tables a packet", where, f"{total / packets:.0f} B", sizes)


def _many(bench: Bench, start: Run) -> Iterator[Line]:
    """Files that are hardly worth a task."""
    count = 100 if bench.quick else 2000
    folder = bench.library.ring(count * 100, 100)
    run = _cost(command(bench, [folder]))
    where = f"small, {count:,} files of 100 kB"
    yield Line("`pipeline`", where, f"{run.cpu - start.cpu:.1f} s (wall {run.wall:.0f}, with the start)")


def _cost(commands: Pipeline) -> Run:
    (only,) = commands
    return tree.run(only)


def _seconds(run: Run) -> str:
    return f"{run.wall:.1f} s ({run.cpu:.1f} s)"


def _size(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())
