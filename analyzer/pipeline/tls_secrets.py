"""What decrypts TLS in a worker: key logs and private keys by their paths, and key logs that captures hold.

No secret travels through Spark: workers read key logs where they lie, as they read captures.
"""

from __future__ import annotations

import os
import stat
import struct
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from analyzer.capture.feed import LONGEST_MAGIC, recognise_compression
from analyzer.capture.pcapng_format import MAGIC, SECRETS, TLS_KEY_LOG
from analyzer.capture.sources import ByteSource, PositionedFile
from analyzer.errors import CaptureError
from analyzer.pipeline.open_captures import LIBRARY
from analyzer.tables.options import Options

if TYPE_CHECKING:
    from analyzer.tls.key_files import KeyRing

MOST_FILES, MOST_BYTES = 4096, 64 << 20
"""Captures whose secrets a worker remembers, and the bytes of these."""

PART = 1 << 20
"""Bytes of a file that are searched at a time."""

STEP = 1 << 16
"""Bytes of a compressed file that are decompressed at a time, until its first bytes are there."""


def find_secrets(options: Options, paths: Iterable[str]) -> KeyRing | None:
    """Returns what decrypts the connections of the captures at `paths`, or None. Raises UserError.

    No source of LIBRARY is in use.
    """
    from analyzer.tls.key_files import has_cryptography  # lazy: most runs need no keys

    files = options.key_logs, options.private_keys, options.key_password
    embedded = tuple(filter(None, (_EMBEDDED.read_secrets(path) for path in paths)))
    if options.key_logs or options.private_keys or (embedded and has_cryptography()):
        return _extend_key_ring(*files, embedded) if embedded else _load_key_ring(*files)
    return None


@lru_cache(maxsize=4)
def _load_key_ring(logs: tuple[str, ...], keys: tuple[str, ...], password: str | None) -> KeyRing:
    from analyzer.tls.key_files import KeyPasswords, KeyRing

    return KeyRing(logs, keys, KeyPasswords(password))


@lru_cache(maxsize=2)
def _extend_key_ring(
    logs: tuple[str, ...], keys: tuple[str, ...], password: str | None, embedded: tuple[bytes, ...]
) -> KeyRing:
    """Returns a ring with the secrets of one capture beside those of all, which goes when other captures follow."""
    return _load_key_ring(logs, keys, password).extend(embedded)


class _EmbeddedSecrets:
    """Key logs that captures hold, by file as it is now; those that were used longest ago go first."""

    def __init__(self) -> None:
        self._found: OrderedDict[tuple[str, int, int, int], bytes] = OrderedDict()
        self.size = 0

    def read_secrets(self, path: str) -> bytes:
        """Returns the key logs in a capture; none if it cannot be read, which whoever reads the packets tells."""
        try:
            status = os.stat(path)
            key = path, status.st_ino, status.st_size, status.st_mtime_ns
            if key not in self._found:
                self._add(key, _read_embedded(path) if stat.S_ISREG(status.st_mode) else b"")
            self._found.move_to_end(key)
            return self._found[key]
        except (CaptureError, OSError):
            return b""

    def _add(self, key: tuple[str, int, int, int], text: bytes) -> None:
        self._found[key] = text
        self.size += len(text)
        while len(self._found) > 1 and (len(self._found) > MOST_FILES or self.size > MOST_BYTES):
            self.size -= len(self._found.popitem(last=False)[1])


_EMBEDDED = _EmbeddedSecrets()


def _read_embedded(path: str) -> bytes:
    """Returns the key logs of a pcapng file, MOST_BYTES of them. Raises CaptureError and OSError.

    A file is read and not mapped, because it may be cut at any moment. A compressed one is decompressed as a whole only
    if it is pcapng; whoever reads its packets next finds it open.
    """
    with open(path, "rb") as file:
        source: ByteSource = PositionedFile(os.dup(file.fileno()))
    try:
        compression = recognise_compression(bytes(source.window(0, LONGEST_MAGIC)))
        if compression is not None and _unpack_magic(source, compression) == MAGIC:
            try:
                return _join_secrets(LIBRARY.open_source(path))
            finally:
                LIBRARY.trim()
        return _join_secrets(source) if bytes(source.window(0, len(MAGIC))) == MAGIC else b""
    finally:
        source.close()


def _unpack_magic(source: ByteSource, compression: str) -> bytes:
    """Returns the first decompressed bytes of a file; none if it is damaged."""
    from analyzer.capture.unpack import ERRORS, Unpacker  # lazy: it imports four codecs, which few captures need

    unpacker, found = Unpacker(compression), b""
    try:
        for begin in range(0, source.size(), STEP):
            for piece in unpacker.feed(bytes(source.window(begin, STEP))):
                found += piece[: len(MAGIC)]
                if len(found) >= len(MAGIC):
                    return found[: len(MAGIC)]
    except ERRORS:
        pass
    return b""


def _join_secrets(source: ByteSource) -> bytes:
    parts, size = [], 0
    for text in _find_secrets_blocks(source):
        parts.append(text)
        size += len(text)
        if size >= MOST_BYTES:
            break
    return b"".join(parts)


def _find_secrets_blocks(source: ByteSource) -> Iterator[bytes]:
    """Yields the text of Decryption Secrets Blocks, wherever they stand.

    A search for their kind of secrets costs a hundredth of walking from block to block. Blocks do not overlap.
    """
    begin, end, width = 0, 0, 4
    while len(data := bytes(source.window(begin, PART + width - 1))) >= width:
        for order in "<>":
            kind = struct.pack(f"{order}I", TLS_KEY_LOG)
            at = data.find(kind)
            while at >= 0:
                if begin + at - 8 >= end and (found := _read_block(source, begin + at - 8, order)) is not None:
                    text, end = found
                    yield text
                at = data.find(kind, at + 1)
        begin += PART


def _read_block(source: ByteSource, begin: int, order: str) -> tuple[bytes, int] | None:
    """Returns the text of a block at a place, and where the block ends; None if there is no such block."""
    head = source.window(begin, 16)
    if len(head) < 16:
        return None
    kind, length, _, size = struct.unpack(f"{order}4I", head)
    if kind != SECRETS or not 20 <= length <= MOST_BYTES or size > length - 20:
        return None
    end = begin + length
    if source.window(end - 4, 4) != struct.pack(f"{order}I", length):
        return None
    return bytes(source.window(begin + 16, size)), end
