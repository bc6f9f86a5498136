"""One segment of a real capture is lost: all messages outside of it stay where and what they are.

Places are those in the capture file, so that a message is the same one also where no SYN says what offset 0 is.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from analyzer.capture.packets import PacketReader
from analyzer.capture.records import RecordBlock
from analyzer.session import Session
from tests.analyzer.capture.writers import Frame
from tests.analyzer.wire import rows_of, write
from tests.golden.truth import captures, name_of

FILE_HEADER, RECORD_HEADER = 24, 16
EVERY = 4
FEW, MANY = 6, 16
"""Segments of a capture that are lost in turn where not every fourth of them is."""

KEYS = ("id", "role", "operation", "length", "partner_id")

NOT_TOLD = {
    ("k4_errors", 102): "a byte of the first size, sent one by one: the protocol is decided with the second answer",
    ("en395_ensemble", 105): "the SNAP that announces a snapshot",
    ("en395_ensemble", 208): "the SNAP that announces a snapshot",
    ("en336_boot", 144): "the SNAP that announces a snapshot",
    ("en395_wiped_snap", 188): "the SNAP that announces a snapshot",
    (
        "raw4_haproxy",
        36,
    ): "a PING and five bytes of the next command, which the end cuts, are all that is left behind it",
    ("raw_odd_requests", 92): "behind it a request breaks its own layout",
    ("raw_odd_requests", 99): "behind it a request breaks its own layout",
    ("raw_odd_requests", 111): "behind it a request breaks its own layout",
}
"""What these losses take away, behind which a message is not told as in the whole capture: known limits."""


class Message(NamedTuple):
    """`spans`: where its bytes lie in the file of all packets, as (begin, end)."""

    id: str
    role: str
    operation: str | None
    length: int
    partner: str | None
    spans: tuple[tuple[int, int], ...]


def packets_of(path: Path) -> tuple[list[Frame], list[int]]:
    """All packets of a capture, and which of them have payload."""
    records: list[RecordBlock] = []
    with PacketReader([path], watch=records.append) as packets:
        filled = [number - 1 for block in packets.blocks() for number in block.number[block.length > 0].tolist()]
        every = RecordBlock.concatenate(records)
        columns = (every.time.tolist(), every.at.tolist(), every.captured.tolist())
        return [
            Frame(packets.store.read_bytes(at, size), time) for time, at, size in zip(*columns, strict=True)
        ], filled


def messages(path: Path, lost: range = range(0)) -> dict[int, Message]:
    """Those that have framing, by the place of their first byte; `lost`: what is not in this file."""
    found = {}
    with Session([path]).load() as session:
        pieces = session.engine.pieces
        for number, row in enumerate(rows_of(session, KEYS)):
            first, count = session.rows.cell("pieces", number), session.rows.cell("count", number)
            spans = []
            for piece in range(first, first + count):
                at = pieces.cell("at", piece)
                begin = at + len(lost) if at >= lost.start else at
                spans.append((begin, begin + pieces.cell("length", piece)))
            if row["role"] != "raw":
                found[spans[0][0]] = Message(*(row[key] for key in KEYS), tuple(spans))
    return found


def disturbed(path: Path, scratch: Path, most: int | None) -> list[str]:
    """What becomes of messages outside the bytes that are lost, of every fourth segment in turn."""
    frames, filled = packets_of(path)
    whole = messages(write(scratch, frames))
    begins = [FILE_HEADER]
    for frame in frames:
        begins.append(begins[-1] + RECORD_HEADER + len(frame.data))
    chosen = filled[1::EVERY]
    wrong = []
    for index in chosen if most is None else chosen[:: -(-len(chosen) // most) or 1]:
        if (path.name.partition(".")[0], index + 1) in NOT_TOLD:
            continue
        lost = range(begins[index], begins[index + 1])
        own = messages(write(scratch, [*frames[:index], *frames[index + 1 :]]), lost)
        wrong += [f"without packet {index + 1}: {each}" for each in changed(whole, own, lost)]
    return wrong


def changed(whole: dict[int, Message], own: dict[int, Message], lost: range) -> list[str]:
    damaged = {each.id for each in whole.values() if any(begin in lost for begin, _ in each.spans)}
    found = []
    for place, message in whole.items():
        left = own.get(place)
        if message.id in damaged:
            continue
        operations = {message.operation, None} if message.partner in damaged else {message.operation}
        if left is None or left.length != message.length or left.operation not in operations:
            found.append(f"{message} is {left}")
    return found


PATHS = [path for protocol in ("kafka", "pulsar", "rocketmq", "zookeeper") for path in captures(protocol)]
OWN = [path for path in PATHS if name_of(path).startswith("golden")]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("path", OWN, ids=name_of)
def test_a_lost_segment_costs_no_other_message(path: Path, tmp_path: Path) -> None:
    assert disturbed(path, tmp_path / "a.pcap", FEW) == []


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS, ids=name_of)
def test_every_fourth_segment_lost_costs_no_other_message(path: Path, tmp_path: Path) -> None:
    """Every one of our own captures; of those that are shared MANY."""
    assert disturbed(path, tmp_path / "a.pcap", None if path in OWN else MANY) == []
