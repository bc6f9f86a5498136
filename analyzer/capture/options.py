"""Option lists and name records of pcapng blocks (draft-ietf-opsawg-pcapng, sections 3.5 and 4.5).

Both are lists of (code, length, value padded to four bytes) that code 0 ends; whatever does not fit ends them as well.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

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
