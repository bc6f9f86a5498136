"""Runs wireanalyze and tshark in turn on the same files and prints the ratios of their CPU times.

    python -m benchmarks [--quick] [--packets N] [--keep DIR]

CPU time is user + system of the finished process, as the kernel counts it; each command runs once to warm up and then
in alternation with its counterpart, and medians are compared. Where tshark is not installed, only our figures are
shown.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.batches import batch_exchanges
from benchmarks.captures import MSS, exchanges, write

GOLDEN = Path(__file__).parent.parent / "tests" / "golden" / "kafka"
SMALL = ("k4_py_aio", "k010_py_old", "k4_go_segment", "zk39_ibp_1.1", "zk39_ibp_2.4")
"""Clients and brokers whose API versions tshark 4.0 knows, so that both sides have everything to decode."""

SMALL_BATCHES, SMALL_RECORDS = 400, 4
LARGE_BATCHES, LARGE_RECORDS = 100, 1000

KEYS = "number,time,stream,source,destination,role,operation,version,correlation,client,length,latency_ns"
KAFKA_FIELDS = (
    *("kafka.api_key", "kafka.api_version", "kafka.correlation_id", "kafka.client_id", "kafka.len", "kafka.error"),
    *("kafka.topic_name", "kafka.partition_id", "kafka.offset", "kafka.request_frame", "kafka.response_frame"),
)
FIELDS = [part for name in KAFKA_FIELDS for part in ("-e", name)]


class Work(NamedTuple):
    """One comparison: our arguments, tshark's, and the ratio to reach."""

    name: str
    capture: str
    ours: Sequence[str]
    theirs: Sequence[str]
    goal: float


WORKS = (
    Work(
        "list -e, twelve header keys", "small", ["list", "--format", "tsv", "-e", KEYS], ["-T", "fields", *FIELDS], 12
    ),
    Work(
        "list ndjson with fields", "small", ["list", "--format", "ndjson", "--fields"], ["-T", "ek", "-J", "kafka"], 6
    ),
    Work(
        "list ndjson with fields", "large", ["list", "--format", "ndjson", "--fields"], ["-T", "ek", "-J", "kafka"], 6
    ),
    Work("list, default table", "small", ["list"], [], 2.5),
)


class Run(NamedTuple):
    """CPU seconds and the largest resident set in MiB of one finished process."""

    cpu: float
    memory: float


def run(command: Sequence[str]) -> Run:
    """Runs a command to its end, its output thrown away."""
    with open(os.devnull, "wb") as nothing:
        process = subprocess.Popen(command, stdout=nothing, stderr=nothing)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return Run(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit)


def compare(ours: Sequence[str], theirs: Sequence[str] | None, times: int) -> tuple[Run, Run | None]:
    """Medians of `times` runs of both, in alternation, behind one run of each that is not counted."""
    runs: tuple[list[Run], list[Run]] = ([], [])
    for number in range(times + 1):
        for side, command in enumerate((ours, theirs)):
            if command is not None:
                found = run(command)
                if number:
                    runs[side].append(found)
    return median(runs[0]), median(runs[1]) if theirs is not None else None


def median(runs: Sequence[Run]) -> Run:
    """The median of each figure."""
    return Run(*(statistics.median(figures) for figures in zip(*runs, strict=True)))


def make_captures(folder: Path, packets: int) -> dict[str, Path]:
    """The captures of WORKS, made unless they are there."""
    made = {"small": folder / f"small-{packets}.pcap", "large": folder / f"large-{packets}.pcap"}
    if not made["small"].exists():
        pairs = [pair for name in SMALL for pair in exchanges(GOLDEN / f"{name}.pcap.zst")]
        pairs += batch_exchanges(SMALL_BATCHES, SMALL_RECORDS)
        write(made["small"], [pair for pair in pairs if max(map(len, pair)) <= MSS], packets, connections=40)
    if not made["large"].exists():
        write(made["large"], batch_exchanges(LARGE_BATCHES, LARGE_RECORDS), packets, connections=20)
    return made


def main() -> None:
    """Makes the captures, runs the comparisons, prints a table."""
    options = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.partition("\n")[0])
    options.add_argument("--quick", action="store_true", help="one run of each on smaller captures")
    options.add_argument("--packets", type=int, default=None, help="packets in each capture")
    options.add_argument("--keep", type=Path, default=None, help="where captures are made, to be used again")
    chosen = options.parse_args()
    packets = chosen.packets or (50_000 if chosen.quick else 400_000)
    tshark = shutil.which("tshark")
    program = [sys.executable, "-m", "analyzer.cli"]
    print(f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}; {packets:,} packets")
    if tshark is None:
        print("tshark is not installed (Debian, Ubuntu: sudo apt-get install tshark): no ratios")
    with tempfile.TemporaryDirectory(prefix="wireanalyze-bench-") as scratch:
        folder = chosen.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        captures = make_captures(folder, packets)
        print(f"{'work':<30} {'capture':<8} {'ours':>8} {'tshark':>8} {'ratio':>6} {'goal':>5} {'memory':>9}")
        for work in WORKS:
            capture = str(captures[work.capture])
            theirs = None if tshark is None else [tshark, "-r", capture, *work.theirs]
            ours, other = compare([*program, *work.ours, capture], theirs, 1 if chosen.quick else 5)
            ratio = "" if other is None else f"{other.cpu / ours.cpu:.1f}"
            theirs_cpu = "" if other is None else f"{other.cpu:.2f} s"
            print(
                f"{work.name:<30} {work.capture:<8} {ours.cpu:6.2f} s {theirs_cpu:>8} {ratio:>6} {work.goal:>5} "
                f"{ours.memory:5.0f} MiB"
            )


if __name__ == "__main__":
    main()
