"""Decompression of bytes from the network: every codec under the budget of its message.

Theory. A frame of a kilobyte may hold gigabytes, so no codec decompresses everything at once. gzip and lz4 get a limit
for their output. zstd gets its input in pieces that are too small to exceed the limit by much. A snappy block states
its size, which is accepted only as far as the format can compress. The libraries are loaded for the first message that
needs them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

from dissectors.errors import MalformedField, TooLarge
from dissectors.wire.budget import Budget
from dissectors.wire.varint import Unfit, uvarint

_GZIP = b"\x1f\x8b"
_XERIAL = b"\x82SNAPPY\0"
_LZ4 = b"\x04\x22\x4d\x18"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZSTD_WINDOW = 32 * 1024 * 1024
_ZSTD_RATIO = 32 * 1024
_SNAPPY_RATIO = 64
_PIECE = 8 * 1024 * 1024
"""Bytes that gzip gives at once: it makes room for them twice."""


class _Broken(Exception):
    """The compressed bytes are not of their format."""


class _Full(Exception):
    """The budget does not hold what comes out."""


def decompress(codec: str, data: bytes, budget: Budget, what: str, offset: int, size: int | None = None) -> bytes:
    """Decompresses `data` within the budget. `what` and `offset` say in errors where the data is.

    codec: gzip, zlib, snappy (framed as xerial's Java library does, or one raw block), snappy-block (raw), lz4
    (frames), lz4-legacy (frames whose header checksum is wrong, as Kafka's first clients wrote them), lz4-block (raw),
    zstd. size: how long the content is said to be; lz4-block is not readable without it. Raises Malformed, also where
    the content has another size, or TooLarge over budget.
    """
    most = budget.left if size is None else size
    if most > budget.left:
        raise TooLarge(what, offset, f"is said to hold {size} bytes, {budget.left} may be decompressed")
    try:
        content = _CODECS[codec](data, most)
        if size is not None and len(content) < size:
            raise _Broken(f"it holds {len(content)} bytes and not {size}")
    except _Broken as error:
        raise MalformedField(what, offset, f"is not {codec.partition('-')[0]}: {error}") from error
    except _Full as error:
        if size is not None:
            raise MalformedField(what, offset, f"holds more than the {size} bytes it is said to") from error
        raise TooLarge(what, offset, f"holds more than the {budget.left} bytes that may be decompressed") from error
    budget.left -= len(content)
    return content


def _zlib(data: bytes, left: int) -> bytes:
    """A stream, which may lack its end where its size is known: Pulsar's Java client only flushes it."""
    stream = zlib.decompressobj()
    try:
        content = stream.decompress(data, left + 1)
    except zlib.error as error:
        raise _Broken(str(error)) from error
    if len(content) > left:
        raise _Full
    if not stream.eof and len(content) < left:
        raise _Broken("it ends too early")
    return content


def _lz4_block(data: bytes, size: int) -> bytes:
    """A block does not say how long its content is: that stands elsewhere."""
    from lz4.block import LZ4BlockError, decompress

    try:
        return bytes(decompress(data, uncompressed_size=size))
    except LZ4BlockError as error:
        raise _Broken(str(error)) from error


def _gzip(data: bytes, left: int) -> bytes:
    parts = []
    while True:
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            try:
                part = member.decompress(data, min(left, _PIECE) + 1)
            except zlib.error as error:
                raise _Broken(str(error)) from error
            left -= len(part)
            if left < 0:
                raise _Full
            if not part and not member.eof:
                raise _Broken("it ends too early")
            parts.append(part)
            data = member.unconsumed_tail
        data = member.unused_data
        if not data.startswith(_GZIP):
            return b"".join(parts)


def _snappy(data: bytes, left: int) -> bytes:
    if not data.startswith(_XERIAL):
        return _snappy_block(data, left)
    parts = []
    at = 0
    while at < len(data):
        if data.startswith(_XERIAL, at):
            at += 16
            if at > len(data):
                raise _Broken("its header ends too early")
            continue
        size = int.from_bytes(data[at : at + 4], "big")
        at += 4
        if at + size > len(data):
            raise _Broken("a block ends too early")
        part = _snappy_block(data[at : at + size], left)
        left -= len(part)
        parts.append(part)
        at += size
    return b"".join(parts)


def _snappy_block(data: bytes, left: int) -> bytes:
    from cramjam import DecompressionError, snappy

    try:
        size, _ = uvarint(data, 0)
    except (IndexError, Unfit) as error:
        raise _Broken("a block has no size") from error
    if size > len(data) * _SNAPPY_RATIO:
        raise _Broken(f"{len(data)} bytes cannot hold {size}")
    if size > left:
        raise _Full
    try:
        return bytes(snappy.decompress_raw(data))
    except DecompressionError as error:
        raise _Broken(str(error)) from error


def _lz4(data: bytes, left: int) -> bytes:
    from lz4.frame import LZ4FrameDecompressor

    parts = []
    while True:
        frame = LZ4FrameDecompressor()
        try:
            part = frame.decompress(data, max_length=left + 1)
        except RuntimeError as error:
            raise _Broken(str(error)) from error
        left -= len(part)
        if left < 0:
            raise _Full
        if not frame.eof:
            raise _Broken("it ends too early")
        parts.append(part)
        data = frame.unused_data or b""
        if not data.startswith(_LZ4):
            return b"".join(parts)


def _lz4_legacy(data: bytes, left: int) -> bytes:
    """Kafka before 0.10 took the header's checksum over the magic too (KAFKA-3160); it is set right before reading."""
    if not data.startswith(_LZ4) or len(data) < 7:
        raise _Broken("it is too short")
    end = 6 + (8 if data[4] & 0x08 else 0) + (4 if data[4] & 0x01 else 0)
    checksum = _xxh32_short(data[4:end]) >> 8 & 0xFF
    return _lz4(data[:end] + bytes([checksum]) + data[end + 1 :], left)


def _xxh32_short(data: bytes) -> int:
    """xxHash32 with seed 0 of fewer than 16 bytes: all that an LZ4 frame header has."""
    mask = 0xFFFF_FFFF
    value = (374761393 + len(data)) & mask
    words = len(data) // 4 * 4
    for at in range(0, words, 4):
        value = (value + int.from_bytes(data[at : at + 4], "little") * 3266489917) & mask
        value = (value << 17 | value >> 15) & mask
        value = value * 668265263 & mask
    for byte in data[words:]:
        value = (value + byte * 374761393) & mask
        value = (value << 11 | value >> 21) & mask
        value = value * 2654435761 & mask
    value = (value ^ value >> 15) * 2246822519 & mask
    value = (value ^ value >> 13) * 3266489917 & mask
    return value ^ value >> 16


def _zstd(data: bytes, left: int) -> bytes:
    from zstandard import ZstdDecompressor, ZstdError

    parts = []
    at = 0
    while True:
        frame = ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()
        while not frame.eof:
            if at >= len(data):
                raise _Broken("it ends too early")
            size = max(64, left // (4 * _ZSTD_RATIO))
            try:
                part = frame.decompress(data[at : at + size])
            except ZstdError as error:
                raise _Broken(str(error)) from error
            at += size
            left -= len(part)
            if left < 0:
                raise _Full
            parts.append(part)
        at = min(at, len(data)) - len(frame.unused_data)
        if not data.startswith(_ZSTD, at):
            return b"".join(parts)


_CODECS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gzip,
    "zlib": _zlib,
    "snappy": _snappy,
    "snappy-block": _snappy_block,
    "lz4": _lz4,
    "lz4-legacy": _lz4_legacy,
    "lz4-block": _lz4_block,
    "zstd": _zstd,
}
