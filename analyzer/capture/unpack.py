"""Decompresses captures in bounded pieces.

Theory. A compressed file cannot be mapped, so it is decompressed into a spool, piece by piece. The first packets are
there at once, a decompression bomb stops at a bound, and everything before a damage is kept. A codec that meets damage
loses what the same call has already decompressed, so it is fed small slices in proportion to its input so far.
"""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

import lz4.frame
import zstandard

PIECE = 1 << 20
"""Bytes of the largest piece, for codecs that have such a limit."""

SLICE = 1024
"""Compressed bytes that a codec gets at once; zstd, which has no limit, makes at most 32 MiB of them."""

ERRORS: tuple[type[Exception], ...] = (zlib.error, lzma.LZMAError, zstandard.ZstdError, RuntimeError, EOFError)
"""Exceptions that the codecs raise at damaged input; lz4.frame raises a plain RuntimeError."""


class CompressedMember(Protocol):
    """Decompresses one gzip member, xz stream, zstd or lz4 frame."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yields what `data` decompresses to, in pieces."""

    @property
    def rest(self) -> bytes | None:
        """Bytes behind the end of the member; None before its end."""


class _Gzip:
    def __init__(self) -> None:
        self._codec = zlib.decompressobj(31)

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            yield self._codec.decompress(data, PIECE)
            data = self._codec.unconsumed_tail

    @property
    def rest(self) -> bytes | None:
        return self._codec.unused_data if self._codec.eof else None


class _BoundedStream:
    """Wraps the codecs of xz and lz4, which have the same interface."""

    def __init__(self, codec: lzma.LZMADecompressor | lz4.frame.LZ4FrameDecompressor) -> None:
        self._codec = codec

    def feed(self, data: bytes) -> Iterator[bytes]:
        yield self._codec.decompress(data, PIECE)
        while not self._codec.eof and not self._codec.needs_input:
            yield self._codec.decompress(b"", PIECE)

    @property
    def rest(self) -> bytes | None:
        return (self._codec.unused_data or b"") if self._codec.eof else None


class _Zstd:
    def __init__(self) -> None:
        self._codec = zstandard.ZstdDecompressor().decompressobj()

    def feed(self, data: bytes) -> Iterator[bytes]:
        yield self._codec.decompress(data)

    @property
    def rest(self) -> bytes | None:
        return self._codec.unused_data if self._codec.eof else None


MEMBERS: dict[str, Callable[[], CompressedMember]] = {
    "gzip": _Gzip,
    "xz": lambda: _BoundedStream(lzma.LZMADecompressor(lzma.FORMAT_XZ)),
    "lz4": lambda: _BoundedStream(lz4.frame.LZ4FrameDecompressor()),
    "zstd": _Zstd,
}


class Unpacker:
    """Decompresses a chain of members as its bytes come. `eaten`: number of sound compressed bytes."""

    def __init__(self, compression: str) -> None:
        self._begin = MEMBERS[compression]
        self._member: CompressedMember | None = None
        self.eaten = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yields what `data` decompresses to, in pieces. Raises one of ERRORS at damage."""
        position = 0
        while position < len(data):
            size = max(16, min(SLICE, self.eaten // 16))
            part = data[position : position + size]
            position += size
            yield from self._slice(part)
            self.eaten += len(part)

    def _slice(self, part: bytes) -> Iterator[bytes]:
        while part:
            if self._member is None:
                # Zeros behind the last member are padding of tapes and block devices.
                part = part.lstrip(b"\0") if self.eaten else part
                if not part:
                    return
                self._member = self._begin()
            yield from filter(None, self._member.feed(part))
            rest = self._member.rest
            if rest is not None:
                self._member = None
            part = rest or b""

    @property
    def whole(self) -> bool:
        """Whether the input so far ends with the end of a member."""
        return self._member is None
