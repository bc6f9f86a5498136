"""Two brokers with a ZooKeeper: what a controller tells brokers, what replicas fetch, and how brokers leave."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.brokers.kafka import java_tools, vendor
from tests.brokers.kafka.decoded import Decoded, rows_of
from tests.brokers.kafka.journal import Journal
from tests.brokers.kafka.recipe import TOOLS
from tests.brokers.kafka.zookeeper_mode import ZOOKEEPER, broker
from tests.brokers.lab.java import Java
from tests.brokers.lab.maven import fetched
from tests.brokers.lab.missing import Missing
from tests.brokers.lab.recorder import recording
from tests.brokers.lab.server import running, sited

pytestmark = [pytest.mark.brokers, pytest.mark.xdist_group("brokers")]

NODES = (1, 2)


@dataclass(frozen=True, slots=True)
class Recording:
    """What one run left: the capture, what the tools said, and the Java with the brokers' own classes."""

    capture: Path
    journal: Journal
    server: Java
    decoded: Decoded


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """From before the first broker starts until the last one has left."""
    folder = tmp_path_factory.mktemp("zookeeper-mode")
    capture = folder / "brokers.pcap"
    try:
        (folder / "zookeeper").mkdir()
        ensemble = sited(ZOOKEEPER, folder / "zookeeper")
        recipes, sites = [broker(node, ensemble.address("client"), "2.4") for node in NODES], []
        for node, recipe in zip(NODES, recipes, strict=True):
            (folder / f"broker-{node}").mkdir()
            sites.append(sited(recipe, folder / f"broker-{node}"))
        tools = Java(ensemble.java.path, (fetched(TOOLS, ensemble.java.path),))
        with recording(capture, [site.ports["broker"] for site in sites]), ExitStack() as started:
            started.enter_context(running(ZOOKEEPER, ensemble))
            for recipe, site in zip(recipes, sites, strict=True):
                started.enter_context(running(recipe, site))
            address = sites[0].address("broker")
            journal = java_tools.main(tools, address)
            topic = ("--topic", java_tools.TOPIC)
            tools.run("org.apache.kafka.tools.TopicCommand", "--bootstrap-server", address, "--delete", *topic)
    except Missing as missing:
        pytest.skip(str(missing))
    return Recording(capture, journal, ensemble.java, Decoded(rows_of(capture)))


def test_everything_is_read(recorded: Recording) -> None:
    rows = recorded.decoded.rows
    assert len(rows) > 100
    assert {row["protocol"] for row in rows} == {"kafka"}
    assert {row["operation"] for row in rows} >= {"LeaderAndIsr", "UpdateMetadata", "StopReplica", "ControlledShutdown"}
    # Brokers that stop leave fetches without an answer.
    serious = [finding for row in rows for finding in row["findings"] if finding["severity"] == "error"]
    assert serious == []


def test_brokers_are_those_of_the_topic(recorded: Recording) -> None:
    reported = {
        (state["topicName"], partition["partitionIndex"], tuple(sorted(partition["replicas"])))
        for request, _ in recorded.decoded.exchanges("LeaderAndIsr", "")
        for state in request["topicStates"]
        for partition in state["partitionStates"]
    }
    assert (java_tools.TOPIC, 0, NODES) in reported


def test_what_was_sent_is_what_was_got_and_what_replicas_have(recorded: Recording) -> None:
    decoded, journal = recorded.decoded, recorded.journal
    assert sorted(map(repr, decoded.produced(journal.client))) == sorted(map(repr, journal.produced))
    assert set(journal.consumed) == set(journal.produced)
    (leader,) = {
        row["destination"] for row in decoded.rows if row["operation"] == "Produce" and row["role"] == "request"
    }
    followers = [row for row in decoded.rows if row["operation"] == "Fetch" and "fetcher" in (row["client"] or "")]
    assert {row["destination"] for row in followers if row["role"] == "request"} >= {leader}
    assert decoded.fetched(java_tools.TOPIC, "broker-") == set(journal.produced)
    assert decoded.fetched(java_tools.TOPIC, "console-consumer") == set(journal.produced)


def test_every_message_next_to_what_the_brokers_own_classes_read(recorded: Recording, tmp_path: Path) -> None:
    found, _ = vendor.compared(recorded.capture, recorded.server, tmp_path)
    assert found.compared == len(recorded.decoded.rows)
    assert found.causes == {}, found.report()
