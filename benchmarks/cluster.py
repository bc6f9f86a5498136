"""What a heap of captures costs on a cluster, worked out from what one core was measured to do.

    python -m benchmarks.cluster NAME=VALUE...      tables in Markdown; names as in Measured and Heap

Theory. Every packet costs the same wherever it is, so CPU, shuffle and output are products. The run takes as long as
the scarcest resource: cores, the bytes a second that storage gives and takes, the network between executors. The two
stages do not overlap, for the second begins when all of the first is there, so their times add up; within a stage CPU,
disks and network work at once, so the slowest of them counts. One connection is one task: what the busiest takes is the
least that the second stage takes, whatever the number of cores.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

TB, GB, HOUR = 1e12, 1e9, 3600
GBIT = GB / 8
HEAD = (
    *("cores", "machines", "storage, GB/s", "scan, h", "waits for", "rows, h", "waits for", "together, h"),
    "never waits from",
)


@dataclass(frozen=True, slots=True)
class Measured:
    """Of one core: microseconds of CPU a packet, and bytes a packet.

    scan, rows: of Python in the first and second stage. java_scan, java_rows: of Java beside them. capture: of the
    files that are read; shuffle: as written, compressed; tables: of all Parquet files.
    """

    scan: float
    java_scan: float
    rows: float
    java_rows: float
    capture: float
    shuffle: float
    tables: float

    @property
    def first(self) -> float:
        """Seconds of CPU a packet in the first stage."""
        return (self.scan + self.java_scan) / 1e6

    @property
    def second(self) -> float:
        """In the second."""
        return (self.rows + self.java_rows) / 1e6


@dataclass(frozen=True, slots=True)
class Heap:
    """Terabytes of captures, and the share of the bytes that the busiest connection has."""

    terabytes: float = 100.0
    busiest: float = 0.0

    def packets(self, measured: Measured) -> float:
        """How many there are."""
        return self.terabytes * TB / measured.capture


@dataclass(frozen=True, slots=True)
class Cluster:
    """Cores; cores of one machine; GB a second that storage gives to all, and Gbit a second of a machine's network."""

    cores: int
    of_a_machine: int = 16
    storage: float = 10.0
    network: float = 25.0

    @property
    def machines(self) -> float:
        """How many there are."""
        return self.cores / self.of_a_machine


@dataclass(frozen=True, slots=True)
class Stage:
    """Seconds that each resource needs by itself; `longest` is one task that can't be divided."""

    cpu: float
    storage: float
    network: float
    longest: float

    @property
    def seconds(self) -> float:
        """Of the slowest."""
        return max(self.cpu, self.storage, self.network, self.longest)

    @property
    def bottleneck(self) -> str:
        """Its name."""
        return max(("cpu", "storage", "network", "longest"), key=lambda name: getattr(self, name))


def scan(measured: Measured, heap: Heap, cluster: Cluster) -> Stage:
    """Captures come over the network from storage, pointers go to local disks."""
    packets, read = heap.packets(measured), heap.terabytes * TB
    network = cluster.machines * cluster.network * GBIT
    return Stage(packets * measured.first / cluster.cores, read / (cluster.storage * GB), read / network, 0)


def rows(measured: Measured, heap: Heap, cluster: Cluster) -> Stage:
    """Pointers come from other machines; the captures are read once more, for their payload; tables are written."""
    packets = heap.packets(measured)
    stored = heap.terabytes * TB + packets * measured.tables
    network = cluster.machines * cluster.network * GBIT
    return Stage(
        packets * measured.second / cluster.cores,
        stored / (cluster.storage * GB),
        (stored + packets * measured.shuffle) / network,
        heap.busiest * packets * measured.second,
    )


def needed(measured: Measured, cluster: Cluster) -> tuple[float, float]:
    """GB a second that storage must give so that the cores of each stage never wait."""
    first = cluster.cores / measured.first * measured.capture / GB
    return first, cluster.cores / measured.second * (measured.capture + measured.tables) / GB


def report(measured: Measured, heap: Heap, clusters: Sequence[Cluster]) -> Iterator[str]:
    """Lines of Markdown."""
    packets = heap.packets(measured)
    hours = packets * (measured.first + measured.second) / HOUR
    yield f"{heap.terabytes:g} TB are {packets / 1e9:,.0f} billion packets and cost {hours:,.0f} core hours:"
    yield f"{packets * measured.first / HOUR:,.0f} to scan, {packets * measured.second / HOUR:,.0f} to make rows."
    yield f"Shuffle {packets * measured.shuffle / TB:,.1f} TB, tables {packets * measured.tables / TB:,.1f} TB."
    yield ""
    yield f"| {' | '.join(HEAD)} |"
    yield f"|{'---|' * len(HEAD)}"
    for cluster in clusters:
        first, second = scan(measured, heap, cluster), rows(measured, heap, cluster)
        cells = (
            *(str(cluster.cores), f"{cluster.machines:g}", f"{cluster.storage:g}"),
            *(f"{first.seconds / HOUR:,.1f}", first.bottleneck, f"{second.seconds / HOUR:,.1f}", second.bottleneck),
            f"{(first.seconds + second.seconds) / HOUR:,.1f}",
            " and ".join(f"{each:.1f}" for each in needed(measured, cluster)) + " GB/s",
        )
        yield f"| {' | '.join(cells)} |"


def _names(kind: type[Measured] | type[Heap] | type[Cluster]) -> set[str]:
    return {each.name for each in fields(kind)}


def _main(*words: str) -> None:
    given = {name: float(value) for name, _, value in (word.partition("=") for word in words)}
    unknown = given.keys() - _names(Measured) - _names(Heap) - _names(Cluster)
    missing = _names(Measured) - given.keys()
    if unknown or missing:
        sys.exit(f"unknown: {', '.join(sorted(unknown)) or 'none'}; missing: {', '.join(sorted(missing)) or 'none'}")
    measured = Measured(**{name: value for name, value in given.items() if name in _names(Measured)})
    heap = Heap(**{name: value for name, value in given.items() if name in _names(Heap)})
    rest = {name: given[name] for name in ("storage", "network") if name in given}
    counts = [int(given["cores"])] if "cores" in given else [64, 512]
    machine = int(given.get("of_a_machine", 16))
    print("\n".join(report(measured, heap, [Cluster(cores, machine, **rest) for cores in counts])))


if __name__ == "__main__":
    _main(*sys.argv[1:])
