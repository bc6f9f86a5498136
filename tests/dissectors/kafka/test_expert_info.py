"""Findings from one message: what is told, what is not, and that all roads tell the same."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dissectors.api import Context, Role
from dissectors.kafka import Kafka
from dissectors.kafka.expert_info import find_expert_info
from dissectors.kafka.labels import error_name
from dissectors.wire.message import fold_tree
from tests.analyzer.roads import (
    FORMS,
    Taken,
    answer,
    batch,
    fetch,
    fetched,
    framed,
    hold_equal,
    one_by_one,
    opened,
    produce,
    produced,
    record,
    taken,
)
from tests.dissectors.kafka.records.test_values import batch as attributed
from tests.dissectors.kafka.records.test_values import frame as produced_7
from tests.dissectors.kafka.records.test_values import message

__all__ = ["taken"]

KAFKA = Kafka()
CONTROL = b"\0\0\0\1"


def told(key: int, version: int, response: bool, values: Mapping[str, Any]) -> list[tuple[str, str]]:
    check = find_expert_info(key, version, response)
    return [] if check is None else [(finding.code, finding.text) for finding in check(values)]


@pytest.mark.parametrize(
    ("key", "version", "response", "values", "expected"),
    [
        (12, 1, True, {"throttleTimeMs": 30}, ["throttled"]),
        (12, 1, True, {"throttleTimeMs": 0}, []),
        (12, 1, True, {}, []),
        (1, 3, False, {}, ["deprecated-version"]),
        (1, 4, False, {}, []),
        (1, 99, False, {}, []),
        (1, 3, True, {}, []),
        (0, 2, False, {}, ["deprecated-version"]),
        (0, 3, False, {}, []),
        (6, 8, False, {}, ["deprecated-version"]),
        (78, 0, False, {}, ["deprecated-version"]),
        (78, 1, False, {}, []),
        (18, 0, False, {}, []),
        (18, 0, True, {"errorCode": 35}, ["version-refused"]),
        (18, 0, True, {"errorCode": 42}, []),
        (1, 7, True, {"errorCode": 70}, ["fetch-session"]),
        (1, 7, True, {"errorCode": 71}, ["fetch-session"]),
        (1, 7, True, {"errorCode": 6}, []),
        (79, 1, True, {"errorCode": 123}, ["fetch-session"]),
        (1, 7, False, {"sessionId": 0, "sessionEpoch": 0}, []),
        (1, 7, False, {"sessionId": 0, "sessionEpoch": -1}, []),
        (1, 7, False, {"sessionId": 7, "sessionEpoch": 3}, []),
        (1, 7, False, {"sessionId": 0, "sessionEpoch": 3}, ["fetch-session"]),
        (1, 7, False, {"sessionId": 7, "sessionEpoch": -2}, ["fetch-session"]),
        (1, 7, True, {"responses": [None, {"partitions": [None, {"records": [{}]}]}]}, []),
    ],
)
def test_of_values(key: int, version: int, response: bool, values: dict[str, Any], expected: list[str]) -> None:
    assert [code for code, _ in told(key, version, response, values)] == expected


@pytest.mark.parametrize(
    ("key", "version", "text"),
    [
        (1, 2, "brokers from 4.0 on do not know Fetch v2 (KIP-896)"),
        (4, 7, "brokers from 4.0 on do not know LeaderAndIsr, which went with ZooKeeper"),
        (76, 0, "brokers from 4.1 on do not know ShareGroupHeartbeat v0, which was early access"),
    ],
)
def test_which_brokers_refuse_a_version(key: int, version: int, text: str) -> None:
    assert told(key, version, False, {}) == [("deprecated-version", text)]


ONE = [record(b"k", b"v")]


def counted(last: int) -> bytes:
    """A batch of one record with another last offset delta."""
    from crc32c import crc32c

    whole = batch(ONE)
    checked = whole[21:23] + struct.pack(">i", last) + whole[27:]
    return whole[:17] + struct.pack(">I", crc32c(checked)) + checked


def sequenced(sequence: int, producer: int) -> bytes:
    from crc32c import crc32c

    whole = batch(ONE)
    checked = whole[21:43] + struct.pack(">qhi", producer, 0, sequence) + whole[57:]
    return whole[:17] + struct.pack(">I", crc32c(checked)) + checked


def marker(kind: int, attributes: int) -> bytes:
    return attributed(record(struct.pack(">hh", 0, kind), bytes(6)), 1, attributes)


BATCHES: list[tuple[str, bytes, str | None]] = [
    ("sound", batch(ONE), None),
    ("of no records", batch([]), None),
    ("older", message(0, b"v"), "messages of the format before record batches"),
    ("last offset", counted(-1), "leaves no room"),
    ("room to spare", counted(5), None),
    ("no largest time", batch(ONE, last_time=-1), "without a largest timestamp"),
    ("a delete horizon", batch(ONE, attributes=0x40, last_time=-1), None),
    ("without a time", batch(ONE, time=-1, last_time=-1), None),
    ("a sequence", sequenced(9, -1), "no producer id"),
    ("of a producer", sequenced(9, 4), None),
    ("from zero", sequenced(0, -1), None),
    ("a marker", marker(1, 0x20), "not transactional"),
    ("a transaction's marker", marker(1, 0x30), None),
    ("a controller's", marker(2, 0x20), None),
]


@pytest.mark.parametrize(("records", "text"), [case[1:] for case in BATCHES], ids=[case[0] for case in BATCHES])
def test_of_batches(records: bytes, text: str | None) -> None:
    context = Context(Role.REQUEST, 0, 3)
    body = KAFKA.values(produce(b"t", records), context)
    assert fold_tree(KAFKA.tree(produce(b"t", records), context), error_name) == body
    found = [(finding.code, finding.text) for finding in body.findings]
    if text is None:
        assert found == []
    else:
        ((code, output),) = found
        assert code == "inconsistent-batch"
        assert output.startswith("t-0: ")
        assert text in output


def test_of_a_codec_that_is_newer_than_the_request() -> None:
    from zstandard import ZstdCompressor

    content = attributed(ZstdCompressor().compress(ONE[0]), 1, 4)
    body = KAFKA.values(produce(b"t", content), Context(Role.REQUEST, 0, 3))
    assert [finding.text for finding in body.findings] == ["t-0: zstd, which Produce knows from version 7 on (KIP-110)"]
    assert KAFKA.values(produced_7(content), Context(Role.REQUEST, 0, 7)).findings == ()


def test_of_a_batch_too_long_to_be_fetched() -> None:
    context = Context(Role.RESPONSE, 1, 4)
    body = KAFKA.values(fetched(b"t", batch(ONE)[:40]), context)
    assert [(finding.code, finding.text[:40]) for finding in body.findings] == [
        ("oversized-batch", "t-0: only 40 bytes of a batch are here, ")
    ]
    assert KAFKA.values(fetched(b"t", batch(ONE) + batch(ONE)[:40]), context).findings == ()


def test_no_more_than_three_batches_are_reported() -> None:
    entries = [{"magic": 1}]
    partitions = [{"index": index, "records": entries} for index in range(9)]
    assert len(told(0, 9, False, {"topicData": [{"name": "t", "partitionData": partitions}]})) == 3


def test_a_body_that_breaks_is_reported_of_alone() -> None:
    data = produce(b"t", message(0, b"v"))[:-1]
    assert [finding.code for finding in KAFKA.values(data, Context(Role.REQUEST, 0, 3)).findings] == ["malformed-body"]


def throttled(milliseconds: int) -> bytes:
    return answer(struct.pack(">ih", milliseconds, 0))


def heartbeat(number: int) -> bytes:
    return framed(struct.pack(">hhi2s2s", 12, 1, 0, b"\0\2", b"me") + b"\0\1g" + struct.pack(">i", number) + b"\0\1m")


def test_rows_printed_together_tell_the_same(tmp_path: Path, taken: Taken) -> None:
    pairs = [(heartbeat(number), throttled(number % 4 and number * 7)) for number in range(40)]
    for _, records, _ in BATCHES:
        for repeat in range(3):
            pairs.append((produce(b"topic-%d" % repeat, records), produced(b"topic-%d" % repeat, repeat)))
            pairs.append((fetch(repeat), fetched(b"topic-%d" % repeat, records)))
    pairs += [(fetch(number), fetched(b"t", batch(ONE)[: 30 + number])) for number in range(9)]
    with opened(tmp_path, pairs) as session:
        hold_equal(session, ("rows", "fields", "table", "everything"))
        text = one_by_one(session, FORMS["rows"]())
    assert taken.rows > len(pairs)
    for code in (b"throttled", b"inconsistent-batch", b"oversized-batch"):
        assert text.count(b'"code":"' + code) > 8
