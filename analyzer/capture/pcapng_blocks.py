"""Reads pcapng blocks: columns of packet blocks, and what sections and interfaces say.

Theory. Ticks become nanoseconds by integer arithmetic only (if_tsresol and if_tsoffset): a double has 53 bits, and a
time in nanoseconds needs 61. Binary fractions finer than 2^-31 are multiplied in two halves, since ticks * 10^9 would
overflow. Hostile ticks saturate and never raise.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyzer.capture import pcapng_format
from analyzer.capture.pcapng_format import COMMENT, ENHANCED, OBSOLETE, SIMPLE
from analyzer.capture.records import CaptureInfo, CaptureInterface, InterfaceStatistics
from analyzer.capture.sources import gather_rows
from analyzer.columns.arrays import ArrayRows
from dissectors.slotted import make_slotted

FEW = 16
"""Packets from which on it is cheaper to read their options in step."""
MOST_OPTIONS = 1024
"""Options of one packet that are read."""
HEAD = ("kind", "length", "interface", "high", "low", "captured", "original")


@make_slotted(frozen=False)
class PacketHeads(ArrayRows):
    """Holds the heads of packet blocks as equally long columns.

    `start` and `data` (first captured byte) are positions in the window; `length` is that of the block. A simple packet
    has ticks 0 and belongs to interface 0.
    """

    start: NDArray[np.int64]
    length: NDArray[np.int64]
    simple: NDArray[np.bool_]
    interface: NDArray[np.int64]
    ticks: NDArray[np.uint64]
    data: NDArray[np.int64]
    captured: NDArray[np.int64]
    original: NDArray[np.int64]


def read_heads(window: memoryview, starts: NDArray[np.int64], order: str, snaplen: int) -> PacketHeads:
    """Reads the packet blocks that begin at `starts`; `snaplen` (0: none) limits simple packets."""
    rows = gather_rows(window, starts, 28).view(np.dtype([(name, order + "u4") for name in HEAD]))[:, 0]
    ticks = rows["high"].astype(np.uint64) << np.uint64(32) | rows["low"]
    length, interface, captured, original = (
        rows[name].astype(np.int64) for name in ("length", "interface", "captured", "original")
    )
    heads = PacketHeads(
        starts, length, np.zeros(len(starts), np.bool_), interface, ticks, starts + 28, captured, original
    )
    kind = rows["kind"]
    if not bool((kind == ENHANCED).all()):
        _normalise(heads, kind, order, snaplen)
    return heads


def _normalise(heads: PacketHeads, kind: NDArray[np.uint32], order: str, snaplen: int) -> None:
    """Corrects, in place, the fields that simple and obsolete packet blocks have at other positions."""
    old, simple = np.flatnonzero(kind == OBSOLETE), np.flatnonzero(kind == SIMPLE)
    # 16 bits of interface, then 16 bits of drops, where an enhanced block has 32 bits of interface.
    heads.interface[old] = (heads.interface[old] >> (0 if order == "<" else 16)) & 0xFFFF
    heads.simple[simple] = True
    heads.original[simple] = heads.interface[simple]
    heads.interface[simple] = 0
    heads.ticks[simple] = 0
    heads.data[simple] -= 16
    limit = np.minimum(heads.length[simple] - 16, snaplen or heads.length[simple])
    heads.captured[simple] = np.minimum(heads.original[simple], limit)


def count_sound(window: memoryview, heads: PacketHeads, order: str) -> int:
    """Returns how many blocks at the front are consistent: both lengths agree and are possible, and the packet fits."""
    behind = gather_rows(window, np.maximum(heads.start + heads.length - 4, 0), 4).view(order + "u4")[:, 0]
    good = (behind == heads.length) & (heads.length & 3 == 0) & (heads.length >= np.where(heads.simple, 16, 32))
    good &= heads.captured <= heads.length - 4 - (heads.data - heads.start)
    return len(good) if bool(good.all()) else int(np.argmin(good))


def find_comments(window: memoryview, heads: PacketHeads, order: str) -> NDArray[np.int64]:
    """Returns row, position in the window and length of each comment (3, n), in order of packets and options.

    The options of many packets are read in step, those of few packets one by one. Empty comments are left out.
    """
    position = heads.data + (heads.captured + 3 & ~3)
    end = heads.start + heads.length - 4
    rows = np.flatnonzero((position + 4 <= end) & ~heads.simple)
    position, end = position[rows], end[rows]
    found: list[NDArray[np.int64]] = []
    steps = 0
    while len(rows) >= FEW and steps < MOST_OPTIONS:
        steps += 1
        option = gather_rows(window, position, 4).view(order + "u2").astype(np.int64)
        code, length = option[:, 0], option[:, 1]
        here = position + 4 + length <= end
        commented = np.flatnonzero((code == COMMENT) & here & (length > 0))
        found.append(np.stack((rows[commented], position[commented] + 4, length[commented])))
        position = position + 4 + (length + 3 & ~3)
        on = np.flatnonzero((code != 0) & here & (position + 4 <= end))
        rows, position, end = rows[on], position[on], end[on]
    if len(rows) < FEW:
        ranges = zip(rows.tolist(), position.tolist(), end.tolist(), strict=True)
        few = [each for row, start, stop in ranges for each in _comments_of(window, row, start, stop, order)]
        found.append(np.array(few, np.int64).reshape(-1, 3).T)
    every = np.concatenate(found, axis=1)
    return every[:, np.argsort(every[0], kind="stable")]


def _comments_of(window: memoryview, row: int, start: int, stop: int, order: str) -> Iterator[tuple[int, int, int]]:
    """Yields the comments of one packet, whose options lie between two positions."""
    head = struct.Struct(order + "HH")
    for _ in range(MOST_OPTIONS):
        if start + 4 > stop:
            return
        code, length = head.unpack_from(window, start)
        start += 4
        if code == 0 or start + length > stop:
            return
        if code == COMMENT and length:
            yield row, start, length
        start += length + 3 & ~3


NS = 1_000_000_000
LONGEST = np.iinfo(np.int64).max // 2
"""Largest time: half of int64, so that differences fit as well."""


@dataclass(frozen=True, slots=True)
class InterfaceClock:
    """Holds the clock of an interface.

    `resolution`: the byte of if_tsresol (6: microseconds; bit 7: binary fractions); `offset`: seconds to add.
    """

    resolution: int = 6
    offset: int = 0

    @property
    def ticks(self) -> int:
        """How many ticks of the interface's clock a second has (option if_tsresol of pcapng)."""
        exponent = self.resolution & 0x7F
        return 1 << exponent if self.resolution & 0x80 else 10**exponent

    def nanoseconds(self, ticks: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Returns nanoseconds since 1970 (int64, n) of `ticks` (n), rounded down."""
        ns = _binary(ticks, self.resolution & 0x7F) if self.resolution & 0x80 else _decimal(ticks, self.resolution)
        shift = max(-LONGEST // NS, min(self.offset, LONGEST // NS)) * NS
        since: NDArray[np.int64] = np.minimum(ns, np.uint64(LONGEST)).astype(np.int64)
        since += shift
        return since


def _decimal(ticks: NDArray[np.uint64], exponent: int) -> NDArray[np.uint64]:
    if exponent > 9:
        divisor = 10 ** (exponent - 9)
        return np.floor_divide(ticks, np.uint64(divisor)) if divisor < 1 << 64 else np.zeros_like(ticks)
    factor = 10 ** (9 - exponent)
    return np.minimum(ticks, np.uint64(LONGEST // factor)) * np.uint64(factor)


def _binary(ticks: NDArray[np.uint64], exponent: int) -> NDArray[np.uint64]:
    ns: NDArray[np.uint64]
    if exponent < 32:
        part = ticks & np.uint64((1 << exponent) - 1)
        ns = np.minimum(ticks >> np.uint64(exponent), np.uint64(LONGEST // NS)) * np.uint64(NS)
        ns += part * np.uint64(NS) >> np.uint64(exponent)
    else:
        high, low = ticks >> np.uint64(32), ticks & np.uint64(0xFFFF_FFFF)
        ns = high * np.uint64(NS) + (low * np.uint64(NS) >> np.uint64(32))
        # Shifting by more than 63 is not defined in C.
        ns >>= np.uint64(min(exponent - 32, 63))
    return ns


MOST_COMMENTS = 1000
"""Comments on sections that are kept."""
MOST_NAMED, MOST_OF_ONE = 1 << 15, 8
"""Addresses whose names are kept, and names of one address."""


class PcapngSection:
    """Holds the state of a section; its descriptions also go into the capture's `info`."""

    def __init__(self, order: str, info: CaptureInfo) -> None:
        self.order = order
        self._info = info
        self._before = len(info.interfaces)
        self._links: list[int] = []
        self._clocks: list[InterfaceClock] = []
        self.snaplen = 0
        """Snap length of the first interface, to which simple packets belong."""

    def __len__(self) -> int:
        return len(self._links)

    def export_state(self) -> tuple[int | str, ...]:
        """Returns what is needed to read packets of this section: the byte order, then integers."""
        ways = ((link, clock.resolution, clock.offset) for link, clock in zip(self._links, self._clocks, strict=True))
        return (self.order, self.snaplen, *(number for way in ways for number in way))

    def restore_state(self, numbers: Sequence[int]) -> None:
        """Takes the integers that export_state() returned."""
        self.snaplen = numbers[0]
        self._links = list(numbers[1::3])
        self._clocks = [InterfaceClock(*way) for way in zip(numbers[2::3], numbers[3::3], strict=True)]

    def read_header(self, data: bytes) -> None:
        """Reads a section header block, without its last four bytes."""
        info = self._info
        info.byte_order = info.byte_order or ("little" if self.order == "<" else "big")
        for code, value in pcapng_format.iterate_options(data[24:], self.order):
            text = pcapng_format.decode_text(value)
            if code == pcapng_format.COMMENT:
                self._add_comment(text)
            elif code == pcapng_format.SECTION_HARDWARE:
                info.hardware = info.hardware or text
            elif code == pcapng_format.SECTION_OS:
                info.os = info.os or text
            elif code == pcapng_format.SECTION_APPLICATION:
                info.application = info.application or text

    def read_interface(self, data: bytes) -> None:
        """Reads an interface description block, without its last four bytes."""
        link, snaplen = struct.unpack_from(self.order + "H2xI", data, 8)
        name, resolution, offset, comment = "", 6, 0, None
        for code, value in pcapng_format.iterate_options(data[16:], self.order):
            if code == pcapng_format.INTERFACE_NAME:
                name = pcapng_format.decode_text(value)
            elif code == pcapng_format.COMMENT and comment is None:
                comment = pcapng_format.decode_text(value)
            elif code == pcapng_format.INTERFACE_RESOLUTION and value:
                resolution = value[0]
            elif code == pcapng_format.INTERFACE_OFFSET and len(value) == 8:
                (offset,) = struct.unpack(self.order + "q", value)
        clock = InterfaceClock(resolution, offset)
        if not self._links:
            self.snaplen = snaplen
        self._links.append(link)
        self._clocks.append(clock)
        self._info.interfaces.append(CaptureInterface(name, link, snaplen, clock.ticks, comment))
        self._info.snaplen = max(self._info.snaplen, snaplen)

    def read_names(self, data: bytes) -> None:
        """Reads a name resolution block, without its last four bytes."""
        info = self._info
        for address, names in pcapng_format.iterate_names(data[8:], self.order):
            for name in names:
                if address not in info.names and len(info.names) >= MOST_NAMED:
                    info.left_out += 1
                    continue
                known = info.names.setdefault(address, [])
                if name in known:
                    known.remove(name)
                elif len(known) >= MOST_OF_ONE:
                    del known[0]
                    info.left_out += 1
                known.append(name)
                info.name_count += 1

    def read_statistics(self, data: bytes) -> None:
        """Reads an interface statistics block, without its last four bytes.

        Statistics of an unknown interface are ignored: a reader that begins in the middle of a capture does not know
        which interface they belong to.
        """
        place = self._before + int(struct.unpack_from(self.order + "I", data, 8)[0])
        if not self._before <= place < len(self._info.interfaces):
            return
        values_by_code = {
            code: int(struct.unpack(self.order + "Q", value)[0])
            for code, value in pcapng_format.iterate_options(data[20:], self.order)
            if len(value) == 8
        }
        dropped = [
            values_by_code.get(code) for code in (pcapng_format.STATISTICS_DROPPED, pcapng_format.STATISTICS_OS_DROPPED)
        ]
        known = [count for count in dropped if count is not None]
        if known:
            self._info.statistics[place] = InterfaceStatistics(
                values_by_code.get(pcapng_format.STATISTICS_RECEIVED, 0), sum(known)
            )

    def _add_comment(self, text: str) -> None:
        if len(self._info.capture_comments) < MOST_COMMENTS:
            self._info.capture_comments.append(text)
        else:
            self._info.left_out += 1

    def times_and_links(
        self, interface: NDArray[np.int64], ticks: NDArray[np.uint64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Returns time (ns) and LINKTYPE of each packet (n); all interfaces must be known."""
        if not len(interface):
            return np.zeros(0, np.int64), np.zeros(0, np.int32)
        first = int(interface[0])
        if bool((interface == first).all()):
            return self._clocks[first].nanoseconds(ticks), np.full(len(ticks), self._links[first], np.int32)
        time, link = np.empty(len(ticks), np.int64), np.empty(len(ticks), np.int32)
        order = np.argsort(interface, kind="stable")
        starts = np.flatnonzero(np.diff(interface[order])) + 1
        for rows in np.split(order, starts):
            which = int(interface[rows[0]])
            time[rows], link[rows] = self._clocks[which].nanoseconds(ticks[rows]), self._links[which]
        return time, link
