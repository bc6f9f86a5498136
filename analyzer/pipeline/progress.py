"""How far a Spark session has got, as a bar on a terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PERIOD = 0.25
"""Seconds between two looks."""


@contextmanager
def bar(spark: SparkSession) -> Iterator[None]:
    """While the block runs, shows on stderr how many tasks are done; nothing if that is no terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    over = threading.Event()
    shown = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )

    def watch() -> None:
        task = shown.add_task("starting", total=None)
        while not over.wait(PERIOD):
            done, total, stages = tasks(spark)
            if stages:
                shown.update(task, completed=done, total=total, description="reading" if stages == 1 else "writing")

    watcher = threading.Thread(target=watch, daemon=True)
    with shown:
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()


def tasks(spark: SparkSession) -> tuple[int, int, int]:
    """Tasks that are done, all tasks, and the number of stages that Spark knows of in its jobs that run."""
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(each) for each in tracker.getActiveJobsIds()]
    stages = [tracker.getStageInfo(each) for job in jobs if job is not None for each in job.stageIds]
    known = [stage for stage in stages if stage is not None]
    return sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known), len(known)
