"""The errors that rows report are those of their bodies, whoever reads them; what is quiet reports none when broken."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import analyzer.query.response_errors
from analyzer.decode.bodies import decode_body
from analyzer.decode.byte_source import ConcatenatedMessages
from analyzer.decode.content import read_messages, read_undecoded
from analyzer.decode.multi_segment import MultiSegmentReader
from analyzer.query.response_errors import can_report, find_empty, find_errors, find_quiet
from analyzer.session import Session
from dissectors.api import Context, Dissector, Role, State
from dissectors.kafka.fast_path import FAST_PATH as KAFKA
from dissectors.kafka.reading import body_plan
from dissectors.kafka.schemas import apis
from dissectors.pulsar.fast_path import FAST_PATH as PULSAR
from dissectors.rocketmq.fast_path import FAST_PATH as ROCKETMQ
from dissectors.wire.fast_path import FastPath
from dissectors.zookeeper.fast_path import FAST_PATH as ZOOKEEPER

ROOT = Path(__file__).parents[3]
CAPTURES = [
    *("captures/mixed.pcapng", "captures/kafka-4.4.pcap.zst", "captures/kafka-4.4-share.pcap.zst"),
    *("captures/kafka-0.10.pcap.zst", "captures/kafka-3.9-zookeeper.pcap.zst"),
    *("tests/golden/kafka/k4_sweep_rest.pcap.zst", "tests/golden/zookeeper/raw_odd_requests.pcap.zst"),
    "tests/golden/pulsar/java4_errors.pcap.zst",
]
FAST_PATHS: dict[str, FastPath] = {"kafka": KAFKA, "zookeeper": ZOOKEEPER, "pulsar": PULSAR, "rocketmq": ROCKETMQ}


@pytest.fixture(autouse=True)
def _small_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyzer.query.response_errors, "WORTH", 1)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CAPTURES)
def test_they_are_those_of_the_bodies(name: str) -> None:
    with Session([ROOT / name]).load() as session:
        found = find_errors(session, np.arange(len(session.rows)))
        expected = {
            row: error for row in range(len(session.rows)) if (error := decode_body(session, row).error) is not None
        }
    places, numbers = found.places.tolist(), found.numbers.tolist()
    assert {place: found.kinds[number] for place, number in zip(places, numbers, strict=True)} == expected


def test_of_some_rows_places_count_among_these() -> None:
    with Session([ROOT / "captures" / "mixed.pcapng"]).load() as session:
        everywhere = find_errors(session, np.arange(len(session.rows)))
        rows = everywhere.places[::-1].copy()
        found = find_errors(session, rows)
        assert not len(find_errors(session, rows[:0]).places)
    assert found.places.tolist() == list(range(len(rows)))
    text = [everywhere.kinds[number] for number in everywhere.numbers[::-1]]
    assert [found.kinds[number] for number in found.numbers] == text


def test_nothing_now_is_no_error() -> None:
    with Session([ROOT / "captures" / "mixed.pcapng"]).load() as session:
        rows = np.arange(len(session.rows))
        found = find_errors(session, rows)
        nothing = find_empty(session, rows, found)
        text = {found.kinds[number][1] for number in found.numbers[nothing].tolist()}
    assert text == {"PULL_OFFSET_MOVED"}


def test_most_answers_of_a_capture_need_no_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[int] = []
    monkeypatch.setattr(
        analyzer.query.response_errors,
        "read_undecoded",
        lambda session, rows: decoded.extend(rows) or read_undecoded(session, rows),
    )
    with Session([ROOT / "captures" / "kafka.pcap"]).load() as session:
        found = find_errors(session, np.arange(len(session.rows)))
        assert len(decoded) <= len(found.places) + len(session.rows) // 20


@cache
def messages() -> list[tuple[Dissector, bytes, Context]]:
    """Messages of real servers and clients, one of each kind and length; of Kafka's and ZooKeeper's, answers."""
    found = {}
    for name in CAPTURES:
        with Session([ROOT / name]).load() as session:
            rows = np.arange(len(session.rows))
            good = (session.rows.column("state") == State.COMPLETE) & (session.rows.column("role") != Role.RAW)
            for dissector, message, context in read_undecoded(session, rows[good]):
                reported = dissector is not None and (dissector.name == "pulsar" or context.role is Role.RESPONSE)
                if reported and dissector is not None and dissector.name in FAST_PATHS and len(message) < 2000:
                    found[dissector.name, context.code, context.version, len(message)] = dissector, message, context
    return list(found.values())


def overwritten(message: bytes, at: int, data: bytes) -> bytes:
    return message[:at] + data + message[at + len(data) :]


def cut(message: bytes, at: int, data: bytes) -> bytes:
    return message[:at]


def resized(message: bytes, at: int, data: bytes) -> bytes:
    """Cut or longer, with a length prefix that says so."""
    body = message[4:at] + data
    return len(body).to_bytes(4) + body


BROKEN = [overwritten, cut, resized]


@settings(max_examples=settings.default.max_examples // 4)
@given(st.data(), st.sampled_from(BROKEN))
def test_a_broken_answer_that_is_quiet_reports_none(
    data: st.DataObject, broken: Callable[[bytes, int, bytes], bytes]
) -> None:
    dissector, message, context = data.draw(st.sampled_from(messages()))
    odd = st.sampled_from([b"\xff", b"\0\1", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\x80\x80\x80\x01"])
    parts = [broken(message, data.draw(st.integers(4, len(message))), data.draw(odd)) for _ in range(3)]
    layout = FAST_PATHS[dissector.name].reporting(context)
    if layout is None:
        return
    length = np.array([len(part) for part in parts])
    found = find_quiet(layout, ConcatenatedMessages(parts), np.cumsum(length) - length, length)
    for part, silent in zip(parts, found.tolist(), strict=True):
        assert not silent or dissector.values(part, context).error is None


def test_real_answers_without_error_are_quiet() -> None:
    loud = 0
    for dissector, message, context in messages():
        layout = FAST_PATHS[dissector.name].reporting(context)
        if layout is not None:
            (silent,) = find_quiet(
                layout, ConcatenatedMessages([message]), np.zeros(1, np.int64), np.array([len(message)])
            )
            loud += silent != (dissector.values(message, context).error is None)
    assert loud <= len(messages()) // 10


def test_no_request_of_kafka_has_a_field_for_an_error() -> None:
    for key, api in apis().items():
        for version in range(api.versions.low, api.versions.high + 1):
            plan = body_plan(key, version, False)
            assert plan is not None
            assert not can_report(plan.steps, "error"), (api.name, version)


@pytest.mark.parametrize("width", [1, 3, 8])
def test_scattered_bytes_are_those_of_the_messages(width: int) -> None:
    with Session([ROOT / "captures" / "kafka-4.4.pcap.zst"]).load() as session:
        rows = np.flatnonzero((session.rows.column("count") > 1) & (session.rows.column("state") == State.COMPLETE))
        assert len(rows) > 3
        scattered = MultiSegmentReader(session, rows)
        for at, message in zip(scattered.at.tolist(), read_messages(session, rows), strict=True):
            places = np.arange(0, len(message) - width, max(len(message) // 200, 1))
            found = scattered.gather(at + places, width)
            assert [each.tobytes() for each in found] == [message[place : place + width] for place in places]
