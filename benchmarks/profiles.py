"""Where the time goes: the hot paths by room of the house, and the floor under them.

    python -m benchmarks.profiles [--packets N] [--keep DIR]

Theory. A timer of the processor's clock interrupts the program as often as the kernel can; the innermost frame of ours
says which room it was in, and the process's CPU time is shared out by these samples. The handler runs between two
bytecodes, so time in C (numpy, orjson) counts for the line that called it. Much is imported before the clock starts, so
the start is in the floor: what no reader of a capture can go below. That is Python starting, numpy starting, one hop
from record header to record header, one copy of the bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType

from benchmarks.library import Library
from benchmarks.measure import ROOT, alternated
from benchmarks.table import machine
from benchmarks.works import BODIES, ROWS, STATS, TABLE

INTERVAL = 0.001
PLAN = "<plan>"
"""The file of decoders that are compiled from layouts (dissectors/wire/emit.py)."""

ROOMS = (
    ("importlib", "start"),
    ("_frozen_importlib", "start"),
    ("dissectors.kafka.info", "info"),
    ("analyzer.capture", "capture"),
    ("analyzer.decode.rows", "keys"),
    ("analyzer.insight.counts", "keys"),
    ("analyzer.session", "keys"),
    ("analyzer.columns.arrays", "engine"),
    ("analyzer.render", "text"),
    ("analyzer.columns.text", "text"),
    ("analyzer.cli", "text"),
    ("dissectors.kafka.fast_path", "engine"),
    ("dissectors.kafka.conversation", "engine"),
    ("dissectors.kafka.header", "engine"),
    ("dissectors", "values"),
    (PLAN, "values"),
    ("analyzer", "engine"),
)
"""Which room a module, or all modules below it, belongs to; the first that fits."""

PATHS: Mapping[str, tuple[str, Sequence[str]]] = {
    "stats --counts": ("small", STATS.arguments),
    "list -e": ("small", ROWS.arguments),
    "list": ("small", TABLE.arguments),
    "ndjson --fields, small": ("small", BODIES),
    "ndjson --fields, large": ("large", BODIES),
}


def room(frame: FrameType | None) -> str:
    """The room of the innermost frame that has one."""
    while frame is not None:
        file = frame.f_code.co_filename
        module = file if file == PLAN else frame.f_globals.get("__name__", "")
        for prefix, found in ROOMS:
            if module.startswith(prefix):
                return found
        frame = frame.f_back
    return "else"


def sampled(arguments: Sequence[str]) -> dict[str, float]:
    """Runs one command in this process, its output thrown away; CPU seconds by room."""
    found: Counter[str] = Counter()
    began = time.process_time()

    def take(_: int, frame: FrameType | None) -> None:
        found[room(frame)] += 1

    signal.signal(signal.SIGPROF, take)
    signal.setitimer(signal.ITIMER_PROF, INTERVAL, INTERVAL)
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115 # it ends with the process
    from analyzer.cli.program import run

    status = run(arguments)
    signal.setitimer(signal.ITIMER_PROF, 0)
    sys.stdout = sys.__stdout__
    if status:
        raise SystemExit(status)
    spent = time.process_time() - began
    return {name: spent * count / found.total() for name, count in found.most_common()}


def floor(capture: Path) -> dict[str, float]:
    """CPU seconds of what every reader pays."""
    start, imported = alternated([([sys.executable, "-c", "pass"],), ([sys.executable, "-c", "import numpy"],)], 5)
    data = capture.read_bytes()
    import numpy as np

    return {
        "python -c pass": start.cpu,
        "import numpy": imported.cpu,
        "hop over record headers, in Python": _clocked(lambda: _hop(data)),
        f"np.copy of {len(data) / 1e6:.0f} MB": _clocked(lambda: np.frombuffer(data, np.uint8).copy()),
    }


def _hop(data: bytes) -> int:
    at, packets, length = 24, 0, struct.Struct("<I").unpack_from
    while at < len(data):
        at += 16 + length(data, at + 8)[0]
        packets += 1
    return packets


def _clocked(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> None:
    """Prints both tables."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.profiles", description=__doc__.partition("\n")[0])
    options.add_argument("--packets", type=int, default=400_000)
    options.add_argument("--keep", type=Path, default=None, metavar="DIR")
    chosen = options.parse_args()
    print(f"{machine()}; {chosen.packets:,} packets\n\n| path | CPU s | by room |\n| --- | --- | --- |")
    with tempfile.TemporaryDirectory(prefix="wireanalyze-bench-") as scratch:
        library = Library(chosen.keep or Path(scratch))
        for name, (kind, arguments) in PATHS.items():
            capture = library.of_packets(kind, chosen.packets)
            command = [sys.executable, "-m", "benchmarks.profiles", "--sample", *arguments, str(capture)]
            done = subprocess.run(command, capture_output=True, check=True, cwd=ROOT)
            found: dict[str, float] = json.loads(done.stdout)
            rooms = ", ".join(f"{each} {seconds:.2f}" for each, seconds in found.items())
            print(f"| `{name}` | {sum(found.values()):.2f} | {rooms} |", flush=True)
        print("\n| floor | CPU s |\n| --- | --- |")
        for name, seconds in floor(library.of_packets("small", chosen.packets)).items():
            print(f"| {name} | {seconds:.3f} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--sample"]:
        print(json.dumps(sampled(sys.argv[2:])))
    else:
        main()
