"""How fast one core turns captures into pointers, the first stage of the pipeline, without Spark.

    python -m benchmarks.scanning FEW CAPTURE...        packets a second of CPU, and bytes of a packet's row, as JSON

A capture of few packets is read first, so that what is imported and made once is there.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import ROOT


class Scan(NamedTuple):
    """Of one process: the packets that it saw, its CPU seconds, and the bytes of what it gave on."""

    packets: int
    cpu: float
    given: int

    @property
    def rate(self) -> float:
        """Packets a second and core."""
        return self.packets / self.cpu


def scanned(few: Path, captures: Sequence[Path]) -> Scan:
    """Scans captures in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.scanning", str(few), *map(str, captures)]
    return Scan(**json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=ROOT).stdout))


def _scan(captures: Sequence[str]) -> Scan:
    # What belongs to the extra `pipeline` is imported in the process that scans alone.
    from analyzer.pipeline.pointers import count_packets
    from analyzer.pipeline.scan import build_splits, find_cuts, find_huge_files, scan_splits
    from analyzer.pipeline.sources import find_captures
    from analyzer.tables.options import Options

    options, files = Options(), find_captures(captures).files
    began = time.process_time()
    cuts = {number: find_cuts(files[number], options.split) for number in find_huge_files(files, options.split)}
    packets = given = 0
    for batch in scan_splits(build_splits(files, cuts=cuts), files, options):
        packets += int(count_packets(batch).sum())
        given += batch.nbytes
    return Scan(packets, time.process_time() - began, given)


def _main(few: str, *captures: str) -> None:
    _scan([few])
    print(json.dumps(_scan(captures)._asdict()))


if __name__ == "__main__":
    _main(*sys.argv[1:])
