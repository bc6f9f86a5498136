"""Compressed captures: their bytes in bounded pieces.

Theory. A compressed file cannot be mapped, so it is unpacked into a spool, piece by piece: the first packets are
there at once, a bomb stops at a bound, and what could be unpacked before a damage is kept. A codec that meets damage
loses what the same call had already unpacked; so it is fed small slices, in proportion to what it has eaten.
"""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

import lz4.frame
import zstandard

PIECE = 1 << 20
"""Bytes that a codec gives back at most in one piece, where it can be told."""

SLICE = 1024
"""Compressed bytes given to a codec in one go; zstd, which cannot be told, makes at most 32 MiB of them."""

ERRORS: tuple[type[Exception], ...] = (zlib.error, lzma.LZMAError, zstandard.ZstdError, RuntimeError, EOFError)
"""What the codecs raise at damaged input; lz4.frame raises a plain RuntimeError."""


class CompressedMember(Protocol):
    """One gzip member, xz stream, zstd or lz4 frame."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What `data` unpacks to, in pieces."""

    @property
    def rest(self) -> bytes | None:
        """None: not at its end yet; otherwise what came behind its end."""


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


class _Bounded:
    """xz and lz4: two codecs with the same manners."""

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
    "xz": lambda: _Bounded(lzma.LZMADecompressor(lzma.FORMAT_XZ)),
    "lz4": lambda: _Bounded(lz4.frame.LZ4FrameDecompressor()),
    "zstd": _Zstd,
}


class Unpacker:
    """Unpacks a chain of members that is fed as its bytes come. `eaten`: compressed bytes that were sound."""

    def __init__(self, compression: str) -> None:
        self._begin = MEMBERS[compression]
        self._member: CompressedMember | None = None
        self.eaten = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Pieces of what `data` unpacks to. Raises one of ERRORS at damage."""
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
                # Zeros behind the last member are padding (tapes, block devices).
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
        """Whether what was fed ends with a member's end."""
        return self._member is None
