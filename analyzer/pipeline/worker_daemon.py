"""Spark's daemon, which forks the workers, with everything imported that they need: a third of a second for each.

Spark starts it as a program in the place of pyspark.daemon (spark.python.daemon.module).
"""

from __future__ import annotations

import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import analyzer.pipeline.scan
import analyzer.pipeline.task  # noqa: F401
from analyzer.pipeline.worker_setup import set_up_process

if __name__ == "__main__":
    set_up_process()
    manager()
