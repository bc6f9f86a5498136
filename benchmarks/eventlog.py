"""What Spark says of its own work: its event log, by stage.

Theory. A stage begins when all that it reads is there, so the times of stages tell which work a process did when,
though one worker does the work of several. What is written for other stages to read is the shuffle; what did not fit
into memory meanwhile is what is spilled.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

SCAN, REDUCE, OTHER = "scan", "reduce", "other"


class Stage(NamedTuple):
    """Seconds since 1970 when it began and ended; bytes, and milliseconds of Java's collector (`collecting`)."""

    kind: str
    begin: float
    end: float
    tasks: int
    written: int
    spilled: int
    collecting: int


def settings(folder: Path) -> Sequence[str]:
    """Options of our command that make Spark write its log into a folder, which must be there."""
    wanted = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }
    return [word for name, value in wanted.items() for word in ("--conf", f"{name}={value}")]


def stages(folder: Path) -> list[Stage]:
    """The stages of all logs in a folder, in the order of their begin."""
    found = [
        _stage(event["Stage Info"]) for event in _events(folder) if event["Event"] == "SparkListenerStageCompleted"
    ]
    return sorted(found, key=lambda stage: stage.begin)


def _events(folder: Path) -> Iterator[Mapping[str, Any]]:
    for path in sorted(each for each in folder.rglob("*") if each.is_file() and not each.name.startswith(".")):
        with path.open() as lines:
            yield from map(json.loads, lines)


def _stage(told: Mapping[str, Any]) -> Stage:
    sums = {each["Name"].removeprefix("internal.metrics."): each["Value"] for each in told["Accumulables"]}
    written = int(sums.get("shuffle.write.bytesWritten", 0))
    read = int(sums.get("shuffle.read.localBytesRead", 0)) + int(sums.get("shuffle.read.remoteBytesRead", 0))
    kind = SCAN if written else REDUCE if read else OTHER
    spilled = int(sums.get("diskBytesSpilled", 0))
    times = (told["Submission Time"] / 1000, told["Completion Time"] / 1000)
    return Stage(kind, *times, told["Number of Tasks"], written, spilled, int(sums.get("jvmGCTime", 0)))
