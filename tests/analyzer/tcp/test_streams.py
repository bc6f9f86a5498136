"""Which packets are one connection: the rules of analyzer.tcp.streams, and that blocks do not matter to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from analyzer.capture.packets import PacketBlock
from analyzer.tcp.streams import ACK, FIN, RST, SYN, StreamAssigner, StreamTable

HOUR = 3600 * 10**9


@dataclass(frozen=True, slots=True)
class Seen:
    """A packet: its flow, side, sequence number, flags, time in ns."""

    flow: int = 0
    side: int = 0
    seq: int = 0
    flags: int = ACK
    time: int = 0


def block(packets: list[Seen], first: int) -> PacketBlock:
    count = len(packets)
    zeros = np.zeros(count, np.int64)
    return PacketBlock(
        number=np.arange(first, first + count),
        time=np.array([packet.time for packet in packets], np.int64),
        flow=np.array([packet.flow for packet in packets], np.int32),
        direction=np.array([packet.side for packet in packets], np.int8),
        seq=np.array([packet.seq for packet in packets], np.uint32),
        ack=zeros.astype(np.uint32),
        flags=np.array([packet.flags for packet in packets], np.uint8),
        at=zeros,
        length=zeros.astype(np.int32),
        captured=zeros.astype(np.int32),
        window=zeros.astype(np.uint16),
    )


def assigned(packets: list[Seen], size: int) -> tuple[list[int], StreamTable]:
    streams = StreamTable()
    assigner = StreamAssigner(streams)
    found: list[int] = []
    for first in range(0, len(packets), size):
        stream, order = assigner.assign(block(packets[first : first + size], first + 1))
        found += stream.tolist()
        assert stream[order].tolist() == sorted(stream.tolist())
    return found, streams


OPEN = [Seen(seq=100, flags=SYN), Seen(side=1, seq=500, flags=SYN | ACK), Seen(seq=101)]
AGAIN = [Seen(seq=9000, flags=SYN), Seen(side=1, seq=7000, flags=SYN | ACK), Seen(seq=9001)]

CASES: dict[str, tuple[list[Seen], list[int]]] = {
    "one connection": (OPEN, [0, 0, 0]),
    "two flows": ([Seen(flow=1), Seen(flow=0), Seen(flow=1)], [0, 1, 0]),
    "the SYN again": ([OPEN[0], OPEN[0], *OPEN[1:], OPEN[0], OPEN[1]], [0] * 6),
    "ports reused": ([*OPEN, *AGAIN], [0, 0, 0, 1, 1, 1]),
    "ports reused by the other side": (
        [*OPEN, Seen(side=1, seq=9000, flags=SYN), Seen(seq=7000, flags=SYN | ACK)],
        [0, 0, 0, 1, 1],
    ),
    "refused and tried again": (
        [OPEN[0], Seen(side=1, flags=RST | ACK), Seen(seq=200, flags=SYN), Seen(side=1, seq=5, flags=SYN | ACK)],
        [0, 0, 1, 1],
    ),
    "reused with others between": (
        [OPEN[0], Seen(flow=1), OPEN[1], AGAIN[0], Seen(flow=1), AGAIN[1], Seen(flow=2)],
        [0, 1, 0, 2, 1, 2, 3],
    ),
    "SYN-ACK in front of its SYN": ([OPEN[1], OPEN[0], OPEN[2]], [0, 0, 0]),
    "a SYN behind its first data": ([OPEN[2], Seen(side=1, seq=501), OPEN[0], OPEN[1]], [0, 0, 0, 0]),
    "a SYN behind its first data, where numbers wrap": ([Seen(seq=0), Seen(seq=0xFFFFFFFF, flags=SYN)], [0, 0]),
    "a SYN behind the data of another": ([OPEN[2], Seen(seq=900, flags=SYN), Seen(seq=100, flags=SYN)], [0, 1, 2]),
    "an end is no new beginning": ([*OPEN, Seen(seq=101, flags=FIN | ACK), Seen(side=1, seq=501)], [0] * 5),
    "an hour of silence": ([Seen(time=0), Seen(time=HOUR + 1), Seen(time=HOUR + 2)], [0, 1, 1]),
    "not quite an hour": ([Seen(time=0), Seen(time=HOUR), Seen(time=2 * HOUR)], [0, 0, 0]),
    "the clock goes back, then on": ([Seen(time=2 * HOUR), Seen(time=0), Seen(time=HOUR + 5)], [0, 0, 1]),
    "silence, then a SYN": (
        [*OPEN, *(Seen(p.flow, p.side, p.seq, p.flags, 2 * HOUR) for p in AGAIN)],
        [0] * 3 + [1] * 3,
    ),
}


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("case", CASES)
def test_streams(case: str, size: int) -> None:
    packets, expected = CASES[case]
    found, streams = assigned(packets, size)
    assert found == expected
    assert streams.column("packets").tolist() == [expected.count(number) for number in range(len(streams))]
    assert streams.column("first").tolist() == [expected.index(number) + 1 for number in range(len(streams))]


def test_who_opened_it_and_how_often() -> None:
    packets = [*OPEN, Seen(side=1, seq=9000, flags=SYN), Seen(flow=1), Seen(flow=2, side=1, seq=1, flags=SYN | ACK)]
    _, streams = assigned(packets, 100)
    assert streams.column("client").tolist() == [0, 1, -1, 0]
    assert streams.column("reuse").tolist() == [0, 1, 0, 0]
