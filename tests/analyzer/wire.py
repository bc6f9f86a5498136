"""Conversations written as captures: what two ends said, cut into segments, and what a network does to them.

A Talk is what the applications wrote, in order. A cut makes segments of it, with handshake and FINs. An effect takes
segments and gives those that the capture sees. Nothing here looks at the engine, except `talks`, which takes the
conversations of a real capture out of its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from analyzer.decode.content import read_message
from analyzer.decode.endpoints import name_endpoint
from analyzer.decode.rows import ROW_KEYS, RowReader
from analyzer.session import Session
from tests.analyzer.capture.writers import T0, Frame, ethernet, ipv4, pcap, tcp

FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10
CLIENT, SERVER = 0, 1
STEP_NS = 1_000_000
ENDS = (("10.0.0.1", 40_000), ("10.0.0.2", 9092))
ISN = (1_000, 5_000_000)

Ends = tuple[tuple[str, int], tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Segment:
    """A packet of one connection. `at`, `acked` count from 0, the first byte after the SYN; `kept`: bytes captured."""

    side: int
    at: int
    payload: bytes = b""
    acked: int = 0
    flags: int = PSH | ACK
    kept: int | None = None
    time: int | None = None
    window: int = 512


@dataclass(frozen=True, slots=True)
class Talk:
    """What two ends wrote, in order, as (side, bytes)."""

    writes: tuple[tuple[int, bytes], ...]
    ends: Ends = ENDS
    isn: tuple[int, int] = ISN

    def bytes_of(self, side: int) -> bytes:
        return b"".join(data for each, data in self.writes if each == side)


Cut = Callable[[bytes], Iterable[bytes]]


def whole(data: bytes) -> Iterable[bytes]:
    return [data]


def byte_by_byte(data: bytes) -> Iterable[bytes]:
    return [data[index : index + 1] for index in range(len(data))]


def in_parts(random: Random, longest: int = 64) -> Cut:
    """A cut into parts of random length."""

    def cut(data: bytes) -> Iterable[bytes]:
        while data:
            length = random.randint(1, longest)
            yield data[:length]
            data = data[length:]

    return cut


def opening() -> list[Segment]:
    return [Segment(CLIENT, -1, flags=SYN), Segment(SERVER, -1, flags=SYN | ACK), Segment(CLIENT, 0, flags=ACK)]


def closing(lengths: Sequence[int]) -> list[Segment]:
    """FIN from both sides; a FIN takes a sequence number."""
    return [
        Segment(CLIENT, lengths[0], acked=lengths[1], flags=FIN | ACK),
        Segment(SERVER, lengths[1], acked=lengths[0] + 1, flags=FIN | ACK),
        Segment(CLIENT, lengths[0] + 1, acked=lengths[1] + 1, flags=ACK),
    ]


def data_segments(writes: Iterable[tuple[int, bytes]], cut: Cut = whole) -> list[Segment]:
    """Only the data: no handshake, no end."""
    sent = [0, 0]
    found = []
    for side, data in writes:
        for part in cut(data):
            found.append(Segment(side, sent[side], part, sent[1 - side]))
            sent[side] += len(part)
    return found


def segments(talk: Talk, cut: Cut = whole) -> list[Segment]:
    """A whole connection, from SYN to FIN."""
    lengths = (len(talk.bytes_of(CLIENT)), len(talk.bytes_of(SERVER)))
    return [*opening(), *data_segments(talk.writes, cut), *closing(lengths)]


def frame(segment: Segment, ends: Ends = ENDS, isn: tuple[int, int] = ISN, time: int = T0) -> Frame:
    side, other = segment.side, 1 - segment.side
    data = ethernet(
        ipv4(
            tcp(
                segment.payload,
                ports=(ends[side][1], ends[other][1]),
                seq=isn[side] + 1 + segment.at & 0xFFFFFFFF,
                ack=isn[other] + 1 + segment.acked & 0xFFFFFFFF if segment.flags & ACK else 0,
                flags=segment.flags,
                window=segment.window,
            ),
            ends=(ends[side][0], ends[other][0]),
        )
    )
    remaining = len(data) if segment.kept is None else len(data) - len(segment.payload) + segment.kept
    return Frame(data[:remaining], time if segment.time is None else segment.time, len(data))


def frames(segments: Iterable[Segment], talk: Talk | None = None, begin: int = T0) -> list[Frame]:
    ends, isn = (ENDS, ISN) if talk is None else (talk.ends, talk.isn)
    return [frame(each, ends, isn, begin + index * STEP_NS) for index, each in enumerate(segments)]


def write(path: Path, frames: Iterable[Frame]) -> Path:
    path.write_bytes(pcap(frames))
    return path


def capture(path: Path, segments: Iterable[Segment], talk: Talk | None = None) -> Path:
    """One connection as a file."""
    return write(path, frames(segments, talk))


# ---- what a network, or a capture, does to segments


def reordered(segments: Sequence[Segment], random: Random, window: int = 6) -> list[Segment]:
    """Each segment is overtaken by at most `window` others; SYNs stay in front and FINs at the end."""
    firm = [index for index, each in enumerate(segments) if each.flags & (SYN | FIN | RST)]
    keys = [
        (index if index in firm else min(index + random.random() * window, _next(firm, index)), index)
        for index in range(len(segments))
    ]
    return [segments[index] for _, index in sorted(keys)]


def _next(firm: Sequence[int], index: int) -> float:
    return next((each - 0.5 for each in firm if each > index), float("inf"))


def doubled(segments: Iterable[Segment]) -> list[Segment]:
    """Each segment twice in a row."""
    return [copy for each in segments for copy in (each, each)]


def repeated_later(segments: Sequence[Segment], distance: int = 3) -> list[Segment]:
    """Each data segment comes again, `distance` data segments later."""
    found: list[Segment] = []
    data: list[Segment] = []
    for each in segments:
        found.append(each)
        if each.payload:
            data.append(each)
            if len(data) > distance:
                found.append(data[-1 - distance])
    return found


def overlapping(segments: Sequence[Segment], talk: Talk, random: Random, most: int = 20) -> list[Segment]:
    """Each data segment begins up to `most` bytes earlier, as a retransmission that grew."""
    streams = talk.bytes_of(CLIENT), talk.bytes_of(SERVER)
    found = []
    for each in segments:
        back = random.randint(0, min(most, max(each.at, 0))) if each.payload else 0
        begin = each.at - back
        found.append(replace(each, at=begin, payload=streams[each.side][begin : each.at] + each.payload))
    return found


def kept_alive(segments: Sequence[Segment]) -> list[Segment]:
    """Behind each data segment a keep-alive of either kind: one byte before the next (any value), or none."""
    found: list[Segment] = []
    for index, each in enumerate(segments):
        found.append(each)
        if each.payload:
            end = each.at + len(each.payload)
            found.append(replace(each, at=end - 1, payload=b"\xaa" if index % 2 else b"", flags=ACK))
    return found


def probed(segments: Sequence[Segment]) -> list[Segment]:
    """Before each data segment a zero-window probe with its first byte."""
    found: list[Segment] = []
    for each in segments:
        if each.payload:
            found.append(replace(each, payload=each.payload[:1], flags=ACK))
        found.append(each)
    return found


def with_data_in_syn(segments: Sequence[Segment]) -> list[Segment]:
    """The first data segment of the client travels in its SYN."""
    first = next(index for index, each in enumerate(segments) if each.payload and each.side == CLIENT)
    syn = replace(segments[0], payload=segments[first].payload)
    return [syn, *segments[1:first], *segments[first + 1 :]]


def without_handshake(segments: Sequence[Segment]) -> list[Segment]:
    return [each for each in segments if not each.flags & SYN and (each.payload or each.flags & FIN)]


def snapped(segments: Sequence[Segment], longest: int) -> list[Segment]:
    """The capture keeps at most `longest` bytes of each payload."""
    return [replace(each, kept=min(len(each.payload), longest)) for each in segments]


# ---- the conversations of real captures, and the rows of written ones

UNSTABLE = ("number", "time", "stream", "first_packet", "last_packet", "partner", "latency_ns", "findings")
"""What depends on the packets by construction, not on the bytes that they brought."""

STABLE: Sequence[str] = tuple(key for key in ROW_KEYS if key not in UNSTABLE)

Row = dict[str, Any]


def talks(path: Path) -> list[Talk]:
    """Each connection of a capture as what its ends wrote, a message at a time. Those with lost bytes are left out."""
    with Session([path], use_fast_path=False).load() as session:
        found: dict[int, list[tuple[int, bytes]]] = {}
        for row in range(len(session.rows)):
            side = session.rows.cell("side", row)
            found.setdefault(session.rows.cell("stream", row), []).append((side, read_message(session, row)))
        return [Talk(tuple(writes), _ends(session, stream)) for stream, writes in sorted(found.items())]


def _ends(session: Session, stream: int) -> Ends:
    client, server = (name_endpoint(session, stream, side).rsplit(":", 1) for side in (CLIENT, SERVER))
    return (client[0], int(client[1])), (server[0], int(server[1]))


def rows_of(session: Session, keys: Sequence[str] = ROW_KEYS) -> list[Row]:
    columns = RowReader(session).read_columns(keys, np.arange(len(session.rows)))
    return [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]


def rows(inputs: Path | Sequence[Path], keys: Sequence[str] = ROW_KEYS, **options: Any) -> list[Row]:
    """All rows of captures, in order."""
    with Session([inputs] if isinstance(inputs, Path) else inputs, **options).load() as session:
        return rows_of(session, keys)


def by_id(rows: Iterable[Row]) -> dict[str, Row]:
    """Rows by their id, which must be unique."""
    found = {}
    for row in rows:
        assert row["id"] not in found, f"two rows are {row['id']}"
        found[row["id"]] = row
    return found
