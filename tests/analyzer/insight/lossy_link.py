"""A link between two network namespaces that delays and loses packets, and a capture of what passes a point of it.

Client and server are processes with a kernel's TCP of their own: each has a namespace with a TUN device, whose other
end is here. So no traffic control of the kernel is needed, only the right to make namespaces. All of it ends by itself.

`python -m tests.analyzer.insight.lossy_link FOLDER` records captures such as those of tests/golden/network.
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import os
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.analyzer.capture.writers import Frame, pcap

PORT, CLOSED_PORT, SILENT_PORT = 9092, 9093, 2181
CLIENT, SERVER = 0, 1
ADDRESSES = ("10.9.0.1", "10.9.0.2")
LONGEST_S = 8
"""After which a recording ends, whatever has happened."""

_NEW_NETWORK = 0x40000000
_TUNSETIFF = 0x400454CA
_TUN_WITHOUT_HEADER = 0x1001
RAW_IP = 101


@dataclass(frozen=True)
class Link:
    """delays: ms from the client to the capture point, and from there to the server. work: ms of an answer.

    lost: numbers of the client's data packets that are lost behind the capture point, from 1. large: bytes of answers.
    """

    delays: tuple[float, float]
    work: float = 2
    requests: int = 4
    lost: frozenset[int] = frozenset()
    knocks: Sequence[int] = ()
    large: int = 0


def is_possible() -> bool:
    """Whether this machine lets us make namespaces and devices."""
    if sys.platform != "linux" or os.geteuid() != 0 or not os.path.exists("/dev/net/tun"):
        return False
    return (
        subprocess.run(["unshare", "-n", "ip", "link", "set", "lo", "up"], capture_output=True, check=False).returncode
        == 0
    )


def record(link: Link) -> bytes:
    """Runs client and server over a link; returns the capture as a pcap."""
    devices, children = [], []
    for side, run in ((SERVER, _serve), (CLIENT, _ask)):
        mine, theirs = socket.socketpair()
        child = os.fork()
        if child == 0:
            with suppress(BaseException):
                _enter(side, theirs)
                run(link)
            os._exit(0)
        theirs.close()
        devices.append(socket.recv_fds(mine, 1, 1)[1][0])
        mine.send(b"go")
        mine.close()
        children.append(child)
    server, client = devices
    try:
        return pcap(_carry(link, (client, server), children[1]), link=RAW_IP)
    finally:
        for device in devices:
            os.close(device)
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, 9)
            os.waitpid(child, 0)


def _enter(side: int, parent: socket.socket) -> None:
    """Moves this process into a namespace with a device, and gives the other end of it to the parent."""
    if ctypes.CDLL(None, use_errno=True).unshare(_NEW_NETWORK):
        raise OSError(ctypes.get_errno(), "unshare")
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", b"lossy0", _TUN_WITHOUT_HEADER))
    for words in (
        ["address", "add", ADDRESSES[side], "peer", ADDRESSES[1 - side], "dev", "lossy0"],
        ["link", "set", "dev", "lossy0", "up", "mtu", "1500"],
    ):
        subprocess.run(["ip", *words], check=True, capture_output=True)
    socket.send_fds(parent, [b"x"], [device])
    parent.recv(2)


def _carry(link: Link, devices: tuple[int, int], client: int) -> list[Frame]:
    """Carries packets until the client has ended; returns those that pass the capture point."""
    begin, frames, number = time.time_ns(), [], 0
    waiting: list[tuple[float, int, int, bool, bytes]] = []
    data_packets = 0
    while time.time_ns() < begin + LONGEST_S * 10**9:
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            due, _, side, passed, packet = heapq.heappop(waiting)
            if not passed:
                frames.append(Frame(packet, time.time_ns()))
                if side == CLIENT and _payload(packet):
                    data_packets += 1
                    if data_packets in link.lost:
                        continue
                if side == CLIENT and _port(packet) == SILENT_PORT:
                    continue
                number += 1
                heapq.heappush(waiting, (due + link.delays[1 - side] / 1000, number, side, True, packet))
            else:
                with suppress(BlockingIOError, OSError):
                    os.write(devices[1 - side], packet)
        timeout = min(max(waiting[0][0] - time.monotonic(), 0), 0.05) if waiting else 0.05
        for device in select.select(devices, (), (), timeout)[0]:
            with suppress(BlockingIOError):
                packet = os.read(device, 70_000)
                if packet[0] >> 4 == 4 and packet[9] == socket.IPPROTO_TCP:
                    side = devices.index(device)
                    number += 1
                    heapq.heappush(waiting, (time.monotonic() + link.delays[side] / 1000, number, side, False, packet))
        if not waiting and os.waitid(os.P_PID, client, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            break
    return frames


def _payload(packet: bytes) -> int:
    head = (packet[0] & 15) * 4
    return len(packet) - head - (packet[head + 12] >> 4) * 4


def _port(packet: bytes) -> int:
    head = (packet[0] & 15) * 4
    return int.from_bytes(packet[head + 2 : head + 4], "big")


def _serve(link: Link) -> None:
    """Answers ApiVersions of version 0, one after the other."""
    with socket.create_server((ADDRESSES[SERVER], PORT)) as listener:
        talk, _ = listener.accept()
        with talk, talk.makefile("rb") as requested:
            while len(head := requested.read(14)) == 14:
                time.sleep(link.work / 1000)
                many = link.large // 6
                body = struct.pack(">ihi", struct.unpack(">ihhih", head)[3], 0, many)
                body += b"".join(struct.pack(">hhh", key % 60, 0, 3) for key in range(many))
                talk.sendall(struct.pack(">i", len(body)) + body)


def _ask(link: Link) -> None:
    """Asks some times, and knocks at ports where nobody is."""
    time.sleep(0.1)
    with socket.socket() as talk:
        if link.large:
            talk.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        talk.connect((ADDRESSES[SERVER], PORT))
        for number in range(link.requests):
            talk.sendall(struct.pack(">ihhih", 10, 18, 0, number, -1))
            if link.large:
                time.sleep(0.4)
            size = struct.unpack(">i", _read(talk.recv, 4))[0]
            _read(talk.recv, size)
            time.sleep(0.02)
    for port in link.knocks:
        with suppress(OSError), socket.socket() as talk:
            talk.settimeout(3.4)
            talk.connect((ADDRESSES[SERVER], port))


def _read(recv: Callable[[int], bytes], size: int) -> bytes:
    found = b""
    while len(found) < size and (more := recv(size - len(found))):
        found += more
    return found


LINKS = {
    "client": Link((0.2, 10)),
    "server": Link((10, 0.2)),
    "between": Link((6, 4)),
    "window": Link((0.2, 2), requests=1, large=30_000),
    "lossy": Link((0.2, 10), lost=frozenset({3, 4}), knocks=(CLOSED_PORT, SILENT_PORT)),
}
"""What is recorded, by the name of its file."""

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, link in LINKS.items():
        (folder / f"{name}.pcap").write_bytes(record(link))
