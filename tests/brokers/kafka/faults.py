"""Three brokers, clients as processes of their own, and faults that are done to both."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.brokers.kafka.cluster import CONTROLLER, NODES, node
from tests.brokers.kafka.journal import ROOT
from tests.brokers.lab.leash import leashed
from tests.brokers.lab.server import HOST, Recipe, Site, free_ports, kill, running, sited, stop

PATIENCE = 60.0


@dataclass(slots=True)
class Client:
    """A client that runs, and the file with what it prints."""

    process: subprocess.Popen[bytes]
    log: Path

    def wait_for(self, text: str) -> None:
        """Waits until it has printed a line that begins so."""
        deadline = time.monotonic() + PATIENCE
        while not any(line.startswith(text) for line in self.log.read_text().splitlines()):
            assert time.monotonic() < deadline, f"no {text!r} in {self.log.read_text()[-2000:]}"
            time.sleep(0.1)


@dataclass(slots=True)
class Cluster:
    """Three nodes, one of which is the controller, too."""

    folder: Path
    controller: int = 0
    sites: dict[int, Site] = field(default_factory=dict)
    recipes: dict[int, Recipe] = field(default_factory=dict)
    started: dict[int, ExitStack] = field(default_factory=dict)
    processes: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)

    def prepare(self) -> None:
        """Makes what the nodes need before they start. Raises Missing."""
        self.controller = free_ports(["controller"])["controller"]
        for number in NODES:
            self.recipes[number] = node(number, f"{HOST}:{self.controller}")
            place = self.folder / f"node-{number}"
            place.mkdir()
            self.sites[number] = sited(self.recipes[number], place)

    def start(self, number: int) -> None:
        """Starts a node; gives back once it is ready."""
        stack = ExitStack()
        self.processes[number] = stack.enter_context(running(self.recipes[number], self.sites[number]))
        self.started[number] = stack

    def kill(self, number: int) -> None:
        """Ends a node as a machine that dies does."""
        kill(self.processes[number])
        self.started.pop(number).close()

    def stop(self) -> None:
        """Stops all nodes, the controller last."""
        for number in sorted(self.started, reverse=True):
            self.started.pop(number).close()

    @property
    def address(self) -> str:
        """Where clients begin."""
        return self.sites[CONTROLLER].address("broker")

    @property
    def ports(self) -> list[int]:
        """All ports of all nodes."""
        return [*(site.ports["broker"] for site in self.sites.values()), self.controller]

    def create(self, topic: str, replicas: list[list[int]]) -> None:
        """Creates a topic, with the brokers of each partition."""
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient({"bootstrap.servers": self.address})
        new = NewTopic(topic, num_partitions=len(replicas), replica_assignment=replicas)
        admin.create_topics([new])[topic].result(30)
        time.sleep(0.5)

    @contextmanager
    def client(self, name: str, what: str, **settings: Any) -> Iterator[Client]:
        """A client until it is left; what and settings: see fault_client."""
        log = self.folder / f"{name}.log"
        given = json.dumps({"client.id": name, **settings})
        command = [sys.executable, "-m", "tests.brokers.kafka.fault_client", self.address, what, given]
        with log.open("wb") as text:
            process = subprocess.Popen(command, cwd=ROOT, stdout=text, stderr=text, start_new_session=True)
        try:
            with leashed(process):
                yield Client(process, log)
        finally:
            stop(process)

    def run(self, name: str, what: str, **settings: Any) -> None:
        """Runs a client to its end."""
        with self.client(name, what, **settings) as client:
            client.process.wait(PATIENCE)


FAST: Mapping[str, Any] = {"session.timeout.ms": 3000, "heartbeat.interval.ms": 500}
NEW: Mapping[str, Any] = {"group.protocol": "consumer"}
"""Settings of consumers of a classic group, and of a group of the new protocol (KIP-848)."""


def silence_member(cluster: Cluster, name: str, settings: Mapping[str, Any], *, pause: float = 0) -> None:
    """Kills a member of a group, or pauses it so many seconds."""
    cluster.create(name, [[1], [2], [1], [2]])
    common = {"topics": [name], "group.id": f"g-{name}", **settings}
    with (
        cluster.client(f"first-{name}", "consume", **common) as first,
        cluster.client(f"second-{name}", "consume", **common) as second,
        cluster.client(f"producer-{name}", "produce", topic=name, count=400, pause=0.1),
    ):
        first.wait_for("assigned")
        second.wait_for("assigned")
        time.sleep(4)
        if not pause:
            second.process.kill()
            time.sleep(10)
        else:
            second.process.send_signal(signal.SIGSTOP)
            time.sleep(pause)
            second.process.send_signal(signal.SIGCONT)
            time.sleep(5)


def slow_member(cluster: Cluster, name: str, settings: Mapping[str, Any]) -> None:
    """One of two members works longer on a record than max.poll.interval.ms."""
    cluster.create(name, [[1], [2]])
    common = {"topics": [name], "group.id": f"g-{name}", "max.poll.interval.ms": 6000, **settings}
    with (
        cluster.client(f"first-{name}", "consume", **common),
        cluster.client(f"second-{name}", "consume", work=9, **common) as second,
        cluster.client(f"producer-{name}", "produce", topic=name, count=300, pause=0.1),
    ):
        second.wait_for("record")
        time.sleep(14)


def kill_broker(cluster: Cluster, name: str) -> None:
    """A broker dies and comes back, while somebody writes and reads."""
    cluster.create(name, [[2, 3], [3, 2]])
    with (
        cluster.client(f"consumer-{name}", "consume", topics=[name], **{"group.id": f"g-{name}"}) as consumer,
        cluster.client(f"producer-{name}", "produce", topic=name, count=400, pause=0.1),
    ):
        consumer.wait_for("record")
        time.sleep(2)
        cluster.kill(3)
        time.sleep(9)
        cluster.start(3)
        time.sleep(6)


def move_leader(cluster: Cluster, name: str) -> None:
    """An administrator makes another replica the leader."""
    from kafka.admin import KafkaAdminClient
    from kafka.structs import TopicPartition

    cluster.create(name, [[2, 3]])
    with (
        cluster.client(f"consumer-{name}", "consume", topics=[name], **{"group.id": f"g-{name}"}) as consumer,
        cluster.client(f"producer-{name}", "produce", topic=name, count=200, pause=0.1),
    ):
        consumer.wait_for("record")
        time.sleep(1)
        admin = KafkaAdminClient(bootstrap_servers=cluster.address)
        admin.alter_partition_reassignments({TopicPartition(name, 0): [3, 2]})
        time.sleep(2)
        admin.elect_leaders(0, {name: [0]})  # the preferred one
        time.sleep(8)
        admin.close()


def exceed_transaction(cluster: Cluster, name: str) -> None:
    """A transaction lasts longer than it may."""
    cluster.create(name, [[1]])
    settings = {"transactional.id": name, "transaction.timeout.ms": 2000}
    cluster.run("transactor", "transact", topic=name, wait=6, **settings)


def exceed_quota(cluster: Cluster, name: str) -> None:
    """A client writes faster than its quota lets it."""
    from kafka.admin import KafkaAdminClient
    from kafka.protocol.admin.client_quotas import AlterClientQuotasRequest

    cluster.create(name, [[1]])
    admin = KafkaAdminClient(bootstrap_servers=cluster.address)
    entry = AlterClientQuotasRequest.EntryData
    quota = entry(
        entity=[entry.EntityData(entity_type="client-id", entity_name="greedy")],
        ops=[entry.OpData(key="producer_byte_rate", value=20_000.0, remove=False)],
    )
    admin._manager.run(admin._manager.send, AlterClientQuotasRequest(entries=[quota], validate_only=False))
    settings = {"linger.ms": 50, "batch.size": 50_000}
    cluster.run("greedy", "produce", topic=name, count=60, size=8000, **settings)
    admin.close()


def miss_offset(cluster: Cluster, name: str) -> None:
    """A consumer asks for an offset behind the end."""
    cluster.create(name, [[1]])
    cluster.run("filler", "produce", topic=name, count=8)
    with cluster.client("beyond", "consume", topics=[name], start=99_999, **{"group.id": "g-beyond"}) as client:
        client.wait_for("record")
        time.sleep(1)


def exceed_size(cluster: Cluster, name: str) -> None:
    """A batch is larger than its topic takes; somebody has asked for the topic's settings."""
    from confluent_kafka.admin import AdminClient, ConfigResource

    cluster.create(name, [[1]])
    asked = ConfigResource("topic", name)
    admin = AdminClient({"bootstrap.servers": cluster.address})
    admin.describe_configs([asked])[asked].result(30)
    cluster.run("big", "produce", topic=name, count=1, size=300_000)


FAULTS: Mapping[str, Callable[[Cluster, str], None]] = {
    "killed": lambda cluster, name: silence_member(cluster, name, FAST),
    "killed-new": lambda cluster, name: silence_member(cluster, name, NEW),
    "paused": lambda cluster, name: silence_member(cluster, name, FAST, pause=7),
    "paused-new": lambda cluster, name: silence_member(cluster, name, NEW, pause=9),
    "slow": lambda cluster, name: slow_member(cluster, name, FAST),
    "slow-new": lambda cluster, name: slow_member(cluster, name, NEW),
    "broker": kill_broker,
    "moved": move_leader,
    "transaction": exceed_transaction,
    "quota": exceed_quota,
    "offset": miss_offset,
    "large": exceed_size,
}
