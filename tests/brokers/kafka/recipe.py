"""Kafka: one KRaft node, broker and controller at once, and its tools."""

from __future__ import annotations

from pathlib import Path

from tests.brokers.lab.maven import Jars
from tests.brokers.lab.server import Recipe, Site

RELEASE = "4.4.0"

# What is called kafka-tools-api was not published with that release, and nothing here uses it.
SERVER = Jars(
    f"kafka-{RELEASE}",
    (f"org.apache.kafka:kafka_2.13:{RELEASE}", "org.slf4j:slf4j-simple:1.7.36"),
    ("org.apache.kafka:kafka-tools-api:4.3.1",),
)
# A release of their own, for the tools and the clients within them are to be others than the server's.
TOOLS = Jars("kafka-tools-4.3.1", ("org.apache.kafka:kafka-tools:4.3.1", "org.slf4j:slf4j-simple:1.7.36"))
COMPILER = Jars("java-compiler", ("org.eclipse.jdt:ecj:3.36.0",))

_PROPERTIES = """\
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://{broker},SASL_PLAINTEXT://{sasl},CONTROLLER://{controller}
advertised.listeners=PLAINTEXT://{broker},SASL_PLAINTEXT://{sasl}
sasl.enabled.mechanisms=SCRAM-SHA-256
listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config=\
    org.apache.kafka.common.security.scram.ScramLoginModule required;
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT
controller.quorum.bootstrap.servers={controller}
log.dirs={folder}
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
"""
CLUSTER = "AAAAAAAAAAAAAAAAAAAAAQ"
USER, PASSWORD = "alice", "a-password-made-up-for-tests"
"""Who may use the port `sasl`."""


def _configuration(site: Site) -> Path:
    return site.folder / "server.properties"


def _prepare(site: Site) -> None:
    """Writes the configuration and formats the storage: a KRaft node does not start on an empty one."""
    addresses = {name: site.address(name) for name in site.ports}
    _configuration(site).write_text(_PROPERTIES.format(folder=site.folder / "data", **addresses))
    user = f"SCRAM-SHA-256=[name={USER},password={PASSWORD}]"
    options = ("--standalone", "-t", CLUSTER, "-c", str(_configuration(site)), "--add-scram", user)
    site.java.run("kafka.tools.StorageTool", "format", *options)


KAFKA = Recipe(
    jars=SERVER,
    ports=("broker", "sasl", "controller"),
    prepare=_prepare,
    command=lambda site: ("kafka.Kafka", str(_configuration(site))),
    ready=lambda site: "Kafka Server started" in site.logged(),
)
