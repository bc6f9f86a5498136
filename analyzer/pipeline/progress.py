"""How far a run has got, as a bar on a terminal: tasks, packets, messages, bytes a second.

Theory. How many tasks are done Spark knows: its status tracker, or on a server of Spark Connect what that tells while
a query runs. What is in the tasks only they know, and Spark brings their counts when they end, if at all. So each
worker adds what it has done to a file of its own in a folder that all can reach, a few numbers for each batch, and the
bar adds these up. Where the folder can't be reached, nothing is counted; where nobody looks, there is no folder.
"""

from __future__ import annotations

import os
import shutil
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from analyzer.pipeline.owned_folders import OWNER_FILE, create_owned_folder, remove_abandoned

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

PERIOD = 0.25
"""Seconds between two looks."""

RECENT = 10.0
"""Seconds over which bytes a second are averaged."""

PREFIX = "_progress-"
"""How the folder for counts begins, among the tables; readers of Parquet pass over it."""

_COUNTS = struct.Struct("<qqq")


class ProgressCounts(NamedTuple):
    """The work done so far: packets and bytes scanned, messages written."""

    packets: int = 0
    bytes: int = 0
    messages: int = 0


class TaskCounts(NamedTuple):
    """The number of finished tasks and of all tasks, in the stages that Spark has started."""

    done: int = 0
    total: int = 0


def add_counts(folder: str | None, *, packets: int = 0, bytes: int = 0, messages: int = 0) -> None:
    """Adds to the counts of finished work, in a worker. Does nothing without a folder."""
    if folder is not None:
        with suppress(OSError):  # a bar is worth no failure
            path = os.path.join(folder, f"{os.uname().nodename}-{os.getpid()}")
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(descriptor, _COUNTS.pack(packets, bytes, messages))
            finally:
                os.close(descriptor)


def count_batches(pointers: Iterable[pa.RecordBatch], bytes: int, folder: str | None) -> Iterator[pa.RecordBatch]:
    """Passes on the batches of a scan and counts them; `bytes` count at its end."""
    from analyzer.pipeline.pointers import count_packets

    for batch in pointers:
        add_counts(folder, packets=int(count_packets(batch).sum()))
        yield batch
    add_counts(folder, bytes=bytes)


class CountReader:
    """The sums of a folder's counts, read on from where the last look ended."""

    def __init__(self, folder: str) -> None:
        self._folder, self._sums = folder, ProgressCounts()
        self._read: dict[str, int] = {}

    def read_counts(self) -> ProgressCounts:
        """Returns everything that was counted until now."""
        for name in os.listdir(self._folder):
            if name.startswith(OWNER_FILE):
                continue
            with open(os.path.join(self._folder, name), "rb") as counts:
                counts.seek(self._read.get(name, 0))
                data = counts.read()
            whole = len(data) // _COUNTS.size * _COUNTS.size
            self._read[name] = self._read.get(name, 0) + whole
            for each in _COUNTS.iter_unpack(data[:whole]):
                self._sums = ProgressCounts(*(a + b for a, b in zip(self._sums, each, strict=True)))
        return self._sums


def watch_tasks(spark: SparkSession) -> Callable[[], TaskCounts]:
    """Returns a function that counts the tasks of what the session does: how many are done, and how many there are."""
    if not type(spark).__module__.startswith("pyspark.sql.connect"):
        tracker = spark.sparkContext.statusTracker()

        def count_tasks() -> TaskCounts:
            jobs = [tracker.getJobInfo(each) for each in tracker.getActiveJobsIds()]
            stages = [tracker.getStageInfo(each) for job in jobs if job is not None for each in job.stageIds]
            known = [stage for stage in stages if stage is not None]
            return TaskCounts(sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known))

        return count_tasks

    latest = TaskCounts()

    def keep_latest(stages: Any, *_: object, **__: object) -> None:
        nonlocal latest
        known = stages or ()
        latest = TaskCounts(sum(each.num_completed_tasks for each in known), sum(each.num_tasks for each in known))

    spark.registerProgressHandler(cast(Any, keep_latest))
    return lambda: latest


@contextmanager
def show_progress(spark: SparkSession, folder: str) -> Iterator[str | None]:
    """While the block runs, shows on stderr how far it is; gives the folder for add_counts(), below `folder`.

    None, and nothing is shown, if stderr is no terminal.
    """
    if not sys.stderr.isatty():
        remove_abandoned(PREFIX, folder)
        yield None
        return
    os.makedirs(folder, exist_ok=True)
    with create_owned_folder(PREFIX, folder) as home:
        counts = str(home)
        over = threading.Event()
        shown = threading.Thread(target=_update_bar, args=(watch_tasks(spark), CountReader(counts), over), daemon=True)
        shown.start()
        try:
            yield counts
        finally:
            over.set()
            shown.join()
            shutil.rmtree(counts, ignore_errors=True)


def _update_bar(count_tasks: Callable[[], TaskCounts], counted: CountReader, over: threading.Event) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(bar_width=20), MofNCompleteColumn(), TimeElapsedColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, speed_estimate_period=RECENT) as shown:
        bytes, bar = shown.add_task("bytes", total=None, visible=False), shown.add_task("starting", total=None)
        while not over.wait(PERIOD):
            with suppress(Exception):  # Spark may be ending; whoever runs the job will say why
                done, sums = count_tasks(), counted.read_counts()
                shown.update(bytes, completed=sums.bytes)
                text = format_progress(sums, shown.tasks[0].speed or 0.0)
                shown.update(bar, completed=done.done, total=done.total or None, description=text)


def format_progress(sums: ProgressCounts, speed: float) -> str:
    """Returns the text of the progress bar."""
    if not sums.packets:
        return "starting"
    text = f"{sums.packets:,} packets"
    if sums.messages:
        text += f", {sums.messages:,} messages"
    return f"{text}, {speed / 1e6:,.0f} MB/s" if speed >= 1e6 else text
