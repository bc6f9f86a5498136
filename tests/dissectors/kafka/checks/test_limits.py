"""Limits that the capture tells, offsets that are not there, transactions that take too long: messages and findings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from dissectors.api import Context, Role
from dissectors.check import Check
from dissectors.correlator import MessageEvent
from dissectors.kafka.checks.limits import OffsetResets, SizeLimits
from dissectors.kafka.checks.transactions import TransactionTimeouts
from dissectors.kafka.reports.fields import api_keys
from tests.dissectors.checking import Step, see, show_anything, texts

TOO_LARGE, OUT_OF_RANGE, FENCED = 10, 1, 47


def message(
    api: str, values: Mapping[str, Any], at: int = 0, *, is_answer: bool = False, of: Mapping[str, Any] | None = None
) -> MessageEvent:
    """A request, or an answer to a request with the values `of`."""
    role = Role.RESPONSE if is_answer else Role.REQUEST
    made = see("kafka", Context(role, api_keys()[api], 12), values, 1, at, client="10.0.0.1:5000")
    return made._replace(client_name="c", partner=None if of is None else -1, bodies=lambda row: of or {})


def produce(size: int, error: int = TOO_LARGE) -> MessageEvent:
    asked = {"topicData": [{"name": "t", "partitionData": [{"index": 0, "records": [{"length": size - 12}]}]}]}
    answer = {"responses": [{"name": "t", "partitionResponses": [{"index": 0, "errorCode": error}]}]}
    return message("Produce", answer, is_answer=True, of=asked)


def settings(kind: int, name: str, limit: object) -> MessageEvent:
    configs = [{"name": "max.message.bytes" if kind == 2 else "message.max.bytes", "value": limit}]
    values = {"results": [{"resourceType": kind, "resourceName": name, "configs": configs}]}
    return message("DescribeConfigs", values, is_answer=True)


def miss(offset: int) -> MessageEvent:
    asked = {"topics": [{"topic": "t", "partitions": [{"partition": 0, "fetchOffset": offset}]}]}
    refused = {"responses": [{"topic": "t", "partitions": [{"partitionIndex": 0, "errorCode": OUT_OF_RANGE}]}]}
    return message("Fetch", refused, is_answer=True, of=asked)


def list_offsets(time: int, offset: int) -> list[MessageEvent]:
    asked = {"topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "timestamp": time}]}]}
    answer = {"topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "errorCode": 0, "offset": offset}]}]}
    return [message("ListOffsets", asked), message("ListOffsets", answer, is_answer=True)]


def transact(length: int, error: int, *, again: bool = False) -> list[Step]:
    """A transaction with a timeout of 2 s; again: another producer takes its id meanwhile."""
    init = message("InitProducerId", {"transactionalId": "x", "transactionTimeoutMs": 2000})
    begin = message("AddPartitionsToTxn", {"v3AndBelowTransactionalId": "x"}, 10)
    other = [init._replace(stream=2, time=5_000_000)] if again else []
    end = [
        message("EndTxn", {"transactionalId": "x"}, 10 + length),
        message("EndTxn", {"errorCode": error}, 10 + length, is_answer=True),
    ]
    return [init, begin, *other, *end]


TAKES_ID = transact(0, 0)[0]
LARGE = "the batch for t[0] has 300 bytes, and the topic takes at most"
LATE = (
    "transaction x was not ended within its transaction.timeout.ms of 2 s, but after 3 s, so the coordinator has "
    "aborted it and fenced its producer"
)
AWAY = "consumer c asked for offset 99 of t[0], which is not there"
CASES: dict[str, tuple[type[Check], list[Step], list[str]]] = {
    "the topic's limit": (
        SizeLimits,
        [settings(4, "1", "500"), settings(2, "t", "200"), produce(300)],
        [f"{LARGE} 200 (max.message.bytes)"],
    ),
    "the brokers' limit": (
        SizeLimits,
        [settings(4, "1", "200"), produce(300)],
        [f"{LARGE} 200 (message.max.bytes)"],
    ),
    "a limit that is not known": (
        SizeLimits,
        [settings(2, "u", "200"), settings(2, "t", "-1"), settings(2, "t", "²"), produce(300)],
        [],
    ),
    "small enough": (SizeLimits, [settings(2, "t", "200"), produce(200), produce(300, error=0)], []),
    "an offset that is not there": (
        OffsetResets,
        [miss(99), *list_offsets(-1, 8)],
        [f"{AWAY}; it goes on at 8, its end, so it passes over what is before"],
    ),
    "another consumer of the host asks for offsets": (
        OffsetResets,
        [miss(99), *[each._replace(client_name="d") for each in list_offsets(-1, 8)]],
        [],
    ),
    "by a time": (OffsetResets, [miss(99), *list_offsets(1234, 8)], [f"{AWAY}; it goes on at 8"]),
    "offsets are asked for without need": (OffsetResets, list_offsets(-2, 0), []),
    "a transaction in time": (TransactionTimeouts, transact(1000, FENCED), []),
    "too late": (
        TransactionTimeouts,
        transact(3000, FENCED),
        [LATE],
    ),
    "late and in order": (TransactionTimeouts, transact(3000, 0), []),
    "an idle producer, whose batches begin its transactions": (
        TransactionTimeouts,
        [TAKES_ID, message("Produce", {"transactionalId": "x"}, 4000), *transact(100, FENCED)[2:]],
        [],
    ),
    "late, and a batch began it": (
        TransactionTimeouts,
        [TAKES_ID, message("Produce", {"transactionalId": "x"}, 10), *transact(3000, FENCED)[2:]],
        [LATE],
    ),
    "nobody knows when it began": (TransactionTimeouts, [TAKES_ID, *transact(3000, FENCED)[2:]], []),
    "another producer has its id": (TransactionTimeouts, transact(3000, FENCED, again=True), []),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_reported(case: str) -> None:
    check, steps, expected = CASES[case]
    assert texts(check, steps) == expected


@pytest.mark.parametrize("check", [SizeLimits, OffsetResets, TransactionTimeouts])
@pytest.mark.parametrize(
    "values", [{}, {"topics": 3, "results": [None], "responses": [{"partitions": [{}, 5], "partitionResponses": 7}]}]
)
def test_values_may_lack_anything(check: type[Check], values: dict[str, Any]) -> None:
    show_anything(check, [(choice, values, 1, 0) for choice in range(len(check.on))])
