"""Packets to a pcapng file that somebody may be reading while it grows.

Theory. A section header, one description for each interface, then a block for each packet (pcapng, sections 4.1, 4.2
and 4.3). Blocks are handed on whole, many in one write, so that a reader sees whole packets, or the beginning of one
block at the end, for which it waits. A file cut by a kill is whole up to there.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SECTION, INTERFACE, PACKET, STATISTICS = 0x0A0D0D0A, 1, 6, 5
ORDER = 0x1A2B3C4D
UNKNOWN_LENGTH = -1
OPTION_NAME, OPTION_FILTER, OPTION_RESOLUTION = 2, 11, 9
OPTION_BEGAN, OPTION_RECEIVED, OPTION_DROPPED = 2, 4, 5
NANOSECONDS = b"\x09"


@dataclass(frozen=True, slots=True)
class InterfaceDescription:
    """An interface: its name, LINKTYPE, snap length (0: no limit) and filter."""

    name: str
    link: int
    snaplen: int = 0
    filter: str = ""


def encode_header(interfaces: Sequence[InterfaceDescription]) -> bytes:
    """What a file begins with; packets name their interface by its place in `interfaces`."""
    return encode_section() + b"".join(map(encode_interface, interfaces))


def encode_section(options: bytes = b"") -> bytes:
    """A section header of unknown length, with a list of options or none."""
    return encode_block(SECTION, struct.pack("<IHHq", ORDER, 1, 0, UNKNOWN_LENGTH) + options)


def encode_packet(interface: int, time: int, data: bytes, length: int) -> bytes:
    """A packet of `length` bytes of which `data` was captured; `time` in ns since 1970."""
    head = struct.pack("<IIIII", interface, time >> 32, time & 0xFFFFFFFF, len(data), length)
    return encode_block(PACKET, head + data)


def encode_statistics(interface: int, time: int, received: int, dropped: int, began: int | None = None) -> bytes:
    """What an interface's counters said at a time, dropped packets among the received; began: since when they count.

    Times are ns since 1970.
    """
    options = b"" if began is None else encode_option(OPTION_BEGAN, struct.pack("<II", began >> 32, began & 0xFFFFFFFF))
    options += encode_option(OPTION_RECEIVED, struct.pack("<Q", received)) + encode_option(
        OPTION_DROPPED, struct.pack("<Q", dropped)
    )
    return encode_block(
        STATISTICS, struct.pack("<III", interface, time >> 32, time & 0xFFFFFFFF) + options + encode_option(0, b"")
    )


def encode_interface(interface: InterfaceDescription) -> bytes:
    """The block of an interface whose clock counts nanoseconds."""
    options = encode_option(OPTION_NAME, interface.name.encode()) if interface.name else b""
    options += encode_option(OPTION_RESOLUTION, NANOSECONDS)
    if interface.filter:
        options += encode_option(OPTION_FILTER, b"\0" + interface.filter.encode())
    return encode_block(
        INTERFACE, struct.pack("<HHI", interface.link, 0, interface.snaplen) + options + encode_option(0, b"")
    )


def encode_option(code: int, value: bytes) -> bytes:
    """An option; a name record looks the same."""
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def encode_block(kind: int, body: bytes) -> bytes:
    """A block of a type, its body padded."""
    body += bytes(-len(body) % 4)
    size = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + size + body + size


COMMENT = 1
SECTION_HARDWARE, SECTION_OS, SECTION_APPLICATION = 2, 3, 4
INTERFACE_NAME, INTERFACE_RESOLUTION, INTERFACE_OFFSET = 2, 9, 14
STATISTICS_RECEIVED, STATISTICS_DROPPED, STATISTICS_OS_DROPPED = 4, 5, 7
NAME_IPV4, NAME_IPV6 = 1, 2
LONGEST_NAME = 255


def iterate_options(data: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """The (code, value) pairs of an option list or of name records; `order` is struct's byte order."""
    head = struct.Struct(order + "HH")
    position = 0
    while position + 4 <= len(data):
        code, length = head.unpack_from(data, position)
        position += 4
        if code == 0 or position + length > len(data):
            return
        yield code, data[position : position + length]
        position += length + 3 & ~3


def decode_text(value: bytes) -> str:
    """An option's text; bytes that are not UTF-8 are replaced."""
    return value.rstrip(b"\0").decode("utf-8", "replace")


def iterate_names(data: bytes, order: str) -> Iterator[tuple[str, list[str]]]:
    """(address, its names) of each name record; a name is cut where DNS knows no longer one."""
    import socket  # few captures name their hosts

    for code, value in iterate_options(data, order):
        family, size = (socket.AF_INET, 4) if code == NAME_IPV4 else (socket.AF_INET6, 16)
        if code in (NAME_IPV4, NAME_IPV6) and len(value) > size:
            found = [decode_text(name[:LONGEST_NAME]) for name in value[size:].split(b"\0") if name]
            yield socket.inet_ntop(family, value[:size]), found
