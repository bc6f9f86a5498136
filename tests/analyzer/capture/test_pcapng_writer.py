"""What the capturing process writes is read back as it was, also while it grows and where it is cut."""

from __future__ import annotations

from pathlib import Path

from scapy.utils import RawPcapNgReader

from analyzer.capture.packets import Packets
from analyzer.capture.pcapng_writer import Description, header, packet, statistics
from analyzer.capture.records import Statistics
from tests.analyzer.capture.writers import T0, segment

INTERFACES = [Description("lo", 1), Description("väth0", 113, 96, "tcp port 9092")]
FRAME = segment(b"hello")


def content() -> bytes:
    packets = [packet(0, T0 + number, FRAME, len(FRAME)) for number in range(3)]
    return header(INTERFACES) + b"".join(packets) + statistics(0, T0 + 9, 3, 1)


def test_our_reader_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    path.write_bytes(content())
    with Packets([path]) as packets:
        (block,) = packets.blocks()
        assert block.time.tolist() == [T0, T0 + 1, T0 + 2]
        assert [packets.store.read(at, 5) for at in block.at.tolist()] == [b"hello"] * 3
        assert packets.findings == []
        assert [each.name for each in packets.files[0].interfaces] == ["lo", "väth0"]
        assert packets.files[0].statistics == {0: Statistics(received=3, dropped=1)}


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
    begins = len(header(INTERFACES))
    size = len(packet(0, T0, FRAME, len(FRAME)))
    for cut in range(begins, len(whole), 7):
        path.write_bytes(whole[:cut])
        with Packets([path]) as packets:
            assert sum(map(len, packets.blocks())) == min((cut - begins) // size, 3)
