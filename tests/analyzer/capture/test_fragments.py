from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from analyzer.capture.fragments import MOST, PATIENCE, DatagramReassembler
from analyzer.capture.packets import PacketReader
from tests.analyzer.capture.reading import Reading, read
from tests.analyzer.capture.writers import T0, Frame, ethernet, extension, fragment, ipv4, ipv6, pcap, segment, tcp

PAYLOAD = bytes(range(256)) * 20
Pieces = list[bytes]


def pieces4(segment_bytes: bytes, size: int = 1480, ident: int = 7, protocol: int = 6) -> Pieces:
    starts = range(0, len(segment_bytes), size)
    return [
        ethernet(
            ipv4(
                segment_bytes[start : start + size],
                ident=ident,
                offset=start,
                more=start + size < len(segment_bytes),
                protocol=protocol,
            ),
            padding=60,
        )
        for start in starts
    ]


def pieces6(segment_bytes: bytes, size: int = 1448, ident: int = 9, following: int = 6) -> Pieces:
    starts = range(0, len(segment_bytes), size)
    return [
        ethernet(
            ipv6(
                extension(
                    44,
                    fragment(
                        following,
                        segment_bytes[start : start + size],
                        offset=start,
                        more=start + size < len(segment_bytes),
                        ident=ident,
                    ),
                ),
                protocol=0,
            ),
            0x86DD,
        )
        for start in starts
    ]


def read_frames(tmp_path: Path, frames: list[bytes], **arguments: int) -> Reading:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(Frame(frame, T0 + 1000 * index) for index, frame in enumerate(frames)))
    return read(path, **arguments)


def in_order(pieces: Pieces) -> Pieces:
    return pieces


def backwards(pieces: Pieces) -> Pieces:
    return pieces[::-1]


def shuffled(pieces: Pieces) -> Pieces:
    return random.Random(1).sample(pieces, len(pieces))


def doubled(pieces: Pieces) -> Pieces:
    return [piece for piece in pieces[:-1] for _ in range(2)] + pieces[-1:]


@pytest.mark.parametrize("order", [in_order, backwards, shuffled, doubled])
@pytest.mark.parametrize("cut", [pieces4, pieces6])
def test_fragments_are_put_together(
    tmp_path: Path, cut: Callable[[bytes], Pieces], order: Callable[[Pieces], Pieces]
) -> None:
    frames = [segment(b"before"), *order(cut(tcp(PAYLOAD, seq=77))), segment(b"behind")]
    reading = read_frames(tmp_path, frames)
    assert reading.payloads == [b"before", PAYLOAD, b"behind"]
    whole = reading.packets[1]
    # Its number is that of the fragment that completed it.
    assert (whole.number, whole.seq, whole.length) == (len(frames) - 1, 77, len(PAYLOAD))
    counts = reading.source.counts
    assert (counts.tcp, counts.not_tcp, counts.reassembled, counts.incomplete) == (3, 0, 1, 0)
    assert counts.fragments == len(frames) - 2


def test_extension_headers_behind_the_fragment_header(tmp_path: Path) -> None:
    frames = pieces6(extension(6, tcp(PAYLOAD)), size=8, following=60)
    assert read_frames(tmp_path, frames).payloads == [PAYLOAD]


def test_a_tunnel_in_fragments(tmp_path: Path) -> None:
    frames = pieces4(b"\0\0\x08\0" + ipv4(tcp(PAYLOAD), ends=("1.1.1.1", "2.2.2.2")), protocol=47)
    reading = read_frames(tmp_path, frames)
    assert reading.payloads == [PAYLOAD]
    assert reading.packets[0].source == "1.1.1.1:40000"


def test_fragments_in_a_tunnel(tmp_path: Path) -> None:
    inner = pieces4(tcp(PAYLOAD))
    frames = [ethernet(ipv4(b"\0\0\x65\x58" + piece, ends=("1.1.1.1", "2.2.2.2"), protocol=47)) for piece in inner]
    assert read_frames(tmp_path, frames).payloads == [PAYLOAD]


def test_two_datagrams_interleaved_and_one_that_lacks_a_piece(tmp_path: Path) -> None:
    first, second, third = (pieces4(tcp(PAYLOAD + bytes([ident])), ident=ident) for ident in (1, 2, 3))
    frames = [piece for pair in zip(first, second, third[:-1] + third[:1], strict=True) for piece in pair]
    reading = read_frames(tmp_path, frames)
    assert reading.payloads == [PAYLOAD + b"\1", PAYLOAD + b"\2"]
    assert reading.source.counts.incomplete == 1


def test_the_same_identification_again_is_another_datagram(tmp_path: Path) -> None:
    frames = pieces4(tcp(b"a" * 2000)) + pieces4(tcp(b"b" * 2000))
    assert read_frames(tmp_path, frames).payloads == [b"a" * 2000, b"b" * 2000]


def test_overlap_keeps_the_first_bytes(tmp_path: Path) -> None:
    data = tcp(b"a" * 100)
    frames = [
        ethernet(ipv4(data[:80], more=True)),
        ethernet(ipv4(b"X" * 48 + data[88:104], offset=40, more=True)),
        ethernet(ipv4(data[96:], offset=96)),
    ]
    assert read_frames(tmp_path, frames).payloads == [b"a" * 60 + b"X" * 8 + b"a" * 32]


def test_a_fragment_cut_by_the_snap_length_is_unreadable(tmp_path: Path) -> None:
    first, last = pieces4(tcp(b"x" * 2000))
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([Frame(first[:100], original=len(first)), Frame(last)]))
    counts = read(path).source.counts
    assert (counts.unreadable, counts.tcp, counts.incomplete) == (1, 0, 1)


HEADER = ipv4(b"")


def test_given_up_after_thirty_seconds() -> None:
    reassembler = DatagramReassembler()
    assert reassembler.add(0, (1, 2, 3, 6), 0, True, HEADER, bytes(8)) is None
    assert reassembler.add(PATIENCE, (1, 2, 4, 6), 0, True, HEADER, bytes(8)) is None
    assert reassembler.abandoned == 0
    assert reassembler.add(PATIENCE + 1, (1, 2, 3, 6), 8, False, HEADER, b"late") is None
    assert (reassembler.abandoned, reassembler.unfinished) == (1, 3)
    assert reassembler.add(PATIENCE + 2, (1, 2, 4, 6), 8, False, HEADER, b"in time") is not None


@pytest.mark.parametrize(
    ("offset", "more", "part"),
    [(65_528, False, bytes(8)), (0, True, bytes(7)), (0, True, b""), (65_512, True, bytes(8))],
    ids=["too long", "odd length", "nothing", "just too long with its header"],
)
def test_impossible_fragments_are_dropped(offset: int, more: bool, part: bytes) -> None:
    reassembler = DatagramReassembler()
    assert reassembler.add(0, (1, 2, 3, 6), offset, more, HEADER, part) is None
    assert reassembler.unfinished == 0


def test_memory_is_bounded() -> None:
    reassembler = DatagramReassembler()
    for ident in range(3 * MOST // 60_000):
        reassembler.add(0, (1, 2, ident, 6), 0, True, HEADER, bytes(60_000))
    assert reassembler.unfinished == 3 * MOST // 60_000
    assert reassembler.unfinished - reassembler.abandoned <= MOST // 60_000


def test_a_datagram_of_eight_thousand_pieces_costs_no_square(tmp_path: Path) -> None:
    frames = shuffled(pieces4(tcp(b"y" * 65_000), size=8))
    with_blocks = read_frames(tmp_path, frames, block=100)
    assert with_blocks.payloads == [b"y" * 65_000]


def test_annex_holds_what_lies_nowhere_in_the_capture(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([Frame(frame) for frame in [segment(b"plain"), *pieces4(tcp(PAYLOAD)), segment(b"again")]]))
    with PacketReader([path]) as packets:
        (block,) = packets.blocks()
        assert (block.at >> 48).tolist() == [0, 1, 0]
        gathered = packets.store.gather(block.at, 5)
    assert [bytes(row) for row in gathered] == [b"plain", PAYLOAD[:5], b"again"]
