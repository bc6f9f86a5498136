"""Messages are cut out of segments in columns as framers cut them, wherever segments begin and end."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

import analyzer.capture.records
import analyzer.messages.engine
import analyzer.messages.fast_path
from tests.analyzer.wire import CLIENT, SERVER, Cut, Talk, capture, rows, segments

COUNT = 120


@pytest.fixture(autouse=True)
def _small_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyzer.messages.engine, "WORTH_A_ROUND", 1)
    monkeypatch.setattr(analyzer.messages.engine, "WORTH_A_RUN", 1)
    monkeypatch.setattr(analyzer.capture.records, "LARGEST_BLOCK", 1)


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


@pytest.mark.sampled(12)
@pytest.mark.parametrize("look", [1, 4, 1000])
@pytest.mark.parametrize("seed", range(10))
def test_segments_of_any_kind(tmp_path: Path, seed: int, look: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyzer.messages.fast_path, "WORTH_A_LOOK", look)
    random = Random(seed)
    longest = random.choice((0, 20, 300))
    asked = [request(number, random.randint(0, longest)) for number in range(COUNT)]
    answered = [response(number, random.randint(0, longest)) for number in range(COUNT)]
    if seed % 5 == 4:
        asked[COUNT // 2] = b"\xff" * 40
    flows = {CLIENT: b"".join(asked), SERVER: b"".join(answered)}
    cuts = {CLIENT: mixed(random, asked), SERVER: mixed(random, answered)}
    talk = Talk(((CLIENT, request(COUNT, 4)), (SERVER, response(COUNT, 12)), *flows.items()))

    def cut(data: bytes) -> Iterable[bytes]:
        return next((cuts[side](data) for side in flows if flows[side] == data), [data])

    path = capture(tmp_path / "a.pcap", segments(talk, cut), talk)
    plain = rows(path, use_bulk=False)
    assert len(plain) > COUNT
    for block in (3, 50, 1000):
        assert rows(path, block=block) == plain
