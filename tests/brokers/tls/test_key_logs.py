"""The table of docs/how-to/tls.md: who can write a key log, tried with real servers and clients."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("cryptography", reason="the extra wireanalyze[tls] is not installed")

from tests.brokers.kafka.decoded import Row, rows_of
from tests.brokers.lab.missing import Missing
from tests.brokers.lab.recorder import LOOPBACK, recording
from tests.brokers.lab.server import Recipe, running, sited
from tests.brokers.tls import recipes
from tests.brokers.tls.certificates import Certificates, make_certificates
from tests.brokers.tls.clients import CLIENTS, Client, run_kazoo, run_pulsar, run_rocketmq_admin

pytestmark = [pytest.mark.brokers, pytest.mark.xdist_group("brokers")]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@dataclass(frozen=True, slots=True)
class Recorded:
    """A capture, the key logs by who wrote them, why others wrote none, and what `sniff` printed meanwhile."""

    capture: Path
    logs: Mapping[str, Path]
    missing: Mapping[str, str]
    live: list[Row]


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory, made: Certificates) -> Recorded:
    """A broker and all clients, one after the other."""
    folder = tmp_path_factory.mktemp("kafka")
    capture, logs, missing = folder / "clients.pcap", {"server": folder / "server.keys"}, {}
    try:
        site = sited(recipes.kafka(made, logs["server"]), folder)
        with (
            recording(capture, [site.ports["tls"]]),
            running(recipes.kafka(made, logs["server"]), site),
            sniffing(site.ports["tls"], folder / "franz-go.keys") as live,
        ):
            for name, client in CLIENTS.items():
                try:
                    client(site.address("tls"), made, folder / f"{name}.keys")
                    logs[name] = folder / f"{name}.keys"
                except Missing as reason:
                    missing[name] = str(reason)
    except Missing as reason:
        pytest.skip(str(reason))
    return Recorded(capture, logs, missing, live)


@contextmanager
def sniffing(port: int, log: Path) -> Iterator[list[Row]]:
    """A live capture with a key log that is not there yet; its rows when it is over."""
    command = [sys.executable, "-m", "analyzer.cli", "sniff", "-i", LOOPBACK, "-f", f"tcp port {port}", "--headless"]
    command += ["--format", "ndjson", "--keylog", str(log)]
    if not os.geteuid():
        command += ["-Z", "root"]
    rows: list[Row] = []
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    process.stderr.readline()
    try:
        yield rows
    finally:
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=60)
        rows += map(json.loads, printed.splitlines())


def read_clients(rows: list[Row]) -> set[str]:
    """The client ids of requests that have an answer."""
    return {row["client"] for row in rows if row["role"] == "request" and row["partner"] is not None}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_s_key_log_decrypts_its_connections_alone(kafka: Recorded, client: str) -> None:
    if client in kafka.missing:
        pytest.skip(kafka.missing[client])
    ids = read_clients(rows_of(kafka.capture, "--keylog", str(kafka.logs[client])))
    assert ids == {client}


def test_a_broker_s_key_log_decrypts_all(kafka: Recorded) -> None:
    rows = rows_of(kafka.capture, "--keylog", str(kafka.logs["server"]))
    assert read_clients(rows) == kafka.logs.keys() - {"server"}
    assert {row["protocol"] for row in rows} == {"kafka"}


def test_a_live_capture_reads_the_key_log_as_it_grows(kafka: Recorded) -> None:
    if "franz-go" in kafka.missing:
        pytest.skip(kafka.missing["franz-go"])
    assert read_clients(kafka.live) == {"franz-go"}


class Case(NamedTuple):
    """A server, the name of its port for TLS, a client, and whether that one writes a key log, too."""

    recipe: Callable[[Certificates, Path], Recipe]
    port: str
    client: Client
    writes: bool


CASES = {
    "zookeeper": Case(recipes.zookeeper_server, "tls", run_kazoo, True),
    "rocketmq": Case(recipes.rocketmq_names, "names", run_rocketmq_admin, True),
    "pulsar": Case(recipes.pulsar_standalone, "tls", run_pulsar, False),
}
"""By protocol."""


@pytest.mark.parametrize("protocol", CASES)
def test_key_logs_of_other_servers(protocol: str, made: Certificates, tmp_path: Path) -> None:
    case, capture, logs = CASES[protocol], tmp_path / "a.pcap", [tmp_path / "server.keys", tmp_path / "client.keys"]
    try:
        recipe = case.recipe(made, logs[0])
        site = sited(recipe, tmp_path)
        with recording(capture, [site.ports[case.port]]), running(recipe, site):
            case.client(site.address(case.port), made, logs[1])
    except Missing as reason:
        pytest.skip(str(reason))
    for log in logs[: 1 + case.writes]:
        rows = rows_of(capture, "--keylog", str(log))
        assert {row["protocol"] for row in rows} == {protocol}
        assert any(row["role"] == "request" and row["partner"] is not None for row in rows)
