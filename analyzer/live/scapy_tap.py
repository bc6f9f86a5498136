"""Taps an interface through scapy's sockets, for systems without Linux's ring.

Theory. Each packet costs one call and one object. That is slow, but it works the same on all systems. No call that all
systems have makes a socket keep nothing. So begin() drops packets until there are none, and after halt() packets are
taken until there are none, both a bounded number of times. Times show which packets came before begin(), but they are
not enough, because a packet may get the time at which it is read.
"""

from __future__ import annotations

import logging
import select
import socket
import struct
import sys
import time
from typing import Any

import numpy as np

from analyzer.capture.pcapng_format import InterfaceDescription, encode_packet
from analyzer.errors import CaptureError
from analyzer.live.classic_filter import LONGEST, extract_reason
from analyzer.live.interfaces import NetworkInterface
from analyzer.live.taps import PacketBatch

BATCH = 256
"""Number of packets taken before the next tap."""

MICROSECOND = 1000
LAST_BATCHES = 1024
"""Maximum number of batches taken after halt(), since traffic may never end."""

SOL_PACKET, PACKET_STATISTICS, SO_RCVBUFFORCE = 263, 6, 33
LINUX = sys.platform.startswith("linux")


class ScapyTap:
    """Taps an interface; number: its number in the file. buffer: bytes. Raises CaptureError."""

    def __init__(
        self, number: int, interface: NetworkInterface, expression: str, snaplen: int, buffer: int, promiscuous: bool
    ) -> None:
        self._number, self._snaplen = number, snaplen
        self.description = InterfaceDescription(interface.name, interface.link, snaplen, expression)
        self.problem: str | None = None
        self._socket = open_socket(interface, expression, promiscuous)
        if LINUX:
            enlarge_buffer(self._socket.ins, buffer)
        self._error: str | None = None
        self._since = self._received = self._dropped = 0
        self._batches = LAST_BATCHES
        self._halted = True

    @property
    def has_more(self) -> bool:
        """Always False: take() returns None only if there are no packets."""
        return False

    def fileno(self) -> int:
        """Returns a descriptor to poll for reading."""
        return int(self._socket.fileno())

    def take(self) -> PacketBatch | None:
        """Returns the packets at hand, or None; never waits.

        Scapy's times are floats, so they are rounded to microseconds.
        """
        blocks: list[bytes] = []
        times: list[int] = []
        if self._halted:
            self._batches -= 1
        for _ in range(BATCH if self._batches >= 0 else 0):
            found = self._one()
            if found is None:
                break
            moment, data = found
            if moment >= self._since:
                blocks.append(encode_packet(self._number, moment, data[: self._snaplen or None], len(data)))
                times.append(moment)
        if not blocks:
            return None
        self._received += len(blocks)
        ends = np.cumsum([len(each) for each in blocks], dtype=np.int64)
        return PacketBatch(len(blocks), int(ends[-1]), times[-1], b"".join(blocks), ends, np.array(times, np.int64))

    def _one(self) -> tuple[int, bytes] | None:
        """Returns the time (ns) and the bytes of a packet that is available now."""
        try:
            while select.select([self._socket], [], [], 0)[0]:
                _, data, stamp = self._socket.recv_raw(LONGEST)
                if data:
                    return round(stamp * 1e6) * MICROSECOND, data
        except OSError as error:
            # The error is raised once, before the packets at hand.
            self._error = f"{self.description.name}: {error.strerror or error}"
            return None
        self.problem = self._error
        return None

    def counters(self) -> tuple[int, int]:
        """Returns packets received and dropped since begin(); reading Linux's counters resets them."""
        if LINUX:
            found = struct.unpack("II", self._socket.ins.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
            self._dropped += found[1]
        elif hasattr(self._socket, "get_stats"):
            self._dropped = self._socket.get_stats()[1] or 0
        return self._received + self._dropped, self._dropped

    def begin(self) -> None:
        """Takes packets from now on; earlier ones are dropped, and counters begin at 0."""
        for _ in range(LAST_BATCHES * BATCH):
            if self._one() is None:
                break
        self.counters()
        self._received = self._dropped = 0
        self._error = self.problem = None
        # Rounding may lose a microsecond.
        self._since = time.time_ns() - MICROSECOND
        self._batches, self._halted = LAST_BATCHES, False

    def halt(self) -> None:
        """Takes no more packets until begin()."""
        self._halted = True

    def close(self) -> None:
        """Closes the capture socket; packets that it still holds are lost."""
        self._socket.close()


def open_socket(interface: NetworkInterface, expression: str, promiscuous: bool) -> Any:
    """Opens a scapy socket with a filter. Raises CaptureError."""
    logging.getLogger("scapy.runtime").setLevel(logging.ERROR)  # it warns about link types that we handle
    import scapy.arch  # noqa: F401 (fills conf with what this system has)
    from scapy.arch import common
    from scapy.config import conf
    from scapy.error import Scapy_Exception

    # A compiled filter limits the bytes of a packet; scapy compiles it for this limit.
    common.MTU = LONGEST  # type: ignore[attr-defined] # it is imported there, and read when a filter is compiled
    # A loopback packet passes twice; only scapy's sending socket drops the outgoing copy.
    kind = conf.L2socket if interface.loopback and LINUX else conf.L2listen
    try:
        return kind(iface=interface.name, filter=expression or None, promisc=promiscuous)
    except PermissionError:
        raise CaptureError(
            f"You may not capture on {interface.name}. wireanalyze interfaces says how you can."
        ) from None
    except (Scapy_Exception, ImportError) as error:
        raise CaptureError(f"-f {expression}: {extract_reason(str(error))}.") from None
    except OSError as error:
        raise CaptureError(f"Cannot capture on {interface.name}: {error.strerror or error}.") from None


def enlarge_buffer(opened: socket.socket, size: int) -> None:
    """Sets the bytes that the kernel may hold for us, if it allows that."""
    for option in (SO_RCVBUFFORCE, socket.SO_RCVBUF):
        try:
            opened.setsockopt(socket.SOL_SOCKET, option, size)
            return
        except OSError:
            continue
