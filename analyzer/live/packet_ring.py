"""Taps an interface through Linux's packet ring (AF_PACKET, TPACKET_V3; Documentation/networking/packet_mmap.rst).

Theory. The ring needs no system call and no copy for each packet. The kernel fills blocks of shared memory. A block is
a chain of packets, each with a header in front. The kernel hands a block over when it is full or some milliseconds old.
There is more room in front of a packet than a pcapng packet block needs. After the packet comes the next packet's
header, which has been read by then. So the blocks of the file are built inside the ring (ring_blocks.py) and written
from there. Then the block goes back to the kernel. Packets that do not fit meanwhile are dropped and counted.

Only opening the ring needs the right to capture; changing filters and reading counters do not.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import socket
import struct
from dataclasses import replace
from typing import Final

import numpy as np

from analyzer.capture.pcapng_format import InterfaceDescription
from analyzer.errors import CaptureError
from analyzer.live import classic_filter
from analyzer.live.classic_filter import NOTHING, Program
from analyzer.live.ring_blocks import COOKED, RingLayout, encode_blocks
from analyzer.live.taps import MemoryPieces, PacketBatch

BLOCK = 1 << 20
"""Bytes of a block: the largest packets are a quarter of it."""

LEAST_BLOCKS = 4
FRAME = 1 << 11
"""Bytes of the smallest frame, which this version of the ring ignores."""

RETIRE = 30
"""Milliseconds after which a block that is not full is handed over."""

SOL_PACKET = 263
ADD_MEMBERSHIP, RX_RING, STATISTICS, VERSION, RESERVE = 1, 5, 6, 10, 12
TPACKET_V3, PROMISCUOUS, ALL_PROTOCOLS = 2, 1, 3
SO_ATTACH_FILTER = 26
HARDWARE_ADDRESS, INTERFACE_INDEX = 0x8927, 0x8933
"""The ioctls SIOCGIFHWADDR, which also returns the hardware type, and SIOCGIFINDEX."""

ETHERNET, RAW = classic_filter.ETHERNET, classic_filter.RAW
LINKS: Final = {1: ETHERNET, 772: ETHERNET, 519: RAW, 65534: RAW}
"""Hardware type -> LINKTYPE; all others are cooked: the kernel removes the link layer and reports its type."""

# Offsets, in 32-bit words, of the fields that we need in a block and in a packet header.
STATUS, COUNT, FIRST = 2, 3, 4
OURS = 1


class PacketRing:
    """Taps an interface, or all of them as cooked packets.

    number: of the interface in the file. interface: None for all. snaplen: 0 keeps whole packets. buffer: bytes; the
    kernel may grant fewer (`granted`). Raises CaptureError.
    """

    def __init__(
        self, number: int, interface: str | None, expression: str, snaplen: int, buffer: int, promiscuous: bool
    ) -> None:
        self._interface = self._name = "any" if interface is None else interface
        hardware = None if interface is None else read_hardware_type(interface)
        link = LINKS.get(hardware, COOKED) if hardware is not None else COOKED
        self.description = InterfaceDescription(self._name, link, snaplen, expression)
        cooked = link == COOKED
        self._wanted = classic_filter.make_program(
            expression, classic_filter.COOKED if cooked else link, snaplen, interface
        )
        self._layout = RingLayout(number, link, snaplen)
        self._error: str | None = None
        self._turn = self._taken = self._received = self._dropped = 0
        self._holds_block = False
        try:
            # A socket of all interfaces cannot be bound, so it receives from the start. The kernel drops earlier
            # packets when the ring is created, and at first the ring keeps nothing.
            protocol = socket.htons(ALL_PROTOCOLS) if interface is None else 0
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM if cooked else socket.SOCK_RAW, protocol)
            try:
                self._open(interface, link, buffer)
                if promiscuous and hardware == 1:
                    self._be_promiscuous()
            except BaseException:
                self._socket.close()
                raise
        except PermissionError:
            raise CaptureError(
                f"You may not capture on {self._name}. wireanalyze interfaces says how you can."
            ) from None
        except OSError as error:
            raise CaptureError(f"Cannot capture on {self._name}: {error.strerror or error}.") from None

    def _open(self, interface: str | None, link: int, buffer: int) -> None:
        """Sets up the ring. The socket is bound while its filter keeps nothing, so no earlier packets can come."""
        self._attach(NOTHING)
        self._socket.setsockopt(SOL_PACKET, VERSION, TPACKET_V3)
        # After Ethernet's 14 bytes, IP would begin two bytes off a word.
        self._socket.setsockopt(SOL_PACKET, RESERVE, 2 if link == ETHERNET else 0)
        self._blocks = self._request_blocks(max(buffer // BLOCK, LEAST_BLOCKS))
        self._memory = mmap.mmap(self._socket.fileno(), self._blocks * BLOCK, mmap.MAP_SHARED)
        self._octets = np.frombuffer(self._memory, np.uint8)
        self._words = memoryview(self._memory).cast("I")
        self._index = 0
        if interface is not None:
            self._socket.bind((interface, ALL_PROTOCOLS))
            self._index = self._find_index()
            self._check_error()
            if self._error:
                raise CaptureError(f"{self._error}. Bring it up with ip link set {interface} up.")

    def rename(self, name: str) -> None:
        """Gives the interface another name for the user and for the file."""
        self._name = name
        self.description = replace(self.description, name=name)

    @property
    def granted(self) -> int:
        """The size of the ring in bytes, as the kernel granted it."""
        return self._blocks * BLOCK

    @property
    def problem(self) -> str | None:
        """Why no more packets will come, as a sentence, else None."""
        return self._error if self._error is not None and not self.has_more else None

    @property
    def has_more(self) -> bool:
        """Whether packets that the kernel has counted have not been taken yet."""
        received, dropped = self.counters()
        return self._taken < received - dropped

    def fileno(self) -> int:
        """Returns a descriptor to poll for reading."""
        return self._socket.fileno()

    def take(self) -> PacketBatch | None:
        """Returns the packets of the next block, or None; never waits."""
        if self._holds_block:
            self._give_back()
        base = self._turn * (BLOCK >> 2)
        if not self._words[base + STATUS] & OURS:
            self._check_error()
            return None
        self._holds_block = True
        count = self._words[base + COUNT]
        if not count:
            return None
        self._taken += count
        times, rows = encode_blocks(self._octets, self._places(base, count), self._layout)
        ends = rows[:, 1].cumsum(dtype=np.int64)
        return PacketBatch(count, int(ends[-1]), int(times[-1]), MemoryPieces(rows, self), ends, times)

    def _places(self, base: int, count: int) -> list[int]:
        """Returns the offsets of packets in a block, in words; each header has the distance to the next."""
        words = self._words
        at = base + (words[base + FIRST] >> 2)
        found = []
        for _ in range(count):
            found.append(at)
            at += words[at] >> 2
        return found

    def _give_back(self) -> None:
        self._words[self._turn * (BLOCK >> 2) + STATUS] = 0
        self._turn = (self._turn + 1) % self._blocks
        self._holds_block = False

    def counters(self) -> tuple[int, int]:
        """Returns packets received and dropped since begin(); reading the kernel's counters resets them."""
        received, dropped = struct.unpack("II", self._socket.getsockopt(SOL_PACKET, STATISTICS, 12)[:8])
        self._received += received
        self._dropped += dropped
        return self._received, self._dropped

    def begin(self) -> None:
        """Takes packets from now on; earlier ones are dropped, and counters begin at 0."""
        while self.take() is not None:
            pass
        self._check_error()  # clears an earlier error; an interface that is up again works again
        vanished = self._index and self._index != self._find_index()
        self._error = f"{self._name} is gone" if vanished else None
        self.counters()
        self._taken = self._received = self._dropped = 0
        self._attach(self._wanted)

    def halt(self) -> None:
        """Takes no more packets until begin()."""
        self._attach(NOTHING)

    def close(self) -> None:
        """Closes the socket; the memory goes with its last view."""
        self._socket.close()

    def _attach(self, program: Program) -> None:
        code = np.frombuffer(classic_filter.encode_program(program), np.uint8)
        self._socket.setsockopt(
            socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HxxxxxxP", len(program), code.ctypes.data)
        )

    def _request_blocks(self, blocks: int) -> int:
        """Requests a ring; while the kernel lacks memory, requests half as much."""
        while True:
            request = struct.pack("7I", BLOCK, blocks, FRAME, blocks * (BLOCK // FRAME), RETIRE, 0, 0)
            try:
                self._socket.setsockopt(SOL_PACKET, RX_RING, request)
                return blocks
            except OSError as error:
                if error.errno != errno.ENOMEM or blocks <= LEAST_BLOCKS:
                    raise
                blocks = max(blocks // 2, LEAST_BLOCKS)

    def _be_promiscuous(self) -> None:
        request = struct.pack("iHH8x", self._index, PROMISCUOUS, 0)
        self._socket.setsockopt(SOL_PACKET, ADD_MEMBERSHIP, request)

    def _check_error(self) -> None:
        code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if not code:
            return
        if code != errno.ENETDOWN:
            self._error = f"{self._name}: {os.strerror(code)}"
        else:
            self._error = f"{self._name} is {'down' if self._index == self._find_index() else 'gone'}"

    def _find_index(self) -> int:
        """Returns the current index of the interface, in the namespace of the socket; 0 if it is gone."""
        try:
            found = fcntl.ioctl(self._socket, INTERFACE_INDEX, struct.pack("16s24x", self._interface.encode()[:15]))
        except OSError:
            return 0
        return int(struct.unpack_from("i", found, 16)[0])


def read_hardware_type(interface: str) -> int:
    """Returns Linux's number for the hardware type of an interface. Raises CaptureError if there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as query:
        try:
            found = fcntl.ioctl(query, HARDWARE_ADDRESS, struct.pack("16s24x", interface.encode()[:15]))
        except OSError as error:
            raise CaptureError(f"Cannot capture on {interface}: {error.strerror or error}.") from None
    return int(struct.unpack_from("H", found, 16)[0])
