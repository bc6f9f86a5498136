"""A real standalone, and two clients of different make: their journals beside what wireanalyze reads from the packets.

An old release has the one that speaks to all.

Every frame is compared with what Pulsar's own classes read from it, too, and the bytes of all frames with those that
TCP carried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.brokers.kafka.decoded import Row, rows_of
from tests.brokers.lab.missing import Missing
from tests.brokers.pulsar import scenario, vendor
from tests.brokers.pulsar.decoded import Decoded
from tests.brokers.pulsar.journal import Acked, Failed, Got, Sent
from tests.brokers.pulsar.recipe import NEW, OLD, Release
from tests.brokers.pulsar.scenario import Recording
from tests.brokers.zookeeper.decoded import bytes_in_rows, bytes_in_segments
from tests.brokers.zookeeper.vendor import decoded

pytestmark = [pytest.mark.brokers, pytest.mark.xdist_group("brokers")]

TELLING = {
    "CONNECT", "CONNECTED", "AUTH_CHALLENGE", "AUTH_RESPONSE", "PING", "PONG", "LOOKUP", "PARTITIONED_METADATA",
    "PRODUCER", "PRODUCER_SUCCESS", "SEND", "SEND_RECEIPT", "CLOSE_PRODUCER", "SUBSCRIBE", "FLOW", "MESSAGE", "ACK",
    "ACK_RESPONSE", "REDELIVER_UNACKNOWLEDGED_MESSAGES", "SEEK", "UNSUBSCRIBE", "CLOSE_CONSUMER", "SUCCESS", "ERROR",
    "GET_LAST_MESSAGE_ID", "GET_SCHEMA", "GET_OR_CREATE_SCHEMA", "REACHED_END_OF_TOPIC", "GET_TOPICS_OF_NAMESPACE",
    "WATCH_TOPIC_LIST", "WATCH_TOPIC_UPDATE", "WATCH_TOPIC_LIST_CLOSE", "TC_CLIENT_CONNECT_REQUEST", "NEW_TXN",
    "ADD_PARTITION_TO_TXN", "ADD_SUBSCRIPTION_TO_TXN", "END_TXN", "END_TXN_ON_PARTITION", "END_TXN_ON_SUBSCRIPTION",
}  # fmt: skip
"""What a recording must have; and where there is the client in Python, in `FROM_PYTHON`."""

FROM_PYTHON = {"ACTIVE_CONSUMER_CHANGE"}
CODECS = {"LZ4", "ZLIB", "ZSTD", "SNAPPY"}
FOUND = {"busy-producer", "fenced-producer", "incompatible-schema", "broker-close"}
"""What is to be seen without a look at the fields."""

Each = TypeVar("Each", Sent, Got)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recording, its rows, and what they say in the words of journals."""

    run: Recording
    rows: list[Row]
    said: Decoded


def _recorded(folder: Path, release: Release) -> Recorded:
    try:
        run = scenario.record(folder, release)
    except Missing as missing:
        pytest.skip(str(missing))
    rows = rows_of(run.capture)
    return Recorded(run, rows, Decoded.of(rows))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """The newest release; its logs stay in the folder."""
    return _recorded(tmp_path_factory.mktemp("pulsar"), NEW)


@pytest.fixture(scope="module", params=[NEW, OLD], ids=lambda release: release.name)
def any_recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Both, one after the other."""
    release: Release = request.param
    if release is NEW:
        return request.getfixturevalue("recorded")  # type: ignore[no-any-return]
    return _recorded(tmp_path_factory.mktemp("pulsar-old"), release)


def test_all_of_it_is_read(any_recorded: Recorded) -> None:
    rows = any_recorded.rows
    assert {(row["protocol"], row["state"]) for row in rows} == {("pulsar", "complete")}
    assert bytes_in_rows(rows) == bytes_in_segments(any_recorded.run.capture)
    findings = [finding for row in rows for finding in row["findings"]]
    assert [finding for finding in findings if finding["severity"] == "error"] == []


def test_what_is_in_it(recorded: Recorded) -> None:
    rows, python = recorded.rows, "python" in recorded.run.journals
    assert {row["operation"] for row in rows} >= TELLING | (FROM_PYTHON if python else set())
    codecs = {row["fields"]["metadata"].get("compression") for row in rows if row["operation"] == "SEND"}
    assert codecs >= (CODECS if python else {"ZSTD"})
    assert {finding["code"] for row in rows for finding in row["findings"]} >= FOUND


def test_what_was_sent(any_recorded: Recorded) -> None:
    """By each producer, in order; brokers have some of their own."""
    for name, journal in any_recorded.run.journals.items():
        assert len(journal.sent) > 20
        for who, reported in _by_owner(_unreadable(journal.sent)):
            assert [each for each in any_recorded.said.sent if _owner(each) == who] == reported, (name, who)


def test_what_was_delivered(any_recorded: Recorded) -> None:
    """To each consumer, in order; what a consumer has in its queue and nobody takes, was delivered, too."""
    for name, journal in any_recorded.run.journals.items():
        assert len(journal.got) > 20
        assert any(each.redelivered for each in journal.got)
        for who, reported in _by_owner(_unreadable(journal.got)):
            delivered = iter([each for each in any_recorded.said.got if _owner(each) == who])
            # A position that was found is not looked at again, so this is about the order as well.
            assert [each for each in reported if each not in delivered] == [], (name, who)


def test_what_was_acknowledged(any_recorded: Recorded) -> None:
    """Clients tell of an entry that is a batch when all of it was used, or not at all."""
    ours = set(any_recorded.said.acked)
    for name, journal in any_recorded.run.journals.items():
        reported = {_entry(each) for each in journal.acked}
        single = {_entry(each) for each in journal.acked if each.id.batch < 0}
        assert single - ours == set(), name
        owners = {(each.topic, each.consumer) for each in reported}
        mine = {each for each in ours if (each.topic, each.consumer) in owners}
        pieces = {each for each in mine if (each.topic, each.id.ledger, each.id.entry) in any_recorded.said.pieces}
        assert mine - reported - pieces == set(), name


def test_a_batch_that_is_acknowledged_in_parts(recorded: Recorded) -> None:
    """The set has a bit for each message of a batch that is not acknowledged yet."""
    reported = [each.id.batch for each in recorded.run.journals["java"].acked if each.topic.endswith("java-batches")]
    left, expected = set(range(5)), []
    for each in reported[:-1]:
        left.discard(each)
        expected.append(sum(1 << bit for bit in left))
    sets = [
        each["ack_set"]
        for row in recorded.rows
        if row["operation"] == "ACK"
        for each in row["fields"]["message_id"]
        if "ack_set" in each
    ]
    assert sets[: len(expected)] == [[each] for each in expected]


def test_what_was_refused(any_recorded: Recorded) -> None:
    """Libraries name an error as brokers do, but for endings; each client was told in its order."""
    reported = [journal.failed for journal in any_recorded.run.journals.values()]
    assert sum(map(len, reported)) == len(any_recorded.said.failed) > 0
    for each in reported:
        mine = iter(any_recorded.said.failed)
        assert [one for one in each if not any(_means(other, one) for other in mine)] == []


def test_how_transactions_ended(recorded: Recorded) -> None:
    reported = [each for each in recorded.run.journals["java"].told if each.startswith("transaction")]
    assert len(reported) == 2
    assert recorded.said.ended == reported


def test_no_token_is_printed(recorded: Recorded) -> None:
    beginning = "eyJ"
    """Of every token, which is JSON in base 64."""
    shown = repr(rows_of(recorded.run.capture, "--show-secrets"))
    printed = repr(recorded.rows)
    for each in (beginning, beginning.encode().hex()):
        assert each not in printed
    assert beginning.encode().hex() in shown


def test_every_frame_next_to_what_pulsars_own_classes_read(any_recorded: Recorded, tmp_path: Path) -> None:
    rows, messages = decoded(any_recorded.run.capture)
    try:
        reader = vendor.reader(any_recorded.run.server, tmp_path)
    except Missing as missing:
        pytest.skip(str(missing))
    truth = vendor.expected(rows, messages, reader)
    found, values = vendor.compare(rows, truth)
    print(found.report(), f"{values} values", sep="\n")
    assert values > 3_000
    assert found.causes == {}, found.report()
    # The comparison sees what it is for: each number changed by one is a difference.
    changed = [{**row, "fields": _other(row["fields"])} for row in rows]
    assert sum(vendor.compare(changed, truth)[0].causes.values()) > values / 4


def _means(mine: Failed, told: Failed) -> bool:
    return mine.operation == told.operation and mine.error.startswith(told.error)


def _owner(each: Sent | Got) -> tuple[str, str]:
    return each.topic, each.producer if isinstance(each, Sent) else each.consumer


def _by_owner(told: Iterable[Each]) -> Iterator[tuple[tuple[str, str], list[Each]]]:
    found: dict[tuple[str, str], list[Each]] = {}
    for each in told:
        found.setdefault(_owner(each), []).append(each)
    yield from found.items()


def _unreadable(told: Iterable[Each]) -> Iterator[Each]:
    """What only its client can read is known to have been there."""
    return (each if each.sealed is None else each._replace(payload=None) for each in told)


def _entry(each: Acked) -> Acked:
    return each._replace(id=each.id._replace(batch=-1))


def _other(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _other(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_other(each) for each in value]
    return value + 1 if type(value) is int else value
