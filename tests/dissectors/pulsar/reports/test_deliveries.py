"""Messages from SEND to ACK, over several connections."""

from __future__ import annotations

import pytest

from dissectors.pulsar.reports import messages
from dissectors.pulsar.reports.deliveries import DeliveryReport
from dissectors.pulsar.reports.fields import NO_NUMBER
from tests.dissectors.pulsar.reports.message_report import SIZE, TOPIC, ReportBuilder, place
from tests.dissectors.telling import MS

TIMES = ("receipt_ns", "delivery_ns", "ack_ns", "end_to_end_ns")
READER, OTHER = 2, 3


def begun(*readers: tuple[int, str]) -> ReportBuilder:
    """A producer on connection 1, and consumers."""
    book = ReportBuilder(DeliveryReport)
    book.producer()
    for stream, subscription in readers:
        book.consumer(stream=stream, subscription=subscription)
    return book


def test_from_send_to_ack() -> None:
    book = begun((READER, "s"))
    send = book.send(4, num_messages=3)
    delivery = book.message(4, batch=3, stream=READER, after=5)
    ack = book.ack(4, stream=READER, after=20)
    (line,) = book.finish()
    assert line == {
        "topic": TOPIC,
        "message": "7:4",
        "subscription": "s",
        "consumer": "c0",
        "producer": "p",
        "state": "acked",
        "error": None,
        "sent": 5 * MS,
        "bytes": SIZE,
        "count": 3,
        "chunks": 0,
        "receipt_ns": MS,
        "delivery_ns": 6 * MS,
        "ack_ns": 20 * MS,
        "end_to_end_ns": 26 * MS,
        "redelivered": 0,
        "send": send,
        "delivery": delivery,
        "ack": ack,
    }
    took = "receipt after 1 ms, delivered after 6 ms, acked after another 20 ms, end to end 26 ms"
    assert book.said(delivery) == [f"delivers message 7:4 of {TOPIC} to s: acked, {took}"]
    assert [book.said(row)[0].split()[0] for row in (send, send + 1, ack)] == ["sends", "confirms", "acknowledges"]


def test_each_subscription_has_a_line() -> None:
    book = begun((READER, "a"), (OTHER, "b"))
    book.send(0)
    book.message(0, stream=READER)
    book.message(0, stream=OTHER)
    book.ack(0, stream=OTHER)
    assert book.only("subscription", "state") == [("a", "delivered"), ("b", "acked")]


def test_what_nobody_was_sent() -> None:
    book = begun()
    book.send(0)
    assert book.only("message", "subscription", "state", *TIMES) == [("7:0", None, "sent", MS, None, None, None)]


def test_a_message_that_comes_before_the_receipt() -> None:
    book = begun((READER, "s"))
    row = book.tell("SEND", {"producer_id": 0, "sequence_id": 0}, partner=book.row + 2)
    book.message(0, stream=READER)
    book.reply(row, "SEND_RECEIPT", {"producer_id": 0, "message_id": place(0)})
    assert book.only("state", "send", *TIMES[:2]) == [("delivered", row, 2 * MS, MS)]


@pytest.mark.parametrize("late", [1, READER], ids=["producer", "consumer"])
def test_a_connection_from_before_the_capture(late: int) -> None:
    book = ReportBuilder(DeliveryReport)
    if late == READER:
        book.producer()
    else:
        book.consumer(stream=READER)
    book.send(0)
    book.message(0, stream=READER)
    book.ack(0, stream=READER)
    subscription = None if late == READER else "s"
    assert book.only("topic", "message", "subscription", "state") == [(TOPIC, "7:0", subscription, "acked")]


def test_a_receipt_without_its_send() -> None:
    book = begun()
    book.tell("SEND_RECEIPT", {"producer_id": 0, "message_id": place(0)}, from_client=False)
    assert book.only("topic", "message", "state", "sent", "send") == [(TOPIC, "7:0", "sent", None, None)]


def test_the_same_id_of_two_topics_is_two_messages() -> None:
    book = begun()
    book.producer(1, topic="persistent://public/default/u")
    book.send(0)
    book.send(0, number=1)
    assert len(book.only("topic")) == 2


def test_redeliveries_count() -> None:
    book = begun((READER, "s"), (OTHER, "s"))
    book.send(0)
    book.message(0, stream=READER)
    book.message(0, stream=READER, redelivery_count=1)
    again = book.message(0, stream=OTHER, redelivery_count=2)
    book.ack(0, stream=OTHER)
    assert book.only("state", "redelivered", "consumer") == [("acked", 2, "c0")]
    assert book.said(again)[0].endswith("redelivered 2 times")


def test_a_batch_is_acknowledged_when_all_of_it_is() -> None:
    book = begun((READER, "s"))
    book.send(0)
    book.message(0, batch=3, stream=READER)
    book.ack(place(0, ack_set=[0b101]), stream=READER)
    (part,) = (line["state"] for line in book.finish())
    book.entries.clear()
    book.ack(place(0, ack_set=[0b010]), stream=READER)
    assert (part, book.only("state")) == ("delivered", [("acked",)])


def test_one_that_is_delivered_again_behind_its_ack_is_delivered() -> None:
    book = begun((READER, "s"))
    book.send(0)
    book.message(0, stream=READER)
    first = book.ack(0, stream=READER)
    book.message(0, stream=READER)
    assert book.only("state", "ack", "redelivered") == [("delivered", first, 1)]


def test_a_cumulative_ack() -> None:
    book = begun((READER, "s"))
    for entry in range(3):
        book.send(entry, entry)
        book.message(entry, stream=READER)
    ack = book.ack(1, kind="Cumulative", stream=READER)
    assert book.only("state", "ack") == [("acked", ack), ("acked", ack), ("delivered", None)]


def test_an_ack_of_many_is_named_by_the_latest_of_them() -> None:
    book = begun((READER, "s"))
    for entry in range(40):
        book.message(entry, stream=READER)
    ack = book.ack(39, kind="Cumulative", stream=READER)
    assert book.only("ack") == [(ack,)] * 40
    text = book.said(ack)
    assert len(text) == 16
    assert text[-1].startswith("acknowledges message 7:39 ")


def test_chunks_are_one_message_by_the_id_of_the_last() -> None:
    book = begun((READER, "s"))
    rows = [
        book.tell("SEND", {"producer_id": 0, "sequence_id": 0, "is_chunk": True}, partner=book.row + 3)
        for _ in range(3)
    ]
    for entry, row in enumerate(rows):
        book.reply(row, "SEND_RECEIPT", {"producer_id": 0, "message_id": place(entry)})
    other = book.send(3, 1, is_chunk=True)
    for entry in range(3):
        book.message(entry, stream=READER, uuid="p-0")
    book.ack(0, 1, stream=READER)
    ack = book.ack(2, stream=READER)
    columns = ("message", "state", "chunks", "bytes", "send", "ack", *TIMES)
    assert book.only(*columns) == [
        ("7:2", "acked", 3, 3 * SIZE, rows[0], ack, 5 * MS, 10 * MS, 2 * MS, 12 * MS),
        ("7:3", "sent", 1, SIZE, other, None, MS, None, None, None),
    ]


def test_chunks_that_nobody_saw_sent_are_joined_by_their_uuid() -> None:
    book = ReportBuilder(DeliveryReport)
    book.consumer(stream=READER)
    for entry in range(3):
        book.message(entry, stream=READER, uuid="p-0")
    book.message(0, stream=READER, uuid="p-0")
    assert book.only("message", "chunks", "state", "redelivered") == [("7:2", 3, "delivered", 1)]


def through_proxy(stream: int) -> tuple[str, str]:
    """Connections 1 and 2 are of clients to the proxy, 11 and 12 of the proxy to the broker."""
    return ("10.0.9.9:4000", "10.0.1.1:6650") if stream > 10 else (f"10.0.0.{stream}:5000", "10.0.9.9:6650")


def test_a_message_on_both_sides_of_a_proxy_is_one() -> None:
    book = ReportBuilder(DeliveryReport, through_proxy)
    for stream in (1, 11):
        book.producer(stream=stream)
    for stream in (2, 12):
        book.consumer(stream=stream)
    requested, text = {"producer_id": 0, "sequence_id": 0}, {"producer_id": 0, "message_id": place(0)}
    outer = book.tell("SEND", requested, partner=book.row + 3)
    inner = book.tell("SEND", requested, stream=11, partner=book.row + 1)
    book.reply(inner, "SEND_RECEIPT", text, stream=11)
    book.reply(outer, "SEND_RECEIPT", text)
    delivery = book.message(0, stream=12)
    book.message(0, stream=2)
    ack = book.ack(0, stream=2)
    book.ack(0, stream=12)
    columns = ("send", "delivery", "ack", "bytes", "redelivered", *TIMES)
    assert book.only(*columns) == [(outer, delivery, ack, SIZE, 0, 3 * MS, 5 * MS, MS, 6 * MS)]


def test_a_proxy_on_the_same_host_is_recognised_by_connect() -> None:
    book = ReportBuilder(DeliveryReport, lambda stream: ("127.0.0.1:5000", "127.0.0.1:6650"))
    book.tell("CONNECT", {"proxy_to_broker_url": "pulsar://b"}, stream=2)
    for stream in (12, 2, 22):
        book.consumer(stream=stream)
        book.message(0, stream=stream)
    assert book.only("redelivered") == [(0,)], "the third is an echo of the second"
    book = ReportBuilder(DeliveryReport, lambda stream: ("127.0.0.1:5000", "127.0.0.1:6650"))
    for stream in (12, 2):
        book.consumer(stream=stream)
        book.message(0, stream=stream)
    assert book.only("redelivered") == [(1,)]


def test_a_send_without_a_message() -> None:
    book = begun()
    refused = book.call("SEND", {"producer_id": 0}, "SEND_ERROR", {"error": "ChecksumError"})
    known = {"producer_id": 0, "message_id": place(NO_NUMBER, NO_NUMBER)}
    book.call("SEND", {"producer_id": 0}, "SEND_RECEIPT", known)
    book.tell("SEND", {"producer_id": 0})
    assert book.only("message", "state", "error", "receipt_ns") == [
        (None, "refused", "ChecksumError", None),
        (None, "duplicate", None, MS),
        (None, "unreceipted", None, None),
    ]
    assert book.said(refused + 1) == [f"refuses a message of {TOPIC}: refused"]


@pytest.mark.parametrize("marker", [True, False])
def test_what_has_no_line(marker: bool) -> None:
    book = ReportBuilder(DeliveryReport)
    topic = TOPIC if marker else "non-persistent://public/default/t"
    book.producer(topic=topic)
    book.consumer(topic=topic, stream=READER)
    more = {"marker": True} if marker else {}
    book.send(0, **more)
    if not marker:
        book.message(0, stream=READER)
    assert book.finish() == []


def test_partitions_are_in_the_id() -> None:
    book = begun()
    text = {"producer_id": 0, "message_id": place(5, partition=3)}
    book.call("SEND", {"producer_id": 0}, "SEND_RECEIPT", text)
    assert book.only("message") == [("7:5:3",)]


def test_the_oldest_are_given_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "LIMIT", 3)
    book = begun((READER, "s"))
    for entry in range(10):
        book.send(entry, entry)
    assert [entry.values[1] for entry in book.entries] == [f"7:{entry}" for entry in range(7)]
    book.message(0, stream=READER)
    assert [state for (state,) in book.only("state")] == ["sent"] * 10 + ["delivered"]
