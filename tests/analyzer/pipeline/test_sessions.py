"""The whole command in sessions of every kind, as processes of their own: the rows are those of one process.

Each is run from a folder without the project, and with nothing of Spark's in its environment.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")
pytest.importorskip("pyspark", reason="the extra wireanalyze[pipeline] is not installed")

from analyzer.cli import submit
from analyzer.pipeline.java_gateway import find_java, find_spark_home
from analyzer.tables.table_schemas import TABLES, build_schema
from tests.analyzer.pipeline.house import Rows, in_order, single
from tests.analyzer.pipeline.written import written

pytestmark = pytest.mark.xdist_group("spark")

CHOSEN = ("cut", "again", "lost", "v6", "damaged")
PATIENCE = 180
"""Seconds for a run; for one that was killed to be gone, a tenth."""

COMMAND = (sys.executable, "-m", "analyzer.cli", "pipeline")


def environment(**more: str) -> dict[str, str]:
    """Ours, without what a session in this process has left in it."""
    alone = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK", "PYSPARK"))}
    return {**alone, **more}


@pytest.fixture(scope="module")
def captures(house: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A part of the house: files that follow one another, a reused port, loss, damage."""
    folder = tmp_path_factory.mktemp("sessions") / "captures"
    for name in CHOSEN:
        shutil.copytree(house / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def rows(captures: Path) -> Rows:
    return single(captures)


def run(command: Sequence[str], folder: Path, **more: str) -> None:
    done = subprocess.run(
        command, cwd=folder, env=environment(**more), capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.slow
def test_executors(captures: Path, rows: Rows, tmp_path: Path) -> None:
    """Processes of their own, which find the package because their Python has it."""
    cluster = ["--master", "local-cluster[2,1,1024]", "--partitions", "4"]
    run([*COMMAND, str(captures), "-o", "tables", *cluster], tmp_path)
    assert written(tmp_path / "tables") == rows


@pytest.mark.slow
def test_nothing_is_shared(captures: Path, tmp_path: Path) -> None:
    """Captures in a file system that only Spark knows; payload travels there, and files of tables back."""
    mounted = f"spark.hadoop.fs.viewfs.mounttable.house.link./cut=file://{captures / 'cut'}"
    options = ["--master", "local[2]", "--shuffle-payload", "--partitions", "3", "--conf", mounted]
    run([*COMMAND, "viewfs://house/cut", "-o", "tables", *options], tmp_path)
    found, expected = written(tmp_path / "tables"), single(captures / "cut")
    assert {row["capture"] for row in found["messages"]} == {"viewfs://house/cut"}
    for table in TABLES:
        assert without_capture(found, table) == without_capture(expected, table)


def without_capture(rows: Rows, table: str) -> list[dict[str, object]]:
    return [{name: value for name, value in row.items() if name != "capture"} for row in rows[table]]


@pytest.mark.slow
def test_spark_submit(captures: Path, rows: Rows, tmp_path: Path) -> None:
    submitted = [os.path.join(find_spark_home(), "bin", "spark-submit"), "--master", "local[2]", submit.__file__]
    home = str(Path(find_java()).parents[1])
    run([*submitted, str(captures), "-o", "tables"], tmp_path, PYSPARK_PYTHON=sys.executable, JAVA_HOME=home)
    assert written(tmp_path / "tables") == rows


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """A Spark Connect server on loopback; its URL."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = {"spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": str(port)}
    settings |= {"spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false", "spark.local.dir": str(folder)}
    command = [os.path.join(find_spark_home(), "bin", "spark-submit"), "--master", "local[2]"]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    command += [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    reported = environment(PYSPARK_PYTHON=sys.executable, JAVA_HOME=str(Path(find_java()).parents[1]))
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen([*command, "spark-internal"], cwd=folder, env=reported, stdout=log, stderr=log)
    try:
        _wait_for(port, process)
        yield f"sc://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    pytest.fail("the server did not come up")


READ = """
import sys
import pyarrow.parquet as pq
import wireanalyze.spark
from pyspark.sql import SparkSession

session = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
wireanalyze.spark.register(session)
for table in sys.argv[3:]:
    rows = session.read.format("wireanalyze").option("table", table).load(sys.argv[2])
    pq.write_table(rows.toArrow(), f"{table}.parquet")
session.stop()
"""


@pytest.mark.slow
def test_a_server(captures: Path, rows: Rows, tmp_path: Path) -> None:
    """The command, and a notebook, as clients that have no Java."""
    import pyarrow.parquet as pq

    read = ("messages", "exchanges", "streams")
    assert set(read) < set(TABLES)
    with server(tmp_path) as url:
        run([*COMMAND, str(captures), "-o", "tables", "--remote", url], tmp_path)
        run([sys.executable, "-c", READ, url, str(captures), *read], tmp_path)
    assert written(tmp_path / "tables") == rows
    for table in read:
        found = pq.read_table(tmp_path / f"{table}.parquet").select(build_schema(table).names)
        assert in_order(table, found.cast(build_schema(table))) == rows[table]


def descendants(pid: int) -> dict[int, str]:
    """Of a process of ours: pid to start time, which no other process of that number has."""
    parents: dict[int, list[tuple[int, str]]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        words = _status(int(name))
        if words:
            parents.setdefault(int(words[1]), []).append((int(name), words[19]))
    found, todo = dict[int, str](), [pid]
    while todo:
        for child, start in parents.get(todo.pop(), ()):
            found[child] = start
            todo.append(child)
    return found


def _status(pid: int) -> list[str]:
    """Its state, its parent and so on (proc(5)); empty when it is gone, or dead and not yet asked for."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []
    return [] if words[0] in "ZX" else words


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
def test_a_killed_driver_leaves_nobody_behind(house: Path, tmp_path: Path) -> None:
    """Java and the workers end by themselves; what they leave is gone after the next run."""
    (tmp_path / "temporary").mkdir()
    command = [*COMMAND, str(house / "cut"), "-o", "tables", "--master", "local[2]"]
    reported = environment(TMPDIR=str(tmp_path / "temporary"))
    process = subprocess.Popen(
        command, cwd=tmp_path, env=reported, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        until = time.monotonic() + PATIENCE
        while len(descendants(process.pid)) < 3 and process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        started = descendants(process.pid)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert len(started) >= 3  # Java, who starts workers, and a worker
    until = time.monotonic() + PATIENCE / 10
    while left := [pid for pid, start in started.items() if _status(pid)[19:20] == [start]]:
        assert time.monotonic() < until, f"still there: {left}"
        time.sleep(0.1)
    assert len(list((tmp_path / "temporary").glob("wireanalyze-spark-*"))) == 1
    run(command, tmp_path, TMPDIR=str(tmp_path / "temporary"))
    assert not list((tmp_path / "temporary").glob("wireanalyze-spark-*"))
    assert [path.name for path in (tmp_path / "tables").glob("_*")] == ["_lock"]
