"""The usual packet read in one go is what the slow path makes of it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from analyzer.capture import packet_decoder
from tests.analyzer.capture.reading import Reading, read
from tests.analyzer.capture.writers import T0, Frame, ethernet, ipv4, pcap, segment, tcp

LINKS = {1: bytes(12), 113: bytes(14), 276: b""}
"""LINKTYPE -> what stands before the EtherType."""


def packet(link: int, rng: random.Random) -> bytes:
    """A segment, sound or with one byte of its headers changed."""
    inside = ethernet(ipv4(tcp(rng.randbytes(rng.randrange(40)), seq=rng.randrange(1 << 32))))[12:]
    typed = inside if link != 276 else inside[:2] + bytes(18) + inside[2:]
    data = bytearray(LINKS[link] + typed)
    if rng.random() < 0.5:
        data[rng.randrange(min(len(data), 70))] = rng.choice((0, 1, 6, 0x45, 0x46, 0x50, 0xFF, rng.randrange(256)))
    return bytes(data[: rng.randrange(len(data))] if rng.random() < 0.1 else data)


def both(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Reading, Reading]:
    fast = read(path)
    monkeypatch.setattr(packet_decoder, "read_usual_segments", lambda *_: None)
    return fast, read(path)


@pytest.mark.parametrize("link", LINKS)
def test_sound_and_hostile_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, link: int) -> None:
    rng = random.Random(link)
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([Frame(packet(link, rng), T0 + index) for index in range(3000)], link=link))
    fast, plain = both(path, monkeypatch)
    assert fast.packets == plain.packets
    assert fast.flows == plain.flows
    assert fast.source.counts == plain.source.counts
    assert fast.findings == plain.findings
    assert 1500 < len(fast.packets) < 3000


def test_the_usual_packet_does_not_take_the_slow_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([Frame(segment(b"abc", seq=index)) for index in range(10)]))
    monkeypatch.setattr(packet_decoder.PacketDecoder, "_decode_scalar", lambda *_: pytest.fail("took the slow path"))
    assert read(path).payloads == [b"abc"] * 10
