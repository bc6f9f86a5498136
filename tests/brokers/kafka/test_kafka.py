"""A real broker, three clients that have nothing in common, and one recording of all that passed between them.

What each client says that it sent and got is compared with what wireanalyze reads from the packets; and every message
with what Kafka's own classes read from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.brokers.kafka import java_tools, transactions, vendor
from tests.brokers.kafka.decoded import Decoded, rows_of
from tests.brokers.kafka.journal import CODECS, RECORDS, Journal, of_python
from tests.brokers.kafka.recipe import KAFKA, PASSWORD, TOOLS
from tests.brokers.lab.java import Java
from tests.brokers.lab.maven import fetched
from tests.brokers.lab.missing import Missing
from tests.brokers.lab.recorder import recording
from tests.brokers.lab.server import running, sited

pytestmark = [pytest.mark.brokers, pytest.mark.xdist_group("brokers")]

PYTHON_CLIENTS = {
    "kafka-python": ("kafka_python_client", "kafka", "broker"),
    "librdkafka": ("confluent_client", "confluent_kafka", "broker"),
    "transactions": ("transactions_client", "confluent_kafka", "sasl"),
}
"""The module that runs each, the package that it needs, the port that it goes to."""

CLIENTS = (*PYTHON_CLIENTS, "java")


DESCRIBED = {"kafka-python-group", "librdkafka-group"}
"""Groups that their client has described while they have a member."""


@dataclass(frozen=True, slots=True)
class Recording:
    """What one run left: the capture, what the clients said, and the Java with the server's own classes."""

    capture: Path
    journals: dict[str, Journal]
    server: Java
    decoded: Decoded


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """The broker, from its start, is recorded and stopped before the first test looks; its logs stay in the folder."""
    folder = tmp_path_factory.mktemp("kafka")
    capture, journals = folder / "clients.pcap", {}
    try:
        site = sited(KAFKA, folder)
        tools = Java(site.java.path, (fetched(TOOLS, site.java.path),))
        with recording(capture, list(site.ports.values())), running(KAFKA, site):
            for name, (module, needs, port) in PYTHON_CLIENTS.items():
                if find_spec(needs):
                    journals[name] = of_python(module, site.address(port))
            journals["java"] = java_tools.main(tools, site.address("broker"))
    except Missing as missing:
        pytest.skip(str(missing))
    return Recording(capture, journals, site.java, Decoded(rows_of(capture)))


@pytest.fixture(params=CLIENTS)
def journal(recorded: Recording, request: pytest.FixtureRequest) -> Journal:
    found = recorded.journals.get(request.param)
    if found is None:
        pytest.skip(f"{PYTHON_CLIENTS[request.param][1]} is not installed: requirements/brokers.lock has it")
    return found


def test_everything_is_read(recorded: Recording) -> None:
    rows = recorded.decoded.rows
    assert len(rows) > 200
    assert {(row["protocol"], row["state"]) for row in rows} == {("kafka", "complete")}
    assert [finding for row in rows for finding in row["findings"] if finding["severity"] != "note"] == []
    assert [row["operation"] for row in rows if row["role"] == "response" and row["partner"] is None] == []


def test_the_topics_that_it_created(recorded: Recording, journal: Journal) -> None:
    assert journal.created
    for topic, partitions in journal.created.items():
        assert recorded.decoded.created(topic) == [partitions]


def test_every_record_that_it_sent(recorded: Recording, journal: Journal) -> None:
    assert sorted(map(repr, recorded.decoded.produced(journal.client))) == sorted(map(repr, journal.produced))
    count, codecs = {
        java_tools.CLIENT: (len(CODECS) * len(java_tools.LINES), set(CODECS)),
        transactions.CLIENT: (len(transactions.OUTCOMES) * len(RECORDS), {"lz4"}),
    }.get(journal.client, (len(CODECS) * len(RECORDS), set(CODECS)))
    assert len(journal.produced) == count
    assert recorded.decoded.codecs(journal.client) == codecs


def test_every_record_that_it_got(recorded: Recording, journal: Journal) -> None:
    (topic,) = journal.created
    remaining = set(journal.produced)
    if journal.client == transactions.CLIENT:
        # What was aborted is fetched, and kept from the application by its client.
        remaining -= {each for each in remaining if len(RECORDS) < each.offset <= 2 * len(RECORDS)}
    assert set(journal.consumed) == remaining
    assert recorded.decoded.fetched(topic) == set(journal.produced)


def test_how_transactions_end(recorded: Recording) -> None:
    ends = [request["committed"] for request, _ in recorded.decoded.exchanges("EndTxn", transactions.CLIENT)]
    assert ends == [outcome == "commit" for outcome in transactions.OUTCOMES]
    assert recorded.decoded.markers(transactions.TOPIC) == list(transactions.OUTCOMES)


def test_no_password_and_no_token_is_printed(recorded: Recording) -> None:
    tokens = [
        body["authBytes"]
        for exchange in recorded.decoded.exchanges("SaslAuthenticate", transactions.CLIENT)
        for body in exchange
    ]
    assert len(tokens) >= 4
    assert all(set(token) == {"redacted", "length"} for token in tokens)
    assert PASSWORD not in repr(recorded.decoded.rows)


def test_its_group(recorded: Recording, journal: Journal) -> None:
    # The console consumer does not tell its member id.
    members = set(journal.members) or {
        member for member in recorded.decoded.members(journal.group) if member.startswith("console-consumer-")
    }
    assert len(members) == 1
    assert recorded.decoded.members(journal.group) == members
    described = recorded.decoded.described(journal.group)
    assert described == (members if journal.group in DESCRIBED else set())


def test_the_offsets_that_it_committed(recorded: Recording, journal: Journal) -> None:
    assert journal.committed
    assert recorded.decoded.committed(journal.group) == {
        (topic, partition): offset for topic, partition, offset in journal.committed
    }


def test_every_message_next_to_what_the_servers_own_classes_read(recorded: Recording, tmp_path: Path) -> None:
    found, values = vendor.compared(recorded.capture, recorded.server, tmp_path)
    assert found.compared == len(recorded.decoded.rows)
    assert values > 5_000
    assert found.causes == {}, found.report()
