"""Consumers: permits, deliveries, acknowledgements, and how they end."""

from __future__ import annotations

from typing import Any

import pytest

from dissectors import outstanding
from dissectors.pulsar.reports.consumers import ConsumerReport
from tests.dissectors.pulsar.reports.message_report import TOPIC, ReportBuilder, place
from tests.dissectors.telling import MS

COUNTS = ("delivered", "acked", "acked_up_to", "acks_beside", "unacked", "most_unacked")


def test_one_that_reads_and_is_closed() -> None:
    book = ReportBuilder(ConsumerReport)
    row = book.consumer()
    book.flow(10)
    book.message(0)
    book.message(1, batch=5)
    book.ack(0, 1, after=7)
    book.call("CLOSE_CONSUMER", {"consumer_id": 0})
    (line,) = book.finish()
    assert (line["topic"], line["subscription"], line["type"], line["consumer"]) == (TOPIC, "s", "Shared", "c0")
    assert (line["granted"], line["permits"], line["least_permits"], line["empty_since"]) == (10, 4, 4, None)
    assert tuple(line[key] for key in COUNTS) == (6, 6, 0, 0, 0, 6)
    assert (line["median_ns"], line["longest_ns"]) == (7 * MS, 8 * MS)
    assert (line["state"], line["by"], line["made_after_ns"]) == ("closed", "client", MS)
    assert book.said(row)[0].startswith(f"asks for consumer 0 on s of {TOPIC}: closed by the client ")


def test_one_on_whose_connection_bytes_are_missing_has_no_number_of_permits() -> None:
    book = ReportBuilder(ConsumerReport)
    book.losses = 1
    book.consumer()
    book.flow(2)
    book.message(0, batch=3)
    book.losses = 2
    book.message(1)
    assert book.only("granted", "permits", "least_permits", "empty_since", "delivered") == [(2, None, None, None, 4)]


def test_one_that_starves() -> None:
    book = ReportBuilder(ConsumerReport)
    book.consumer()
    book.flow(2)
    book.message(0, batch=3)
    since = book.time
    book.end(after=500)
    assert book.only("permits", "empty_since", "starved_ns", "longest_starved_ns") == [(-1, since, 500 * MS, 500 * MS)]


def test_one_that_starved_for_a_while() -> None:
    book = ReportBuilder(ConsumerReport)
    book.consumer()
    book.flow(1)
    book.message(0)
    book.flow(1, after=30)
    assert book.only("permits", "least_permits", "empty_since", "starved_ns") == [(1, 0, None, 30 * MS)]


def test_of_one_from_before_the_capture_permits_are_unknown() -> None:
    book = ReportBuilder(ConsumerReport)
    book.message(3, 9)
    book.flow(5, 9)
    book.ack(1, 3, number=9)
    assert book.only("topic", "consumer_id", "permits", "granted", *COUNTS) == [(None, 9, None, 5, 1, 1, 0, 1, 0, 1)]


def test_batches_are_acknowledged_bit_by_bit() -> None:
    book = ReportBuilder(ConsumerReport)
    book.consumer()
    book.message(0, batch=5)
    book.ack(place(0, ack_set=[0b11101]))
    book.ack(place(0, ack_set=[0b10111]))
    book.message(0, batch=5, ack_set=[0b10101], redelivery_count=1)
    assert book.only("redelivered", *COUNTS) == [(3, 8, 2, 0, 0, 3, 5)]


def test_a_cumulative_ack_is_for_all_before_it() -> None:
    book = ReportBuilder(ConsumerReport)
    book.consumer()
    for entry in range(4):
        book.message(entry, batch=5)
    book.ack(place(2, ack_set=[0b11000]), kind="Cumulative")
    book.ack(2, kind="Cumulative")
    book.ack(2, kind="Cumulative")
    assert book.only(*COUNTS) == [(20, 0, 15, 1, 5, 20)]


def test_an_entry_that_is_named_twice_in_an_ack_is_one() -> None:
    book = ReportBuilder(ConsumerReport)
    book.consumer()
    book.message(0, batch=3)
    book.ack(0, 0, 0)
    book.ack(0)
    assert book.only(*COUNTS) == [(3, 3, 0, 1, 0, 3)]


@pytest.mark.parametrize(("ids", "again", "left"), [([], 3, 0), ([place(0), place(9)], 2, 2)])
def test_what_is_requested_again_is_taken_back(ids: list[Any], again: int, left: int) -> None:
    book = ReportBuilder(ConsumerReport)
    book.consumer()
    book.flow(10)
    for entry in range(3):
        book.message(entry)
    book.tell("REDELIVER_UNACKNOWLEDGED_MESSAGES", {"consumer_id": 0, "message_ids": ids})
    book.message(0)
    book.message(0)
    assert book.only("asked_again", "redelivered", "unacked", "permits") == [(again, 2, left + 1, 5)]


def test_the_same_again_is_a_redelivery() -> None:
    book = ReportBuilder(ConsumerReport)
    book.consumer()
    book.message(0)
    book.message(0)
    assert book.only("delivered", "redelivered", "unacked") == [(2, 1, 1)]


def test_acks_that_fail() -> None:
    book = ReportBuilder(ConsumerReport)
    book.consumer()
    book.message(0)
    requested = {"consumer_id": 0, "ack_type": "Individual", "message_id": [place(0)]}
    book.call("ACK", requested, "ACK_RESPONSE", {"consumer_id": 0, "error": "NotAllowedError"})
    book.call("ACK", requested, "ACK_RESPONSE", {"consumer_id": 0})
    assert book.only("acks_failed", "acked", "acks_beside") == [(1, 1, 1)]


@pytest.mark.parametrize(
    ("operation", "push", "state", "by"),
    [
        ("UNSUBSCRIBE", False, "unsubscribed", "client"),
        ("CLOSE_CONSUMER", False, "closed", "client"),
        ("CLOSE_CONSUMER", True, "closed", "broker"),
    ],
)
def test_how_one_ends(operation: str, push: bool, state: str, by: str) -> None:
    book = ReportBuilder(ConsumerReport)
    book.consumer()
    (book.push if push else book.tell)(operation, {"consumer_id": 0})
    book.end()
    assert book.only("state", "by") == [(state, by)]


def test_a_seek_makes_it_subscribe_again() -> None:
    book = ReportBuilder(ConsumerReport)
    book.consumer()
    book.flow(5)
    book.call("SEEK", {"consumer_id": 0})
    book.push("CLOSE_CONSUMER", {"consumer_id": 0})
    book.consumer()
    assert book.only("seeks", "state", "by", "permits") == [(1, "closed", "broker", 5), (0, "open", None, 0)]


def test_one_that_is_refused() -> None:
    book = ReportBuilder(ConsumerReport)
    requested = {"topic": TOPIC, "subscription": "s", "subType": "Exclusive", "consumer_id": 0}
    book.call("SUBSCRIBE", requested, "ERROR", {"error": "ConsumerBusy"})
    book.consumer()
    assert book.only("state", "error", "type") == [("refused", "ConsumerBusy", "Exclusive"), ("open", None, "Shared")]


def test_an_error_to_a_seek_ends_nothing() -> None:
    book = ReportBuilder(ConsumerReport)
    book.consumer()
    book.call("SEEK", {"consumer_id": 0}, "ERROR", {"error": "SubscriptionNotFound"})
    assert book.only("state", "error") == [("open", None)]


def test_one_that_may_not_unsubscribe_stays() -> None:
    book = ReportBuilder(ConsumerReport)
    book.consumer()
    book.call("UNSUBSCRIBE", {"consumer_id": 0}, "ERROR", {"error": "UnknownError"})
    book.end()
    assert book.only("state", "by") == [("lost", "client")]


@pytest.mark.parametrize("operation", ["SUBSCRIBE", "FLOW", "MESSAGE", "ACK", "SEEK", "CLOSE_CONSUMER"])
def test_what_is_broken_before_its_number_is_nobodys(operation: str) -> None:
    book = ReportBuilder(ConsumerReport)
    book.tell(operation, {"topic": TOPIC, "consumer_id": None})
    assert book.finish() == []


@pytest.mark.parametrize(("value", "active"), [(True, "yes"), (False, "no"), (None, "no")])
def test_whether_it_is_served(value: bool | None, active: str) -> None:
    book = ReportBuilder(ConsumerReport)
    book.consumer()
    book.push("ACTIVE_CONSUMER_CHANGE", {"consumer_id": 0, "is_active": value})
    assert book.only("active") == [(active,)]


def test_no_more_entries_than_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outstanding, "LIMIT", 3)
    book = ReportBuilder(ConsumerReport)
    book.consumer()
    for entry in range(10):
        book.message(entry)
    book.ack(*range(10))
    assert book.only("delivered", "acked", "acks_beside", "unacked") == [(10, 3, 7, 0)]


def test_numbers_belong_to_their_connection() -> None:
    book = ReportBuilder(ConsumerReport)
    book.consumer()
    book.consumer(stream=2, subscription="t")
    book.message(0, stream=2)
    assert book.only("subscription", "delivered") == [("s", 0), ("t", 1)]
