"""Stories of recorded captures, held against what the vendor's own classes read in them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from analyzer.insight.reports import ReportReading, parts_of
from analyzer.session import Session
from dissectors.report import Report
from dissectors.rocketmq.reports.deliveries import DeliveryReport
from dissectors.rocketmq.reports.pops import PopReport
from dissectors.rocketmq.reports.transactions import TransactionReport
from tests.golden.truth import captures, read_ndjson

PATHS = {path.name.removesuffix(".pcap.zst"): path for path in captures("rocketmq")}
SENDS = ("SEND_MESSAGE", "SEND_MESSAGE_V2", "SEND_BATCH_MESSAGE")
NAMES = [
    "go_550_send", "m326_send", "m430_bin_send", "m550_json_batch", "m550_json_bcq_lab_bcq", "m550_json_tx_lab_tx",
    "m550_bin_compress_lab_base", "m494_acl_signed", "m550_json_retry", "m550_json_pop_lab_pop", "m550_bin_push",
]  # fmt: skip

Row = dict[str, Any]


def _path(name: str) -> Path:
    if name not in PATHS:
        pytest.skip("the captures with the vendor's decoding are not beside the checkout")
    return PATHS[name]


def _truth(path: Path) -> list[Row]:
    return list(read_ndjson(path.with_name(path.name.replace(".pcap.", ".expected.ndjson."))))


def _told(path: Path, *stories: type[Report]) -> list[list[dict[str, Any]]]:
    with Session([path]).load() as session:
        reading = ReportReading(session, stories)
        found = [[chapter.report.cells(entry) for entry in chapter.entries] for chapter in reading.run()]
        assert not reading.problems
    return found


def _messages(rows: list[Row], *operations: str) -> list[Row]:
    """What was stored, one for each message of an inner batch."""
    found: list[Row] = []
    for row in rows:
        if row.get("operation") in operations and row["role"] == "response":
            for each in (row["fields"].get("body") or {}).get("messages") or []:
                found += each.get("messages") or [each]
    return found


def _sent(rows: list[Row]) -> int:
    """Messages in all SENDs."""
    requested = [row for row in rows if row.get("operation") in SENDS and row["role"] != "response"]
    return sum(len(row["fields"]["body"]["messages"]) if row["operation"] == SENDS[2] else 1 for row in requested)


def _stored(rows: list[Row]) -> int:
    """Messages of all SENDs that were answered with success."""
    counts = {(row["stream_key"], row["ordinal"]): _sent([row]) for row in rows if row["role"] == "request"}
    done = [row for row in rows if row.get("operation") in SENDS and row["role"] == "response" and row["error"] is None]
    return sum(counts[row["stream_key"], row["partner_ordinal"]] for row in done)


def _once(told: list[Row]) -> list[Row]:
    """A line of each message that was sent, of however many groups."""
    return list({(each["send"], each["message"]): each for each in told if each["send"] is not None}.values())


@pytest.mark.parametrize("name", NAMES)
def test_what_is_counted_is_there(name: str) -> None:
    path = _path(name)
    truth, (reported,) = _truth(path), _told(path, DeliveryReport)
    assert sum(each["attempts"] or 0 for each in _once(reported)) == _sent(truth)
    assert sum(each["status"] == "SEND_OK" for each in _once(reported)) == _stored(truth)
    got = [each["properties"].get("UNIQ_KEY") for each in _messages(truth, "PULL_MESSAGE", "POP_MESSAGE")]
    assert sum(each["redelivered"] + 1 for each in reported if each["group"] is not None) == len(got)
    if all(got):
        assert {each["message"] for each in reported if each["group"] is not None} == set(got)


def test_transactions_have_the_outcome_that_the_vendor_reads() -> None:
    path = _path("m550_json_tx_lab_tx")
    truth, (reported,) = _truth(path), _told(path, TransactionReport)
    ends = [row["fields"]["header"] for row in truth if row.get("operation") == "END_TRANSACTION"]
    outcomes = {8: "committed", 12: "rolled back"}
    text = {each["transactionId"]: outcomes.get(each["commitOrRollback"], "unknown") for each in ends}
    assert {each["transaction"]: each["outcome"] for each in reported} == text
    assert Counter(text.values()) == {"committed": 3, "rolled back": 3}
    assert sum(each["checks"] for each in reported) == sum(
        row.get("operation") == "CHECK_TRANSACTION_STATE" for row in truth
    )
    assert sum(each["unknowns"] for each in reported) == sum(each["commitOrRollback"] == 0 for each in ends)
    assert [(each["by"], each["checks"]) for each in reported] == [("producer", 0)] * 4 + [("check", 2)] * 2


def test_pops_end_as_the_application_wanted() -> None:
    (reported,) = _told(_path("m550_json_pop_lab_pop"), PopReport)
    assert Counter(each["state"] for each in reported) == {"acked": 11, "expired": 1}
    (back,) = [each for each in reported if each["state"] == "expired"]
    assert (back["queue"], back["offset"], back["handed_back"]) == (0, 1, 1)


def test_a_message_is_followed_from_producer_to_consumer() -> None:
    with Session([_path("m550_json_bcq_lab_bcq")]).load() as session:
        (chapter,) = ReportReading(session, [DeliveryReport]).run()
        (entry, *_) = chapter.entries
        text = DeliveryReport.cells(entry)
        assert text["state"] == "acked"
        assert text["sent"] < session.rows.cell("time", text["delivery"]) < session.rows.cell("time", text["ack"])
        (part,) = [part for part in parts_of(session, text["send"]) if part.report is DeliveryReport]
        assert part.text.startswith(f"sends message {text['message']} of lab_bcq to CG_bcq: acked")
