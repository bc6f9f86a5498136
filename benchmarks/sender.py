"""Sends packets of a capture at a rate, where there is no tcpreplay.

    python -m benchmarks.sender INTERFACE CAPTURE RATE PACKETS HEAD     prints what it did, as tcpreplay does

Theory. A clock says how many packets are due, and they are sent at once; then it sleeps for a millisecond. So packets
come in bursts of a thousandth of the rate, as they do from tcpreplay. A call for each packet is what bounds it: some
450,000 a second of a processor of its own. Each time the capture begins again its hosts get other addresses, or what
comes then would be retransmissions.
"""

from __future__ import annotations

import mmap
import os
import socket
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import count, islice

PAUSE = 0.001
NO_BUFFERS = 105
"""ENOBUFS: the interface's queue is full, so the packet was not sent and is sent again."""
IPV4, SECONDS, BEHIND_ADDRESSES = b"\x08\x00", (27, 31), 34
"""An Ethernet frame's type, and where in it the second numbers of its addresses stand."""

_MAGICS = {b"\xd4\xc3\xb2\xa1": "<", b"\x4d\x3c\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">", b"\xa1\xb2\x3c\x4d": ">"}


def frames(data: memoryview) -> Iterator[memoryview]:
    """The packets of a pcap file."""
    order = _MAGICS[bytes(data[:4])]
    at = 24
    while at + 16 <= len(data):
        (size,) = struct.unpack_from(f"{order}I", data, at + 8)
        yield data[at + 16 : at + 16 + size]
        at += 16 + size


def repeated(found: Sequence[memoryview]) -> Iterator[bytes | memoryview]:
    """Packets over and over; each time the second number of both IPv4 addresses is one more."""
    yield from found
    for times in count(1):
        for frame in found:
            other = bytearray(frame)
            if len(other) >= BEHIND_ADDRESSES and other[12:14] == IPV4:
                for at in SECONDS:
                    other[at] = (other[at] + times) % 256
            yield bytes(other)


def send(interface: str, capture: str, rate: float, packets: int, head: int) -> str:
    """Sends so many packets, over and over, the first `head` of them at once; what was done."""
    with open(capture, "rb") as file:
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    waiting = islice(repeated(list(islice(frames(data), packets))), packets)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as out:
        out.bind((interface, 0))
        # A busy kernel carries what each processor sends at another moment: sent on two, packets change places.
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        began, sent, size = time.monotonic(), 0, 0
        while sent < packets:
            due = min(head + int((time.monotonic() - began) * rate) + 1, packets)
            for frame in islice(waiting, max(due - sent, 0)):
                _whole(out, frame)
                sent += 1
                size += len(frame)
            time.sleep(PAUSE)
        seconds = time.monotonic() - began
    return f"Actual: {sent} packets ({size} bytes) sent in {seconds:.2f} seconds"


def _whole(out: socket.socket, frame: bytes | memoryview) -> None:
    while True:
        try:
            out.send(frame)
            return
        except OSError as error:
            if error.errno != NO_BUFFERS:
                raise
            time.sleep(PAUSE)


if __name__ == "__main__":
    print(send(sys.argv[1], sys.argv[2], float(sys.argv[3]), *map(int, sys.argv[4:6])))
