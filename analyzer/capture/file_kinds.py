"""What a file is by its first bytes: its compression, or what it is that is no capture, and what to do with it.

What unpacks it is analyzer.capture.unpack: every start asks here, and few captures need the codecs.
"""

from __future__ import annotations

MAGICS = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"\xfd7zXZ\x00": "xz",
}
LONGEST_MAGIC = max(map(len, MAGICS))


def recognise_compression(prefix: bytes) -> str | None:
    """The compression whose magic `prefix` begins with. Skippable frames may lead zstd's (pzstd does that)."""
    if len(prefix) >= 4 and prefix[0] & 0xF0 == 0x50 and prefix[1:4] == b"\x2a\x4d\x18":
        return "zstd"
    return next((name for magic, name in MAGICS.items() if prefix.startswith(magic)), None)


FOREIGN_HEAD = 512
"""Bytes that tell it."""

_UNPACK = "unpack it and name the capture in it"
_CONVERT = "editcap -F pcapng of Wireshark converts it"
_KINDS = (
    (0, b"PK\x03\x04", f"a zip archive: {_UNPACK}"),
    (257, b"ustar", f"a tar archive: {_UNPACK}"),
    (0, b"7z\xbc\xaf\x27\x1c", f"a 7z archive: {_UNPACK}"),
    (0, b"BZh", "compressed with bzip2: decompress it with bunzip2"),
    (0, b"snoop\0\0\0", f"a capture of snoop: {_CONVERT}"),
    (0, b"GMBU", f"a capture of Network Monitor: {_CONVERT}"),
    (0, b"RTSS", f"a capture of Network Monitor: {_CONVERT}"),
    (0, b"PAR1", "a Parquet table"),
)
_TEXT = bytes(range(0x20, 0x7F)) + b"\t\r\n\f"


def explain_foreign_file(head: bytes) -> str:
    """The end of the sentence `FILE is not a capture`; head: the first FOREIGN_HEAD bytes of the file, uncompressed."""
    known = ", ".join(MAGICS.values())
    wanted = f": give a pcap or pcapng file, plain or compressed ({known})"
    kind = next((what for at, magic, what in _KINDS if head[at:].startswith(magic)), None)
    if kind is not None:
        return f" but {kind}"
    return f" but text{wanted}; wireanalyze decode reads hex" if not head.translate(None, _TEXT) else wanted
