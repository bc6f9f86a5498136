"""What packets tell of the network, in written connections and beside a measurement of one packet at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.columns.arrays import find_runs
from analyzer.tcp.metering import REORDERED_NS, TWICE_NS, NetworkMeter
from analyzer.tcp.network import UNMEASURED, NetworkEventKind, NetworkMetrics
from analyzer.tcp.streams import ACK, FIN, RST, SYN, StreamAssigner, StreamTable
from tests.analyzer.tcp.packets import Written, make_block

MS = 1_000_000
P = Written


def measure(packets: Sequence[Written], size: int = 1000) -> NetworkMeter:
    """Measures packets in blocks of a size."""
    streams = StreamTable()
    meter, assigner = NetworkMeter(streams), StreamAssigner(streams)
    for first in range(0, len(packets), size):
        block = make_block(packets[first : first + size], first + 1)
        stream, order = assigner.assign(block)
        begin, end = find_runs(stream[order])
        meter.measure(block, order, stream[order[begin]], begin, end)
    return meter


def metrics(meter: NetworkMeter) -> NetworkMetrics:
    return meter.find_metrics(np.arange(len(meter.halves) // 2))


def events(meter: NetworkMeter) -> set[tuple[int, ...]]:
    table = meter.events
    return set(zip(*(table.column(name).tolist() for name in table.TYPES), strict=True))


HANDSHAKE = (P(0, 0, 99, 0, 0, SYN), P(10, 1, 499, 100, 0, SYN | ACK), P(12, 0, 100, 500))
REQUEST, ANSWER = P(20, 0, 100, 500, 50), P(31, 1, 500, 150, 70)


class Case(NamedTuple):
    """What some packets tell; figures that are not named are 0, None where nothing was measured."""

    name: str
    packets: Sequence[Written]
    expected: dict[str, Any]

    def __str__(self) -> str:
        return self.name


USUAL = {"rtt": 12, "client_rtt": 2, "server_rtt": 10, "ack_rtt": 12}
CASES = [
    Case("handshake and exchange", [*HANDSHAKE, REQUEST, ANSWER, P(33, 0, 150, 570)], USUAL),
    Case(
        "no handshake: the least time to an acknowledgement",
        [REQUEST, P(29, 1, 500, 150), P(40, 1, 500, 150, 70), P(43, 0, 150, 570)],
        {"rtt": 12, "client_rtt": 3, "server_rtt": 9, "ack_rtt": 12},
    ),
    Case(
        "one direction",
        [REQUEST, P(40, 0, 150, 500, 50)],
        {"rtt": None, "client_rtt": None, "server_rtt": None, "ack_rtt": None},
    ),
    Case(
        "the request comes three times",
        [*HANDSHAKE, REQUEST, REQUEST._replace(time=220), REQUEST._replace(time=620), P(630, 1, 500, 150, 70)],
        USUAL | {"retransmissions": 2, "retransmission_time": 600},
    ),
    Case(
        "a segment was lost before the capture point",
        [*HANDSHAKE, P(20, 0, 110, 500, 10), P(21, 1, 500, 100), P(220, 0, 100, 500, 10), P(221, 1, 500, 120)],
        USUAL | {"retransmissions": 1, "retransmission_time": 200},
    ),
    Case(
        "swapped segments are no retransmission", [*HANDSHAKE, P(20, 0, 110, 500, 10), P(20.1, 0, 100, 500, 10)], USUAL
    ),
    Case("seen on two interfaces", [*HANDSHAKE, REQUEST, REQUEST._replace(time=20.02), P(30, 1, 500, 150)], USUAL),
    Case(
        "keep-alives are no retransmission",
        [*HANDSHAKE, REQUEST, ANSWER, P(5000, 0, 149, 570), P(5001, 1, 570, 150), P(9000, 0, 149, 570, 1)],
        USUAL,
    ),
    Case(
        "acknowledged before: the acknowledgement was lost, and nobody waited for the bytes",
        [*HANDSHAKE, REQUEST, P(21, 1, 500, 150), REQUEST._replace(time=220)],
        {"rtt": 12, "client_rtt": 2, "server_rtt": 10, "ack_rtt": 3, "retransmissions": 1},
    ),
    Case(
        "a closed window",
        [*HANDSHAKE, P(30, 1, 500, 100, window=0), P(40, 1, 500, 100, window=0), P(90, 1, 500, 100)],
        USUAL | {"zero_windows": 1, "zero_window_time": 60},
    ),
    Case(
        "a window that stays closed",
        [*HANDSHAKE, P(30, 0, 100, 500, window=0), P(80, 1, 500, 100, 1)],
        USUAL | {"zero_windows": 1, "zero_window_time": 50},
    ),
    Case("reset by the server", [*HANDSHAKE, REQUEST, P(30, 1, 500, 150, 0, RST | ACK, 0)], USUAL | {"resetter": 1}),
    Case(
        "refused",
        [P(0, 0, 99, 0, 0, SYN), P(1, 1, 0, 100, 0, RST | ACK, 0)],
        {"rtt": 1, "client_rtt": None, "server_rtt": 1, "ack_rtt": 1, "resetter": 1, "refused": True},
    ),
    Case(
        "a handshake that nobody answers",
        [P(0, 0, 99, 0, 0, SYN), P(1000, 0, 99, 0, 0, SYN), P(3000, 0, 99, 0, 0, SYN)],
        {
            **dict.fromkeys(("rtt", "client_rtt", "server_rtt", "ack_rtt")),
            "retransmissions": 2,
            "retransmission_time": 3000,
            "unanswered": True,
        },
    ),
    Case(
        "the server's direction was not captured",
        [P(0, 0, 99, 0, 0, SYN), P(12, 0, 100, 500), P(20, 0, 100, 500, 50)],
        dict.fromkeys(("rtt", "client_rtt", "server_rtt", "ack_rtt")),
    ),
    Case(
        "the first SYN was lost",
        [P(0, 0, 99, 0, 0, SYN), P(1000, 0, 99, 0, 0, SYN), P(1010, 1, 499, 100, 0, SYN | ACK), P(1012, 0, 100, 500)],
        {
            "rtt": 12,
            "client_rtt": 2,
            "server_rtt": 10,
            "ack_rtt": 1012,
            "retransmissions": 1,
            "retransmission_time": 1000,
        },
    ),
    Case(
        "numbers wrap around",
        [P(0, 0, 2**32 - 20, 7, 50), P(5, 1, 7, 30), P(6, 0, 30, 7, 50), P(206, 0, 30, 7, 50), P(210, 1, 7, 80)],
        {"rtt": 5, "client_rtt": None, "server_rtt": 5, "ack_rtt": 5, "retransmissions": 1, "retransmission_time": 200},
    ),
]

TIMES = {name for name in NetworkMetrics.__annotations__ if name.endswith(("rtt", "time"))}


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_metrics(case: Case, size: int) -> None:
    found = metrics(measure(case.packets, size))
    reported = {name: getattr(found, name).tolist()[0] for name in NetworkMetrics.__annotations__}
    expected = {**dict.fromkeys(reported, 0), "resetter": -1, "refused": False, "unanswered": False, **case.expected}
    scaled = {
        name: UNMEASURED if value is None else value * (MS if name in TIMES else 1) for name, value in expected.items()
    }
    assert reported == scaled


class Half:
    """The reference: one side's bytes, a packet at a time."""

    def __init__(self) -> None:
        self.top = self.acked = self.top_time = self.acked_time = self.flight = self.resent = self.shut = None
        self.last: Any = None
        self.count = self.cost = 0
        self.least = UNMEASURED


def refer(packets: Sequence[Written]) -> tuple[list[tuple[int, int, int]], set[tuple[int, ...]]]:
    """Returns least time to an acknowledgement, retransmissions and their cost by half; and all events of one flow."""
    halves: list[Any] = [Half(), Half()]
    found: set[tuple[int, ...]] = set()
    for number, packet in enumerate(packets, 1):
        mine, other = halves[packet.side], halves[1 - packet.side]
        time, live = int(packet.time * 1e6), not packet.flags & RST
        size = packet.length + bool(packet.flags & SYN) + bool(packet.flags & FIN)
        stop = packet.seq + size
        if live:
            if mine.top is not None and size and packet.seq < mine.top:
                probe = size <= 1 and not packet.flags & (SYN | FIN) and packet.seq == mine.top - 1
                start = max(each for each in (mine.acked_time, mine.flight, -(2**63)) if each is not None)
                start = time if start == -(2**63) else start
                useless = mine.acked is not None and stop <= mine.acked
                twice = stop == mine.top and time - mine.top_time < TWICE_NS
                if not probe and not twice and (useless or time - start >= REORDERED_NS):
                    since = start if mine.resent is None else max(start, mine.resent)
                    cost = 0 if useless else max(time - since, 0)
                    mine.count, mine.cost, mine.resent = mine.count + 1, mine.cost + cost, time
                    found.add((0, packet.side, NetworkEventKind.RETRANSMISSION, number, time, cost))
            if mine.top is None or stop > mine.top:
                if (mine.acked or 0) >= (mine.top or 0):
                    mine.flight = time
                mine.top, mine.top_time = stop, time
        if packet.flags & ACK and (other.acked is None or packet.ack > other.acked):
            other.acked, other.acked_time = packet.ack, time
            if other.top == packet.ack:
                other.least = min(other.least, time - other.top_time)
        if live and not packet.flags & (SYN | FIN):
            if packet.window == 0:
                mine.shut = time if mine.shut is None else mine.shut
            elif mine.shut is not None:
                found.add((0, packet.side, NetworkEventKind.ZERO_WINDOW, number, time, time - mine.shut))
                mine.shut = None
        if not live:
            found.add((0, packet.side, NetworkEventKind.RESET, number, time, 0))
    return [(half.least, half.count, half.cost) for half in halves], found


packets_of_a_flow = st.lists(
    st.builds(
        P,
        time=st.sampled_from((0, 0.02, 1, 2, 5, 40, 300)),
        side=st.integers(0, 1),
        seq=st.integers(1000, 1012),
        ack=st.integers(1000, 1016),
        length=st.integers(0, 3),
        flags=st.sampled_from((ACK, ACK, ACK, ACK, ACK, ACK | FIN, ACK | RST, RST)),
        window=st.sampled_from((100, 100, 0)),
        flow=st.just(0),
    ),
    max_size=24,
)


@given(packets_of_a_flow, st.integers(1, 8))
def test_columns_tell_what_single_packets_tell(steps: list[Written], size: int) -> None:
    times = np.cumsum([step.time for step in steps]).round(2).tolist()
    packets = [step._replace(time=time) for step, time in zip(steps, times, strict=True)]
    meter = measure(packets, size)
    halves, found = refer(packets)
    columns = (meter.halves.column(name).tolist() for name in ("ack_rtt", "retransmissions", "retransmission_time"))
    assert list(zip(*columns, strict=True)) == halves[: len(meter.halves)]
    assert events(meter) == found


@given(st.lists(st.tuples(st.integers(0, 2), packets_of_a_flow), max_size=3), st.integers(1, 9))
def test_flows_do_not_touch_one_another(flows: list[tuple[int, list[Written]]], size: int) -> None:
    alone = [measure(steps) for _, steps in flows if steps]
    steps = [steps for _, steps in flows if steps]
    mixed = [
        step._replace(flow=flow)
        for place in range(max(map(len, steps), default=0))
        for flow, each in enumerate(steps)
        for step in each[place : place + 1]
    ]
    together = measure(mixed, size)
    for flow, meter in enumerate(alone):
        for name in ("retransmissions", "ack_rtt", "zero_windows", "resets"):
            assert (
                together.halves.column(name)[2 * flow : 2 * flow + 2].tolist() == meter.halves.column(name)[:2].tolist()
            )
