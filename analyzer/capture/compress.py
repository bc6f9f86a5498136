"""Which compression a capture is in, by its first bytes. What unpacks it is analyzer.capture.unpack.

They are two modules because every start asks which, and few captures need the codecs.
"""

from __future__ import annotations

MAGICS = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"\xfd7zXZ\x00": "xz",
}
LONGEST_MAGIC = max(map(len, MAGICS))


def recognise(prefix: bytes) -> str | None:
    """The compression whose magic `prefix` begins with. Skippable frames may lead zstd's (pzstd does that)."""
    if len(prefix) >= 4 and prefix[0] & 0xF0 == 0x50 and prefix[1:4] == b"\x2a\x4d\x18":
        return "zstd"
    return next((name for magic, name in MAGICS.items() if prefix.startswith(magic)), None)
