"""Scapy's readers and layers as the oracle of ours, and that scapy stays away where it is not needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from analyzer.capture.packets import PacketReader
from tests.analyzer.capture.reading import read
from tests.analyzer.capture.test_fragments import PAYLOAD, pieces4
from tests.analyzer.capture.test_network_layers import READ
from tests.analyzer.capture.writers import T0, Frame, Ng, pcap, segment, tcp

TRUTH = Path(__file__).resolve().parents[4] / "shared" / "truth"
CAPTURES = sorted(TRUTH.glob("*/*.pcap.zst"))
SAMPLE = CAPTURES[::9]


def equal(inputs: list[Path]) -> int:
    """How many packets both readers find; they must agree in all of them."""
    ours, theirs = read(inputs), read(inputs, reader="scapy")
    assert ours.packets == theirs.packets
    assert ours.flows == theirs.flows
    assert (ours.source.counts.packets, ours.source.counts.tcp) == (
        theirs.source.counts.packets,
        theirs.source.counts.tcp,
    )
    return len(ours.packets)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("path", SAMPLE, ids=lambda path: path.name.removesuffix(".pcap.zst"))
def test_real_captures(path: Path) -> None:
    assert equal([path]) > 0


@pytest.mark.slow
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name.removesuffix(".pcap.zst"))
def test_all_real_captures(path: Path) -> None:
    assert equal([path]) > 0


@pytest.mark.skipif(not CAPTURES, reason="no captures in ../shared/truth beside this repository")
def test_there_are_real_captures() -> None:
    assert len(CAPTURES) > 100


# Scapy's own link types and layers differ here; each is said why.
DIFFERENT = {
    "three old tags",  # 0x9100 is not bound
    "destination options of 264 bytes",
    "a chain",  # the authentication header is not bound
    "raw IP as 14",
    "cooked v1, IPv6, VLAN",  # scapy's CookedLinux does not bind Dot1Q
    "cooked v2, VLAN",
    "null, big",  # scapy reads the family in this machine's byte order
    *(f"null, IPv6 as {family}" for family in (10, 24, 28, 30)),
    "loopback",
    "loopback, IPv6",
    "IPv6 payload length 0",  # a jumbogram to scapy
    "total length 0, cut by the snap length",
}


@pytest.mark.parametrize("case", [case for case in READ if case.name not in DIFFERENT], ids=str)
def test_layers(tmp_path: Path, case: object) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([Frame(case.data, T0, case.original)], link=case.link))  # type: ignore[attr-defined]
    assert equal([path]) == 1


def test_several_files_fragments_and_pcapng(tmp_path: Path) -> None:
    plain, ng = tmp_path / "a.pcap", tmp_path / "b.pcapng"
    plain.write_bytes(
        pcap([Frame(data, T0 + index) for index, data in enumerate(pieces4(tcp(PAYLOAD)))], magic=0xA1B23C4D)
    )
    blocks = [Ng().section(), Ng().interface((9, b"\x09"))]
    blocks += [Ng().enhanced(segment(bytes([index])), T0 + index) for index in range(8)]
    ng.write_bytes(b"".join(blocks))
    assert equal([plain, ng]) == 9


def test_damage_is_found_by_the_scapy_reader_too(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([Frame(segment(b"a")), Frame(segment(b"b"))])[:-1])
    reading = read(path, reader="scapy")
    assert reading.payloads == [b"a"]
    assert reading.codes == ["damaged-capture"]


def test_the_scapy_reader_does_not_follow(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot follow"):
        PacketReader([tmp_path / "a"], reader="scapy", follow=True)


def test_scapy_is_not_loaded_for_common_packets(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([Frame(segment(b"a"))]))
    program = (
        "import sys\nfrom analyzer.capture.packets import PacketReader\n"
        f"with PacketReader([{str(path)!r}]) as packets: list(packets.blocks())\n"
        "print([name for name in sys.modules if name.startswith('scapy')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert done.stdout == "[]\n"


def test_scapy_all_is_never_loaded(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([Frame(case.data) for case in READ if case.link == 1]))
    program = (
        "import sys\nfrom analyzer.capture.packets import PacketReader\n"
        f"with PacketReader([{str(path)!r}]) as packets: print(sum(map(len, packets.blocks())))\n"
        "print('scapy.layers.l2' in sys.modules, 'scapy.all' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert done.stdout.split()[1:] == ["True", "False"]
    assert done.stderr == ""
