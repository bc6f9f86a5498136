"""wireanalyze beside tshark and termshark, on captures that are made here.

    python -m benchmarks [--quick] [--packets N] [--keep DIR] [--only PART]... [--page FILE]

Prints a table in Markdown, and on standard error how far it is. With --page the table replaces those lines of the page
that were measured again, and the command fails if a goal that the page had reached falls by more than 10 % (page.py).

CPU time is user + system; every command runs once to warm up, then in alternation with its counterpart, and medians
are compared (measure.py). Our modules are compiled before the clock runs, as an installation does. What is not
installed (Debian, Ubuntu: sudo apt-get install tshark termshark) is left out.
Full: some half an hour on two processors; --quick: some 5 minutes. The pipeline (four parts, of which three are long)
runs only when it is named; it needs the extra `pipeline`. So do live-file, live-index, live-latency, live-cpu and
live-soak: they need root, to make network namespaces of their own, and are best with tcpreplay installed.
"""

from __future__ import annotations

import argparse
import compileall
import shutil
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.comparison import Bench
from benchmarks.measure import ROOT
from benchmarks.page import update_page
from benchmarks.parts import PARTS, UNASKED
from benchmarks.table import Line, machine, text


def main() -> None:
    """Runs the parts that are asked for and prints their lines."""
    options = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.partition("\n")[0])
    options.add_argument("--quick", action="store_true", help="fewer runs on smaller captures")
    options.add_argument("--packets", type=int, default=None, help="packets of the captures of Kafka")
    options.add_argument("--times", type=int, default=None, help="runs of each command that count")
    options.add_argument("--keep", type=Path, default=None, metavar="DIR", help="where captures stay, to be used again")
    options.add_argument("--only", action="append", choices=list(PARTS), help="this part alone; may be repeated")
    options.add_argument("--minutes", type=float, default=Bench.minutes, help="how long live-soak captures")
    options.add_argument(
        "--page", type=Path, default=None, metavar="FILE", help="a page of Markdown that is brought up to date"
    )
    chosen = options.parse_args()
    packets = chosen.packets or (50_000 if chosen.quick else 400_000)
    times = chosen.times or (1 if chosen.quick else 5)
    if ROOT in (kept := chosen.keep and chosen.keep.resolve(), *(kept.parents if kept else ())):
        options.error("--keep: captures are kept outside the repository")
    for package in ("analyzer", "dissectors", "tui"):
        compileall.compile_dir(ROOT / package, quiet=1)
    missing = [name for name in ("tshark", "text2pcap", "termshark") if shutil.which(name) is None]
    if missing:
        print(f"not installed, so left out: {', '.join(missing)}", file=sys.stderr)
    said = f"{machine()}; {packets:,} packets, median of {times}"
    print(f"{said}\n", flush=True)
    began = time.monotonic()
    lines: list[Line] = []
    lost: list[str] = []
    with tempfile.TemporaryDirectory(prefix="wireanalyze-bench-") as scratch:
        bench = Bench(chosen.keep or Path(scratch) / "captures", Path(scratch), packets, times, quick=chosen.quick)
        bench.minutes = chosen.minutes
        for name in chosen.only or UNASKED:
            print(f"{time.monotonic() - began:5.0f} s  {name}", file=sys.stderr, flush=True)
            found = []
            for line in PARTS[name](bench):
                found.append(line)
                print(f"          {' | '.join(filter(None, line[:5]))}", file=sys.stderr, flush=True)
            lines += found
            if chosen.page is not None:  # at once, so that a part that fails loses nothing of those before it
                lost += update_page(chosen.page, found, said)
    print(text(lines))
    print(f"{time.monotonic() - began:5.0f} s", file=sys.stderr)
    if lost:
        sys.exit("\n".join(lost))


if __name__ == "__main__":
    main()
