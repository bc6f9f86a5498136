"""Linux's ring gives what came over the wire: each packet once, in order, byte for byte, and counts what it lost."""

from __future__ import annotations

import errno
import select
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from analyzer.capture.packets import PacketReader
from analyzer.capture.pcapng_format import encode_header
from analyzer.errors import CaptureError
from analyzer.live.packet_ring import BLOCK, RETIRE, PacketRing
from analyzer.live.taps import PacketBatch
from tests.analyzer.live.wires import PATIENCE, frames_in, frames_of, in_own_network, send, shell
from tests.namespaces import privileged
from tests.needs import LIBPCAP

pytestmark = privileged

Ring = Callable[..., PacketRing]

FRAMES = [frame for frame in frames_of("kafka.pcap") if len(frame) <= 20_000]
OUTGOING = 4


@pytest.fixture
def ring() -> Iterator[Ring]:
    """Opens rings, which are closed when the test is over."""
    with ExitStack() as stack:

        def opened(name: str | None, expression: str = "", snaplen: int = 0, blocks: int = 16) -> PacketRing:
            return stack.enter_context(closing(PacketRing(0, name, expression, snaplen, blocks * BLOCK, True)))

        yield opened


def all_of(tap: PacketRing, path: Path) -> int:
    """Halts it, and writes what it has; how many packets."""
    tap.halt()
    count, end = 0, time.monotonic() + PATIENCE
    with open(path, "wb") as out:
        out.write(encode_header([tap.description]))
        out.flush()
        while (taken := tap.take()) is not None or tap.has_more:
            assert time.monotonic() < end
            if taken is None:
                select.select([tap], [], [], RETIRE / 1000)
            else:
                taken.write(out.fileno())
                count += taken.packets
    return count


@in_own_network
def test_frames_come_as_they_were_sent(ring: Ring, tmp_path: Path) -> None:
    tap = ring("v1")
    send(FRAMES[:9])  # before it begins: none of its business
    tap.begin()
    before = time.time_ns()
    send(FRAMES)
    assert all_of(tap, tmp_path / "a") == len(FRAMES)
    assert frames_in(tmp_path / "a") == FRAMES
    assert tap.counters() == (len(FRAMES), 0)
    with PacketReader([tmp_path / "a"]) as packets:
        times = [time for block in packets.blocks() for time in block.time.tolist()]
    assert times == sorted(times)
    assert before < times[0] < times[-1] < time.time_ns()
    send(FRAMES[:9])  # it keeps nothing now
    tap.begin()
    send(FRAMES[-5:])
    assert all_of(tap, tmp_path / "b") == 5
    assert frames_in(tmp_path / "b") == FRAMES[-5:]


@in_own_network
@LIBPCAP
def test_only_the_requested_bytes_of_the_requested_packets(ring: Ring, tmp_path: Path) -> None:
    taps = [ring("v1", "tcp", 60), ring("v1", "not tcp"), ring(None, "tcp", 60)]
    for tap in taps:
        tap.begin()
    send([*FRAMES[:3], b"\xff" * 12 + b"\x88\xb5" + bytes(50), *FRAMES[3:5]])
    for number, (tap, count) in enumerate(zip(taps, [5, 1, 10], strict=True)):
        assert all_of(tap, tmp_path / f"{number}") == count
    assert frames_in(tmp_path / "0") == [frame[:60] for frame in FRAMES[:5]]
    assert frames_in(tmp_path / "1") == [b"\xff" * 12 + b"\x88\xb5" + bytes(50)]
    received = [frame for frame in frames_in(tmp_path / "2") if frame[10] != OUTGOING]
    assert [frame[20:] for frame in received] == [frame[14:54] for frame in FRAMES[:5]]


@in_own_network
@LIBPCAP
def test_tags_that_the_kernel_takes_off_are_there(ring: Ring, tmp_path: Path) -> None:
    taps = [ring("v1"), ring("v1", "vlan 5 and tcp port (29092 or 29192)", 60), ring("v1", "not vlan")]
    for tap in taps:
        tap.begin()
    small = [frame for frame in FRAMES if len(frame) < 1500][:20]
    tagged = [frame[:12] + b"\x81\x00\x00\x05" + frame[12:] for frame in small]
    send(tagged)
    for number, (tap, count) in enumerate(zip(taps, [len(small), len(small), 0], strict=True)):
        assert all_of(tap, tmp_path / f"{number}") == count
    assert frames_in(tmp_path / "0") == tagged
    assert frames_in(tmp_path / "1") == [frame[:60] for frame in tagged]


def packets_in(path: Path) -> int:
    with PacketReader([path]) as packets:
        list(packets.blocks())
        return packets.counts.packets


@in_own_network
@LIBPCAP
def test_loopback_gives_each_packet_once(ring: Ring, tmp_path: Path) -> None:
    """As many as tcpdump sees, the same ones: small ones of both versions, and a stream in segments beyond any MTU."""
    recorded = tmp_path / "recorded"
    command = ["tcpdump", "-i", "lo", "-w", str(recorded), "-U", "--immediate-mode", "-B", "65536", "-Z", "root"]
    taps = [ring("lo"), ring(None), ring(None, "tcp port 9092")]
    for tap in taps:
        tap.begin()
    other = subprocess.Popen(command, stderr=subprocess.PIPE)
    try:
        assert other.stderr is not None
        other.stderr.readline()
        for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            with socket.socket(family, socket.SOCK_DGRAM) as out:
                out.connect((address, 9))
                out.send(b"once")
            with (
                socket.create_server((address, 9092), family=family) as server,
                socket.create_connection(server.getsockname()[:2]) as client,
                server.accept()[0] as accepted,
            ):
                for _ in range(20):
                    client.sendall(bytes(200_000))
                    left = 200_000
                    while left:
                        left -= len(accepted.recv(left))
        counts = [all_of(tap, tmp_path / f"{number}") for number, tap in enumerate(taps)]
        end = time.monotonic() + PATIENCE
        while packets_in(recorded) < counts[0] and time.monotonic() < end:
            time.sleep(0.05)
    finally:
        other.terminate()
        other.communicate(timeout=PATIENCE)
    assert packets_in(recorded) == counts[0] == counts[1]
    plain, cooked = frames_in(recorded), frames_in(tmp_path / "1")
    # Two processors may have come to two sockets in different orders.
    assert sorted(frames_in(tmp_path / "0")) == sorted(plain)
    assert max(map(len, plain)) > 1 << 16
    assert sorted(frame[20:] for frame in cooked) == sorted(frame[14:] for frame in plain)
    assert {struct.unpack_from(">H", frame)[0] for frame in cooked} == {0x0800, 0x86DD}
    assert 0 < counts[2] == sum(b"once" not in frame and frame[20:][6 if frame[1] else 9] == 6 for frame in cooked)


@in_own_network
def test_what_does_not_fit_is_counted(ring: Ring, tmp_path: Path) -> None:
    """Nobody takes anything until the ring is full: what it holds by then is whole, and all the rest is told."""
    tap = ring("v1", blocks=4)
    tap.begin()
    big = max(FRAMES, key=len)
    count = 5 * BLOCK // len(big) + 1
    send([big] * count)
    remaining = all_of(tap, tmp_path / "a")
    received, dropped = tap.counters()
    assert dropped > 0
    assert (received, remaining) == (count, count - dropped)
    assert frames_in(tmp_path / "a") == [big] * remaining
    tap.begin()
    assert tap.counters() == (0, 0)
    send(FRAMES[:5])
    assert all_of(tap, tmp_path / "b") == 5


@pytest.mark.parametrize(
    ("change", "text", "back"),
    [("ip link set v1 down", "v1 is down", "ip link set v1 up"), ("ip link del v1", "v1 is gone", None)],
)
@in_own_network
def test_an_interface_that_goes(ring: Ring, change: str, text: str, back: str | None, tmp_path: Path) -> None:
    """What came before is there; when it is back, it is captured again."""
    tap = ring("v1")
    tap.begin()
    send(FRAMES[:7])
    shell(change)
    taken: list[PacketBatch] = []
    end = time.monotonic() + PATIENCE
    while tap.problem is None and time.monotonic() < end:
        select.select([tap], [], [], RETIRE / 1000)
        taken += filter(None, [tap.take()])
    assert tap.problem == text
    assert sum(each.packets for each in taken) == 7
    if back is None:
        tap.begin()
        assert tap.problem == text
    else:
        shell(f"{back}; for each in $(seq 1200); do ip link show v0 | grep -q 'state UP' && exit; sleep 0.05; done")
        tap.begin()
        send(FRAMES[:5])
        assert all_of(tap, tmp_path / "a") == 5


@in_own_network
def test_what_cannot_be_opened_is_a_sentence(ring: Ring) -> None:
    shell("ip link set v1 down")
    for name, text in (
        ("v1", "v1 is down. Bring it up with ip link set v1 up."),
        ("none", "Cannot capture on none: No such device."),
    ):
        with pytest.raises(CaptureError) as raised:
            ring(name)
        assert str(raised.value).endswith(text)


class Grudging:
    """A kernel that has memory for some blocks."""

    def __init__(self, most: int) -> None:
        self.most, self.asked = most, list[int]()

    def setsockopt(self, level: int, option: int, request: bytes) -> None:
        self.asked.append(struct.unpack("7I", request)[1])
        if self.asked[-1] > self.most:
            raise OSError(errno.ENOMEM, "no memory")


@pytest.mark.parametrize(
    ("wanted", "most", "asked"),
    [(128, 200, [128]), (128, 40, [128, 64, 32]), (100, 5, [100, 50, 25, 12, 6, 4]), (4, 1, [4])],
)
def test_a_kernel_short_of_memory_gets_smaller_requests(wanted: int, most: int, asked: list[int]) -> None:
    tap = PacketRing.__new__(PacketRing)
    kernel = Grudging(most)
    tap._socket = kernel  # type: ignore[assignment]
    if most < asked[-1]:
        with pytest.raises(OSError, match="no memory"):
            tap._request_blocks(wanted)
    else:
        assert tap._request_blocks(wanted) == asked[-1]
    assert kernel.asked == asked
