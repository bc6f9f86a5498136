"""Stories of recorded captures, held against what the vendor's own classes read in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analyzer.insight.reports import ReportReading, parts_of
from analyzer.session import Session
from dissectors.pulsar.reports.consumers import ConsumerReport
from dissectors.pulsar.reports.deliveries import DeliveryReport
from dissectors.pulsar.reports.producers import ProducerReport
from tests.golden.truth import read_ndjson

GOLDEN = Path(__file__).parents[3] / "golden" / "pulsar"
NAMES = ["cpp28_basic", "go4_chunks", "go4_txn", "java4_errors", "cpp4_codecs", "v5_queue"]

Row = dict[str, Any]


def _delivered(row: Row) -> int:
    """The messages of a MESSAGE, counted as people do."""
    bits = row["fields"].get("ack_set")
    if bits:
        return sum((word & (1 << 64) - 1).bit_count() for word in bits)
    return int(row["fields"].get("metadata", {}).get("num_messages_in_batch", 1))


def _ids(rows: list[Row]) -> set[tuple[int, int]]:
    """Where the messages lie that were written, or delivered."""
    found = (
        row["fields"]["message_id"]
        for row in rows
        if row.get("operation") in ("SEND_RECEIPT", "MESSAGE") and "message_id" in row["fields"]
    )
    return {(place["ledgerId"], place["entryId"]) for place in found}


@pytest.mark.parametrize("name", NAMES)
def test_what_is_counted_is_there(name: str) -> None:
    truth = list(read_ndjson(GOLDEN / f"{name}.expected.ndjson.zst"))

    def total(operation: str, count: Callable[[Row], int] = lambda row: 1) -> int:
        return sum(count(row) for row in truth if row.get("operation") == operation)

    with Session([GOLDEN / f"{name}.pcap.zst"]).load() as session:
        reading = ReportReading(session, [ProducerReport, ConsumerReport, DeliveryReport])
        made, read, written = ([chapter.report.cells(entry) for entry in chapter.entries] for chapter in reading.run())
        assert not reading.problems
    assert sum(each["sends"] for each in made) == total("SEND")
    assert sum(each["bytes"] for each in made) == total("SEND", lambda row: int(row["length"]))
    assert sum(each["errors"] for each in made) == total("SEND_ERROR")
    assert sum(each["unreceipted"] for each in made) == total("SEND", lambda row: row["partner_ordinal"] is None)
    assert sum(each["granted"] for each in read) == total("FLOW", lambda row: int(row["fields"]["messagePermits"]))
    assert sum(each["delivered"] for each in read) == total("MESSAGE", _delivered)
    for each in read:
        assert each["permits"] in (None, each["granted"] - each["delivered"])
    chunked = sum(each["chunks"] - 1 for each in written if each["chunks"])
    assert len({each["message"] for each in written if each["message"]}) + chunked == len(_ids(truth))


def test_a_message_is_followed_from_producer_to_consumer() -> None:
    with Session([GOLDEN / "go4_chunks.pcap.zst"]).load() as session:
        (chapter,) = ReportReading(session, [DeliveryReport]).run()
        (entry,) = chapter.entries
        text = DeliveryReport.cells(entry)
        assert (text["state"], text["chunks"], text["redelivered"]) == ("acked", 5, 0)
        assert text["sent"] < session.rows.cell("time", text["delivery"]) < session.rows.cell("time", text["ack"])
        (part,) = [part for part in parts_of(session, text["send"]) if part.report is DeliveryReport]
        assert part.text.startswith(f"sends message {text['message']} of persistent://")
