"""Frames, written by hand: what a peer that knows no rules may send too."""

from __future__ import annotations

import json
import zlib
from struct import pack

from dissectors.api import Body


def frame(header: bytes, body: bytes = b"", kind: int = 0) -> bytes:
    """A whole frame; kind 0 says that the header is JSON, 1 that it is binary."""
    return pack(">II", 4 + len(header) + len(body), kind << 24 | len(header)) + header + body


def command(code: int, body: bytes = b"", *, opaque: int = 7, flag: int = 0, **ext: object) -> bytes:
    """A frame as Java writes it: members in order of the alphabet, extFields before flag."""
    members = {"code": code, "extFields": ext, "flag": flag, "language": "JAVA", "opaque": opaque, "version": 513}
    return frame(json.dumps(members, separators=(",", ":")).encode(), body)


def binary(
    code: int, ext: bytes = b"", remark: bytes = b"", flag: int = 0, language: int = 0, body: bytes = b""
) -> bytes:
    fixed = pack(">hbhii", code, language, 513, 7, flag)
    return frame(fixed + pack(">i", len(remark)) + remark + pack(">i", len(ext)) + ext, body, 1)


def pair(name: bytes, value: bytes) -> bytes:
    """One of a binary header's extFields."""
    return pack(">h", len(name)) + name + pack(">i", len(value)) + value


def stored(
    body: bytes,
    *,
    magic: int = 0xDAA320A7,
    sys_flag: int = 0,
    crc: int | None = None,
    topic: bytes = b"orders",
    properties: bytes = b"TAGS\x01a\x02KEYS\x01k",
    hosts: tuple[bytes, bytes] = (b"\x7f\0\0\x01", b"\x0a\0\0\x02"),
) -> bytes:
    """A stored message of queue 3, offset 42."""
    crc = zlib.crc32(body) & 0x7FFFFFFF if crc is None else crc
    rest = pack(">Iiiiqqiq", magic, crc, 3, 0, 42, 4242, sys_flag, 1_700_000_000_000)
    rest += hosts[0] + pack(">iq", 40_000, 1_700_000_000_001) + hosts[1] + pack(">iiq", 10_911, 1, 0)
    rest += pack(">i", len(body)) + body
    rest += pack(">h" if magic == 0xDAA320AB else ">b", len(topic)) + topic
    rest += pack(">h", len(properties)) + properties
    return pack(">i", len(rest) + 4) + rest


def sparing(body: Body) -> Body:
    """The same without what is said of fields that the short headers of tests do not have."""
    return body._replace(findings=tuple(each for each in body.findings if each.code != "missing-field"))


def item(body: bytes, properties: bytes = b"") -> bytes:
    """An item of a batch."""
    rest = pack(">iiii", 0, 0, 5, len(body)) + body + pack(">h", len(properties)) + properties
    return pack(">i", len(rest) + 4) + rest
