"""A real name server and broker, and two clients of different make: their journals beside what wireanalyze reads.

Once with headers in JSON, once with binary ones. Every frame is compared with what RocketMQ's own classes read from it,
too, and the bytes of all frames with those that TCP carried.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.brokers.kafka.decoded import Row, rows_of
from tests.brokers.lab.missing import Missing
from tests.brokers.rocketmq import scenario, vendor
from tests.brokers.rocketmq.decoded import SENDS, Decoded
from tests.brokers.rocketmq.journal import UNTOLD, Got, Sent
from tests.brokers.rocketmq.recipe import BINARY, JSON
from tests.brokers.rocketmq.scenario import Recording
from tests.brokers.zookeeper.decoded import bytes_in_rows, bytes_in_segments
from tests.brokers.zookeeper.vendor import decoded

pytestmark = [pytest.mark.brokers, pytest.mark.xdist_group("brokers")]

TELLING = {
    "REGISTER_BROKER", "GET_ROUTEINFO_BY_TOPIC", "GET_BROKER_CLUSTER_INFO", "HEART_BEAT", "UNREGISTER_CLIENT",
    "SEND_MESSAGE_V2", "SEND_BATCH_MESSAGE", "PULL_MESSAGE", "LITE_PULL_MESSAGE", "POP_MESSAGE", "QUERY_ASSIGNMENT",
    "GET_CONSUMER_LIST_BY_GROUP", "QUERY_CONSUMER_OFFSET", "UPDATE_CONSUMER_OFFSET", "LOCK_BATCH_MQ", "UNLOCK_BATCH_MQ",
    "NOTIFY_CONSUMER_IDS_CHANGED", "CHECK_CLIENT_CONFIG", "CONSUMER_SEND_MSG_BACK", "RECALL_MESSAGE", "END_TRANSACTION",
    "CHECK_TRANSACTION_STATE", "SEND_REPLY_MESSAGE_V2", "PUSH_REPLY_MESSAGE_TO_CLIENT", "QUERY_MESSAGE",
    "VIEW_MESSAGE_BY_ID", "UPDATE_AND_CREATE_TOPIC", "UPDATE_AND_CREATE_SUBSCRIPTIONGROUP", "UPDATE_BROKER_CONFIG",
    "GET_CONSUMER_CONNECTION_LIST", "GET_CONSUMER_RUNNING_INFO", "GET_CONSUMER_STATUS_FROM_CLIENT", "GET_CONSUME_STATS",
    "GET_MAX_OFFSET", "GET_MIN_OFFSET", "GET_TOPIC_STATS_INFO", "GET_ALL_TOPIC_LIST_FROM_NAMESERVER",
    "SET_MESSAGE_REQUEST_MODE", "UNREGISTER_BROKER", "DELETE_TOPIC_IN_BROKER", "DELETE_TOPIC_IN_NAMESRV",
}  # fmt: skip
"""What a recording must have."""

POPPED = {"ACK_MESSAGE", "CHANGE_MESSAGE_INVISIBLETIME"}
"""And where messages can be popped, which with binary headers they cannot."""

CODECS = {1, 2, 3}
ENDS = {"COMMIT_MESSAGE": 8, "ROLLBACK_MESSAGE": 12, "UNKNOW": 0}
"""How a client says what became of a transaction, in its words and on the wire."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recording, its rows, and what they say in the words of journals."""

    kind: str
    run: Recording
    rows: list[Row]
    said: Decoded


@pytest.fixture(scope="module", params=[JSON, BINARY])
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Both kinds, one after the other; logs stay in the folder."""
    kind: str = request.param
    try:
        run = scenario.record(tmp_path_factory.mktemp(f"rocketmq-{kind.lower()}-"), kind)
    except Missing as missing:
        pytest.skip(str(missing))
    rows = rows_of(run.capture)
    return Recorded(kind, run, rows, Decoded.of(rows))


def test_all_of_it_is_read(recorded: Recorded) -> None:
    assert {(row["protocol"], row["state"]) for row in recorded.rows} == {("rocketmq", "complete")}
    assert bytes_in_rows(recorded.rows) == bytes_in_segments(recorded.run.capture)
    findings = [finding for row in recorded.rows for finding in row["findings"]]
    assert [finding for finding in findings if finding["severity"] == "error"] == []


def test_what_is_in_it(recorded: Recorded) -> None:
    rows = recorded.rows
    assert {row["operation"] for row in rows} >= TELLING | (POPPED if recorded.kind == JSON else set())
    flags = {row["fields"]["header"]["sysFlag"] for row in rows if "bodyUncompressed" in row["fields"]}
    assert {flag >> 8 & 7 for flag in flags} >= CODECS
    assert {row["fields"]["serialize"] for row in rows} >= {recorded.kind}
    unanswered = {row["operation"] for row in rows if row["role"] == "request" and row["partner"] is None}
    # A client that leaves does not wait for all that is still under way, but for what it sent.
    assert unanswered.isdisjoint(SENDS)


def test_what_was_sent(recorded: Recorded) -> None:
    """By whom does not matter: a message has an id of its own, unless it was one of several."""
    ours = set(map(_common, recorded.said.sent))
    unplaced = {_unplaced(each) for each in recorded.said.sent}
    for name, journal in recorded.run.journals.items():
        assert len(journal.sent) > 15
        for each in journal.sent:
            known = unplaced if each.queue == UNTOLD else ours
            assert (_unplaced(each) if each.queue == UNTOLD else _common(each)) in known, name


def test_what_was_given(recorded: Recorded) -> None:
    """To each group; what no tag asks for, and what nobody takes any more, was given, too.

    By queue in order, where a consumer has one thread, as those in Java have.
    """
    for name, journal in recorded.run.journals.items():
        assert len(journal.got) > 15
        assert any(each.reconsumed for each in journal.got)
        assert [each for each in journal.got if each not in recorded.said.got] == [], name
        for key in {_queue(each) for each in journal.got if name == "java"}:
            given = iter([each for each in recorded.said.got if _queue(each) == key])
            # A position that was found is not looked at again, so this is about the order as well.
            assert [each for each in _of(journal.got, key) if each not in given] == [], (name, key)


def test_what_was_refused(recorded: Recorded) -> None:
    journal = recorded.run.journals["java"]
    assert len({each.code for each in journal.failed}) >= 5
    assert [each for each in journal.failed if each not in recorded.said.failed] == []


def test_how_transactions_ended(recorded: Recorded) -> None:
    """What was said at first, and what was said when the broker asked."""
    journal = recorded.run.journals["java"]
    reported = [(each.what, each.answer) for each in journal.told if each.what.startswith(("transaction", "checked"))]
    assert len(reported) == len(ENDS) + 1
    mine = [(what.split()[1], ENDS[answer]) for what, answer in reported]
    assert [each for each in recorded.said.ended if each in mine] == mine
    assert {what.split()[1] for what, _ in reported if what.startswith("checked")} <= set(recorded.said.checked)


def test_no_signature_is_printed(recorded: Recorded) -> None:
    """The key's name is shown, what was made with the key is not, nor a token."""
    signed = [row["fields"]["extFields"] for row in recorded.rows if "Signature" in row["fields"]["extFields"]]
    assert signed
    for fields in signed:
        assert fields["AccessKey"] == "a-made-up-access-key"
        assert all(fields[name]["redacted"] for name in ("Signature", "SecurityToken"))
    assert "a-made-up-token" not in repr(recorded.rows)
    assert "a-made-up-token" in repr(rows_of(recorded.run.capture, "--show-secrets"))


def test_every_frame_next_to_what_rocketmqs_own_classes_read(
    recorded: Recorded, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows, messages = decoded(recorded.run.capture)
    try:
        reader = vendor.reader(recorded.run.server, tmp_path_factory.mktemp("classes"))
    except Missing as missing:
        pytest.skip(str(missing))
    truth = vendor.expected(rows, messages, reader)
    found, values = vendor.compare(rows, truth)
    print(found.report(), f"{values} values", sep="\n")
    assert values > 10_000
    assert found.causes == {}, found.report()
    # The comparison sees what it is for: each number changed by one is a difference.
    changed = [{**row, "fields": _other(row["fields"])} for row in rows]
    assert sum(vendor.compare(changed, truth)[0].causes.values()) > values / 4


def _common(each: Sent) -> Sent:
    """Libraries do not always tell where a message was put, and never of one in a batch; those of Go have no id."""
    return each._replace(place=None, id="")


def _unplaced(each: Sent) -> Sent:
    return each._replace(place=None, queue=UNTOLD, offset=UNTOLD)


def _queue(each: Got) -> tuple[str, str, int, int]:
    return each.group, each.topic, each.queue, each.reconsumed


def _of(told: Iterable[Got], key: tuple[str, str, int, int]) -> list[Got]:
    return [each for each in told if _queue(each) == key]


def _other(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _other(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_other(each) for each in value]
    return value + 1 if type(value) is int else value
