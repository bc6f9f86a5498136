"""The process that captures: interfaces in, a pcapng file out. It decodes nothing.

Theory. Capturing needs a privilege and must not wait for anybody; decoding needs neither. So they are two processes,
and what connects them is a file: this one writes it, the other follows it. They talk over the standard streams, a
line each way at most: `ready` when the interfaces are open, `error TEXT` when they are not, `end COUNT DROPPED` at
the end; and this process ends when its standard input does, so it never outlives who started it.

scapy opens interfaces and compiles filters. Each packet of a loopback interface comes by twice, going out and coming
in; the copy that goes out is left.
"""

from __future__ import annotations

import argparse
import logging
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from analyzer.capture.errors import CaptureError
from analyzer.capture.live.interfaces import Interface, chosen
from analyzer.capture.pcapng_writer import Description, header, packet, statistics

LARGEST = 1 << 18
"""Bytes of the largest packet: segmentation offload makes some of far more than an MTU."""

BUFFER = 64 << 20
"""Bytes that the kernel may keep for us, where it lets us have them."""

WAIT = 0.05
BATCH = 256
"""Packets of one interface before the next one gets its turn and all are written."""

LAST_BATCHES = 1024
"""Batches that are taken of what the kernel has kept, once we are to end: traffic itself may never end."""

MICROSECOND = 1000
SOL_PACKET, PACKET_STATISTICS, SO_RCVBUFFORCE = 263, 6, 33
READY, ERROR, END = "ready", "error", "end"

DENIED = (
    "capturing needs a right that this user lacks: run it as sudo wireanalyze sniff, or let another program capture: "
    "sudo tcpdump -U -w - | wireanalyze open -"
)


@dataclass(slots=True)
class Tap:
    """One open interface; `socket` is scapy's. It counts what it gave."""

    interface: Interface
    socket: Any
    received: int = 0

    def packets(self) -> Iterator[tuple[int, bytes]]:
        """What is there now, up to BATCH, as time in ns and bytes.

        The time has passed through a float (scapy's), so it is rounded to microseconds, of which it is sure.
        """
        for _ in range(BATCH):
            if not select.select([self.socket], [], [], 0)[0]:
                return
            _, data, stamp = self.socket.recv_raw(LARGEST)
            if data:
                self.received += 1
                yield round(stamp * 1e6) * MICROSECOND, data

    def dropped(self) -> int:
        """Packets that the kernel could not keep for us; asking resets the count, so it is asked once."""
        if not sys.platform.startswith("linux"):
            return 0
        counters = self.socket.ins.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8)
        return int(struct.unpack("II", counters)[1])


def open_tap(interface: Interface, expression: str, promiscuous: bool) -> Tap:
    """Opens an interface behind a filter. Raises CaptureError with a sentence for the user."""
    from scapy.arch import common
    from scapy.config import conf
    from scapy.error import Scapy_Exception

    # A compiled filter says how much of a packet is kept; scapy compiles it for this many bytes.
    common.MTU = LARGEST  # type: ignore[attr-defined] # it is imported there, and read when a filter is compiled
    # Only scapy's sending socket leaves out the copies that go out.
    kind = conf.L2socket if interface.loopback and sys.platform.startswith("linux") else conf.L2listen
    try:
        opened = kind(iface=interface.name, filter=expression or None, promisc=promiscuous)
    except PermissionError:
        raise CaptureError(DENIED) from None
    except (Scapy_Exception, ImportError) as error:
        raise CaptureError(f"-f {expression}: {_about_filter(str(error))}") from None
    except OSError as error:
        raise CaptureError(f"cannot capture on {interface.name}: {error.strerror or error}") from None
    if sys.platform.startswith("linux"):
        _enlarge(opened.ins)
    return Tap(interface, opened)


def _about_filter(said: str) -> str:
    """What scapy says of a filter, without what the user knows already: libpcap's own words are in parentheses."""
    if "libpcap" in said:
        return "filters need libpcap: install it (Debian, Ubuntu: apt install libpcap0.8), or leave out -f"
    _, _, reason = said.rpartition(" (")
    return reason.removesuffix(")") or said


def _enlarge(opened: socket.socket) -> None:
    for option in (SO_RCVBUFFORCE, socket.SO_RCVBUF):
        try:
            opened.setsockopt(socket.SOL_SOCKET, option, BUFFER)
            return
        except OSError:
            continue


@dataclass(slots=True)
class Bounds:
    """When to end by ourselves; 0: not."""

    packets: int
    seconds: float


class Sniffer:
    """Writes what the taps give to `out` until it is told to end."""

    def __init__(self, taps: Sequence[Tap], out: int, snaplen: int, bounds: Bounds) -> None:
        self._taps, self._out, self._snaplen, self._bounds = taps, out, snaplen, bounds
        self._ended = False
        self.count = 0

    def end(self, *_: int | FrameType | None) -> None:
        """Lets run() end after what is at hand; a signal handler."""
        self._ended = True

    def run(self, lifeline: int) -> None:
        """Until end(), the bounds, or the end of `lifeline`, a descriptor that nobody writes to."""
        until = time.monotonic() + self._bounds.seconds if self._bounds.seconds else None
        while not self._ended and self._has_room():
            wait = WAIT if until is None else max(min(until - time.monotonic(), WAIT), 0)
            ready = select.select([lifeline, *(tap.socket for tap in self._taps)], [], [], wait)[0]
            self._ended |= lifeline in ready or (until is not None and time.monotonic() >= until)
            self._take()
        for _ in range(LAST_BATCHES):
            if not self._take():
                break

    def _has_room(self) -> bool:
        return not self._bounds.packets or self.count < self._bounds.packets

    def _take(self) -> int:
        """Writes what is at hand, a batch of each interface at most, by time; returns how many packets."""
        found = sorted(
            (moment, number, data) for number, tap in enumerate(self._taps) for moment, data in tap.packets()
        )
        if self._bounds.packets:
            found = found[: self._bounds.packets - self.count]
        kept = slice(self._snaplen or None)
        write(self._out, b"".join(packet(number, moment, data[kept], len(data)) for moment, number, data in found))
        self.count += len(found)
        return len(found)


def write(out: int, data: bytes) -> None:
    """All of it; a full disk is an OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(out, view) :]


def main(arguments: Sequence[str]) -> int:
    """See the module; `--out` is a path. Returns an exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--interface", action="append", default=[])
    parser.add_argument("--filter", default="")
    parser.add_argument("--snaplen", type=int, default=0)
    parser.add_argument("--packets", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--not-promiscuous", action="store_true")
    asked = parser.parse_args(arguments)
    logging.getLogger("scapy.runtime").setLevel(logging.ERROR)  # it would warn of link types that we know
    try:
        taps = [open_tap(interface, asked.filter, not asked.not_promiscuous) for interface in chosen(asked.interface)]
        out = os.open(asked.out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    except CaptureError as error:
        return _tell(f"{ERROR} {error}", 1)
    except OSError as error:
        return _tell(f"{ERROR} cannot write {asked.out}: {error.strerror}", 1)
    if not taps:
        return _tell(f"{ERROR} no interface is up", 1)
    return _sniff(taps, out, asked)


def _sniff(taps: Sequence[Tap], out: int, asked: argparse.Namespace) -> int:
    described = [Description(tap.interface.name, tap.interface.link, asked.snaplen, asked.filter) for tap in taps]
    sniffer = Sniffer(taps, out, asked.snaplen, Bounds(asked.packets, asked.seconds))
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, sniffer.end)
    try:
        write(out, header(described))
        _tell(READY, 0)
        sniffer.run(sys.stdin.fileno())
        dropped = [tap.dropped() for tap in taps]
        for number, (tap, lost) in enumerate(zip(taps, dropped, strict=True)):
            write(out, statistics(number, time.time_ns(), tap.received, lost))
    except OSError as error:
        return _tell(f"{ERROR} capturing ended early: {error.strerror or error}", 1)
    return _tell(f"{END} {sniffer.count} {sum(dropped)}", 0)


def _tell(line: str, status: int) -> int:
    sys.stdout.write(" ".join(line.split()) + "\n")
    sys.stdout.flush()
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
