"""Kafka 3.9, the last release that could be run with a ZooKeeper, speaking to its own kind as 2.4 did.

What brokers told each other then (LeaderAndIsr, UpdateMetadata, StopReplica) is in no later release.
"""

from __future__ import annotations

from pathlib import Path

from tests.brokers.lab.maven import Jars
from tests.brokers.lab.server import Recipe, Site

RELEASE = "3.9.2"
SERVER = Jars(f"kafka-{RELEASE}", (f"org.apache.kafka:kafka_2.13:{RELEASE}", "org.slf4j:slf4j-simple:1.7.36"))

_ENSEMBLE = """\
clientPort={port}
clientPortAddress=127.0.0.1
dataDir={folder}
admin.enableServer=false
"""

_BROKER = """\
broker.id={node}
zookeeper.connect={zookeeper}
listeners=PLAINTEXT://{broker}
inter.broker.protocol.version={protocol}
log.dirs={folder}
auto.create.topics.enable=false
default.replication.factor=2
group.initial.rebalance.delay.ms=0
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
"""


def _write_ensemble(site: Site) -> None:
    folder = site.folder / "data"
    (site.folder / "zoo.cfg").write_text(_ENSEMBLE.format(port=site.ports["client"], folder=folder))


ZOOKEEPER = Recipe(
    jars=SERVER,
    ports=("client",),
    prepare=_write_ensemble,
    command=lambda site: ("org.apache.zookeeper.server.quorum.QuorumPeerMain", str(site.folder / "zoo.cfg")),
    ready=lambda site: site.listens("client"),
    options=("-Xmx128m",),
)


def broker(node: int, zookeeper: str, protocol: str) -> Recipe:
    """One broker of those that meet at the address `zookeeper`; it speaks to the others as release `protocol` does."""

    def configuration(site: Site) -> Path:
        return site.folder / "server.properties"

    def prepare(site: Site) -> None:
        of_site = {"broker": site.address("broker"), "folder": site.folder / "data"}
        configuration(site).write_text(_BROKER.format(node=node, zookeeper=zookeeper, protocol=protocol, **of_site))

    return Recipe(
        jars=SERVER,
        ports=("broker",),
        prepare=prepare,
        command=lambda site: ("kafka.Kafka", str(configuration(site))),
        ready=lambda site: f"[KafkaServer id={node}] started" in site.logged(),
    )
