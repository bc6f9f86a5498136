from __future__ import annotations

import struct
from pathlib import Path

import pytest

from analyzer.capture.packets import PacketReader
from analyzer.errors import CaptureError
from tests.analyzer.capture.reading import read
from tests.analyzer.capture.writers import NS, T0, Frame, pcap, segment

FRAMES = [Frame(segment(bytes([65 + index]) * (index + 1), seq=index), T0 + 1000 * index) for index in range(4)]
PAYLOADS = [b"A", b"BB", b"CCC", b"DDDD"]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("magic", [0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34], ids=hex)
def test_every_layout(tmp_path: Path, order: str, magic: int) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(FRAMES, order=order, magic=magic, snaplen=2048))
    reading = read(path)
    assert reading.payloads == PAYLOADS
    assert [packet.time for packet in reading.packets] == [frame.time for frame in FRAMES]
    assert [packet.number for packet in reading.packets] == [1, 2, 3, 4]
    assert reading.findings == []
    (info,) = reading.source.files
    assert (info.format, info.byte_order, info.snaplen) == ("pcap", "little" if order == "<" else "big", 2048)
    assert info.interfaces[0].tsresol == (NS if magic == 0xA1B23C4D else 10**6)
    assert (info.packets, info.first, info.last) == (4, FRAMES[0].time, FRAMES[3].time)
    assert info.original == sum(frame.wire for frame in FRAMES)


def test_nanoseconds_are_retained(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([Frame(segment(), T0 + 123_456_789)], magic=0xA1B23C4D))
    assert read(path).packets[0].time == T0 + 123_456_789


def test_bits_above_the_link_type_are_no_link_type(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(FRAMES, link=1 | 0x2400_0000))
    assert read(path).payloads == PAYLOADS


def test_header_alone_is_an_empty_capture(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap())
    reading = read(path)
    assert reading.packets == []
    assert reading.findings == []
    assert reading.source.files[0].first is None


@pytest.mark.parametrize("follow", [False, True])
def test_cut_anywhere(tmp_path: Path, follow: bool) -> None:
    whole = pcap(FRAMES)
    ends = [24]
    for frame in FRAMES:
        ends.append(ends[-1] + 16 + len(frame.data))
    path = tmp_path / "cut.pcap"
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        if size < 24 and not follow:
            with pytest.raises(CaptureError, match="cut"):
                PacketReader([path])
            continue
        if follow:
            with PacketReader([path], follow=True) as packets:
                packets.stop()
                if size < 24:
                    continue
                assert sum(map(len, packets.blocks())) == sum(end <= size for end in ends[1:])
                assert packets.findings == [], "a file that is still written is not damaged"
            continue
        reading = read(path)
        before = sum(end <= size for end in ends[1:])
        assert reading.payloads == PAYLOADS[:before]
        if size in ends:
            assert reading.findings == []
        else:
            assert reading.codes == ["damaged-capture"]
            assert f"cut.pcap is damaged at byte {ends[before]}" in reading.findings[0]


@pytest.mark.parametrize("claimed", [0x7FFF_FFFF, 0xFFFF_FFFF, 0x2000_0000, 300_000])
@pytest.mark.parametrize("follow", [False, True])
def test_absurd_length_is_damage_at_its_record(tmp_path: Path, claimed: int, follow: bool) -> None:
    whole = bytearray(pcap(FRAMES))
    third = 24 + sum(16 + len(frame.data) for frame in FRAMES[:2])
    struct.pack_into("<I", whole, third + 8, claimed)
    path = tmp_path / "a.pcap"
    path.write_bytes(whole)
    with PacketReader([path], follow=follow) as packets:
        packets.stop()
        assert sum(map(len, packets.blocks())) == 2
        (finding,) = packets.findings
    assert (finding.code, finding.offset) == ("damaged-capture", third)


def test_packet_larger_than_the_usual_snap_length(tmp_path: Path) -> None:
    frame = segment(b"x" * 40_000) + bytes(300_000)
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([Frame(frame), *FRAMES], snaplen=65_535))
    assert [len(payload) for payload in read(path).payloads] == [40_000, 1, 2, 3, 4]


def test_snap_length_cuts_payload(tmp_path: Path) -> None:
    frame = segment(b"0123456789")
    path = tmp_path / "a.pcap"
    cuts = [len(frame), len(frame) - 4, len(frame) - 10, 14 + 20 + 14, 14 + 20 + 13]
    path.write_bytes(pcap([Frame(frame[:size], original=len(frame)) for size in cuts]))
    reading = read(path)
    assert reading.payloads == [b"0123456789", b"012345", b"", b""]
    assert [packet.length for packet in reading.packets] == [10] * 4
    assert reading.source.counts.cut == 4
    assert reading.source.counts.unreadable == 1
