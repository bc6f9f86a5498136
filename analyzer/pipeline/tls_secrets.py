"""What decrypts TLS in a worker: key logs and private keys by their paths, and key logs that captures hold.

No secret travels through Spark: workers read key logs where they lie, as they read captures.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from analyzer.capture.inputs import CaptureInput
from analyzer.capture.store import Store
from analyzer.errors import CaptureError
from analyzer.pipeline.options import Options

if TYPE_CHECKING:
    from analyzer.tls.key_files import KeyRing

MOST_FILES = 4096
"""Captures whose secrets a worker remembers."""


def find_secrets(options: Options, paths: Iterable[str]) -> KeyRing | None:
    """Returns what decrypts the connections of the captures at `paths`, or None. Raises UserError."""
    from analyzer.tls.key_files import KeyRing, has_cryptography  # lazy: most runs need no keys

    has_secrets = bool(options.key_logs or options.private_keys)
    ring = None
    if has_secrets:
        ring = _load_key_ring(options.key_logs, options.private_keys, options.key_password)
    embedded = b"".join(_read_embedded(path) for path in paths)
    if embedded and (ring is not None or has_cryptography()):
        ring = KeyRing() if ring is None else ring
        ring.log.feed(embedded)
    return ring


@lru_cache(maxsize=4)
def _load_key_ring(logs: tuple[str, ...], keys: tuple[str, ...], password: str | None) -> KeyRing:
    from analyzer.tls.key_files import KeyPasswords, KeyRing

    return KeyRing(logs, keys, KeyPasswords(password))


@lru_cache(maxsize=MOST_FILES)
def _read_embedded(path: str) -> bytes:
    """Returns the key logs that stand in front of the first packet of a capture."""
    if not os.path.isfile(path):
        return b""
    store = Store()
    try:
        capture = CaptureInput(path, store, [], follow=False, block=1, stop=threading.Event())
        try:
            next(capture.blocks(), None)
            return b"".join(store.read_bytes(*place) for place in capture.info.secrets)
        finally:
            capture.close()
    except (CaptureError, OSError):
        return b""  # who reads the packets tells that
    finally:
        store.close()
