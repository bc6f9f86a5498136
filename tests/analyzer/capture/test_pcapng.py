from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import pytest

from analyzer.capture.packets import PacketReader
from analyzer.capture.records import InterfaceStatistics
from analyzer.errors import CaptureError
from tests.analyzer.capture.reading import read
from tests.analyzer.capture.writers import NS, T0, Ng, segment

MICROS = T0 // 1000
DATA = [segment(bytes([65 + index]) * (index + 1), seq=index) for index in range(6)]
LITTLE, BIG = Ng("<"), Ng(">")


def written(tmp_path: Path, *blocks: bytes | bytearray) -> Path:
    path = tmp_path / "a.pcapng"
    path.write_bytes(b"".join(blocks))
    return path


@pytest.mark.parametrize("ng", [LITTLE, BIG], ids=["little", "big"])
def test_every_block_kind(tmp_path: Path, ng: Ng) -> None:
    path = written(
        tmp_path,
        ng.section((1, b"of the section"), (2, b"a machine"), (3, b"an OS"), (4, b"a program")),
        ng.interface((2, b"eth0"), snaplen=4096),
        ng.enhanced(DATA[0], MICROS),
        ng.other(5, bytes(12)),
        ng.obsolete(DATA[1], MICROS + 1),
        ng.simple(DATA[2]),
        ng.other(10, b"secrets"),
        ng.other(0xBAD, bytes(8)),
        ng.other(0x4000_0BAD, bytes(8)),
        ng.other(0x8000_0001),
        ng.names(("10.0.0.1", b"broker-1\0alias"), ("fd00::1", b"broker-6"), ("10.0.0.1", b"other\0alias")),
        ng.enhanced(DATA[3], MICROS + 2, (1, "größer".encode()), (2, bytes(4))),
        ng.enhanced(DATA[4], MICROS + 3, (2, bytes(4)), (1, b"two"), (1, b"three")),
    )
    reading = read(path)
    assert reading.payloads == [b"A", b"BB", b"CCC", b"DDDD", b"EEEEE"]
    # A simple packet takes the time of the packet before it.
    assert [packet.time - T0 for packet in reading.packets] == [0, 1000, 1000, 2000, 3000]
    assert reading.findings == []
    (info,) = reading.source.files
    assert (info.format, info.byte_order) == ("pcapng", "little" if ng is LITTLE else "big")
    assert (info.comment, info.hardware, info.os, info.application) == (
        "of the section",
        "a machine",
        "an OS",
        "a program",
    )
    assert info.capture_comments == ["of the section"]
    assert info.names == {"10.0.0.1": ["broker-1", "other", "alias"], "fd00::1": ["broker-6"]}
    assert [(one.name, one.link, one.snaplen, one.tsresol) for one in info.interfaces] == [("eth0", 1, 4096, 10**6)]


@dataclass(frozen=True)
class Resolution:
    name: str
    value: int
    ticks: int
    time: int

    def __str__(self) -> str:
        return self.name


RESOLUTIONS = [
    Resolution("seconds", 0, 1_700_000_000, T0),
    Resolution("milliseconds", 3, 1_700_000_000_123, T0 + 123_000_000),
    Resolution("microseconds", 6, 1_700_000_000_123_456, T0 + 123_456_000),
    Resolution("nanoseconds", 9, T0 + 123_456_789, T0 + 123_456_789),
    Resolution("picoseconds", 12, 5_000_000_123_999, 5_000_000_123),
    Resolution("10^-40", 40, 2**64 - 1, 0),
    Resolution("2^-0", 0x80, 1_700_000_000, T0),
    Resolution("2^-20", 0x80 | 20, (1_700_000_000 << 20) + 1, T0 + NS // 2**20),
    Resolution("2^-31", 0x80 | 31, (1_700_000_000 << 31) + 2**31 - 1, T0 + NS - 1),
    Resolution("2^-32", 0x80 | 32, (1_700_000_000 << 32) + 2**32 - 1, T0 + NS - 1),
    Resolution("2^-33", 0x80 | 33, (1_700_000_000 << 33) + 3, T0 + 3 * NS // 2**33),
    Resolution("2^-63", 0x80 | 63, 2**63 + 2**62, 3 * NS // 2),
    Resolution("2^-120", 0x80 | 120, 2**64 - 1, 0),
    Resolution("saturates", 0, 2**64 - 1, 9_223_372_036 // 2 * NS),
]


@pytest.mark.parametrize("case", RESOLUTIONS, ids=str)
@pytest.mark.parametrize("offset", [0, 3600, -3600])
def test_time_resolution_and_offset(tmp_path: Path, case: Resolution, offset: int) -> None:
    pairs = [(9, bytes([case.value])), (14, struct.pack("<q", offset))]
    path = written(tmp_path, LITTLE.section(), LITTLE.interface(*pairs), LITTLE.enhanced(DATA[0], case.ticks))
    assert read(path).packets[0].time == case.time + offset * NS


def test_hostile_offset_saturates(tmp_path: Path) -> None:
    for offset in (2**63 - 1, -(2**63)):
        pairs = [(9, b"\x09"), (14, struct.pack("<q", offset))]
        path = written(tmp_path, LITTLE.section(), LITTLE.interface(*pairs), LITTLE.enhanced(DATA[0], T0))
        assert abs(read(path).packets[0].time) > 2**61


def test_sections_change_byte_order_and_interfaces(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        BIG.section(),
        BIG.interface((9, b"\x03")),
        BIG.interface((9, b"\x09"), link=101),
        BIG.enhanced(DATA[0], T0 // 10**6),
        BIG.enhanced(DATA[1][14:], T0 + 5, interface=1),
        LITTLE.section(),
        LITTLE.interface((9, b"\x09")),
        LITTLE.enhanced(DATA[2], T0 + 6),
        BIG.section(),
        BIG.interface(link=101),
        BIG.enhanced(DATA[3][14:], MICROS + 1),
        BIG.interface(),
        BIG.enhanced(DATA[4], MICROS + 2, interface=1),
    )
    reading = read(path)
    assert reading.payloads == [b"A", b"BB", b"CCC", b"DDDD", b"EEEEE"]
    assert [packet.time - T0 for packet in reading.packets] == [0, 5, 6, 1000, 2000]
    assert len(reading.source.files[0].interfaces) == 5


def test_simple_packets_are_cut_by_the_snap_length(tmp_path: Path) -> None:
    data = segment(b"0123456789")
    path = written(
        tmp_path,
        LITTLE.section(),
        LITTLE.interface(snaplen=60),
        LITTLE.simple(data[:60], len(data)),
        LITTLE.simple(data[:50]),
    )
    reading = read(path)
    assert reading.payloads == [b"012345", b""]
    assert [packet.length for packet in reading.packets] == [10, 10]
    assert [packet.time for packet in reading.packets] == [0, 0]


def test_undefined_interface_is_left_out_with_one_finding(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        LITTLE.section(),
        LITTLE.enhanced(DATA[5], MICROS),
        LITTLE.interface(),
        LITTLE.enhanced(DATA[0], MICROS),
        LITTLE.enhanced(DATA[1], MICROS, interface=1),
        LITTLE.enhanced(DATA[2], MICROS, interface=2**32 - 1),
        LITTLE.enhanced(DATA[3], MICROS, (1, b"second")),
    )
    reading = read(path)
    assert reading.payloads == [b"A", b"DDDD"]
    assert reading.codes == ["damaged-capture"]
    assert "a.pcapng, byte 28: " in reading.findings[0]
    assert reading.source.comments.column("packet").tolist() == [2]


BLOCKS = [
    LITTLE.section(),
    LITTLE.interface((2, b"eth0")),
    LITTLE.enhanced(DATA[0], MICROS, (1, b"c")),
    LITTLE.other(5, bytes(8)),
    LITTLE.simple(DATA[1]),
    LITTLE.names(("10.0.0.1", b"a")),
    LITTLE.enhanced(DATA[2], MICROS),
]


def test_cut_anywhere(tmp_path: Path) -> None:
    whole = b"".join(BLOCKS)
    ends = [sum(map(len, BLOCKS[: index + 1])) for index in range(len(BLOCKS))]
    packet_ends = [ends[2], ends[4], ends[6]]
    path = tmp_path / "cut.pcapng"
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        if size < ends[0]:
            with pytest.raises(CaptureError, match="cut"):
                PacketReader([path])
            continue
        reading = read(path)
        before = sum(end <= size for end in packet_ends)
        assert reading.payloads == [b"A", b"BB", b"CCC"][:before]
        if size in ends:
            assert reading.findings == []
        else:
            start = max(end for end in ends if end <= size)
            assert reading.codes == ["damaged-capture"]
            assert f"cut.pcapng is damaged at byte {start}" in reading.findings[0]


@pytest.mark.parametrize("position", [4, -4], ids=["before", "behind"])
@pytest.mark.parametrize("value", [0, 8, 33, 2**20, 2**28, 2**30, 2**32 - 4])
@pytest.mark.parametrize("which", range(1, len(BLOCKS)))
def test_wrong_lengths_are_damage(tmp_path: Path, which: int, value: int, position: int) -> None:
    blocks = [bytearray(block) for block in BLOCKS]
    struct.pack_into("<I", blocks[which], position % len(blocks[which]), value)
    reading = read(written(tmp_path, *blocks))
    packets_before = sum(index < which for index in (2, 4, 6))
    skipped = which == 3 and position == -4
    assert reading.payloads == [b"A", b"BB", b"CCC"][: 3 if skipped else packets_before]
    assert reading.codes == ([] if skipped else ["damaged-capture"])


def test_captured_length_beyond_its_block(tmp_path: Path) -> None:
    bad = bytearray(LITTLE.enhanced(DATA[1], MICROS))
    struct.pack_into("<I", bad, 20, len(DATA[1]) + 100)
    reading = read(written(tmp_path, LITTLE.section(), LITTLE.interface(), LITTLE.enhanced(DATA[0], 1), bad, bad))
    assert reading.payloads == [b"A"]
    assert len(reading.findings) == 1


def test_section_without_byte_order_mark(tmp_path: Path) -> None:
    broken = bytearray(LITTLE.section())
    broken[8] ^= 1
    path = written(tmp_path, LITTLE.section(), LITTLE.interface(), LITTLE.enhanced(DATA[0], 1), broken)
    assert read(path).codes == ["damaged-capture"]
    with pytest.raises(CaptureError, match="is not a capture"):
        PacketReader([written(tmp_path, broken)])


DROPPED, OS_DROPPED = (5, 3), (7, 4)


@pytest.mark.parametrize("ng", [LITTLE, BIG], ids=["little", "big"])
def test_statistics_are_the_last_of_each_interface(tmp_path: Path, ng: Ng) -> None:
    path = written(
        tmp_path,
        ng.section(),
        ng.interface((2, b"a")),
        ng.interface((2, b"b")),
        ng.statistics(0, (4, 10), DROPPED),
        ng.enhanced(DATA[0], MICROS),
        ng.statistics(0, (4, 20), DROPPED, OS_DROPPED),
        ng.statistics(2, (4, 1), DROPPED),  # there is no such interface
        ng.other(5, b"bent"),
        ng.section(),
        ng.interface((2, b"c")),
        ng.enhanced(DATA[1], MICROS + 1),
        ng.statistics(0, DROPPED),
        ng.statistics(0, (4, 30)),  # says nothing of drops
        ng.enhanced(DATA[2], MICROS + 2),
    )
    reading = read(path)
    assert reading.payloads == [b"A", b"BB", b"CCC"]
    assert reading.findings == []
    assert reading.source.files[0].statistics == {0: InterfaceStatistics(20, 7), 2: InterfaceStatistics(0, 3)}
