"""scapy's sockets, for systems without a ring, give the same packets; here on Linux."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from analyzer.capture.pcapng_format import encode_header
from analyzer.errors import CaptureError
from analyzer.live import scapy_tap
from analyzer.live.interfaces import NetworkInterface
from analyzer.live.scapy_tap import BATCH, ScapyTap
from tests.analyzer.capture.writers import segment
from tests.analyzer.live.wires import PATIENCE, frames_in, frames_of, in_own_network, send, shell
from tests.namespaces import privileged
from tests.needs import LIBPCAP

FRAMES = [frame for frame in frames_of("kafka.pcap") if len(frame) <= 20_000]
WIRE, LO = NetworkInterface("v1", 1, True, False, ()), NetworkInterface("lo", 1, True, True, ())


def captured(tap: ScapyTap, path: Path, count: int) -> list[bytes]:
    """What came up to now, of which there must be `count`."""
    end = time.monotonic() + PATIENCE
    tap.halt()
    with open(path, "wb") as out:
        out.write(encode_header([tap.description]))
        out.flush()
        found = 0
        while found < count and time.monotonic() < end:
            taken = tap.take()
            if taken is not None:
                taken.write(out.fileno())
                found += taken.packets
        assert tap.take() is None
    return frames_in(path)


@privileged
@in_own_network
@LIBPCAP
def test_frames_come_as_they_were_sent(tmp_path: Path) -> None:
    tap = ScapyTap(0, WIRE, "tcp", 96, 8 << 20, True)
    send(FRAMES[:5])
    time.sleep(0.01)
    tap.begin()
    send(FRAMES)
    send([b"\xff" * 12 + b"\x88\xb5" + bytes(50)])
    assert captured(tap, tmp_path / "a", len(FRAMES)) == [frame[:96] for frame in FRAMES]
    assert tap.counters() == (len(FRAMES), 0)
    tap.close()


@privileged
@in_own_network
def test_loopback_gives_each_packet_once(tmp_path: Path) -> None:
    tap = ScapyTap(0, LO, "", 0, 8 << 20, True)
    tap.begin()
    send(FRAMES[:5], "lo")
    assert captured(tap, tmp_path / "a", 5) == FRAMES[:5]
    tap.close()


@privileged
@in_own_network
@LIBPCAP
def test_an_interface_that_goes(tmp_path: Path) -> None:
    tap = ScapyTap(0, WIRE, "", 0, 8 << 20, True)
    tap.begin()
    send(FRAMES[:3])
    shell("ip link set v1 down")
    count, end = 0, time.monotonic() + PATIENCE
    while tap.problem is None and time.monotonic() < end:
        taken = tap.take()
        count += taken.packets if taken is not None else 0
    assert tap.problem == "v1: Network is down"
    assert count == 3
    tap.close()
    with pytest.raises(CaptureError, match=r"^-f tcp prt: can't parse filter expression"):
        ScapyTap(0, WIRE, "tcp prt", 0, 8 << 20, True)


class Endless:
    """A socket of scapy's that always has another packet."""

    def __init__(self, zeros: int, offset: float) -> None:
        self._zeros, self._offset = zeros, offset

    def fileno(self) -> int:
        return self._zeros

    def recv_raw(self, size: int) -> tuple[None, bytes, float]:
        return None, segment(b"hello"), time.time() + self._offset


@pytest.mark.parametrize(("offset", "count"), [(0.0, BATCH), (-3600.0, 0)], ids=["now", "from before"])
def test_traffic_that_never_ends_does_not_keep_it(offset: float, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/zero", "rb") as zeros:
        monkeypatch.setattr(scapy_tap, "open_socket", lambda *_: Endless(zeros.fileno(), offset))
        monkeypatch.setattr(scapy_tap, "LINUX", False)
        monkeypatch.setattr(scapy_tap, "LAST_BATCHES", 7)
        tap = ScapyTap(0, LO, "", 0, 0, False)
        tap.begin()
        taken = [tap.take() for _ in range(20)]
        tap.halt()
        while (found := tap.take()) is not None:
            taken.append(found)
        assert [each.packets for each in taken if each is not None] == ([count] * 27 if count else [])
        assert not tap.has_more
