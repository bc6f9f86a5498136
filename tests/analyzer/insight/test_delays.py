"""Where the time of exchanges goes: written connections, seen at the client, at the server and in between."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from analyzer.insight.delays import PARTS, divide_exchanges
from analyzer.insight.reports import ReportReading, parts_of, reports_by_name
from analyzer.session import Session
from dissectors.registry import dissectors
from tests.analyzer.capture.writers import T0
from tests.analyzer.wire import ACK, CLIENT, SERVER, SYN, Segment, capture

MS = 1_000_000
ASK, TELL = 14, 14
"""Bytes of a request and of its answer."""


def ask(number: int) -> bytes:
    """An ApiVersions request of version 0, without a client id."""
    return struct.pack(">ihhih", 10, 18, 0, number, -1)


def tell(number: int) -> bytes:
    """Its answer: no error, and no versions."""
    return struct.pack(">iihi", 10, number, 0, 0)


def at(time: float, side: int, offset: int, payload: bytes = b"", acked: int = 0, window: int = 512) -> Segment:
    """A segment at a time (ms)."""
    return Segment(side, offset, payload, acked, ACK, None, T0 + int(time * MS), window)


def opening(to_server: float, to_client: float) -> list[Segment]:
    """A handshake with these round trips from the capture point (ms)."""
    return [
        Segment(CLIENT, -1, flags=SYN, time=T0),
        Segment(SERVER, -1, flags=SYN | ACK, time=T0 + int(to_server * MS)),
        Segment(CLIENT, 0, flags=ACK, time=T0 + int((to_server + to_client) * MS)),
    ]


class Case(NamedTuple):
    """The parts of the last exchange (ms; those that are not named are 0), and the sentence."""

    name: str
    segments: Sequence[Segment]
    parts: dict[str, float]
    told: str

    def __str__(self) -> str:
        return self.name


REQUEST, ANSWER = at(100, CLIENT, 0, ask(1)), tell(1)
CASES = [
    Case(
        "seen at the client",
        [*opening(10, 0.1), REQUEST, at(115, SERVER, 0, ANSWER, ASK)],
        {"client": 0.1, "network": 10, "working": 5},
        "the server answered in 5 ms; the network took 10 ms",
    ),
    Case(
        "seen at the server",
        [*opening(0.1, 10), REQUEST, at(105.1, SERVER, 0, ANSWER, ASK)],
        {"client": 10, "network": 0.1, "working": 5},
        "the server answered in 5 ms; the network took 10 ms",
    ),
    Case(
        "seen in between",
        [*opening(6, 4), REQUEST, at(111, SERVER, 0, ANSWER, ASK)],
        {"client": 4, "network": 6, "working": 5},
        "the server answered in 5 ms; the network took 10 ms",
    ),
    Case(
        "on loopback",
        [*opening(0.01, 0.01), REQUEST, at(105.01, SERVER, 0, ANSWER, ASK)],
        {"client": 0.01, "network": 0.01, "working": 5},
        "the server answered in 5 ms",
    ),
    Case(
        "without a handshake",
        [at(90, CLIENT, 0, ask(0)), at(92, SERVER, 0, tell(0), ASK), at(92.5, CLIENT, ASK, b"", TELL),
         at(100, CLIENT, ASK, ask(1), TELL), at(107, SERVER, TELL, ANSWER, 2 * ASK)],
        {"client": 0.5, "network": 2, "working": 5},
        "the server answered in 5 ms; the network took 2.5 ms",
    ),
    Case(
        "the request was lost three times",
        [*opening(1, 0), REQUEST, *(at(time, CLIENT, 0, ask(1)) for time in (200, 400, 700)),
         at(703, SERVER, 0, ANSWER, ASK)],
        {"network": 1, "working": 2, "lost": 600},
        "the server answered in 2 ms; 3 retransmissions cost 600 ms",
    ),
    Case(
        "the answer was lost behind the capture point",
        [*opening(0.1, 10), REQUEST, at(105.1, SERVER, 0, ANSWER, ASK), at(305.1, SERVER, 0, ANSWER, ASK)],
        {"client": 10, "network": 0.1, "working": 5, "lost": 200},
        "the server answered in 5 ms; 1 retransmission cost 200 ms",
    ),
    Case(
        "it waited for the request before it",
        [*opening(1, 0), at(99, CLIENT, 0, ask(0)), at(100, CLIENT, ASK, ask(1)), at(150, SERVER, 0, tell(0), 2 * ASK),
         at(152, SERVER, TELL, ANSWER, 2 * ASK)],
        {"network": 1, "waiting": 49, "working": 2},
        "the server answered in 2 ms; it waited 49 ms for 1 request before it",
    ),
    Case(
        "the client closed its window",
        [*opening(1, 0), REQUEST, at(103, SERVER, 0, ANSWER[:4], ASK), at(104, CLIENT, ASK, b"", 4, 0),
         at(304, CLIENT, ASK, b"", 4), at(305, SERVER, 4, ANSWER[4:], ASK)],
        {"network": 1, "working": 2, "closed": 200, "answering": 2},
        "the server answered in 2 ms; a closed window cost 200 ms",
    ),
    Case(
        "a slow request and a slow answer",
        [*opening(1, 0), at(100, CLIENT, 0, ask(1)[:4]), at(140, CLIENT, 4, ask(1)[4:]),
         at(143, SERVER, 0, ANSWER[:4], ASK), at(163, SERVER, 4, ANSWER[4:], ASK)],
        {"network": 1, "sending": 40, "working": 2, "answering": 20},
        "the server answered in 2 ms; 14 bytes of the request took 40 ms; 14 bytes of the answer took 20 ms",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_parts(case: Case, tmp_path: Path) -> None:
    with Session([capture(tmp_path / "c.pcap", case.segments)]).load() as session:
        delays = divide_exchanges(session, range(len(session.rows)))
        last = delays[-1:]
        found = {name: int(getattr(last, name)[0]) / MS for name in PARTS}
        assert {name: took for name, took in found.items() if took} == pytest.approx(case.parts)
        begin, end = (session.rows.cell("time", int(rows[0])) for rows in (last.request, last.answer))
        late = 200 if case.name.startswith("the answer was lost") else 0
        sent = found["sending"] + found["client"] + late
        assert last.total[0] / MS == pytest.approx((end - begin) / MS + sent)
        (table,) = ReportReading(session, [reports_by_name(dissectors())["delays"]]).run()
        (entry,) = table.entries
        cells = table.report.cells(entry)
        assert (cells["told"], cells["operation"], cells["answerer"]) == (case.told, "ApiVersions", "10.0.0.2:9092")
        shown = [part.text for part in parts_of(session, int(last.request[0]))]
        noteworthy = sum(case.parts.get(name, 0) for name in ("lost", "closed", "waiting")) > 0
        assert shown == ([case.told] if noteworthy else [])


def test_the_worst_comes_first() -> None:
    """Of a real capture; what waits on purpose does not count."""
    with Session([Path(__file__).parents[3] / "captures" / "kafka.pcap"]).load() as session:
        (table,) = ReportReading(session, [reports_by_name(dissectors())["delays"]]).run()
        cells = list(map(table.report.cells, table.entries))
        assert sum(each["exchanges"] for each in cells) == len(divide_exchanges(session, range(len(session.rows))))
        for each in cells:
            parts = [value for name, value in each.items() if name.endswith("_ns") and name != "total_ns"]
            assert min(parts) >= 0
            assert sum(parts) == each["total_ns"]
        costs = [each["total_ns"] - (each["server_ns"] if "kept" in each["told"] else 0) for each in cells]
        assert costs == sorted(costs, reverse=True)
