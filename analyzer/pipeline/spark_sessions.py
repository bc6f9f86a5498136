"""Spark sessions for the command: one of its own, one of spark-submit's, or one on a server (Spark Connect).

Theory. What the run asks of Spark is the same for all: mapInArrow, repartition, sort, collect. So they differ in who
has started Java, and therefore in who says what Java and the workers are to be told. A session of our own is quiet:
Java and all workers write to one log, which is kept, and named, if something fails. An own session is ended by ending
its Java; with `local` masters there is nobody else to be told.
"""

from __future__ import annotations

import logging
import os
import pwd
import shutil
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyzer.errors import UserError
from analyzer.pipeline.class_archive import ClassArchive
from analyzer.pipeline.java_gateway import (
    JavaProcess,
    find_java,
    find_spark_home,
    make_start_error,
    write_launcher,
)
from analyzer.pipeline.owned_folders import create_owned_folder
from analyzer.pipeline.spark_errors import LOG_NAME, SparkError, translate_full_disk, translate_spark_errors
from analyzer.pipeline.spark_servers import check_master, connect_session
from analyzer.tables.options import OWN_WORKER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
"""Where the packages `analyzer` and `dissectors` lie."""

SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Who was started by spark-submit has this in its environment."""

QUERY: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    # A row has the pointers of up to thousands of packets, and maybe their payload; so what counts are bytes.
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(1 << 16),
    "spark.sql.execution.arrow.maxBytesPerBatch": str(8 << 20),
    # The plan is stages of a width that is said, with little to do in Java: nothing to adapt, nothing to compile.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
}
"""Settings of every session, also of a server's."""

DEFAULTS: Mapping[str, str] = {
    **QUERY,
    "spark.app.name": "wireanalyze pipeline",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    # A task writes files: a second one at the same work would only compete for the disk.
    "spark.speculation": "false",
    "spark.python.worker.reuse": "true",
    # Java and Python wait so long for one another: by default 15 seconds, which a busy machine may need.
    "spark.python.authenticate.socketTimeout": "10m",
    "spark.python.worker.faulthandler.enabled": "false",
    # Modules of the folder in which the command is run are not for workers.
    "spark.executorEnv.PYTHONSAFEPATH": "1",
    f"spark.executorEnv.{OWN_WORKER}": "1",
    # Arrow's usual allocator keeps what it has freed: half of a worker's memory.
    "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "jemalloc",
}
"""Settings of sessions of our own, unless --conf says otherwise."""

LOOPBACK: Mapping[str, str] = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
"""Of those on this machine alone: nothing listens to the outside."""

LOCAL: Mapping[str, str] = {
    **LOOPBACK,
    "spark.executorEnv.PYTHONPATH": str(ROOT),
    "spark.python.daemon.module": "analyzer.pipeline.worker_daemon",
}
"""Of those that have no executors but Java itself: workers find what this process has found."""

PREFIX = "wireanalyze-spark-"
"""How the folder of a session begins, in the temporary folder and where Spark was told to sort."""


def is_submitted() -> bool:
    """Returns whether spark-submit has started this process, and Java."""
    return SUBMITTED in os.environ


@contextmanager
def open_session(master: str, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """Yields a session of our own, which ends with the block.

    What Spark says goes to a log, which is kept if Spark fails.

    Raises UserError if there is no Java, or the master can't be reached; SparkError for what Spark raises in it.
    """
    check_master(master)
    with ExitStack() as homes, translate_full_disk():
        home = homes.enter_context(create_owned_folder(PREFIX))
        keep = False
        try:
            with _log_to_file(home / LOG_NAME):
                java = find_java()
                environment = {**_build_environment(master, conf, home, java), **_create_sort_folders(conf, homes)}
                settings = _build_settings(master, conf, environment, home)
                launcher, archive = write_launcher(java, home, settings, environment["SPARK_HOME"])
                environment |= launcher
                with (
                    _end_java(home / LOG_NAME, archive),
                    translate_spark_errors(home / LOG_NAME),
                    _start_session(master, home, environment) as spark,
                ):
                    yield spark
        except SparkError:
            keep = True
            raise
        finally:
            _clear_folder(home, keep)


def _is_local(master: str) -> bool:
    """Whether Java does all itself; the master local-cluster starts executors, as a cluster does."""
    return master == "local" or master.startswith("local[")


def _create_sort_folders(conf: Mapping[str, str], homes: ExitStack) -> Mapping[str, str]:
    """Where Spark sorts if that was said: folders of ours there, for Java is ended before it can clear them."""
    named = os.environ.get("SPARK_LOCAL_DIRS") or conf.get("spark.local.dir")
    if not named:
        return {}
    chosen = []
    for parent in named.split(","):
        chosen.append(str(homes.enter_context(create_owned_folder(PREFIX, parent.strip()))))
        homes.callback(shutil.rmtree, chosen[-1], ignore_errors=True)
    return {"SPARK_LOCAL_DIRS": ",".join(chosen)}


def _build_settings(
    master: str, conf: Mapping[str, str], environment: Mapping[str, str], home: Path
) -> Mapping[str, str]:
    here = LOCAL if _is_local(master) else LOOPBACK if master.startswith("local-cluster[") else {}
    settings = {**DEFAULTS, **here, **conf, "spark.master": master}
    settings.setdefault("spark.sql.warehouse.dir", str(home / "warehouse"))
    if "SPARK_LOCAL_DIRS" not in environment:
        settings["spark.local.dir"] = str(home)
    return settings


def _build_environment(master: str, conf: Mapping[str, str], home: Path, java: str) -> dict[str, str]:
    """What Java is started with, and Spark's Python side looks up."""
    (jar,) = Path(find_spark_home(), "jars").glob("spark-core_*.jar")
    found = {
        "JAVA_HOME": str(Path(java).resolve().parents[1]),
        "SPARK_HOME": find_spark_home(),
        "SPARK_SCALA_VERSION": jar.name.split("_")[1].split("-")[0],
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_CONNECT_MODE": "0",
    }
    if master.startswith("local"):
        found["SPARK_LOCAL_IP"] = "127.0.0.1"
    if not _is_local(master):
        found["PYSPARK_PYTHON"] = conf.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON", sys.executable)
    if master.startswith("local"):
        # Executors of local-cluster log below SPARK_HOME, and that is in the package. Other workers find pyspark as
        # this process does: from the archive in SPARK_HOME/python, Python would compile it for each of them.
        found["SPARK_HOME"] = str(home / "spark")
        (home / "spark").mkdir()
        for name in ("conf",) if _is_local(master) else ("jars", "python"):
            (home / "spark" / name).symlink_to(os.path.join(find_spark_home(), name))
    return found


@contextmanager
def _end_java(log: Path, archive: ClassArchive | None) -> Iterator[None]:
    """Ends Java in the end, even if it is busy; Spark's Python side forgets it, and workers end without it.

    archive: what Java may write when it ends by itself, as it does only after a run without an error. It is removed if
    Java has ended before.

    Raises SparkError if it has ended before.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    failed = True
    try:
        yield
        failed = False
    except Exception as error:
        if SparkContext._gateway is not None and SparkContext._gateway.proc.poll() is not None:
            raise SparkError(f"Java has ended. {log} has its output.") from error
        raise
    finally:
        gateway = SparkContext._gateway
        if archive is not None and failed and (gateway is None or gateway.proc.poll() is not None):
            archive.remove()
        if gateway is not None:
            gateway.proc.stdin.close()
            if archive is not None and not failed:
                archive.await_writing(gateway.proc)
            gateway.proc.kill()
            gateway.proc.wait()
            gateway.shutdown()  # afterwards: it would wait for an answer of a Java that hangs
        SparkSession._instantiatedSession = None
        SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None


@contextmanager
def _set_environment(environment: Mapping[str, str]) -> Iterator[None]:
    """The environment as Spark's Python side looks it up when a session begins."""
    before = {name: os.environ[name] for name in environment if name in os.environ}
    os.environ.update(environment)
    try:
        yield
    finally:
        for name in environment:
            del os.environ[name]
        os.environ.update(before)


@contextmanager
def _start_session(master: str, home: Path, environment: Mapping[str, str]) -> Iterator[SparkSession]:
    from pyspark import java_gateway
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    names = vars(java_gateway)
    usual = names["Popen"]
    interrupted = signal.getsignal(signal.SIGINT)
    with _set_environment(environment):
        names["Popen"] = JavaProcess
        try:
            _name_user(master)
            spark = SparkSession.builder.getOrCreate()
        except PySparkRuntimeError as error:
            if error.getCondition() != "JAVA_GATEWAY_EXITED":
                raise
            raise make_start_error(home / LOG_NAME) from error
        finally:
            names["Popen"] = usual
    if threading.current_thread() is threading.main_thread():
        # Spark's handler cancels jobs through a connection that is in use; ending Java ends them as well.
        signal.signal(signal.SIGINT, interrupted)
    # Java ends without a farewell to whom it sends counts.
    listening: Any = spark.sparkContext._accumulatorServer
    listening.handle_error = lambda *_: None
    try:
        yield spark
    finally:
        if not _is_local(master):
            spark.stop()


def _name_user(master: str) -> None:
    """Gives the user a name where the system knows none (any number is a user in a container): Hadoop asks for one.

    Raises UserError where executors on this machine would ask, too: each would end, and another begin, for ever.
    """
    from pyspark import SparkContext

    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        if master.startswith("local-cluster["):
            raise UserError(
                f"User {os.geteuid()} has no name on this machine, and the executors need one. Add a line to "
                "/etc/passwd, or give --master local."
            ) from None
        SparkContext._ensure_initialized()
        assert SparkContext._jvm is not None
        users = SparkContext._jvm.org.apache.hadoop.security.UserGroupInformation
        users.setLoginUser(users.createRemoteUser(os.environ.get("HADOOP_USER_NAME") or str(os.geteuid())))


@contextmanager
def open_submitted_session() -> Iterator[SparkSession]:
    """Opens the session for which spark-submit has started Java. Spark's log goes where spark-submit sends it."""
    from pyspark.sql import SparkSession

    with translate_spark_errors(None):
        builder = SparkSession.builder
        for name, value in QUERY.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        try:
            yield spark
        finally:
            spark.stop()


@contextmanager
def open_remote_session(url: str, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """Opens a session on a Spark Connect server. Raises UserError if it does not answer."""
    with translate_spark_errors(None):
        spark = connect_session(url, {**QUERY, **conf})
        try:
            yield spark
        finally:
            spark.stop()


@contextmanager
def _log_to_file(log: Path) -> Iterator[None]:
    """What libraries say on Python's side goes to the log, too."""
    handler = logging.FileHandler(log, delay=True)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()


def _clear_folder(home: Path, keep: bool) -> None:
    """Removes the files of a session, but for its log if that is to be kept."""
    for path in home.iterdir():
        if not (keep and path.name == LOG_NAME):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() and not path.is_symlink() else path.unlink()
    if not keep:
        shutil.rmtree(home, ignore_errors=True)
