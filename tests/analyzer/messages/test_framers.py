"""Messages whose length no prefix tells: a Framer says where they end, at the start of a direction or always."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import pytest

from analyzer.messages.framing import StreamFramer
from dissectors.api import Framer, Window
from dissectors.kafka import Kafka
from tests.analyzer.messages.test_framing import Memory, pieces


@dataclass(slots=True)
class Lines(Framer):
    """Lines that begin with a zero; a last one may lack its end. `greetings`: how many come before framing tells."""

    greetings: int
    seen: int = 0
    asked: int = 0

    def length(self, message: Window, ended: bool) -> int | None:
        if self.seen == self.greetings:
            return None
        self.asked += 1
        data = message.read_bytes(0, len(message))
        assert data
        assert len(message.read_bytes(len(message), 1)) == 0
        if data[0]:
            return 0
        end = data.find(b"\n") + 1
        if not end:
            return len(data) if ended else -len(data) - 1
        self.seen += 1
        return end


class Text(Kafka):
    """Lines and nothing else."""

    framing = None

    def make_framer(self, from_client: bool, opening: bool) -> Framer:
        return Lines(-1)

    def probe(self, prefix: bytes, from_client: bool | None) -> int:
        return 60 * prefix.startswith(b"\0")

    def plausible(self, prefix: bytes, from_client: bool) -> bool:
        return prefix.startswith(b"\0") and prefix.endswith(b"\n")


class Greeted(Kafka):
    """A line first, then frames of Kafka."""

    def make_framer(self, from_client: bool, opening: bool) -> Framer:
        return Lines(1)


FRAME = bytes.fromhex("00000012 0003 0001 00000001 0002 6d65 00000000 0000")

CASES = [
    (Text(), b"\0ne\n\0wo\n\0hree\n", (), "0-4 4-8 8-14"),
    (Text(), b"\0ne\n\0wo\n\0hr", (), "0-4 4-8 8-11"),  # what only the end of the stream ends
    (Text(), b"\0ne\n??\0o\n\0our\n", (), "0-4 4-6 raw 6-9 9-14"),  # no message begins there: hunting
    (Text(), b"\0ne\n\0wo\n\0hree\n\0our\n\0ive\n", ((5, 6),), "0-4 4-5 cut 6-8 raw 8-14 14-19 19-24"),
    (Greeted(), b"\0ello\n" + FRAME + FRAME, (), f"0-6 6-{6 + len(FRAME)} {6 + len(FRAME)}-{6 + 2 * len(FRAME)}"),
    (Greeted(), b"\0ello", (), "0-5"),
    (Greeted(), b"?" + FRAME + FRAME, (), f"0-1 raw 1-{1 + len(FRAME)} {1 + len(FRAME)}-{1 + 2 * len(FRAME)}"),
]


@pytest.mark.parametrize("step", [1, 2, 5, 1000])
@pytest.mark.parametrize(("dissector", "data", "lost", "expected"), CASES)
def test_messages_end_where_the_framer_says(
    dissector: Kafka, data: bytes, lost: tuple[tuple[int, int], ...], expected: str, step: int
) -> None:
    framer, memory = StreamFramer(True, synced=True, framer=dissector.make_framer(True, True)), Memory(data)
    frames = []
    for piece in pieces(data, range(0, len(data), step), lost):
        frames += framer.feed(piece, dissector, memory)
        framer = pickle.loads(pickle.dumps(framer))
    frames += framer.flush(dissector, memory)
    text = [f"{each.offset}-{each.offset + each.length}{' raw' * each.raw}{' cut' * each.cut}" for each in frames]
    assert " ".join(text) == expected


def test_framing_takes_over_for_good() -> None:
    framer, dissector = StreamFramer(True, synced=True, framer=Lines(1)), Greeted()
    data = b"\0ello\n" + FRAME
    (piece,) = pieces(data, ())
    assert len(list(framer.feed(piece, dissector, Memory(data)))) == 2
    assert framer.framer is None


PREAMBLE = b"PROXY TCP4 192.0.2.7 192.0.2.8 60744 9092\r\n"


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_a_preamble_is_a_raw_run(step: int) -> None:
    data = PREAMBLE + FRAME + FRAME
    framer, memory = StreamFramer(True, synced=True, preamble=len(PREAMBLE)), Memory(data)
    frames = [f for piece in pieces(data, range(0, len(data), step)) for f in framer.feed(piece, Kafka(), memory)]
    assert [(frame.length, frame.raw) for frame in frames] == [
        (len(PREAMBLE), True),
        (len(FRAME), False),
        (len(FRAME), False),
    ]


def test_a_gap_in_the_preamble_leaves_only_hunting() -> None:
    data = PREAMBLE + FRAME + FRAME
    framer, memory = StreamFramer(True, synced=True, preamble=len(PREAMBLE)), Memory(data)
    frames = [f for piece in pieces(data, (), ((3, 9),)) for f in framer.feed(piece, Kafka(), memory)]
    frames += framer.flush(Kafka(), memory)
    assert sum(frame.length for frame in frames) == len(data) - 6
    assert [frame.length for frame in frames if not frame.raw] == [len(FRAME), len(FRAME)]
