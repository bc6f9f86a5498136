"""Three KRaft nodes: one that is controller and broker, two brokers; bounds are short, for faults to be seen soon."""

from __future__ import annotations

from pathlib import Path

from tests.brokers.kafka.recipe import CLUSTER, SERVER
from tests.brokers.lab.server import Recipe, Site

NODES = (1, 2, 3)
CONTROLLER = 1

_PROPERTIES = """\
process.roles={roles}
node.id={node}
listeners={listeners}
advertised.listeners=PLAINTEXT://{broker}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.quorum.bootstrap.servers={controller}
log.dirs={folder}
auto.create.topics.enable=false
auto.leader.rebalance.enable=false
broker.session.timeout.ms=4000
broker.heartbeat.interval.ms=1000
replica.lag.time.max.ms=4000
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
group.consumer.min.session.timeout.ms=1000
group.consumer.session.timeout.ms=6000
group.consumer.min.heartbeat.interval.ms=500
group.consumer.heartbeat.interval.ms=1000
offsets.topic.num.partitions=1
offsets.topic.replication.factor={copies}
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor={copies}
transaction.state.log.min.isr=1
transaction.abort.timed.out.transaction.cleanup.interval.ms=500
message.max.bytes=200000
"""


def node(number: int, controller: str, copies: int = 2) -> Recipe:
    """A node of those that meet at the address `controller`. copies: replicas of internal topics."""

    def configuration(site: Site) -> Path:
        return site.folder / "server.properties"

    def prepare(site: Site) -> None:
        leads = number == CONTROLLER
        listeners = f"PLAINTEXT://{site.address('broker')}" + (f",CONTROLLER://{controller}" if leads else "")
        properties = _PROPERTIES.format(
            roles="broker,controller" if leads else "broker",
            node=number,
            listeners=listeners,
            broker=site.address("broker"),
            controller=controller,
            folder=site.folder / "data",
            copies=copies,
        )
        configuration(site).write_text(properties)
        options = ("-t", CLUSTER, "-c", str(configuration(site)), *(("--standalone",) if leads else ()))
        site.java.run("kafka.tools.StorageTool", "format", *options)

    return Recipe(
        jars=SERVER,
        ports=("broker",),
        prepare=prepare,
        command=lambda site: ("kafka.Kafka", str(configuration(site))),
        ready=lambda site: "Kafka Server started" in site.logged(),
        options=("-Xmx384m",),
    )
