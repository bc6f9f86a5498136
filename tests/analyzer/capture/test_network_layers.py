"""Link layers, IP and TCP: a table of packets and what is in them."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.analyzer.capture.reading import Reading, read
from tests.analyzer.capture.writers import (
    Frame,
    Ng,
    authentication,
    ethernet,
    extension,
    fragment,
    ipv4,
    ipv6,
    pcap,
    segment,
    tcp,
    udp,
)

V4, V6 = ipv4(tcp(b"hello")), ipv6(tcp(b"hello"))
PORTS = (40_000, 9092)


def cooked(kind: int, payload: bytes) -> bytes:
    return bytes(14) + struct.pack(">H", kind) + payload


def cooked2(kind: int, payload: bytes) -> bytes:
    return struct.pack(">H", kind) + bytes(18) + payload


@dataclass(frozen=True)
class Case:
    name: str
    data: bytes
    link: int = 1
    payload: bytes = b"hello"
    length: int | None = None
    original: int | None = None

    def __str__(self) -> str:
        return self.name


def gre(payload: bytes, kind: int = 0x0800) -> bytes:
    return struct.pack(">HH", 0, kind) + payload


def vxlan(payload: bytes) -> bytes:
    return udp(bytes([8, 0, 0, 0, 0, 0, 9, 0]) + payload, (5555, 4789))


OUTER = ("192.168.0.1", "192.168.0.2")
PPPOE = b"\x11\x00\x00\x01" + struct.pack(">H", len(V4) + 2)

READ = [
    Case("Ethernet, IPv4", ethernet(V4)),
    Case("Ethernet, IPv6", ethernet(V6, 0x86DD)),
    Case("VLAN", ethernet(V4, tags=(0x8100,))),
    Case("QinQ", ethernet(V6, 0x86DD, tags=(0x88A8, 0x8100))),
    Case("three old tags", ethernet(V4, tags=(0x9100, 0x9100, 0x8100))),
    Case("forty tags", ethernet(V4, tags=(0x8100,) * 40)),
    Case("padding is no payload", ethernet(ipv4(tcp(b"")), padding=60), payload=b""),
    Case("padding behind a payload", ethernet(ipv4(tcp(b"hi")), padding=80), payload=b"hi"),
    Case("padding behind IPv6", ethernet(ipv6(tcp(b"hi")), 0x86DD, padding=100), payload=b"hi"),
    Case("cooked v1", cooked(0x0800, V4), 113),
    Case("cooked v1, IPv6, VLAN", cooked(0x8100, b"\0\x05\x86\xdd" + V6), 113),
    Case("cooked v2", cooked2(0x0800, V4), 276),
    Case("cooked v2, IPv6", cooked2(0x86DD, V6), 276),
    Case("cooked v2, VLAN", cooked2(0x8100, b"\0\x05\x08\0" + V4), 276),
    Case("null, little", struct.pack("<I", 2) + V4, 0),
    Case("null, big", struct.pack(">I", 2) + V4, 0),
    *(Case(f"null, IPv6 as {family}", struct.pack("<I", family) + V6, 0) for family in (10, 24, 28, 30)),
    Case("loopback", struct.pack(">I", 2) + V4, 108),
    Case("loopback, IPv6", struct.pack(">I", 24) + V6, 108),
    *(Case(f"raw IP as {link}", V4, link) for link in (12, 14, 101, 228)),
    *(Case(f"raw IPv6 as {link}", V6, link) for link in (12, 101, 229)),
    Case("IPv4 options", ethernet(ipv4(tcp(b"hello"), extra=bytes([1] * 40)))),
    Case("TCP options", ethernet(ipv4(tcp(b"hello", extra=bytes([1] * 40))))),
    Case("both options", ethernet(ipv4(tcp(b"hello", extra=bytes(12)), extra=bytes([1] * 8)), tags=(0x8100,))),
    Case("hop-by-hop", ethernet(ipv6(extension(6, tcp(b"hello")), protocol=0), 0x86DD)),
    Case("destination options of 264 bytes", ethernet(ipv6(extension(6, tcp(b"hello"), 32), protocol=60), 0x86DD)),
    Case(
        "a chain",
        ethernet(
            ipv6(
                extension(43, extension(44, fragment(51, authentication(60, extension(6, tcp(b"hello")))))), protocol=0
            ),
            0x86DD,
        ),
    ),
    Case("total length 0 (TSO)", ethernet(ipv4(tcp(b"x" * 3000), total=0)), payload=b"x" * 3000),
    Case(
        "total length 0, cut by the snap length",
        ethernet(ipv4(tcp(b"x" * 100), total=0)),
        payload=b"x" * 100,
        length=70_000,
        original=14 + 40 + 70_000,
    ),
    Case("IPv6 payload length 0", ethernet(ipv6(tcp(b"x" * 3000), length=0), 0x86DD), payload=b"x" * 3000),
    # By scapy's layers.
    Case("MPLS", ethernet(struct.pack(">I", 77 << 12 | 0x140) + V4, 0x8847)),
    Case("MPLS, two labels, IPv6", ethernet(struct.pack(">II", 5 << 12 | 64, 77 << 12 | 0x140) + V6, 0x8847)),
    Case("PPPoE", ethernet(PPPOE + b"\x00\x21" + V4, 0x8864)),
    Case("GRE", ethernet(ipv4(gre(V4), ends=OUTER, protocol=47))),
    Case("GRE in GRE", ethernet(ipv4(gre(ipv4(gre(V4), ends=OUTER, protocol=47)), ends=OUTER, protocol=47))),
    Case("GRE with Ethernet", ethernet(ipv4(gre(ethernet(V4), 0x6558), ends=OUTER, protocol=47))),
    Case(
        "ERSPAN",
        ethernet(
            ipv4(
                struct.pack(">HHI", 0x1000, 0x88BE, 1) + bytes([16, 1] + [0] * 6) + ethernet(V4),
                ends=OUTER,
                protocol=47,
            )
        ),
    ),
    Case("IP in IP", ethernet(ipv4(V4, ends=OUTER, protocol=4))),
    Case("IPv6 in IPv4", ethernet(ipv4(V6, ends=OUTER, protocol=41))),
    Case("IPv4 in IPv6", ethernet(ipv6(V4, protocol=4), 0x86DD)),
    Case("VXLAN", ethernet(ipv4(vxlan(ethernet(V4)), ends=OUTER, protocol=17))),
    Case("VXLAN, inner VLAN and padding", ethernet(ipv4(vxlan(ethernet(V4, tags=(0x8100,), padding=99)), protocol=17))),
    Case(
        "Geneve",
        ethernet(ipv4(udp(bytes([0, 0, 0x65, 0x58, 0, 0, 1, 0]) + ethernet(V6, 0x86DD), (1, 6081)), protocol=17)),
    ),
    Case("SNAP", bytes(12) + struct.pack(">H", 8 + len(V4)) + b"\xaa\xaa\x03\0\0\0\x08\0" + V4),
    Case("PPP", b"\xff\x03\x00\x21" + V4, 9),
    Case("802.11 data frame", b"\x08\x00" + bytes(22) + b"\xaa\xaa\x03\0\0\0\x08\0" + V4, 105),
]


def write(tmp_path: Path, data: bytes, link: int, original: int | None = None) -> Path:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([Frame(data, original=original)], link=link))
    return path


@pytest.mark.parametrize("case", READ, ids=str)
def test_layers(tmp_path: Path, case: Case) -> None:
    path = write(tmp_path, case.data, case.link, case.original)
    reading = read(path)
    assert reading.findings == []
    (packet,) = reading.packets
    assert packet.payload == case.payload
    assert packet.length == (len(case.payload) if case.length is None else case.length)
    assert (packet.seq, packet.ack, packet.flags) == (1, 2, 0x18)
    v6 = packet.source.startswith("[")
    assert (packet.source, packet.destination) == (
        ("[fd00::1]:40000", "[fd00::2]:9092") if v6 else ("10.0.0.1:40000", "10.0.0.2:9092")
    )
    counts = reading.source.counts
    assert (counts.packets, counts.tcp, counts.not_tcp, counts.unreadable) == (1, 1, 0, 0)


@pytest.mark.parametrize("case", [case for case in READ if case.payload], ids=str)
def test_payload_lies_in_the_capture(tmp_path: Path, case: Case) -> None:
    path = write(tmp_path, case.data, case.link, case.original)
    from analyzer.capture.packets import PacketReader

    with PacketReader([path]) as packets:
        (block,) = packets.blocks()
        at = int(block.at[0])
        assert at >> 48 == 0
        assert path.read_bytes()[at:][: len(case.payload)] == case.payload


NOT_READ = [
    Case("ARP", ethernet(bytes(28), 0x0806)),
    Case("UDP", ethernet(ipv4(udp(b"hello", (53, 53)), protocol=17))),
    Case("ICMP with a quoted packet", ethernet(ipv4(bytes([3, 3]) + bytes(6) + V4, protocol=1))),
    Case("ICMP in GRE", ethernet(ipv4(gre(ipv4(bytes([3, 3]) + bytes(6) + V4, protocol=1)), ends=OUTER, protocol=47))),
    Case("spanning tree", bytes(12) + b"\x00\x26\x42\x42\x03" + bytes(35)),
    Case("null of another family", struct.pack("<I", 7) + V4, 0),
    Case("raw of another version", b"\x50" + V4, 101),
    Case("UDP fragment", ethernet(ipv4(bytes(64), protocol=17, more=True))),
    Case("IPv6 no next header", ethernet(ipv6(b"", protocol=59), 0x86DD)),
    Case("ESP", ethernet(ipv4(bytes(64), protocol=50))),
]
UNREADABLE = [
    Case("no frame", b""),
    Case("Ethernet cut", ethernet(b"")[:13]),
    Case("tag cut", ethernet(V4, tags=(0x8100,))[:17]),
    Case("sixty-five tags cut", ethernet(b"", 0x8100, tags=(0x8100,) * 65)[:200]),
    Case("IPv4 cut", ethernet(V4)[:33]),
    Case("IPv4 options cut", ethernet(ipv4(tcp(b"hello"), extra=bytes(20)))[:50]),
    Case("TCP cut", ethernet(V4)[:47]),
    Case("IPv6 cut", ethernet(V6, 0x86DD)[:53]),
    Case("extension cut", ethernet(ipv6(extension(6, tcp(b"hello"), 32), protocol=60), 0x86DD)[:80]),
    Case("IPv4 says 6", ethernet(b"\x65" + V4[1:])),
    Case("IPv6 says 4", ethernet(b"\x40" + V6[1:], 0x86DD)),
    Case("header of four bytes", ethernet(b"\x41" + V4[1:])),
    Case("total shorter than the header", ethernet(ipv4(tcp(b"hello"), total=19))),
    Case("total shorter than TCP", ethernet(ipv4(tcp(b"hello"), total=39))),
    Case("data offset 4", ethernet(ipv4(tcp()[:12] + b"\x40" + tcp()[13:]))),
    Case("data offset beyond", ethernet(ipv4(tcp()[:12] + b"\xf0" + tcp()[13:]))),
    Case("IPv6 shorter than its extension", ethernet(ipv6(extension(6, tcp(), 32), protocol=60, length=100), 0x86DD)),
    Case("too many extensions", ethernet(ipv6(extension(60, b"") * 40, protocol=60), 0x86DD)),
    Case("cooked cut", cooked(0x0800, b"")[:15], 113),
    Case("cooked v2 cut", cooked2(0x0800, b"")[:19], 276),
    Case("null cut", b"\2\0\0", 0),
    Case("raw, empty", b"", 101),
]


@pytest.mark.parametrize("case", NOT_READ, ids=str)
def test_not_tcp(tmp_path: Path, case: Case) -> None:
    counts = read(write(tmp_path, case.data, case.link)).source.counts
    assert (counts.packets, counts.tcp, counts.not_tcp, counts.unreadable) == (1, 0, 1, 0)


@pytest.mark.parametrize("case", UNREADABLE, ids=str)
def test_unreadable(tmp_path: Path, case: Case) -> None:
    counts = read(write(tmp_path, case.data, case.link)).source.counts
    assert (counts.packets, counts.tcp, counts.not_tcp, counts.unreadable) == (1, 0, 0, 1)


def test_unknown_link_type_is_reported_once(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([Frame(V4)] * 3, link=147))
    reading = read(path)
    assert reading.packets == []
    assert reading.codes == ["unreadable-packet"]
    assert "link type 147" in reading.findings[0]
    assert reading.source.counts.unreadable == 3


def test_link_types_mixed_in_one_file(tmp_path: Path) -> None:
    ng = Ng()
    path = tmp_path / "a.pcapng"
    links = [1, 113, 276, 0, 108, 101]
    heads = {
        1: ethernet(b""),
        113: cooked(0x0800, b""),
        276: cooked2(0x0800, b""),
        0: b"\2\0\0\0",
        108: b"\0\0\0\2",
        101: b"",
    }
    blocks = [ng.section(), *(ng.interface(link=link) for link in links)]
    for number in range(60):
        kind = number % 6
        blocks.append(ng.enhanced(heads[links[kind]] + ipv4(tcp(str(number).encode())), number, interface=kind))
    path.write_bytes(b"".join(blocks))
    assert read(path).payloads == [str(number).encode() for number in range(60)]


def both(tmp_path: Path, *frames: bytes) -> Reading:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([Frame(frame) for frame in frames]))
    return read(path)


def test_ipv4_mapped_address_stays_ipv6(tmp_path: Path) -> None:
    mapped = ethernet(ipv6(tcp(b"a"), ends=("::ffff:10.0.0.1", "::ffff:10.0.0.2")), 0x86DD)
    reading = both(tmp_path, mapped, ethernet(V4))
    assert reading.flows == [("[::ffff:10.0.0.1]:40000", "[::ffff:10.0.0.2]:9092"), ("10.0.0.1:40000", "10.0.0.2:9092")]


def test_vlan_is_no_part_of_a_flow_and_side_a_is_the_first_sender(tmp_path: Path) -> None:
    back = ethernet(ipv4(tcp(b"back", ports=PORTS[::-1]), ends=("10.0.0.2", "10.0.0.1")), tags=(0x8100,))
    reading = both(tmp_path, back, segment(b"there"))
    assert reading.flows == [("10.0.0.2:9092", "10.0.0.1:40000")]
    assert [packet.source for packet in reading.packets] == ["10.0.0.2:9092", "10.0.0.1:40000"]


def test_a_connection_to_itself_has_one_direction(tmp_path: Path) -> None:
    own = ethernet(ipv4(tcp(b"x", ports=(5, 5)), ends=("10.0.0.1", "10.0.0.1")))
    assert both(tmp_path, own, own).flows == [("10.0.0.1:5", "10.0.0.1:5")]
