"""Aliases that other messages explain, or a field beside: a topic by a connection's number, a group by its type."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analyzer.decode.rows import RowReader
from analyzer.query.fields import FieldReader, find_field
from analyzer.session import Session
from tests.analyzer.roads import opened, request, string
from tests.analyzer.wire import CLIENT, SERVER, Talk, frames, segments, write
from tests.dissectors.pulsar.frames import CONNECT, CONNECTED, field, frame, producer, receipt, send, success


def made(topic: str, number: int, request: int) -> tuple[int, bytes]:
    return CLIENT, frame(5, field(1, topic), field(2, number), field(3, request))


def subscribed(topic: str, name: str, number: int, request: int) -> tuple[int, bytes]:
    body = (field(1, topic), field(2, name), field(3, 0), field(4, number), field(5, request))
    return CLIENT, frame(4, *body)


FLOW = CLIENT, frame(11, field(1, 0), field(2, 10))
CLOSE = CLIENT, frame(15, field(1, 0), field(2, 9))
OPENING = ((CLIENT, CONNECT), (SERVER, CONNECTED))
ONE = Talk(
    (
        *OPENING,
        (CLIENT, send(producer=0)),
        made("a", 0, 1),
        subscribed("c", "s", 0, 2),
        (CLIENT, send(producer=0, sequence=4)),
        (SERVER, receipt(0, 4)),
        (CLIENT, send(producer=1)),
        FLOW,
        CLOSE,
        (SERVER, success(9)),
        made("b", 0, 3),
        (CLIENT, send(producer=0, sequence=5)),
    ),
    (("10.0.0.1", 40_000), ("10.0.0.2", 6650)),
)
OTHER = Talk((*OPENING, (CLIENT, producer(1)), (CLIENT, send())), (("10.0.0.1", 40_001), ("10.0.0.2", 6650)))
TOPICS = ["", "", "", "a", "c", "a", "a", "", "c", "a", "a", "b", "b", "", "", "t", "t"]
"""Of each message, in order: a number means what its connection last made with it, before it nothing."""


@pytest.mark.parametrize("streaming", [False, True])
def test_a_number_stands_for_what_its_connection_made_with_it(tmp_path: Path, streaming: bool) -> None:
    both = [*frames(segments(ONE), ONE), *frames(segments(OTHER), OTHER, begin=1_900_000_000_000_000_000)]
    with Session([write(tmp_path / "a.pcap", both)]).load() as session:
        topic, subscription = find_field("pulsar.topic"), find_field("pulsar.subscription")
        reading, rows = (
            FieldReader(RowReader(session, streaming=streaming), [topic, subscription]),
            np.arange(len(TOPICS)),
        )
        assert len(session.rows) == len(TOPICS)
        assert ["".join(each) for each in reading.read_by_row(topic, rows)] == TOPICS
        assert [row for row, each in enumerate(reading.read_by_row(subscription, rows)) if each] == [4, 8]
        backwards = reading.read_by_row(topic, rows[::-1])
        assert ["".join(each) for each in backwards] == TOPICS[::-1]


def find_coordinator(version: int, key: bytes, kind: int) -> tuple[bytes, bytes]:
    return request(10, version, string(key) + bytes([kind])), bytes(4)


def test_what_a_coordinator_is_requested_for_depends_on_the_key_type(tmp_path: Path) -> None:
    requested = [find_coordinator(version, b"k", kind)[0] for version, kind in ((1, 0), (2, 1), (1, 2), (2, 0))]
    nothing = bytes.fromhex("00000004 00000000")
    with opened(tmp_path, [(each, nothing) for each in requested]) as session:
        rows = np.arange(0, len(session.rows), 2)
        fields = [find_field(name) for name in ("kafka.group", "kafka.transaction")]
        reading = FieldReader(RowReader(session), fields)
        assert [list(map(list, reading.read_by_row(each, rows))) for each in fields] == [
            [["k"], [], [], ["k"]],
            [[], ["k"], [], []],
        ]
