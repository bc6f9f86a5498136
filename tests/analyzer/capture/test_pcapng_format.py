"""What the capturing process writes is read back as it was, also while it grows and where it is cut."""

from __future__ import annotations

from pathlib import Path

from scapy.utils import RawPcapNgReader

from analyzer.capture.packets import PacketReader
from analyzer.capture.pcapng_format import InterfaceDescription, encode_header, encode_packet, encode_statistics
from analyzer.capture.records import InterfaceStatistics
from tests.analyzer.capture.writers import T0, segment

INTERFACES = [InterfaceDescription("lo", 1), InterfaceDescription("väth0", 113, 96, "tcp port 9092")]
FRAME = segment(b"hello")


def content() -> bytes:
    packets = [encode_packet(0, T0 + number, FRAME, len(FRAME)) for number in range(3)]
    return encode_header(INTERFACES) + b"".join(packets) + encode_statistics(0, T0 + 9, 3, 1)


def test_our_reader_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    path.write_bytes(content())
    with PacketReader([path]) as packets:
        (block,) = packets.blocks()
        assert block.time.tolist() == [T0, T0 + 1, T0 + 2]
        assert [packets.store.read_bytes(at, 5) for at in block.at.tolist()] == [b"hello"] * 3
        assert packets.findings == []
        assert [each.name for each in packets.files[0].interfaces] == ["lo", "väth0"]
        assert packets.files[0].statistics == {0: InterfaceStatistics(received=3, dropped=1)}


def test_scapy_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    path.write_bytes(content())
    with RawPcapNgReader(str(path)) as reader:
        found = list(reader)
    assert [data for data, _ in found] == [FRAME] * 3
    assert [(meta.tshigh << 32 | meta.tslow, meta.wirelen, meta.linktype) for _, meta in found] == [
        (T0 + number, len(FRAME), 1) for number in range(3)
    ]


def test_a_cut_file_has_all_packets_before_the_cut(tmp_path: Path) -> None:
    path, whole = tmp_path / "a.pcapng", content()
    begins = len(encode_header(INTERFACES))
    size = len(encode_packet(0, T0, FRAME, len(FRAME)))
    for cut in range(begins, len(whole), 7):
        path.write_bytes(whole[:cut])
        with PacketReader([path]) as packets:
            assert sum(map(len, packets.blocks())) == min((cut - begins) // size, 3)
