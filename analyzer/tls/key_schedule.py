"""Derives keys from secrets with HKDF (TLS 1.3: RFC 8446, section 7) or the PRF of TLS 1.2 (RFC 5246, section 5).

Only the standard library is needed. A secret never leaves this package as text: KeyMaterial has no representation.
"""

from __future__ import annotations

import hashlib
import hmac
from functools import cache, lru_cache

from analyzer.tls.suites import Suite

MASTER = 48
"""Bytes of a master secret of TLS 1.2, and of a premaster secret of an RSA key exchange."""


class KeyMaterial:
    """Holds the keys of one direction: `mac` (CBC), `key`, and `nonce`, the fixed part of the nonce."""

    __slots__ = ("key", "mac", "nonce")

    def __init__(self, mac: bytes, key: bytes, nonce: bytes) -> None:
        self.mac, self.key, self.nonce = mac, key, nonce

    def __repr__(self) -> str:
        return "KeyMaterial(...)"

    def __reduce__(self) -> str:
        raise TypeError("keys are not pickled")


def extract(salt: bytes, secret: bytes, hash_name: str) -> bytes:
    """Returns HKDF-Extract (RFC 5869)."""
    return hmac.digest(salt or bytes(measure_digest(hash_name)), secret, hash_name)


def expand_label(secret: bytes, label: str, length: int, hash_name: str) -> bytes:
    """Returns HKDF-Expand-Label (RFC 8446, section 7.1) without a context, `length` bytes."""
    info = _build_info(label, length)
    if length <= measure_digest(hash_name):
        return hmac.digest(secret, info + b"\x01", hash_name)[:length]
    found = block = b""
    counter = 0
    while len(found) < length:
        counter += 1
        block = hmac.digest(secret, block + info + bytes((counter,)), hash_name)
        found += block
    return found[:length]


@lru_cache(maxsize=64)
def _build_info(label: str, length: int) -> bytes:
    """Returns the HkdfLabel of RFC 8446, section 7.1."""
    full = b"tls13 " + label.encode()
    return length.to_bytes(2) + bytes((len(full),)) + full + bytes(1)


@cache
def measure_digest(hash_name: str) -> int:
    """Returns the number of bytes of a digest."""
    return hashlib.new(hash_name).digest_size


def derive_traffic_keys(secret: bytes, suite: Suite) -> KeyMaterial:
    """Returns the keys of a traffic secret of TLS 1.3."""
    key = expand_label(secret, "key", suite.key, suite.hash)
    return KeyMaterial(b"", key, expand_label(secret, "iv", suite.fixed_nonce, suite.hash))


def update_secret(secret: bytes, suite: Suite) -> bytes:
    """Returns the traffic secret that follows a KeyUpdate (RFC 8446, section 7.2)."""
    return expand_label(secret, "traffic upd", len(secret), suite.hash)


def expand_prf(secret: bytes, label: bytes, seed: bytes, length: int, hash_name: str) -> bytes:
    """Returns `length` bytes of the PRF of TLS 1.2."""
    seeded = label + seed
    found, link = b"", seeded
    while len(found) < length:
        link = hmac.digest(secret, link, hash_name)
        found += hmac.digest(secret, link + seeded, hash_name)
    return found[:length]


def derive_master(premaster: bytes, randoms: bytes, hash_name: str) -> bytes:
    """Returns the master secret; `randoms` are the client's and the server's."""
    return expand_prf(premaster, b"master secret", randoms, MASTER, hash_name)


def derive_extended_master(premaster: bytes, transcript: bytes, hash_name: str) -> bytes:
    """Returns the extended master secret (RFC 7627); `transcript`: the messages up to the client's key exchange."""
    seed = hashlib.new(hash_name, transcript).digest()
    return expand_prf(premaster, b"extended master secret", seed, MASTER, hash_name)


def derive_key_block(master: bytes, client: bytes, server: bytes, suite: Suite) -> tuple[KeyMaterial, KeyMaterial]:
    """Returns the keys of the client's and of the server's direction; `client` and `server` are their randoms."""
    sizes = (suite.mac_length, suite.mac_length, suite.key, suite.key, suite.fixed_nonce, suite.fixed_nonce)
    block = expand_prf(master, b"key expansion", server + client, sum(sizes), suite.hash)
    parts, at = [], 0
    for size in sizes:
        parts.append(block[at : at + size])
        at += size
    return KeyMaterial(*parts[0::2]), KeyMaterial(*parts[1::2])
