"""A capture lost the end of a message whose receiver acknowledged it: its answer still has it for a partner."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.session import Session
from tests.analyzer.capture.writers import NS, T0
from tests.analyzer.wire import (
    ACK,
    CLIENT,
    FIN,
    RST,
    SERVER,
    STEP_NS,
    Segment,
    Talk,
    capture,
    closing,
    data_segments,
    opening,
    rows,
    rows_of,
    segments,
)

pytestmark = pytest.mark.usefixtures("small_scale")


def request(correlation: int, body: bytes = bytes(4)) -> bytes:
    """Metadata 1."""
    data = b"\0\3\0\1" + correlation.to_bytes(4) + b"\0\2me" + body
    return len(data).to_bytes(4) + data


def answer(correlation: int) -> bytes:
    data = correlation.to_bytes(4) + bytes(12)
    return len(data).to_bytes(4) + data


def gaps(session: Session) -> list[str]:
    return [finding.text.partition(": ")[2] for finding in session.findings if finding.code == "gap"]


def without_rest(*behind: Segment) -> list[Segment]:
    """Two exchanges: the capture has lost the end of the second request, which its answer acknowledges."""
    first, second = request(1), request(2, bytes(24))
    requested, answered = len(first) + len(second), len(answer(1))
    return [
        *opening(),
        *data_segments([(CLIENT, first), (SERVER, answer(1)), (CLIENT, second[:30])]),
        Segment(SERVER, answered, answer(2), acked=requested),
        *behind,
    ]


ASKED, ANSWERED = 60, 40
"""Bytes of both requests, of both answers."""

BEHIND: dict[str, list[Segment]] = {
    "the capture ends": [],
    "a reset": [Segment(CLIENT, ASKED, acked=ANSWERED, flags=RST | ACK)],
    "the client closes": [Segment(CLIENT, ASKED, acked=ANSWERED, flags=FIN | ACK)],
    "both close": closing((ASKED, ANSWERED)),
    "the server's FIN alone": [Segment(SERVER, ANSWERED, acked=ASKED + 1, flags=FIN | ACK)],
    "more follows": [
        Segment(CLIENT, ASKED, request(3), acked=ANSWERED),
        Segment(SERVER, ANSWERED, answer(3), acked=ASKED + 20),
    ],
    "silence, and more": [
        Segment(CLIENT, ASKED, acked=ANSWERED, flags=ACK, time=T0 + 2 * NS),
        Segment(CLIENT, ASKED, request(3), acked=ANSWERED, time=T0 + 3 * NS),
        Segment(SERVER, ANSWERED, answer(3), acked=ASKED + 20, time=T0 + 4 * NS),
    ],
}


@pytest.mark.parametrize("behind", BEHIND)
def test_an_answer_has_its_request_though_the_end_of_that_is_lost(tmp_path: Path, behind: str) -> None:
    """The request has the time of the last packet that brought bytes of it, so its answer is not before it."""
    path = capture(tmp_path / "a.pcap", without_rest(*BEHIND[behind]))
    with Session([path], use_fast_path=False).load() as session:
        own, lost = rows_of(session), gaps(session)
    assert [(row["role"], row["correlation"], row["state"]) for row in own[:4]] == [
        ("request", 1, "complete"),
        ("response", 1, "complete"),
        ("request", 2, "partial"),
        ("response", 2, "complete"),
    ]
    assert [(row["last_packet"], row["length"], row["partner"], row["latency_ns"]) for row in own[2:4]] == [
        (6, 40, 4, None),
        (7, 20, 3, STEP_NS),
    ]
    assert all(row["state"] == "complete" and row["partner"] is not None for row in own[4:])
    assert [gap.partition(",")[0] for gap in lost] == ["10 bytes are missing at offset 50"]
    for block in (1, 2, 5, 32_768):
        assert rows(path, block=block) == own


def test_what_one_direction_acknowledges_is_no_loss(tmp_path: Path) -> None:
    """Nothing has begun of what the other side sent: no gap is told of."""
    writes = tuple(pair for number in range(200) for pair in ((CLIENT, request(number)), (SERVER, answer(number))))
    packets = [each for each in segments(Talk(writes)) if each.side == SERVER]
    with Session([capture(tmp_path / "a.pcap", packets)]).load() as session:
        assert len(session.rows) == 200
        assert gaps(session) == []
