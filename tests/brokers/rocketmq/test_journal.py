"""The machinery around clients, without servers: what is read of them, and what of rows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.brokers.rocketmq import vendor
from tests.brokers.rocketmq.decoded import Decoded
from tests.brokers.rocketmq.journal import UNTOLD, Failed, Got, Journal, Sent, Told, ran
from tests.brokers.rocketmq.recipe import VIP, ports

PRINTED = """if True:
    common = '"topic": "t", "queue": 1, "offset": 5, "id": "A", "keys": "k", "tag": null, "body": "00"'
    print('something else')
    print('SENT {' + common + ', "place": "P"}')
    print('GOT {' + common + ', "group": "g", "reconsumed": 2}')
    print('FAILED {"operation": "PULL_MESSAGE", "code": 16}')
    print('TOLD {"what": "lag", "answer": 3}')
"""


def test_a_journal_is_what_was_printed(tmp_path: Path) -> None:
    journal = ran([sys.executable, "-c", PRINTED], tmp_path / "log", 20)
    assert journal == Journal(
        [Sent("t", 1, 5, "A", "P", "k", None, "00")],
        [Got("t", 1, 5, "A", "k", None, "00", "g", 2)],
        [Failed("PULL_MESSAGE", 16)],
        [Told("lag", 3)],
    )
    assert journal.answer("lag") == [3]


def test_a_client_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no such topic"):
        ran([sys.executable, "-c", "raise SystemExit('no such topic')"], tmp_path / "log", 20)


def row(number: int, operation: str, role: str, header: dict[str, Any], body: Any, **more: Any) -> dict[str, Any]:
    """A row whose partner is none, unless it is said."""
    fields = {"header": header, "body": body, "serialize": "JSON", **more.pop("fields", {})}
    return {
        "number": number,
        "operation": operation,
        "role": role,
        "fields": fields,
        "partner": None,
        "error": None,
        **more,
    }


SEND = {"topic": "t", "properties": "KEYS\x01k \x02UNIQ_KEY\x01A\x02TAGS\x01x\x02"}
TAKEN = {"queueId": 1, "queueOffset": 5, "msgId": "P"}
ITEMS = {"messages": [{"properties": {"UNIQ_KEY": name}, "body": {"hex": "bb"}} for name in ("B", "C")]}
STORED = {
    "queueId": 0, "queueOffset": 3, "reconsumeTimes": 1, "storeHost": "127.0.0.1:10911", "commitLogOffset": 258,
    "topic": "%RETRY%g", "properties": {"RETRY_TOPIC": "t", "TAGS": "x"}, "body": {"hex": "78"},
    "bodyUncompressed": {"hex": "cc"},
}  # fmt: skip
ROWS = [
    row(1, "SEND_MESSAGE_V2", "request", SEND, {"hex": "78"}, partner=2, fields={"bodyUncompressed": {"hex": "aa"}}),
    row(2, "SEND_MESSAGE_V2", "response", TAKEN, None, partner=1),
    row(3, "SEND_BATCH_MESSAGE", "request", SEND, ITEMS, partner=4),
    row(4, "SEND_BATCH_MESSAGE", "response", {**TAKEN, "msgId": "P,Q"}, None, partner=3),
    row(5, "SEND_MESSAGE", "oneway", SEND, {"hex": "dd"}),
    row(6, "SEND_MESSAGE", "request", SEND, {"hex": "ee"}, partner=7),
    row(7, "SEND_MESSAGE", "response", {}, None, partner=6, error={"code": 2, "name": "SYSTEM_BUSY"}),
    row(8, "PULL_MESSAGE", "request", {"consumerGroup": "g"}, None, partner=9),
    row(9, "PULL_MESSAGE", "response", {}, {"messages": [STORED]}, partner=8),
    row(10, "CHECK_TRANSACTION_STATE", "oneway", {"transactionId": "A"}, None),
    row(11, "END_TRANSACTION", "oneway", {"transactionId": "A", "commitOrRollback": 8}, None),
]
"""Sent and taken, several at once, nobody answers, refused; given again to a group; a transaction."""


def test_rows_in_the_words_of_a_journal() -> None:
    found = Decoded.of(ROWS)
    assert found.sent == [
        Sent("t", 1, 5, "A", "P", "k", "x", "aa"),
        Sent("t", 1, 5, "B", None, None, None, "bb"),
        Sent("t", 1, 6, "C", None, None, None, "bb"),
        Sent("t", UNTOLD, UNTOLD, "A", None, "k", "x", "dd"),
    ]
    assert found.got == [Got("t", 0, 3, "7F00000100002A9F0000000000000102", None, "x", "cc", "g", 1)]
    assert found.failed == [Failed("SEND_MESSAGE", 2)]
    assert (found.ended, found.checked) == ([("A", 8)], ["A"])


def test_differences_are_found_on_either_side() -> None:
    mine = {
        "number": 1, "role": "request", "operation": "SEND_MESSAGE", "code": 10, "correlation": 7, "error": None,
        "client": "JAVA V5_5_0", "fields": {"flag": 0, "header": {"topic": "t"}},
    }  # fmt: skip
    same = {"flag": 0, "header": {"topic": "t"}, "_role": "request", "_code": 10, "_opaque": 7, "_version": "V5_5_0"}
    assert vendor.compare([mine], [same])[0].causes == {}
    for other in ({**same, "_opaque": 8}, {**same, "header": {}}, {**same, "header": {"topic": "t", "queueId": 0}}):
        assert vendor.compare([mine], [other])[0].causes != {}


def test_what_the_classes_lose_of_a_binary_header() -> None:
    reported = {"serialize": "ROCKETMQ", "_role": "request", "_code": 3442, "extFields": {"exp": None}, "header": {}}
    mine = {"fields": {"header": {"exp": ""}}}
    found = vendor.spelt(reported, mine)
    assert (found["_code"], found["extFields"], found["header"]) == (200050, {"exp": ""}, {"exp": ""})
    remaining = {**reported, "serialize": "JSON"}
    assert vendor.spelt(remaining, mine) == remaining
    assert vendor.spelt({**reported, "_role": "response"}, mine)["_code"] == 3442


def test_a_brokers_ports_are_as_it_makes_them() -> None:
    names, broker = ports()
    assert broker["vip"] == broker["broker"] - VIP
    assert len({*names.values(), *broker.values()}) == len(names) + len(broker)
