"""A Spark session for the command: quiet, bound to loopback where it is local, with this Python in its workers."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.errors import UserError
from analyzer.pipeline.java import java, shadow_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
"""Where the packages `analyzer` and `dissectors` lie."""

DEFAULTS: Mapping[str, str] = {
    "spark.app.name": "wireanalyze pipeline",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(1 << 16),
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto",
    "spark.executorEnv.PYTHONPATH": str(ROOT),
}
"""Most of the work is done in Python, so Java's second compiler and parallel collector cost more than they save."""

LOCAL: Mapping[str, str] = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def check() -> None:
    """Raises UserError if the extra is not installed."""
    if find_spec("pyspark") is None or find_spec("pyarrow") is None:
        raise UserError("the pipeline needs Spark: install wireanalyze[pipeline]")


class SparkFailed(UserError):
    """Spark could not do it; its log says why."""


@contextmanager
def spark_session(master: str, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session that ends with the block. What Spark says goes to a log, which is kept if Spark fails."""
    home = Path(tempfile.mkdtemp(prefix="wireanalyze-spark-"))
    log = home / "spark.log"
    settings = {**DEFAULTS, **(LOCAL if master.startswith("local") else {}), **conf, "spark.master": master}
    settings.setdefault("spark.sql.warehouse.dir", str(home / "warehouse"))
    keep = False
    try:
        with reported(log), _logged(log):
            spark = _started(settings, shadow_home(home / "java", java(), log))
            try:
                yield spark
            finally:
                spark.stop()
    except SparkFailed:
        keep = True
        raise
    finally:
        if not keep:
            shutil.rmtree(home, ignore_errors=True)


@contextmanager
def _logged(log: Path) -> Iterator[None]:
    """What libraries say on Python's side goes to the log, too."""
    handler = logging.FileHandler(log, delay=True)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()


@contextmanager
def reported(log: Path) -> Iterator[None]:
    """Makes of what Spark raises one sentence, and where to read on."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise SparkFailed(f"{_reason(error)}; what Spark says is in {log}") from error


def _started(settings: Mapping[str, str], home: Path) -> SparkSession:
    from pyspark.sql import SparkSession

    environment = {
        "JAVA_HOME": str(home),
        "SPARK_LAUNCHER_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        **({"SPARK_LOCAL_IP": "127.0.0.1"} if settings["spark.master"].startswith("local") else {}),
    }
    before, interrupted = dict(os.environ), signal.getsignal(signal.SIGINT)
    os.environ.update(environment)
    try:
        builder = SparkSession.builder
        for name, value in settings.items():
            builder = builder.config(name, value)
        return builder.getOrCreate()
    finally:
        if threading.current_thread() is threading.main_thread():
            # Spark's handler cancels jobs through a connection that is in use; ending the session ends them as well.
            signal.signal(signal.SIGINT, interrupted)
        for name in environment:
            del os.environ[name]
        os.environ.update({name: before[name] for name in environment if name in before})


def _reason(error: Exception) -> str:
    """What went wrong, in one sentence: of a worker's traceback the last line."""
    lines = [line.strip(" :") for line in str(error).splitlines()]
    told = [line for line in lines if ": " in line and not line.startswith(("File ", "at ", "Traceback"))]
    return f"Spark could not finish: {(told or [*filter(None, lines)] or [type(error).__name__])[-1][:300]}"
