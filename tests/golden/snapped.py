"""Captures of which only the first bytes of each packet are kept, as by `editcap -s`."""

from __future__ import annotations

import struct
from pathlib import Path

import zstandard

_HEAD = 24
_RECORD = 16


def snapped(path: Path, longest: int, folder: Path) -> Path:
    """A pcap whose packets keep `longest` bytes at most; their original lengths stay."""
    target = folder / f"{path.name.removesuffix('.pcap.zst')}-{longest}.pcap"
    target.write_bytes(snap(zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read(), longest))
    return target


def snap(data: bytes, longest: int) -> bytes:
    """The bytes of a pcap file of which each packet keeps `longest` bytes at most."""
    order = "<" if data[:1] in (b"\xd4", b"\x4d") else ">"
    found, at = bytearray(data[:_HEAD]), _HEAD
    while at < len(data):
        seconds, rest, remaining, original = struct.unpack_from(f"{order}IIII", data, at)
        at += _RECORD
        found += struct.pack(f"{order}IIII", seconds, rest, min(remaining, longest), original)
        found += data[at : at + min(remaining, longest)]
        at += remaining
    return bytes(found)
