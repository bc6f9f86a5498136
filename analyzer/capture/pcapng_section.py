"""A pcapng section: its byte order, its interfaces, and what they make of a packet's time and link type.

Ticks become nanoseconds with whole numbers only (if_tsresol and if_tsoffset). A double keeps 53 bits, a time in
nanoseconds needs 61: so every step is an integer one. Binary fractions finer than 2^-31 are multiplied in two halves,
since ticks * 10^9 would not fit. Hostile ticks saturate; they never raise.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyzer.capture import options
from analyzer.capture.records import CaptureInfo, CaptureInterface, InterfaceStatistics

NS = 1_000_000_000
LONGEST = np.iinfo(np.int64).max // 2
"""Where times saturate: half of int64, so that differences fit as well."""


@dataclass(frozen=True, slots=True)
class InterfaceClock:
    """`resolution`: the byte of if_tsresol (6: microseconds; bit 7: binary fractions); `offset`: seconds to add."""

    resolution: int = 6
    offset: int = 0

    @property
    def ticks(self) -> int:
        """Ticks per second."""
        exponent = self.resolution & 0x7F
        return 1 << exponent if self.resolution & 0x80 else 10**exponent

    def nanoseconds(self, ticks: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Nanoseconds since 1970 of `ticks` (n), rounded down."""
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


MOST_REMARKS = 1000
"""Comments on sections that are kept."""
MOST_NAMED, MOST_OF_ONE = 1 << 15, 8
"""Addresses whose names are kept, and names of one."""


class PcapngSection:
    """Begins anew with every section header; everything that is told also goes into the capture's `info`."""

    def __init__(self, order: str, info: CaptureInfo) -> None:
        self.order = order
        self._info = info
        self._before = len(info.interfaces)
        self._links: list[int] = []
        self._clocks: list[InterfaceClock] = []
        self.snaplen = 0
        """That of the first interface, to which simple packets belong."""

    def __len__(self) -> int:
        return len(self._links)

    def export_state(self) -> tuple[int | str, ...]:
        """What it takes to read packets of this section: the byte order, then whole numbers."""
        ways = ((link, clock.resolution, clock.offset) for link, clock in zip(self._links, self._clocks, strict=True))
        return (self.order, self.snaplen, *(number for way in ways for number in way))

    def restore_state(self, numbers: Sequence[int]) -> None:
        """Takes the whole numbers that told() gave."""
        self.snaplen = numbers[0]
        self._links = list(numbers[1::3])
        self._clocks = [InterfaceClock(*way) for way in zip(numbers[2::3], numbers[3::3], strict=True)]

    def read_header(self, data: bytes) -> None:
        """Takes a section header block, without its last four bytes."""
        info = self._info
        info.byte_order = info.byte_order or ("little" if self.order == "<" else "big")
        for code, value in options.iterate_options(data[24:], self.order):
            text = options.decode_text(value)
            if code == options.COMMENT:
                self._remark(text)
            elif code == options.SECTION_HARDWARE:
                info.hardware = info.hardware or text
            elif code == options.SECTION_OS:
                info.os = info.os or text
            elif code == options.SECTION_APPLICATION:
                info.application = info.application or text

    def read_interface(self, data: bytes) -> None:
        """Takes an interface description block, without its last four bytes."""
        link, snaplen = struct.unpack_from(self.order + "H2xI", data, 8)
        name, resolution, offset, comment = "", 6, 0, None
        for code, value in options.iterate_options(data[16:], self.order):
            if code == options.INTERFACE_NAME:
                name = options.decode_text(value)
            elif code == options.COMMENT and comment is None:
                comment = options.decode_text(value)
            elif code == options.INTERFACE_RESOLUTION and value:
                resolution = value[0]
            elif code == options.INTERFACE_OFFSET and len(value) == 8:
                (offset,) = struct.unpack(self.order + "q", value)
        clock = InterfaceClock(resolution, offset)
        if not self._links:
            self.snaplen = snaplen
        self._links.append(link)
        self._clocks.append(clock)
        self._info.interfaces.append(CaptureInterface(name, link, snaplen, clock.ticks, comment))
        self._info.snaplen = max(self._info.snaplen, snaplen)

    def read_names(self, data: bytes) -> None:
        """Takes a name resolution block, without its last four bytes."""
        info = self._info
        for address, names in options.iterate_names(data[8:], self.order):
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
                info.told += 1

    def read_statistics(self, data: bytes) -> None:
        """Takes an interface statistics block, without its last four bytes; one of an unknown interface says nothing.

        Whoever reads on from the middle of a capture knows how to read its packets, but not whose they are.
        """
        place = self._before + int(struct.unpack_from(self.order + "I", data, 8)[0])
        if not self._before <= place < len(self._info.interfaces):
            return
        said = {
            code: int(struct.unpack(self.order + "Q", value)[0])
            for code, value in options.iterate_options(data[20:], self.order)
            if len(value) == 8
        }
        dropped = [said.get(code) for code in (options.STATISTICS_DROPPED, options.STATISTICS_OS_DROPPED)]
        known = [count for count in dropped if count is not None]
        if known:
            self._info.statistics[place] = InterfaceStatistics(said.get(options.STATISTICS_RECEIVED, 0), sum(known))

    def _remark(self, text: str) -> None:
        if len(self._info.remarks) < MOST_REMARKS:
            self._info.remarks.append(text)
        else:
            self._info.left_out += 1

    def times_and_links(
        self, interface: NDArray[np.int64], ticks: NDArray[np.uint64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Nanoseconds and LINKTYPE of each packet (n); every interface is one of ours."""
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
