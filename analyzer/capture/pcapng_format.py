"""Encodes pcapng blocks, and reads option lists (draft-ietf-opsawg-pcapng, sections 3.5 and 4.1 to 4.5).

Theory. A section header comes first, then a description of each interface, then a block for each packet. A writer
passes whole blocks on, many in one write. So a reader of the growing file sees whole packets, and at most the beginning
of one block at the end. A file that was cut by a kill is complete up to there.

Option lists and name records are lists of (code, length, value padded to four bytes). Code 0 ends them, and so does an
entry that does not fit.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SECTION, INTERFACE, OBSOLETE, SIMPLE, NAMES, STATISTICS, ENHANCED = 0x0A0D0D0A, 1, 2, 3, 4, 5, 6
"""Types of blocks."""

SECRETS, TLS_KEY_LOG = 10, 0x544C534B
"""Type of the Decryption Secrets Block, and of the secrets in it that are a key log of TLS."""

MAGIC, SHORTEST_SECTION = b"\x0a\x0d\x0d\x0a", 28
"""First bytes of a file, and bytes of the shortest section header."""

ORDER = 0x1A2B3C4D
BYTE_ORDERS = {ORDER.to_bytes(4, "big"): ">", ORDER.to_bytes(4, "little"): "<"}
"""Byte order mark -> struct's byte order."""

UNKNOWN_LENGTH = -1
COMMENT = 1
SECTION_HARDWARE, SECTION_OS, SECTION_APPLICATION = 2, 3, 4
INTERFACE_NAME, INTERFACE_RESOLUTION, INTERFACE_FILTER, INTERFACE_OFFSET = 2, 9, 11, 14
STATISTICS_BEGAN, STATISTICS_RECEIVED, STATISTICS_DROPPED, STATISTICS_OS_DROPPED = 2, 4, 5, 7
"""Options of all blocks, sections, interfaces and statistics."""

NAME_IPV4, NAME_IPV6 = 1, 2
LONGEST_NAME = 255
LONGEST_COMMENT = 0xFFFF
"""Bytes of the longest option."""
NANOSECONDS = b"\x09"
"""Value of INTERFACE_RESOLUTION."""


@dataclass(frozen=True, slots=True)
class InterfaceDescription:
    """Describes an interface: name, LINKTYPE, snap length (0: no limit) and filter."""

    name: str
    link: int
    snaplen: int = 0
    filter: str = ""


def encode_header(interfaces: Sequence[InterfaceDescription]) -> bytes:
    """Encodes the beginning of a file; packets refer to interfaces by their index."""
    return encode_section() + b"".join(map(encode_interface, interfaces))


def encode_section(options: bytes = b"") -> bytes:
    """Encodes a section header of unknown length, with encoded options or none."""
    return encode_block(SECTION, struct.pack("<IHHq", ORDER, 1, 0, UNKNOWN_LENGTH) + options)


def encode_packet(interface: int, time: int, data: bytes, length: int) -> bytes:
    """Encodes a packet of `length` bytes, of which `data` was captured; `time` in ns since 1970."""
    head = struct.pack("<IIIII", interface, time >> 32, time & 0xFFFFFFFF, len(data), length)
    return encode_block(ENHANCED, head + data)


def encode_statistics(interface: int, time: int, received: int, dropped: int, began: int | None = None) -> bytes:
    """Encodes the counters of an interface at a time; received packets include dropped ones.

    began: since when they count. Times are ns since 1970.
    """
    options = (
        b"" if began is None else encode_option(STATISTICS_BEGAN, struct.pack("<II", began >> 32, began & 0xFFFFFFFF))
    )
    options += encode_option(STATISTICS_RECEIVED, struct.pack("<Q", received)) + encode_option(
        STATISTICS_DROPPED, struct.pack("<Q", dropped)
    )
    return encode_block(
        STATISTICS, struct.pack("<III", interface, time >> 32, time & 0xFFFFFFFF) + options + encode_option(0, b"")
    )


def encode_secrets(key_log: bytes) -> bytes:
    """Encodes the lines of a key log of TLS as a Decryption Secrets Block."""
    return encode_block(SECRETS, struct.pack("<II", TLS_KEY_LOG, len(key_log)) + key_log)


def encode_interface(interface: InterfaceDescription) -> bytes:
    """Encodes the description of an interface with a clock in nanoseconds."""
    options = encode_option(INTERFACE_NAME, interface.name.encode()) if interface.name else b""
    options += encode_option(INTERFACE_RESOLUTION, NANOSECONDS)
    if interface.filter:
        options += encode_option(INTERFACE_FILTER, b"\0" + interface.filter.encode())
    return encode_block(
        INTERFACE, struct.pack("<HHI", interface.link, 0, interface.snaplen) + options + encode_option(0, b"")
    )


def encode_option(code: int, value: bytes) -> bytes:
    """Encodes an option, or a name record."""
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def encode_block(kind: int, body: bytes) -> bytes:
    """Encodes a block of a type; the body is padded."""
    body += bytes(-len(body) % 4)
    size = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + size + body + size


def iterate_options(data: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """Yields the (code, value) pairs of an option list or of name records; `order` is struct's byte order."""
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
    """Decodes an option's text; bytes that are not UTF-8 are replaced."""
    return value.rstrip(b"\0").decode("utf-8", "replace")


def iterate_names(data: bytes, order: str) -> Iterator[tuple[str, list[str]]]:
    """Yields each address with its names; a name is cut at the longest length that DNS allows."""
    import socket  # lazy: few captures name their hosts

    for code, value in iterate_options(data, order):
        family, size = (socket.AF_INET, 4) if code == NAME_IPV4 else (socket.AF_INET6, 16)
        if code in (NAME_IPV4, NAME_IPV6) and len(value) > size:
            found = [decode_text(name[:LONGEST_NAME]) for name in value[size:].split(b"\0") if name]
            yield socket.inet_ntop(family, value[:size]), found
