"""Deliveries: from the sending to the acknowledgement of each group, whatever comes between."""

from __future__ import annotations

from typing import Any

import pytest

from dissectors.api import Role
from dissectors.rocketmq.reports import deliveries, messages
from dissectors.rocketmq.reports.deliveries import DeliveryReport
from dissectors.rocketmq.reports.messages import estimate_due
from tests.dissectors.rocketmq.reports.message_report import HOST, ReportBuilder, offset_id, said, stored, written
from tests.dissectors.telling import MS


def book(**more: Any) -> ReportBuilder:
    return ReportBuilder(DeliveryReport, **more)


def test_a_message_from_its_sending_to_the_commit() -> None:
    reported = book()
    sent = reported.send("K", 100, 7, properties={"KEYS": "k1", "TAGS": "a"})
    got = reported.pull(stored("K", 100, 7), stream=2) + 1
    done = reported.commit(8, stream=2)
    (line,) = reported.finish()
    assert (line["topic"], line["message"], line["group"], line["state"]) == ("orders", "K", "CG", "acked")
    assert (line["status"], line["keys"], line["tags"], line["offset_id"]) == ("SEND_OK", "k1", "a", offset_id(100))
    assert (line["queue"], line["offset"], line["how"], line["attempts"]) == (0, 7, "pull", 1)
    assert (line["sender"], line["consumer"]) == ("10.0.0.1:50000", "10.0.0.2:50000")
    assert (line["answer_ns"], line["delivery_ns"], line["ack_ns"]) == (MS, 3 * MS, MS)
    assert (line["end_to_end_ns"], line["send"], line["delivery"], line["ack"]) == (4 * MS, sent, got, done)
    took = "answered after 1 ms, delivered after 3 ms, acknowledged after another 1 ms, end to end 4 ms"
    assert reported.said(done) == [f"acknowledges message K of orders to CG: acked, {took}"]


@pytest.mark.parametrize(
    ("offset", "state"), [(7, "delivered"), (8, "acked"), (1 << 62, "acked"), (-1, "delivered"), (None, "delivered")]
)
def test_a_commit_is_for_what_lies_before_it(offset: Any, state: str) -> None:
    reported = book()
    reported.pull(stored("K", 100, 7))
    reported.commit(offset)
    assert reported.only("state") == [(state,)]


def test_a_pull_may_commit() -> None:
    reported = book()
    reported.pull(stored("K", 100, 7))
    reported.pull(header={"commitOffset": 8})
    reported.pull(stored("L", 200, 8))
    reported.pull(header={"sysFlag": 3, "commitOffset": 8})
    assert reported.only("message", "state") == [("K", "acked"), ("L", "delivered")]


def test_each_group_has_a_line() -> None:
    reported = book()
    reported.send("K", 100, 7)
    reported.pull(stored("K", 100, 7))
    reported.pull(stored("K", 100, 7), group="other", stream=2)
    reported.commit(8, group="other", stream=2)
    assert reported.only("group", "state") == [("CG", "delivered"), ("other", "acked")]


def test_each_client_of_a_group_that_broadcasts_has_one() -> None:
    reported = book()
    reported.tell("HEART_BEAT", body={"consumerDataSet": [{"groupName": "CG", "messageModel": "BROADCASTING"}]})
    for stream in (1, 2):
        reported.pull(stored("K", 100, 7), stream=stream)
    assert reported.only("consumer", "redelivered") == [("10.0.0.1:50000", 0), ("10.0.0.2:50000", 0)]


def test_the_same_message_to_another_member_of_a_group_came_again() -> None:
    reported = book()
    for stream in (1, 2):
        reported.pull(stored("K", 100, 7), stream=stream)
    assert reported.only("consumer", "redelivered") == [("10.0.0.2:50000", 1)]


@pytest.mark.parametrize(
    ("error", "state"),
    [(None, "stored"), ((10, "FLUSH_DISK_TIMEOUT"), "stored"), ((14, "SERVICE_NOT_AVAILABLE"), "refused")],
)
def test_what_the_broker_answers(error: Any, state: str) -> None:
    reported = book()
    reported.send("K", error=error)
    assert reported.only("state", "status") == [(state, error[1] if error else "SEND_OK")]


def test_a_message_that_was_refused_is_sent_again() -> None:
    reported = book()
    reported.send("K", error=(2, "SYSTEM_BUSY"))
    reported.send("K", 100, 7, stream=2)
    assert reported.only("state", "status", "attempts", "answer_ns") == [("stored", "SEND_OK", 2, 3 * MS)]


def test_what_is_sent_after_it_was_stored_is_another_message() -> None:
    reported = book()
    for at in (100, 200):
        reported.send("K", at, at)
    reported.pull(stored("K", 100, 100))
    assert reported.only("offset", "group") == [(100, "CG"), (200, None)]


def test_without_an_answer_it_is_found_by_its_key() -> None:
    reported = book()
    header = {"topic": "orders", "properties": written(said("K"))}
    reported.tell("SEND_MESSAGE", header, role=Role.ONEWAY)
    reported.tell("SEND_MESSAGE", header | {"properties": written(said("L"))}, role=Role.ONEWAY)
    reported.pull(stored("K", 100, 7), stream=2)
    assert reported.only("message", "state", "offset") == [("K", "delivered", 7), ("L", "unanswered", None)]


def test_without_a_key_it_is_found_where_it_lies() -> None:
    reported = book()
    reported.send(None, 100, 7)
    reported.pull(stored(None, 100, 7), stored(None, 101, 7, queue=1))
    assert reported.only("message", "group", "sent") == [
        (offset_id(100), "CG", MS),
        (offset_id(101), "CG", None),
    ]


def test_each_message_of_a_batch_has_a_line() -> None:
    reported = book()
    items = [{"properties": said(key)} for key in ("K", "L")]
    answer = {"msgId": f"{offset_id(100)},{offset_id(200)}", "queueId": 0, "queueOffset": 7}
    header = {"topic": "orders", "properties": written(said("B"))}
    reported.call("SEND_BATCH_MESSAGE", header, answer, body={"messages": items})
    reported.pull(stored("L", 200, 8))
    assert reported.only("message", "offset", "offset_id", "batch", "state") == [
        ("K", 7, offset_id(100), 2, "stored"),
        ("L", 8, offset_id(200), 2, "delivered"),
    ]


def test_messages_whose_answers_are_waited_for_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deliveries, "MOST_PENDING", 3)
    reported = book()
    sends = [
        reported.ask(
            "SEND_BATCH_MESSAGE", {"topic": "orders"}, {"messages": [{"properties": said(key)} for key in keys]}
        )
        for keys in ("AB", "CD")
    ]
    for row in sends:
        reported.reply(row, "SEND_BATCH_MESSAGE", {"msgId": offset_id(row), "queueId": 0, "queueOffset": 7})
    assert reported.only("message", "state") == [
        ("A", "unanswered"),
        ("B", "unanswered"),
        ("C", "stored"),
        ("D", "stored"),
    ]


def test_places_that_are_acknowledged_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deliveries, "MOST_PENDING", 5)
    reported = book()
    reported.pop(*(stored(f"K{at}", at, at) for at in range(4)))
    rows = []
    for first in (0, 2):  # each names two messages, at a broker's name and at its address
        acks = [{"c": "CG", "t": "orders", "r": "0", "q": 0, "so": first, "pt": 1000, "b": "Aw=="}]
        rows.append(reported.ask("BATCH_ACK_MESSAGE", {}, {"brokerName": "broker-a", "acks": acks}))
    for row in rows:
        reported.reply(row, "BATCH_ACK_MESSAGE")
    states = ["delivered", "delivered", "acked", "acked"]
    assert reported.only("message", "state") == [(f"K{at}", state) for at, state in enumerate(states)]


def test_a_batch_that_is_stored_as_one_message() -> None:
    reported = book()
    items = [{"properties": said(key)} for key in ("K", "L")]
    header = {"topic": "orders", "properties": written(said("B"))}
    answer = {"msgId": offset_id(100), "queueId": 0, "queueOffset": 7}
    reported.call("SEND_BATCH_MESSAGE", header, answer, body={"messages": items})
    inner = [{**item, "queueOffset": 7 + at} for at, item in enumerate(items)]
    reported.pull(stored("B", 100, 7, messages=inner))
    reported.commit(8)
    assert reported.only("message", "offset", "state") == [("K", 7, "acked"), ("L", 8, "delivered")]


def test_sent_back_and_delivered_from_the_topic_of_retries() -> None:
    reported = book()
    reported.send("K", 100, 7)
    reported.pull(stored("K", 100, 7))
    back = reported.call("CONSUMER_SEND_MSG_BACK", {"offset": 100, "group": "CG", "originMsgId": "K", "delayLevel": 0})
    reported.commit(8)  # it is done with there, and not consumed
    assert reported.now("state") == ["returned"]
    retry = "%RETRY%CG"
    reported.pull(stored("K", 900, 0, topic=retry, reconsumeTimes=1, properties={"RETRY_TOPIC": "orders"}), topic=retry)
    reported.commit(1, topic=retry)
    assert reported.only("topic", "message", "state", "offset", "redelivered", "returned") == [
        ("orders", "K", "acked", 7, 1, 1)
    ]
    assert reported.said(back)[0].startswith("sends back message K of orders to CG: acked")


@pytest.mark.parametrize(
    ("asked", "error", "state"),
    [
        ({"maxReconsumeTimes": 2, "delayLevel": 0}, None, "dead"),
        ({"maxReconsumeTimes": 3, "delayLevel": 0}, None, "returned"),
        ({"maxReconsumeTimes": 16, "delayLevel": -1}, None, "dead"),
        ({"maxReconsumeTimes": 2, "delayLevel": 0}, (1, "SYSTEM_ERROR"), "delivered"),
    ],
)
def test_sent_back_too_often(asked: dict[str, int], error: Any, state: str) -> None:
    reported = book()
    reported.pull(stored("K", 900, 0, topic="%RETRY%CG", reconsumeTimes=2), topic="%RETRY%CG")
    reported.call("CONSUMER_SEND_MSG_BACK", {"offset": 900, "group": "CG", "originMsgId": "K", **asked}, error=error)
    assert reported.only("state", "returned") == [(state, 0 if error else 1)]


@pytest.mark.parametrize(("again", "state"), [(1, "returned"), (17, "dead")])
def test_a_consumer_may_send_it_back_itself(again: int, state: str) -> None:
    reported = book()
    reported.pull(stored("K", 100, 7))
    reported.send("K", topic="%RETRY%CG", header={"reconsumeTimes": again, "maxReconsumeTimes": 16})
    assert reported.only("message", "state", "attempts") == [("K", state, None)]


@pytest.mark.parametrize(
    ("phase", "half", "state"), [(8, "half", "stored"), (12, "half", "rolled back"), (0, "half", "half")]
)
def test_half_messages(phase: int, half: str, state: str) -> None:
    reported = book()
    reported.send("K", 100, 7, header={"sysFlag": 4})
    assert reported.now("state") == [half]
    reported.tell("END_TRANSACTION", {"transactionId": "K", "commitOrRollback": phase}, role=Role.ONEWAY)
    assert reported.only("state", "queue", "offset") == [(state, None, None)]


def test_a_message_that_is_repeated() -> None:
    reported = book()
    reported.send("K", 100, 7, properties={"TIMER_DELAY_SEC": "20"})
    reported.call("RECALL_MESSAGE", {}, {}, error=(604, "ILLEGAL_OPERATION"))
    reported.call("RECALL_MESSAGE", {}, {"msgId": "K"})
    assert reported.only("state", "due") == [("recalled", 20_001 * MS)]


@pytest.mark.parametrize(
    ("said", "sent", "when"),
    [
        ({"TIMER_DELIVER_MS": "70"}, 5 * MS, 70 * MS),
        ({"TIMER_DELAY_MS": "3"}, 5 * MS, 8 * MS),
        ({"TIMER_DELAY_SEC": "2"}, 5 * MS, 2005 * MS),
        ({"DELAY": "3"}, 5 * MS, 10_005 * MS),
        ({"DELAY": "99"}, 0, 7_200_000 * MS),
        ({"DELAY": "0"}, 0, None),
        ({"DELAY": "3"}, None, None),
        ({"TIMER_OUT_MS": "70", "DELAY": "3"}, None, 70 * MS),
        ({"TIMER_DELIVER_MS": "9" * 18}, 0, None),
        ({"TIMER_DELIVER_MS": "9" * 99}, 0, None),
        ({"TIMER_DELAY_MS": "-3"}, 0, None),
        ({"TIMER_DELAY_MS": "٣"}, 0, None),
        ({}, 0, None),
    ],
)
def test_when_a_message_is_due(said: dict[str, str], sent: int | None, when: int | None) -> None:
    assert estimate_due(said, sent) == when


def test_a_delayed_message_lies_where_it_was_pulled() -> None:
    reported = book()
    reported.send("K", 100, 33, properties={"TIMER_DELAY_MS": "1"})
    reported.pull(stored("K", 900, 0, properties={"TIMER_OUT_MS": "0"}), stream=2)
    assert reported.only("offset", "offset_id", "late_ns") == [(0, offset_id(900), 2 * MS)]


def test_what_is_popped_is_acknowledged_one_by_one() -> None:
    reported = book()
    reported.pop(*(stored(f"K{at}", at, at) for at in range(4)))
    reported.ack(0)
    reported.ack(1, error=(4, "x"))
    acks = [{"c": "CG", "t": "orders", "r": "0", "q": 0, "so": 1, "pt": 1000, "b": "BA=="}]
    reported.call("BATCH_ACK_MESSAGE", {}, body={"brokerName": "broker-a", "acks": acks})
    assert reported.only("message", "state", "how") == [
        ("K0", "acked", "pop"),
        ("K1", "delivered", "pop"),
        ("K2", "delivered", "pop"),
        ("K3", "acked", "pop"),
    ]


@pytest.mark.parametrize(("kind", "retry"), [("1", "%RETRY%CG_orders"), ("2", "%RETRY%CG+orders")])
def test_what_is_popped_again_is_known_by_its_handle(kind: str, retry: str) -> None:
    reported = book()
    reported.send("K", 100, 7)
    reported.pop(stored("K", 100, 7))
    handle = {"POP_CK": f"0 1000 5000 3 {kind} broker-a 0 2"}
    reported.pop(stored("K", 900, 2, reconsumeTimes=1, properties=handle))
    reported.ack(2, topic=retry, kind=kind)
    assert reported.only("topic", "state", "redelivered") == [("orders", "acked", 1)]


def test_a_proxy_sends_on_and_hands_on() -> None:
    def through(stream: int) -> tuple[str, str]:
        return {1: ("10.0.0.1:1", "10.0.9.9:8080"), 2: ("10.0.9.9:2", HOST)}.get(stream, ("10.0.0.3:3", HOST))

    reported = book(ends=through)
    header = {"topic": "orders", "properties": written(said("K"))}
    outer = reported.tell("SEND_MESSAGE_V2", header, partner=3, stream=1)
    inner = reported.tell("SEND_MESSAGE_V2", header, partner=2, stream=2)
    answer = {"msgId": offset_id(100), "queueId": 0, "queueOffset": 7}
    reported.reply(inner, "SEND_MESSAGE_V2", answer, stream=2)
    reported.reply(outer, "SEND_MESSAGE_V2", answer, stream=1)
    requested = reported.tell("PULL_MESSAGE", {"consumerGroup": "CG"}, partner=7, stream=1)
    behind = reported.tell("PULL_MESSAGE", {"consumerGroup": "CG"}, partner=6, stream=2)
    got = {"messages": [stored("K", 100, 7)]}
    reported.reply(behind, "PULL_MESSAGE", {}, got, stream=2)
    reported.reply(requested, "PULL_MESSAGE", {}, got, stream=1)
    assert reported.only("sender", "attempts", "answer_ns", "consumer", "redelivered", "delivery_ns") == [
        ("10.0.0.1:1", 1, 3 * MS, "10.0.0.1:1", 0, 7 * MS)
    ]


def test_the_oldest_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "LIMIT", 2)
    reported = book()
    for at in range(4):
        reported.send(f"K{at}", at, at)
    assert [DeliveryReport.cells(each)["message"] for each in reported.entries] == ["K0", "K1"]
    reported.pull(stored("K0", 0, 0))
    assert [line["message"] for line in reported.finish()] == ["K0", "K1", "K2", "K3", "K0"]


def test_groups_of_a_message_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deliveries, "MOST_READERS", 3)
    reported = book()
    for group in range(9):
        reported.pull(stored("K", 100, 7), group=f"g{group}")
    assert reported.only("group") == [("g0",), ("g1",), ("g2",)]


def test_one_commit_is_named_by_the_latest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deliveries, "MOST_NAMED", 2)
    reported = book()
    reported.pull(*(stored(f"K{at}", at, at) for at in range(9)))
    done = reported.commit(9)
    assert {line["state"] for line in reported.finish()} == {"acked"}
    assert [DeliveryReport.cells(each)["message"] for each in reported.entries if ("acked", done) in each.rows] == [
        "K7",
        "K8",
    ]
