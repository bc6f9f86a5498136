"""Decrypts protected records: AEAD of TLS 1.2 and 1.3, CBC with and without encrypt-then-mac, and MAC alone.

Only this module and key_files.py import `cryptography`, and only when the first key is there.
"""

from __future__ import annotations

import hmac
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cache
from typing import ClassVar, Protocol

from analyzer.tls.key_schedule import KeyMaterial
from analyzer.tls.suites import Mode, Suite

Buffer = bytes | memoryview
Opener = Callable[[int, bytes, Buffer], bytes]
"""Takes number, header and body of a record; returns the plaintext of the body."""

BLOCK = 16


class BadRecord(Exception):
    """A record whose tag or MAC does not match: the key, the number or the bytes are wrong."""


class RecordCipher(ABC):
    """Decrypts the records of one direction under one key. inner_type: the content type follows the plaintext."""

    __slots__ = ()
    inner_type: ClassVar[bool] = False

    def __reduce__(self) -> str:
        raise TypeError("keys are not pickled")

    @abstractmethod
    def decrypt(self, number: int, kind: int, body: Buffer) -> bytes:
        """Returns the plaintext of the record with this sequence number. Raises BadRecord."""

    def make_opener(self) -> Opener:
        """Returns a function that decrypts many records of application data; it raises one of `failures`."""

        def decrypt(number: int, header: bytes, body: Buffer) -> bytes:
            return self.decrypt(number, header[0], body)

        return decrypt

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        """The exceptions of an opener for a record that it cannot decrypt."""
        return (BadRecord,)

    def open_record(self, number: int, kind: int, body: bytes) -> tuple[int, bytes]:
        """Returns content type and plaintext of the record with this sequence number. Raises BadRecord."""
        inner = self.decrypt(number, kind, body)
        if not self.inner_type:
            return kind, inner
        if not (inner and inner[-1]):
            inner = inner.rstrip(b"\0")
            if not inner:
                raise BadRecord
        return inner[-1], inner[:-1]


class Aead(Protocol):
    """The common interface of the AEAD classes of `cryptography`."""

    def decrypt(self, nonce: bytes, data: Buffer, associated_data: Buffer | None) -> bytes:
        """Returns the plaintext. Raises InvalidTag."""


def make_cipher(suite: Suite, keys: KeyMaterial, *, encrypt_then_mac: bool = False) -> RecordCipher:
    """Returns the cipher for the records of one direction."""
    if suite.mode is Mode.NULL:
        return MacCipher(suite, keys)
    if suite.mode is Mode.CBC:
        return CbcCipher(suite, keys, encrypt_then_mac)
    return Tls13Cipher(suite, keys) if suite.is_tls13 else Tls12Cipher(suite, keys)


@cache
def _load_library() -> tuple[Mapping[Mode, Callable[[bytes], Aead]], Callable[..., Aead], type[Exception]]:
    """Returns the AEAD classes of `cryptography` by mode, the one with a short tag, and their exception."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM, ChaCha20Poly1305

    return {Mode.GCM: AESGCM, Mode.CHACHA20: ChaCha20Poly1305}, AESCCM, InvalidTag


def _make_aead(suite: Suite, key: bytes) -> tuple[Aead, type[Exception]]:
    """Returns the cipher of a key, and its exception for a record that it cannot decrypt."""
    by_mode, ccm, invalid = _load_library()
    return ccm(key, tag_length=suite.tag) if suite.mode is Mode.CCM else by_mode[suite.mode](key), invalid


class Tls13Cipher(RecordCipher):
    """Decrypts records of TLS 1.3 (RFC 8446, section 5.2): the content type follows the plaintext, then zeros."""

    __slots__ = ("_aead", "_invalid", "_nonce")
    inner_type = True

    def __init__(self, suite: Suite, keys: KeyMaterial) -> None:
        self._aead, self._invalid = _make_aead(suite, keys.key)
        self._nonce = int.from_bytes(keys.nonce)

    def make_opener(self) -> Opener:
        """Returns a function that decrypts many records, each with the header of application data."""
        decrypt, nonce = self._aead.decrypt, self._nonce

        def open_one(number: int, header: bytes, body: Buffer) -> bytes:
            return decrypt((nonce ^ number).to_bytes(12), body, header)

        return open_one

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        """The exceptions of a cipher for a record that it cannot decrypt."""
        return (self._invalid, ValueError)

    def decrypt(self, number: int, kind: int, body: Buffer) -> bytes:
        """Returns plaintext, content type and padding. Raises BadRecord."""
        header = b"\x17\x03\x03" + len(body).to_bytes(2)
        try:
            return self._aead.decrypt((self._nonce ^ number).to_bytes(12), body, header)
        except (self._invalid, ValueError):
            raise BadRecord from None


class Tls12Cipher(RecordCipher):
    """Decrypts AEAD records of TLS 1.2 (RFC 5288, 6655 and 7905)."""

    __slots__ = ("_aead", "_explicit", "_invalid", "_nonce", "_number", "_overhead")

    def __init__(self, suite: Suite, keys: KeyMaterial) -> None:
        self._aead, self._invalid = _make_aead(suite, keys.key)
        self._nonce = keys.nonce
        self._explicit, self._overhead, self._number = suite.explicit_nonce, suite.overhead, int.from_bytes(keys.nonce)

    def decrypt(self, number: int, kind: int, body: Buffer) -> bytes:
        """Returns the plaintext. Raises BadRecord."""
        length = len(body) - self._overhead
        if length < 0:
            raise BadRecord
        if self._explicit:
            nonce, sealed = self._nonce + bytes(body[: self._explicit]), body[self._explicit :]
        else:
            nonce, sealed = (self._number ^ number).to_bytes(12), body
        try:
            return self._aead.decrypt(nonce, sealed, _associate(number, kind, length))
        except (self._invalid, ValueError):
            raise BadRecord from None


def _associate(number: int, kind: int, length: int) -> bytes:
    """Returns the associated data of a record in TLS 1.2, which is authenticated with the plaintext."""
    return number.to_bytes(8) + bytes((kind, 3, 3)) + length.to_bytes(2)


class CbcCipher(RecordCipher):
    """Decrypts CBC records of TLS 1.2 (RFC 5246, section 6.2.3.2), with encrypt-then-mac (RFC 7366) or without."""

    __slots__ = ("_etm", "_key", "_mac", "_mac_key", "_mac_length")

    def __init__(self, suite: Suite, keys: KeyMaterial, encrypt_then_mac: bool) -> None:
        from cryptography.hazmat.primitives.ciphers.algorithms import AES

        self._key, self._mac_key, self._etm = AES(keys.key), keys.mac, encrypt_then_mac
        self._mac, self._mac_length = suite.mac, suite.mac_length

    def decrypt(self, number: int, kind: int, body: Buffer) -> bytes:
        """Returns the plaintext. Raises BadRecord."""
        body = bytes(body)
        if self._etm:
            body, mac = body[: -self._mac_length], body[-self._mac_length :]
            self._verify(number, kind, body, mac)
        if len(body) < 2 * BLOCK or len(body) % BLOCK:
            raise BadRecord
        padded = self._decrypt(body)
        padding = padded[-1] + 1
        rest = len(padded) - padding - (0 if self._etm else self._mac_length)
        if rest < 0 or padded[-padding:] != padded[-1:] * padding:
            raise BadRecord
        if not self._etm:
            self._verify(number, kind, padded[:rest], padded[rest:-padding])
        return padded[:rest]

    def _decrypt(self, body: bytes) -> bytes:
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.modes import CBC

        decryptor = Cipher(self._key, CBC(body[:BLOCK])).decryptor()
        return decryptor.update(body[BLOCK:]) + decryptor.finalize()

    def _verify(self, number: int, kind: int, content: bytes, mac: bytes) -> None:
        right = hmac.digest(self._mac_key, _associate(number, kind, len(content)) + content, self._mac)
        if not hmac.compare_digest(mac, right):
            raise BadRecord


class MacCipher(RecordCipher):
    """Checks records that are authenticated but not encrypted."""

    __slots__ = ("_mac", "_mac_key", "_mac_length")

    def __init__(self, suite: Suite, keys: KeyMaterial) -> None:
        self._mac_key, self._mac, self._mac_length = keys.mac, suite.mac, suite.mac_length

    def decrypt(self, number: int, kind: int, body: Buffer) -> bytes:
        """Returns the plaintext. Raises BadRecord."""
        body = bytes(body)
        content, mac = body[: -self._mac_length], body[-self._mac_length :]
        right = hmac.digest(self._mac_key, _associate(number, kind, len(content)) + content, self._mac)
        if not hmac.compare_digest(mac, right):
            raise BadRecord
        return content
