"""The parts of the benchmark: each measures one thing and gives its lines of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from benchmarks import memory
from benchmarks.comparison import Bench, decoding, installed, works
from benchmarks.contents import record_bytes
from benchmarks.deep import deep
from benchmarks.figures import figures
from benchmarks.filters import filters
from benchmarks.growth import FEW, fetches, growth, rates
from benchmarks.held import held
from benchmarks.keys import keys
from benchmarks.live_cpu import live_cpu
from benchmarks.live_file import live_file
from benchmarks.live_index import live_index
from benchmarks.live_latency import live_latency
from benchmarks.live_rows import live
from benchmarks.live_soak import live_soak
from benchmarks.measure import alternated, told
from benchmarks.opening import opening
from benchmarks.packets import MSS
from benchmarks.pipeline import pipeline, pipeline_connection, pipeline_growth, pipeline_heap
from benchmarks.snapshots import LOOPBACK
from benchmarks.table import Line
from benchmarks.tls import decryption
from benchmarks.traffic import DISTURBANCES
from benchmarks.works import FIELDS_OF_ALL, ROWS, STATS, TABLE, Work, counted

SHARES = {"small": "", "zookeeper": "0.60", "quorum": "0.60", "rocketmq": "0.60", "pulsar": "0.60"}
REAL_SHARES = {"real": "", **{f"real-{kind}": goal for kind, goal in SHARES.items() if goal}}
"""Kinds whose speed is compared with Kafka's, and the share that is the goal."""

DISTURBED = {
    **{f"disturbed-{share:.2%}": f"{1 + 40 * share:.2f}" for share in DISTURBANCES},
    "one-way": "3",
    "short": "3",
    "snapped": "3",
    "today": "1.5",
}
"""Kinds that differ from the real one in one property, and how many times its cost they may have."""

SNAPSHOT_GOAL = "64 MiB"
INDEX_GOAL, FETCH_GOAL, GROWTH_GOAL, CODECS_GOAL, FILES_GOAL = "130 B", "8", "1.05", "0.60", "2"
RING, MANY_FILES = 100_000, 1000
"""Kilobytes of a ring, and how many files it has."""


def indexing(bench: Bench) -> Iterator[Line]:
    """Anonymous memory by the packet."""
    few = bench.library.of_packets("small", FEW)
    for kind in ("small", "real", "large"):
        capture = bench.capture(kind)
        found = memory.index(capture, few)
        tshark = memory.tshark_per_packet(capture, few, found.packets) if installed("tshark") else None
        whole = found.after / found.packets
        ours = f"{found.per_packet:.0f} B (with the program: {whole:.0f} B)"
        yield Line(
            "memory a packet, index",
            kind,
            ours,
            "tshark, `-T fields`",
            "" if tshark is None else f"{tshark:.0f} B",
            None if tshark is None else tshark / found.per_packet,
            INDEX_GOAL,
        )


def messages(bench: Bench) -> Iterator[Line]:
    """Memory by the size of one message."""
    few = bench.library.of_packets("small", FEW)
    captures, sizes = fetches(bench.library, bench.fetches)
    for size, ratio in zip(sizes, memory.of_messages(captures, sizes, few), strict=True):
        name = f"one of {size / 2**20:.0f} MiB"
        yield Line("memory for one message, `ndjson --fields`", name, f"{ratio:.1f} x its size", goal=FETCH_GOAL)


def snapshots(bench: Bench) -> Iterator[Line]:
    """Memory that a snapshot of ZooKeeper adds, which is one message as long as a server's whole tree."""
    works = (STATS, Work("`stats`", ["stats"], 0), TABLE, FIELDS_OF_ALL, Work("`doctor`", ["doctor"], 0))
    for segment in (MSS, LOOPBACK):
        small, long = (bench.library.of_one_snapshot(size, segment) for size in (2, bench.snapshot))
        for work in works:
            found = memory.added(work, long, small)
            where = f"one of {bench.snapshot} MiB, in segments of {segment:,} B"
            yield Line(f"memory for a snapshot, {work.name}", where, f"{found / 2**20:.0f} MiB", goal=SNAPSHOT_GOAL)


def growing(bench: Bench) -> Iterator[Line]:
    """How CPU time grows with the capture."""
    for work in (STATS, ROWS):
        found = growth(bench.library, work, bench.sizes, bench.few_times)
        sizes = "/".join(map(str, found.sizes))
        costs = " ".join(f"{cost:.2f}" for cost in found.costs)
        yield Line(
            f"growth, {work.name}", f"small, {sizes} MiB", f"{costs} s", "", "", found.exponent, GROWTH_GOAL, low=True
        )


def speeds(bench: Bench) -> Iterator[Line]:
    """Messages a second, by protocol."""
    for shares in (SHARES, REAL_SHARES):
        kafka = next(iter(shares))
        packets = {kind: bench.packets if kind == kafka else bench.packets // 4 for kind in shares}
        found = rates(bench.library, packets, bench.times)
        for kind, rate in found.items():
            share = None if kind == kafka else rate / found[kafka]
            yield Line("messages a second, `list -e`", kind, f"{rate:,.0f}", "of Kafka's", "", share, shares[kind])


def disturbed(bench: Bench) -> Iterator[Line]:
    """What disturbed packets cost: CPU a message of captures that are like the real one but for one property."""
    for work in (STATS, TABLE):
        base, *others = _costs(bench, work, ("real", *DISTURBED))
        yield Line(f"CPU a message, {work.name}", "real", f"{base:.1f} us")
        for kind, cost in zip(DISTURBED, others, strict=True):
            name, goal = f"CPU a message, {work.name}", DISTURBED[kind]
            yield Line(name, kind, f"{cost:.1f} us", "of the real one's", "", cost / base, goal, low=True)


def _costs(bench: Bench, work: Work, kinds: Iterable[str]) -> list[float]:
    """Microseconds of CPU a message, the start subtracted."""
    captures = [bench.library.of_packets(kind, bench.packets // 4) for kind in kinds]
    few = bench.library.of_packets("small", FEW)
    start, *runs = alternated([work.ours(path) for path in (few, *captures)], bench.few_times)
    messages = [told(STATS.ours(path), counted) for path in captures]
    return [(run.cpu - start.cpu) / count * 1e6 for run, count in zip(runs, messages, strict=True)]


def divided(bench: Bench) -> Iterator[Line]:
    """What a ring of many small files costs, beside the same traffic in few large ones; the start subtracted."""
    few = bench.library.of_packets("small", FEW)
    rings = [sorted(bench.library.ring(RING, each).iterdir()) for each in (RING // 2, RING // MANY_FILES)]
    for work in (STATS, TABLE):
        start, large, small = alternated([work.ours(*files) for files in ([few], *rings)], bench.few_times)
        costs = [run.cpu - start.cpu for run in (large, small)]
        where = f"{RING // 1000} MB in {len(rings[1]):,} files"
        name, ours = f"CPU, {work.name}", f"{costs[1]:.2f} s"
        yield Line(
            name, where, ours, f"in {len(rings[0])}", f"{costs[0]:.2f} s", costs[1] / costs[0], FILES_GOAL, low=True
        )


def codecs(bench: Bench) -> Iterator[Line]:
    """Bytes of records a second, of batches that are compressed, beside those that are not; the start subtracted."""
    few = bench.library.of_packets("small", FEW)
    plain, packed = (bench.library.of_size(bench.batched, kind) for kind in ("plain", "packed"))
    start, *runs = alternated([FIELDS_OF_ALL.ours(path) for path in (few, plain, packed)], bench.times)
    rates = [record_bytes(path) / 1e6 / (run.cpu - start.cpu) for path, run in zip((plain, packed), runs, strict=True)]
    yield Line(
        "records a second, ndjson --fields",
        f"gzip, snappy, lz4, zstd: {bench.batched} MiB",
        f"{rates[1]:.0f} MB",
        "uncompressed",
        f"{rates[0]:.0f} MB",
        rates[1] / rates[0],
        CODECS_GOAL,
    )


PARTS: Mapping[str, Callable[[Bench], Iterator[Line]]] = {
    "works": works,
    "stats": figures,
    "filter": filters,
    "decode": decoding,
    "open": opening,
    "keys": keys,
    "live": live,
    "deep": deep,
    "held": held,
    "index": indexing,
    "messages": messages,
    "snapshots": snapshots,
    "growth": growing,
    "speeds": speeds,
    "disturbed": disturbed,
    "files": divided,
    "codecs": codecs,
    "tls": decryption,
    "live-file": live_file,
    "live-index": live_index,
    "live-latency": live_latency,
    "live-cpu": live_cpu,
    "live-soak": live_soak,
    "pipeline": pipeline,
    "pipeline-growth": pipeline_growth,
    "pipeline-connection": pipeline_connection,
    "pipeline-heap": pipeline_heap,
}

UNASKED = tuple(name for name in PARTS if not name.startswith(("pipeline", "live-")))
"""What runs if no part is named: Spark is an extra, and with it an hour goes by; a wire of one's own needs root."""
