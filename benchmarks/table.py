"""The report: a table in Markdown under a line that says on what machine and when it was measured."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

HEAD = ("work", "capture", "ours", "beside", "its figure", "ratio", "goal")


class Line(NamedTuple):
    """One figure. `ours` and `theirs` are printed with their unit; `ratio` is what the goal is about, None: unknown.

    The goal is reached by a ratio that is as high, or as low where `low` says so.
    """

    work: str
    capture: str
    ours: str
    beside: str = ""
    theirs: str = ""
    ratio: float | None = None
    goal: str = ""
    low: bool = False

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells this line from others of a table: its first cells as they are printed."""
        return self.work, self.capture, self.beside

    def share_of_goal(self) -> float | None:
        """How much of its goal is reached: 1 or more where it is; None where there is no number to compare."""
        try:
            goal = float(self.goal)
        except ValueError:
            return None
        if not self.ratio or not goal:
            return None
        return goal / self.ratio if self.low else self.ratio / goal


def text(lines: Sequence[Line]) -> str:
    """The table."""
    rows = [HEAD, ["---"] * len(HEAD), *(format_cells(line) for line in lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def format_cells(line: Line) -> Sequence[str]:
    """The cells of a line as they are printed."""
    ratio = "" if line.ratio is None else f"{line.ratio:.2f}" if line.ratio < 2 else f"{line.ratio:.1f}"
    return (*line[:5], ratio, line.goal)


def machine() -> str:
    """Processor, memory, versions and date."""
    parts = [
        f"{_processor()}, {os.cpu_count()} processors",
        f"{platform.system()} {platform.release()}",
        f"Python {platform.python_version()}",
        _version("tshark"),
        _version("termshark", "--pass-thru=false"),
        time.strftime("%Y-%m-%d"),
        f"{load()} at the start",
    ]
    return "; ".join(part for part in parts if part)


def load() -> str:
    """How busy the machine is, which is part of every figure of wall time."""
    return f"load {os.getloadavg()[0]:.1f}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _version(program: str, *options: str) -> str:
    """`tshark 4.0.17`; nothing where it is not installed."""
    try:
        done = subprocess.run([program, *options, "--version"], capture_output=True, text=True, check=False, timeout=20)
    except OSError:
        return ""
    words = done.stdout.split("\n", 1)[0].split()
    return f"{program} {next((word.strip('()') for word in words if any(map(str.isdigit, word))), 'of no version')}"
