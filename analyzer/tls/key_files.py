"""Key logs and private keys on the disk: read at first, and again where they grow."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.errors import UserError
from analyzer.tls.key_log import KeyLog, LineBuffer

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

MOST_READ = 1 << 20
"""Bytes of a key log that are read at once."""


class KeyLogFile:
    """Follows one key log. A file that was replaced or written anew is read from its beginning."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._lines = LineBuffer()
        self._position = 0
        self._identity = (0, 0)
        self._changed = 0

    def read_growth(self, log: KeyLog) -> bool:
        """Adds what is new to `log`; returns whether anything was. Raises OSError."""
        with open(self.path, "rb") as file:
            status = os.fstat(file.fileno())
            identity = status.st_dev, status.st_ino
            anew = status.st_size < self._position or (
                status.st_size == self._position and status.st_mtime_ns != self._changed
            )
            if anew or identity != self._identity:
                self._lines, self._position, self._identity = LineBuffer(), 0, identity
            self._changed = status.st_mtime_ns
            file.seek(self._position)
            begin = self._position
            while part := file.read(MOST_READ):
                self._position += len(part)
                log.feed(self._lines.feed(part))
        if self._position > begin:
            log.feed(self._lines.peek())
        return self._position > begin

    @property
    def grew(self) -> bool:
        """Whether the file has something that was not read."""
        try:
            status = os.stat(self.path)
        except OSError:
            return False
        same = (status.st_size, status.st_mtime_ns) == (self._position, self._changed)
        return not same or (status.st_dev, status.st_ino) != self._identity


class KeyRing:
    """Holds the secrets of all key logs, of captures and of private keys. It is Secrets for sessions.

    grows: a key log may come later than the bytes that need it, and need not be there yet. A ring pickles as the paths
    of its files, which the other process reads.
    """

    def __init__(self, logs: Sequence[str] = (), private_keys: Sequence[str] = (), *, grows: bool = False) -> None:
        self.paths = tuple(logs), tuple(private_keys)
        self.log = KeyLog()
        self.version, self.grows = 0, grows
        self._files = [KeyLogFile(path) for path in logs]
        self._private: list[tuple[bytes, RSAPrivateKey]] = []
        for file in self._files:
            try:
                file.read_growth(self.log)
            except OSError as error:
                if not (grows and isinstance(error, FileNotFoundError)):
                    raise UserError(f"Cannot read the key log {file.path}: {error.strerror}.") from None
            if self.log.foreign and not len(self.log):
                raise UserError(f"{file.path} is no key log: none of its lines has a label, a random and a secret.")
        for path in private_keys:
            self._private.append(load_private_key(path))

    def __repr__(self) -> str:
        return f"KeyRing({len(self._files)} key logs, {len(self._private)} private keys)"

    def __reduce__(self) -> tuple[type[KeyRing], tuple[tuple[str, ...], tuple[str, ...]]]:
        return KeyRing, self.paths

    def refresh(self) -> bool:
        """Reads what key logs have got since; returns whether anything was new."""
        new = False
        for file in self._files:
            if file.grew:
                try:
                    new |= file.read_growth(self.log)
                except OSError:
                    continue  # it is being replaced; the next time will do
        self.version += new
        return new

    def find(self, label: str, identifier: bytes) -> bytes | None:
        """Returns a secret by its label and identifier, also one that its key log has got just now."""
        found = self.log.find(label, identifier)
        if found is None and self._files and self.refresh():
            found = self.log.find(label, identifier)
        return found

    def learn(self, label: str, identifier: bytes, secret: bytes) -> None:
        """Takes a secret that follows from a private key."""
        self.log.add(label, identifier, secret)

    def decrypt_premaster(self, certificate: bytes, encrypted: bytes) -> bytes | None:
        """Returns an RSA premaster secret, if the private key of a certificate (DER) is there."""
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15

        for public, key in self._private:
            if public in certificate:
                try:
                    return key.decrypt(encrypted, PKCS1v15())
                except ValueError:
                    return None
        return None


def has_cryptography() -> bool:
    """Returns whether `cryptography` is installed."""
    from importlib.util import find_spec

    return find_spec("cryptography") is not None


def load_private_key(path: str) -> tuple[bytes, RSAPrivateKey]:
    """Returns the public key (DER of SubjectPublicKeyInfo) and the private key of a PEM or PKCS#12 file."""
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UserError(f"Cannot read the private key {path}: {error.strerror}.") from None
    key = next(_parse_private_key(data), None)
    if key is None:
        raise UserError(
            f"{path} holds no private key that can be read: give an RSA key as PEM or PKCS#12, without a password."
        )
    if not isinstance(key, RSAPrivateKey):
        raise UserError(f"{path} is no RSA key. Only an RSA key exchange can be decrypted with a private key.")
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo), key


def _parse_private_key(data: bytes) -> Iterator[object]:
    """Yields the key in each form that fits."""
    from cryptography.hazmat.primitives.serialization import load_der_private_key, load_pem_private_key
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_key_and_certificates

    if b"-----BEGIN" in data:
        try:
            yield load_pem_private_key(data, None)
        except (ValueError, TypeError):
            return
    for password in (None, b""):
        try:
            if (key := load_key_and_certificates(data, password)[0]) is not None:
                yield key
        except (ValueError, TypeError):
            continue
    try:
        yield load_der_private_key(data, None)
    except (ValueError, TypeError):
        return
