"""Producers: what is told of them, and how they end."""

from __future__ import annotations

from typing import Any

import pytest

from dissectors.pulsar.reports.fields import NO_NUMBER
from dissectors.pulsar.reports.producers import ProducerReport, ProducerRow
from tests.dissectors.pulsar.reports.message_report import SIZE, TOPIC, ReportBuilder, place
from tests.dissectors.telling import MS

SENDING = ("sends", "sent", "chunks", "bytes", "errors", "duplicates", "unreceipted")


def test_one_that_sends_and_is_closed() -> None:
    book = ReportBuilder(ProducerReport)
    row = book.producer()
    book.send(0)
    book.send(1, 1, num_messages=5, after=3)
    closed = book.call("CLOSE_PRODUCER", {"producer_id": 0})
    (line,) = book.finish()
    assert {key: line[key] for key in ("client", "server", "version", "topic", "producer", "access")} == {
        "client": "10.0.0.1:50000",
        "server": "10.0.1.1:6650",
        "version": "client",
        "topic": TOPIC,
        "producer": "p",
        "access": "Shared",
    }
    assert tuple(line[key] for key in SENDING) == (2, 6, 0, 2 * SIZE, 0, 0, 0)
    assert (line["made"], line["made_after_ns"], line["longest_ns"]) == (2 * MS, MS, 3 * MS)
    assert (line["state"], line["by"]) == ("closed", "client")
    assert book.said(row)[0].startswith(f"asks for producer 0 p of {TOPIC}: closed by the client ")
    assert book.said(closed)[0].startswith("closes producer 0 p")


def test_one_that_waits_for_its_turn_is_made_when_it_is_ready() -> None:
    book = ReportBuilder(ProducerReport)
    row = book.tell("PRODUCER", {"topic": TOPIC, "producer_id": 3}, partner=1)
    book.reply(row, "PRODUCER_SUCCESS", {"producer_name": "w", "producer_ready": False})
    ready = book.reply(row, "PRODUCER_SUCCESS", {"producer_name": "w", "producer_ready": True}, after=500)
    assert book.only("producer", "made_after_ns", "state") == [("w", 501 * MS, "open")]
    assert [word for word, _ in book.entries[0].rows] == ["asked", "waiting", "made"]
    assert book.said(ready)[0].startswith("makes producer 3 w")


@pytest.mark.parametrize(("error", "state"), [("ProducerBusy", "refused"), ("ProducerFenced", "fenced")])
def test_one_that_is_refused_and_comes_again_is_two(error: str, state: str) -> None:
    book = ReportBuilder(ProducerReport)
    book.call("PRODUCER", {"topic": TOPIC, "producer_id": 0}, "ERROR", {"error": error})
    book.producer()
    assert book.only("state", "error") == [(state, error), ("open", None)]


def test_one_that_is_requested_again_while_it_stands_is_one() -> None:
    book = ReportBuilder(ProducerReport)
    book.producer()
    book.send(0)
    book.call("PRODUCER", {"topic": TOPIC, "producer_id": 0}, "ERROR", {"error": "ServiceNotReady"})
    assert book.only("state", "sends") == [("open", 1)]


def test_one_that_the_broker_closes_is_sent_on() -> None:
    book = ReportBuilder(ProducerReport)
    book.producer()
    book.push("CLOSE_PRODUCER", {"producer_id": 0, "assignedBrokerServiceUrl": "pulsar://b:6650"})
    book.producer(stream=2)
    assert book.only("state", "by", "moved_to") == [("closed", "broker", "pulsar://b:6650"), ("open", None, None)]


def test_one_whose_connection_ends_is_lost() -> None:
    book = ReportBuilder(ProducerReport)
    book.producer()
    book.producer(1, stream=2)
    book.end(by_client=False)
    assert [ProducerReport.cells(entry)["by"] for entry in book.entries] == ["broker"]
    assert book.only("state") == [("lost",), ("open",)]


def test_a_closed_one_is_not_lost() -> None:
    book = ReportBuilder(ProducerReport)
    book.producer()
    book.call("CLOSE_PRODUCER", {"producer_id": 0})
    book.end()
    assert book.only("state") == [("closed",)]


def test_chunks_are_one_message() -> None:
    book = ReportBuilder(ProducerReport)
    book.producer()
    for sequence, chunks in ((0, 3), (1, 2)):
        for _ in range(chunks):
            book.send(0, sequence, is_chunk=True)
    book.send(9, 2)
    assert book.only(*SENDING[:3]) == [(6, 3, 5)]


def test_errors_duplicates_and_what_has_no_answer() -> None:
    book = ReportBuilder(ProducerReport)
    book.producer()
    book.call("SEND", {"producer_id": 0, "sequence_id": 0}, "SEND_ERROR", {"producer_id": 0, "error": "ChecksumError"})
    again = {"producer_id": 0, "message_id": place(NO_NUMBER, NO_NUMBER)}
    book.call("SEND", {"producer_id": 0, "sequence_id": 1}, "SEND_RECEIPT", again)
    book.tell("SEND", {"producer_id": 0, "sequence_id": 2})
    assert book.only("error", *SENDING) == [("ChecksumError", 3, 3, 0, 3 * SIZE, 1, 1, 1)]


def test_one_that_is_fenced_while_it_sends() -> None:
    book = ReportBuilder(ProducerReport)
    book.producer()
    error = {"producer_id": 0, "error": "ProducerFenced"}
    row = book.call("SEND", {"producer_id": 0, "sequence_id": 0}, "SEND_ERROR", error)
    assert book.only("state", "by", "error") == [("fenced", "broker", "ProducerFenced")]
    assert book.said(row + 1)[0].startswith("fences off producer 0 p")


def test_one_from_before_the_capture_has_a_line() -> None:
    book = ReportBuilder(ProducerReport)
    book.send(0, number=5)
    assert book.only("topic", "producer_id", "producer", "access", "made", "sends", "state") == [
        (None, 5, None, None, None, 1, "open")
    ]


@pytest.mark.parametrize("operation", ["PRODUCER", "SEND", "SEND_RECEIPT", "SEND_ERROR", "CLOSE_PRODUCER"])
def test_what_is_broken_before_its_number_is_nobodys(operation: str) -> None:
    book = ReportBuilder(ProducerReport)
    book.tell(operation, {"topic": TOPIC})
    assert book.finish() == []


@pytest.mark.parametrize(("url", "broker"), [("pulsar://b1:6650", "pulsar://b1:6650"), ("", None), (None, None)])
def test_the_broker_behind_a_proxy(url: str | None, broker: str | None) -> None:
    book = ReportBuilder(ProducerReport)
    book.tell("CONNECT", {} if url is None else {"proxy_to_broker_url": url})
    book.producer()
    assert book.only("broker") == [(broker,)]


@pytest.mark.parametrize(("kind", "url"), [("Producer", "pulsar://green"), (0, "pulsar://green"), ("Consumer", None)])
def test_a_topic_that_moves_to_another_cluster(kind: object, url: str | None) -> None:
    book = ReportBuilder(ProducerReport)
    book.producer()
    values: dict[str, Any] = {"resource_id": 0, "resource_type": kind, "brokerServiceUrl": "pulsar://green"}
    book.push("TOPIC_MIGRATED", values)
    assert book.only("moved_to", "state") == [(url, "open")]


def test_no_more_than_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProducerReport, "limit", 3)
    book = ReportBuilder(ProducerReport)
    for number in range(10):
        book.producer(number)
    assert len(book.entries) == 7
    assert [number for (number,) in book.only("producer_id")] == list(range(10))


def test_one_names_no_more_messages_than_that() -> None:
    book = ReportBuilder(ProducerReport)
    book.producer()
    for sequence in range(200):
        text = {"producer_id": 0, "error": "PersistenceError"}
        book.call("SEND", {"producer_id": 0, "sequence_id": sequence}, "SEND_ERROR", text)
    assert book.only("errors") == [(200,)]
    assert len(book.entries[0].rows) == ProducerRow.most_rows
