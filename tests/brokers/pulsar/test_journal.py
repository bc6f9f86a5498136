"""The machinery around clients, without servers: what is read of them, what of rows, and how the vendor's is spelt."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.brokers.pulsar import vendor
from tests.brokers.pulsar.decoded import Decoded
from tests.brokers.pulsar.journal import Acked, Failed, Got, Id, Journal, Sent, ran
from tests.golden.truth import differing

PRINTED = """if True:
    print('something else')
    print('SENT {"topic": "t", "producer": "p", "sequence": 1, "id": [5, 6, -1], "payload": "00", "key": null}')
    print('GOT {"topic": "t", "consumer": "c", "id": [5, 6, 0], "payload": null, "key": "k", "redelivered": 2}')
    print('ACKED {"topic": "t", "consumer": "c", "id": [5, 6, 0]}')
    print('FAILED {"operation": "SUBSCRIBE", "error": "ConsumerBusy"}')
    print('TOLD "end"')
"""


def test_a_journal_is_what_was_printed(tmp_path: Path) -> None:
    assert ran([sys.executable, "-c", PRINTED], tmp_path / "log", 20) == Journal(
        [Sent("t", "p", 1, Id(5, 6, -1), "00")],
        [Got("t", "c", Id(5, 6, 0), None, "k", 2)],
        [Acked("t", "c", Id(5, 6, 0))],
        [Failed("SUBSCRIBE", "ConsumerBusy")],
        ["end"],
    )


def test_a_client_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no such topic"):
        ran([sys.executable, "-c", "raise SystemExit('no such topic')"], tmp_path / "log", 20)


def row(number: int, operation: str, fields: dict[str, Any], partner: int | None = None, **more: Any) -> dict[str, Any]:
    """A row of one connection."""
    common = {"stream_id": "a>b", "error": None}
    return {**common, "number": number, "operation": operation, "fields": fields, "partner": partner, **more}


def chunk(number: int, total: int, content: str) -> dict[str, Any]:
    """What a frame has behind its command, as one of several chunks."""
    part = {"uuid": "u", "id": number, "total": total}
    return {"metadata": {"producer_name": "p", "sequence_id": 7}, "chunk": part, "payload": {"hex": content}}


BATCH = {
    "metadata": {"producer_name": "p", "sequence_id": 3, "num_messages_in_batch": 2},
    "payload": {
        "messages": [
            {"metadata": {"sequence_id": 3, "partition_key": "k"}, "payload": {"hex": "aa"}},
            {"metadata": {"sequence_id": 4, "null_value": True}, "payload": {"hex": ""}},
        ]
    },
}
AT = {"ledgerId": 1, "entryId": 2}
ROWS = [
    row(1, "PRODUCER", {"producer_id": 0, "topic": "t"}),
    row(2, "SUBSCRIBE", {"consumer_id": 0, "topic": "t", "consumer_name": "c"}),
    row(3, "SEND", {"producer_id": 0, "sequence_id": 3, **BATCH}, 4),
    row(4, "SEND_RECEIPT", {"message_id": AT}, 3),
    row(5, "SEND", {"producer_id": 0, "sequence_id": 5, **BATCH}),
    row(6, "MESSAGE", {"consumer_id": 0, "message_id": AT, "redelivery_count": 1, **BATCH}),
    row(7, "ACK", {"consumer_id": 0, "ack_type": "Individual", "message_id": [AT]}),
    row(8, "MESSAGE", {"consumer_id": 0, "message_id": {"ledgerId": 1, "entryId": 3}, **chunk(0, 2, "aa")}),
    row(9, "MESSAGE", {"consumer_id": 0, "message_id": {"ledgerId": 1, "entryId": 4}, **chunk(1, 2, "bb")}),
    row(10, "END_TXN", {"txn_action": "ABORT", "txnid_least_bits": 9}),
    row(11, "ERROR", {}, 2, error={"code": 5, "name": "ConsumerBusy"}),
]
"""A batch that is taken, and one of which nothing is known; a delivery again; chunks."""


def test_rows_in_the_words_of_a_journal() -> None:
    found = Decoded.of(ROWS)
    assert found.sent == [Sent("t", "p", 3, Id(1, 2, 0), "aa", "k"), Sent("t", "p", 4, Id(1, 2, 1), None)]
    assert found.got == [
        Got("t", "c", Id(1, 2, 0), "aa", "k", 1),
        Got("t", "c", Id(1, 2, 1), None, None, 1),
        Got("t", "c", Id(1, 4, -1), "aabb", None, 0),
    ]
    assert found.acked == [Acked("t", "c", Id(1, 2, -1))]
    assert found.pieces == {("t", 1, 3)}
    assert found.ended == ["transaction ABORT (0,9)"]
    assert found.failed == [Failed("SUBSCRIBE", "ConsumerBusy")]


@pytest.mark.parametrize(
    ("told", "ours", "differ"),
    [
        ({"LEDGER_ID": -1}, {"ledgerId": 2**64 - 1}, False),
        ({"LEDGER_ID": -1}, {"ledgerId": 2**64 - 2}, True),
        ({"TXN_TTL_SECONDS": 5}, {"txn_ttl_millis": 5}, False),
        ({"MESSAGE_ID": [{"LEDGER_ID": 1}]}, {"message_id": [{"ledgerId": 1}]}, False),
        ({"MESSAGE_ID": [{"LEDGER_ID": 1}, {}]}, {"message_id": [{"ledgerId": 1}]}, True),
        ({"LEDGER_ID": 1}, {"ledger": 1}, True),
        ({"VALID": True}, {"valid": 1}, True),
    ],
    ids=["no sign", "another number", "renamed", "within", "longer", "another name", "another kind"],
)
def test_only_spelling_is_forgiven(told: dict[str, Any], ours: dict[str, Any], differ: bool) -> None:
    assert bool(list(differing(ours, vendor.spelt(told, ours)))) is differ
