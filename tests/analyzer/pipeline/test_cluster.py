"""A standalone cluster: a master and two workers, each in a network namespace of its own, as on three machines.

They share the disk, and nothing else: all that they say to each other passes over a bridge. What is killed is killed as
a machine that dies.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")
pytest.importorskip("pyspark", reason="the extra wireanalyze[pipeline] is not installed")

from analyzer.pipeline.java_gateway import find_java, find_spark_home
from tests.analyzer.pipeline.house import ROOT, Rows
from tests.analyzer.pipeline.written import written
from tests.namespaces import privileged

pytestmark = [pytest.mark.slow, privileged, pytest.mark.xdist_group("spark")]

NETWORK = "10.89.0"
HOSTS = ("master", "worker-1", "worker-2")
ADDRESSES = {name: f"{NETWORK}.{number}" for number, name in enumerate(HOSTS, 1)}
MASTER = f"spark://{ADDRESSES['master']}:7077"
LIFETIME = "600"
"""Seconds that any process here lives at most."""

PATIENCE = 240.0


@dataclass
class Cluster:
    """Machines by name, with the processes on each. anchors: their namespaces."""

    folder: Path
    anchors: dict[str, int]
    processes: dict[str, list[subprocess.Popen[bytes]]] = field(default_factory=dict)

    def start(self, host: str, *command: str) -> subprocess.Popen[bytes]:
        """Starts a program on a machine; what it says goes to a file."""
        inside = ["nsenter", f"--net=/proc/{self.anchors[host]}/ns/net", "timeout", "-k", "5", LIFETIME, *command]
        environment = os.environ | {
            "SPARK_HOME": find_spark_home(),
            "SPARK_LOCAL_IP": ADDRESSES[host],
            "SPARK_SCALA_VERSION": "2.13",
            "JAVA_HOME": str(Path(find_java()).resolve().parent.parent),
            "PYTHONPATH": str(ROOT),
        }
        with (self.folder / f"{host}.log").open("ab") as log:
            process = subprocess.Popen(
                inside, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
            )
        self.processes.setdefault(host, []).append(process)
        return process

    def kill(self, host: str) -> None:
        """Ends all processes of a machine at once."""
        namespace = os.stat(f"/proc/{self.anchors[host]}/ns/net").st_ino
        for path in Path("/proc").glob("[0-9]*/ns/net"):
            pid = int(path.parts[2])
            try:
                if path.stat().st_ino == namespace and pid != self.anchors[host]:
                    os.kill(pid, signal.SIGKILL)
            except (OSError, ProcessLookupError):
                continue
        for process in self.processes.pop(host, []):
            process.wait()

    def run_spark(self, host: str, name: str, *arguments: str) -> None:
        """Starts a master or a worker."""
        jars = os.path.join(find_spark_home(), "jars", "*")
        self.start(host, find_java(), "-Xmx256m", "-cp", jars, f"org.apache.spark.deploy.{name}", *arguments)

    def run_worker(self, host: str) -> None:
        """Starts a worker with one core."""
        options = ("--host", ADDRESSES[host], "--cores", "1", "--memory", "700m", "--webui-port", "0")
        self.run_spark(host, "worker.Worker", *options, "--work-dir", str(self.folder / host), MASTER)

    def run_pipeline(self, source: Path, folder: Path, *more: str) -> subprocess.Popen[bytes]:
        """Starts the command on the machine of the master."""
        command = [sys.executable, "-m", "analyzer.cli", "pipeline", str(source), "-o", str(folder), "--master", MASTER]
        settings = {
            "spark.driver.host": ADDRESSES["master"],
            "spark.driver.memory": "512m",
            "spark.executor.memory": "512m",
            "spark.executorEnv.PYTHONPATH": str(ROOT),
        }
        for name, value in settings.items():
            command += ["--conf", f"{name}={value}"]
        return self.start("master", *command, "--partitions", "8", *more)

    def said(self, host: str) -> str:
        """What the programs of a machine have said."""
        return (self.folder / f"{host}.log").read_text(errors="replace")


def await_it(what: Callable[[], bool], why: Callable[[], str]) -> None:
    """Waits until something is so."""
    until = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < until, why()
        time.sleep(0.1)


@contextmanager
def connected() -> Iterator[dict[str, int]]:
    """A namespace for each machine, all on one bridge; the process that holds each."""
    with ExitStack() as ends:
        anchors = {}
        for name in HOSTS:
            process = subprocess.Popen(["unshare", "--net", "sleep", LIFETIME])
            ends.callback(process.wait)
            ends.callback(process.kill)
            anchors[name] = process.pid
        ours = os.stat("/proc/self/ns/net").st_ino
        for pid in anchors.values():
            await_it(lambda pid=pid: os.stat(f"/proc/{pid}/ns/net").st_ino != ours, lambda: "no namespace")
        bridge = ["ip link set lo up", "ip link add bridge type bridge", "ip link set bridge up"]
        bridge.append(f"ip address add {ADDRESSES['master']}/24 dev bridge")
        for name in HOSTS[1:]:
            bridge.append(f"ip link add {name} type veth peer name eth0 netns {anchors[name]}")
            bridge.append(f"ip link set {name} master bridge up")
        run_inside(anchors["master"], bridge)
        for name in HOSTS[1:]:
            address = f"ip address add {ADDRESSES[name]}/24 dev eth0"
            run_inside(anchors[name], ["ip link set lo up", "ip link set eth0 up", address])
        yield anchors


def run_inside(anchor: int, commands: list[str]) -> None:
    """Runs shell commands in a namespace."""
    subprocess.run(["nsenter", f"--net=/proc/{anchor}/ns/net", "sh", "-ec", "\n".join(commands)], check=True)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """All three are up."""
    with connected() as anchors:
        found = Cluster(tmp_path, anchors)
        try:
            options = ("--host", ADDRESSES["master"], "--port", "7077", "--webui-port", "0")
            found.run_spark("master", "master.Master", *options)
            for name in HOSTS[1:]:
                found.run_worker(name)
            await_it(
                lambda: found.said("master").count("Registering worker") == len(HOSTS) - 1,
                lambda: "".join(map(found.said, HOSTS)),
            )
            yield found
        finally:
            for name in HOSTS:
                found.kill(name)


def has_begun(folder: Path) -> bool:
    """Whether a task has begun to write a table."""
    return any(folder.rglob("*.parquet*"))


@pytest.mark.parametrize("more", [(), ("--shuffle-payload",)], ids=["files", "payload"])
def test_a_worker_that_dies(cluster: Cluster, house: Path, expected: Rows, tmp_path: Path, more: tuple[str]) -> None:
    tables = tmp_path / "tables"
    driver = cluster.run_pipeline(house, tables, *more)
    await_it(lambda: has_begun(tables) or driver.poll() is not None, lambda: cluster.said("master"))
    assert driver.poll() is None, cluster.said("master")
    cluster.kill("worker-2")
    assert driver.wait(PATIENCE) == 0, cluster.said("master")
    assert list((tmp_path / "worker-1").iterdir())
    assert list((tmp_path / "worker-2").iterdir())
    assert written(tables) == expected


def test_a_driver_that_dies_and_runs_again(cluster: Cluster, house: Path, expected: Rows, tmp_path: Path) -> None:
    tables = tmp_path / "tables"
    driver = cluster.run_pipeline(house, tables)
    await_it(lambda: has_begun(tables) or driver.poll() is not None, lambda: cluster.said("master"))
    assert driver.poll() is None, cluster.said("master")
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()
    assert cluster.run_pipeline(house, tables, "--overwrite").wait(PATIENCE) == 0, cluster.said("master")
    assert written(tables) == expected
