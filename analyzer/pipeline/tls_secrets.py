"""What decrypts TLS in a worker: key logs and private keys by their paths, and key logs that captures hold.

No secret travels through Spark: workers read key logs where they lie, as they read captures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

from analyzer.errors import CaptureError
from analyzer.pipeline.open_captures import LIBRARY
from analyzer.pipeline.pointers import SecretsPlace
from analyzer.pipeline.sources import CaptureFile
from analyzer.tables.options import Options

if TYPE_CHECKING:
    from analyzer.tls.key_files import KeyRing

MOST_BYTES = 64 << 20
"""Bytes of key logs in the files of a capture that are read."""


def find_secrets(options: Options, files: Sequence[CaptureFile], places: Iterable[SecretsPlace]) -> KeyRing | None:
    """Returns what decrypts the connections of a capture, or None. Raises UserError.

    places: where key logs are in its `files`. No source of LIBRARY is in use.
    """
    from analyzer.tls.key_files import has_cryptography  # lazy: most runs need no keys

    own = options.key_logs, options.private_keys, options.key_password
    where = tuple((files[file], at, length) for file, at, length in sorted(set(places)))
    embedded = _read_key_logs(where) if where and has_cryptography() else ()
    if options.key_logs or options.private_keys or embedded:
        return _extend_key_ring(*own, embedded) if embedded else _load_key_ring(*own)
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


@lru_cache(maxsize=2)
def _read_key_logs(places: tuple[tuple[CaptureFile, int, int], ...]) -> tuple[bytes, ...]:
    """Returns the key logs at these places (file, location, length), MOST_BYTES of them at most.

    What cannot be read is left out; whoever reads the packets tells.
    """
    found: list[bytes] = []
    left = MOST_BYTES
    for file, at, length in places:
        with suppress(CaptureError, OSError):
            found.append(_read_file(file, at, min(length, left)))
            left -= len(found[-1])
    return tuple(found)


def _read_file(file: CaptureFile, at: int, length: int) -> bytes:
    """Bytes of a capture, decompressed. A plain file is read and not mapped, because it may be cut at any moment."""
    if file.plain:
        with open(file.path, "rb") as data:
            data.seek(at)
            return data.read(length)
    try:
        return bytes(LIBRARY.open_source(file.path).window(at, length))
    finally:
        LIBRARY.trim()
