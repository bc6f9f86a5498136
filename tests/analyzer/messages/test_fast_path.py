"""Messages are cut out of segments in columns as framers cut them, wherever segments begin and end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

import analyzer.capture.records
import analyzer.messages.engine
import analyzer.messages.message_spans
from analyzer.messages.connection import Connection, ConnectionPacket
from analyzer.messages.connection import PendingRow as Plain
from analyzer.messages.slow_path import SlowPath
from analyzer.session import Session
from tests.analyzer.wire import CLIENT, SERVER, Cut, Row, Segment, Talk, capture, rows, rows_of, segments
from tests.golden.snapped import snap

COUNT = 120

HEADERS = 54
"""Bytes before the payload: of Ethernet, IPv4 and TCP."""


pytestmark = pytest.mark.usefixtures("small_scale")


def request(correlation: int, size: int) -> bytes:
    data = b"\0\3\0\1" + correlation.to_bytes(4) + b"\0\2me" + bytes(size)
    return len(data).to_bytes(4) + data


def response(correlation: int, size: int) -> bytes:
    data = correlation.to_bytes(4) + bytes(size)
    return len(data).to_bytes(4) + data


def mixed(random: Random, messages: list[bytes]) -> Cut:
    """Segments of one message, of several, of parts of some, and of less than a length; ends of some meet."""
    edges, at = [0], 0
    for message in messages:
        at += len(message)
        edges.append(at)

    def cut(data: bytes) -> Iterable[bytes]:
        places = {*random.sample(edges, random.randint(1, len(edges))), 0, len(data)}
        places |= {random.randrange(len(data)) for _ in range(random.choice((0, 3, 40)))}
        order = sorted(places)
        return [data[begin:end] for begin, end in pairwise(order)]

    return cut


@pytest.mark.sampled(6)
@pytest.mark.parametrize("look", [1, 4, 1000])
@pytest.mark.parametrize("seed", range(10))
def test_segments_of_any_kind(tmp_path: Path, seed: int, look: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyzer.messages.message_spans, "WORTH_A_LOOK", look)
    random = Random(seed)
    longest = random.choice((0, 20, 300))
    requested = [request(number, random.randint(0, longest)) for number in range(COUNT)]
    answered = [response(number, random.randint(0, longest)) for number in range(COUNT)]
    if seed % 5 == 4:
        requested[COUNT // 2] = b"\xff" * 40
    flows = {CLIENT: b"".join(requested), SERVER: b"".join(answered)}
    cuts = {CLIENT: mixed(random, requested), SERVER: mixed(random, answered)}
    talk = Talk(((CLIENT, request(COUNT, 4)), (SERVER, response(COUNT, 12)), *flows.items()))

    def cut(data: bytes) -> Iterable[bytes]:
        return next((cuts[side](data) for side in flows if flows[side] == data), [data])

    path = capture(tmp_path / "a.pcap", segments(talk, cut), talk)
    plain = rows(path, use_fast_path=False)
    assert len(plain) > COUNT
    for block in (3, 50, 1000):
        assert rows(path, block=block) == plain


@pytest.mark.sampled(4)
@pytest.mark.parametrize("remaining", [0, 1, 3, 4, 7, 8, 11, 14, 20, 40, 90, 250])
@pytest.mark.parametrize("seed", range(2))
def test_snapped_packets(tmp_path: Path, seed: int, remaining: int) -> None:
    """Whether a packet begins with a message or not, and wherever it is cut."""
    random = Random(seed)
    requested = [request(number, random.randint(0, 300)) for number in range(COUNT)]
    answered = [response(number, random.randint(0, 300)) for number in range(COUNT)]
    cuts = {CLIENT: mixed(random, requested), SERVER: mixed(random, answered)} if seed else {}
    flows = {CLIENT: b"".join(requested), SERVER: b"".join(answered)}
    parts = (
        flows.items()
        if seed
        else ((side, each) for pair in zip(requested, answered, strict=True) for side, each in enumerate(pair))
    )
    talk = Talk(((CLIENT, request(COUNT, 4)), (SERVER, response(COUNT, 12)), *parts))
    whole = capture(
        tmp_path / "whole.pcap",
        segments(talk, lambda data: next((cuts[side](data) for side in cuts if flows[side] == data), [data])),
        talk,
    )
    path = tmp_path / "a.pcap"
    path.write_bytes(snap(whole.read_bytes(), HEADERS + remaining))
    plain = told(path, use_fast_path=False)
    assert len(plain[0]) > 2
    for block in (3, 50, 1000):
        assert told(path, block=block) == plain


def test_snapped_packets_stay_on_the_fast_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exchanges = ((request(number, number), response(number, 2 * number)) for number in range(COUNT))
    talk = Talk(tuple(part for requested, text in exchanges for part in ((CLIENT, requested), (SERVER, text))))
    whole = capture(tmp_path / "whole.pcap", segments(talk), talk)
    path = tmp_path / "a.pcap"
    path.write_bytes(snap(whole.read_bytes(), HEADERS + 30))
    slow = count_walked(monkeypatch)
    assert [row["state"] for row in rows(path)].count("partial") > COUNT
    assert sum(map(bool, slow)) < 12  # before the protocol is known, and the rest of that run


def again(talk: Talk, random: Random) -> list[Segment]:
    """Segments of which some come again, late, in part, with other bytes, or as a keep-alive."""
    found: list[Segment] = []
    for each in segments(talk, lambda data: [data[at : at + 90] for at in range(0, len(data), 90)]):
        found.append(each)
        data = [one for one in found if one.payload]
        if data and random.random() < 0.3:
            old = data[-min(random.choice((1, 2, 5, 40)), len(data))]
            begin = random.randrange(len(old.payload))
            other = bytes(len(old.payload)) if random.random() < 0.3 else old.payload
            found.append(replace(old, at=old.at + begin, payload=other[begin:]))
        if data and random.random() < 0.1:
            found.append(replace(data[-1], at=data[-1].at + len(data[-1].payload) - 1, payload=b"\0"))
    return found


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(6))
def test_what_comes_again_stays_on_the_fast_path(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    talk = Talk(
        tuple(
            part
            for number in range(COUNT)
            for part in (
                (CLIENT, request(number, random.randint(0, 300))),
                (SERVER, response(number, random.randint(0, 300))),
            )
        )
    )
    path = capture(tmp_path / "a.pcap", again(talk, random), talk)
    plain = told(path, use_fast_path=False)
    assert plain[1]
    assert plain[2]
    slow = count_walked(monkeypatch)
    for block in (3, 50, 4000):
        slow.clear()
        assert told(path, block=block) == plain
    assert sum(map(bool, slow)) < 5  # before the protocol is known


def count_walked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The payload bytes of each packet that goes through the slow path from now on."""
    found: list[int] = []
    walk = SlowPath.process_packet

    def counted(self: SlowPath, connection: Connection, packet: ConnectionPacket) -> list[Plain]:
        found.append(packet.length)
        return walk(self, connection, packet)

    monkeypatch.setattr(SlowPath, "process_packet", counted)
    return found


def told(path: Path, **arguments: Any) -> tuple[list[Row], list[tuple[int, ...]], list[str]]:
    """The rows, the retransmissions by packet, and what is found in streams."""
    with Session([path], **arguments).load() as session:
        repeats = session.engine.repeats
        columns = (repeats.column(name).tolist() for name in ("packet", "side", "offset", "length"))
        findings = [finding.text for finding in session.engine.stream_findings.findings]
        return rows_of(session), sorted(zip(*columns, strict=True)), findings


@pytest.mark.sampled(3)
@pytest.mark.parametrize("beginning", ["handshake", "middle"])
@pytest.mark.parametrize("late", [False, True], ids=["one direction", "both later"])
@pytest.mark.parametrize("side", [CLIENT, SERVER])
def test_captures_of_one_direction(
    tmp_path: Path, side: int, late: bool, beginning: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(7)
    exchanges = ((request(number, random.randint(0, 90)), response(number, 20)) for number in range(3 * COUNT))
    talk = Talk(tuple(part for requested, text in exchanges for part in ((CLIENT, requested), (SERVER, text))))
    every = segments(talk)
    if beginning == "middle":
        every = every[40:]
    latest = len(every) * 2 // 3 if late else len(every)
    seen = [each for index, each in enumerate(every) if each.side == side or index >= latest]
    path = capture(tmp_path / "a.pcap", seen, talk)
    plain = told(path, use_fast_path=False)
    walked = count_walked(monkeypatch)
    for block in (3, 50, 4000):
        walked.clear()
        assert told(path, block=block) == plain
    assert len(walked) < len(seen) // 2
