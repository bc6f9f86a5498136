"""What decrypts TLS in a worker: key logs and private keys by their paths, and key logs that captures hold.

No secret travels through Spark: workers read key logs where they lie, as they read captures.
"""

from __future__ import annotations

import os
import stat
import struct
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO

from analyzer.capture.feed import LONGEST_MAGIC, recognise_compression
from analyzer.capture.inputs import CaptureInput
from analyzer.capture.pcapng_format import MAGIC, SECRETS, TLS_KEY_LOG
from analyzer.capture.store import Store
from analyzer.errors import CaptureError
from analyzer.pipeline.options import Options

if TYPE_CHECKING:
    from analyzer.tls.key_files import KeyRing

MOST_FILES, MOST_BYTES = 4096, 64 << 20
"""Captures whose secrets a worker remembers, and the bytes of these."""

PART = 1 << 20
"""Bytes of a file that are searched at a time."""


def find_secrets(options: Options, paths: Iterable[str]) -> KeyRing | None:
    """Returns what decrypts the connections of the captures at `paths`, or None. Raises UserError."""
    from analyzer.tls.key_files import KeyRing, has_cryptography  # lazy: most runs need no keys

    has_secrets = bool(options.key_logs or options.private_keys)
    ring = None
    if has_secrets:
        ring = _load_key_ring(options.key_logs, options.private_keys, options.key_password)
    embedded = b"".join(map(_EMBEDDED.read_secrets, paths))
    if embedded and (ring is not None or has_cryptography()):
        ring = KeyRing() if ring is None else ring
        ring.log.feed(embedded)
    return ring


@lru_cache(maxsize=4)
def _load_key_ring(logs: tuple[str, ...], keys: tuple[str, ...], password: str | None) -> KeyRing:
    from analyzer.tls.key_files import KeyPasswords, KeyRing

    return KeyRing(logs, keys, KeyPasswords(password))


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
    """Returns all key logs of a pcapng file; of a compressed one those in front of its first packet.

    Raises CaptureError and OSError.
    """
    with open(path, "rb") as file:
        head = file.read(LONGEST_MAGIC)
        if head[:4] == MAGIC:
            file.seek(0)
            return b"".join(_find_secrets_blocks(file))
    if recognise_compression(head) is None:
        return b""
    store = Store()
    try:
        capture = CaptureInput(path, store, [], follow=False, block=1, stop=threading.Event())
        try:
            next(capture.blocks(), None)
            return b"".join(store.read_bytes(*place) for place in capture.info.secrets)
        finally:
            capture.close()
    finally:
        store.close()


def _find_secrets_blocks(file: BinaryIO) -> Iterator[bytes]:
    """Yields the text of Decryption Secrets Blocks, wherever they stand.

    A search for their kind of secrets costs a hundredth of walking from block to block. Blocks do not overlap, so there
    is no more text than the file has bytes. The file is read and not mapped, because it may be cut at any moment.
    """
    before, size, width, end = b"", 0, 4, 0
    while part := file.read(PART):
        data = before + part
        for order in "<>":
            kind = struct.pack(f"{order}I", TLS_KEY_LOG)
            at = data.find(kind)
            while at >= 0:
                begin = size - len(before) + at - 8
                if begin >= end and (found := _read_block(file, begin, order)) is not None:
                    text, end = found
                    yield text
                at = data.find(kind, at + 1)
        size += len(part)
        before = data[1 - width :]


def _read_block(file: BinaryIO, begin: int, order: str) -> tuple[bytes, int] | None:
    """Returns the text of a block at a place, and where the block ends; None if there is no such block."""
    head = os.pread(file.fileno(), 16, begin)
    if len(head) < 16:
        return None
    kind, length, _, size = struct.unpack(f"{order}4I", head)
    if kind != SECRETS or not 20 <= length <= MOST_BYTES or size > length - 20:
        return None
    end = begin + length
    if os.pread(file.fileno(), 4, end - 4) != struct.pack(f"{order}I", length):
        return None
    return os.pread(file.fileno(), size, begin + 16), end
