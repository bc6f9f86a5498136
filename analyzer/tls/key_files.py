"""Key logs and private keys on disk: read once, and again when a key log grows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from analyzer.errors import UserError
from analyzer.tls.keys import KeyLog, LineBuffer

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

MOST_READ = 1 << 20
"""Bytes of a key log per read."""


class KeyLogFile:
    """Follows one key log. A file that was replaced or rewritten is read from its beginning."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._lines = LineBuffer()
        self._position = 0
        self._identity = (0, 0)
        self._changed = 0

    def read_growth(self, log: KeyLog) -> bool:
        """Adds the new lines to `log`; returns whether there were any. Raises OSError."""
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
        """Whether the file has unread bytes."""
        try:
            status = os.stat(self.path)
        except OSError:
            return False
        same = (status.st_size, status.st_mtime_ns) == (self._position, self._changed)
        return not same or (status.st_dev, status.st_ino) != self._identity


PASSWORD_VARIABLE = "WIREANALYZE_KEY_PASSWORD"


class KeyPasswords(NamedTuple):
    """Finds the password of a private key: in the file at `path`, else in the environment, else with `ask`.

    ask: takes the path of the key and returns the password, b"" for none. No password is stored.
    """

    path: str | None = None
    ask: Callable[[str], bytes] | None = None

    def find(self, key: str) -> bytes:
        """Returns the password of the private key at a path; b"" if there is none. Raises UserError."""
        if self.path is not None:
            try:
                return Path(self.path).read_bytes().rstrip(b"\r\n")
            except OSError as error:
                raise UserError(f"Cannot read the password in {self.path}: {error.strerror}.") from None
        given = os.fsencode(os.environ.get(PASSWORD_VARIABLE, ""))
        return given or (self.ask(key) if self.ask is not None else b"")


class KeyRing:
    """Holds the secrets of all key logs, of captures and of private keys. It implements Secrets for sessions.

    grows: a key log may get secrets after the bytes that need them, and need not exist yet. passwords: of private keys.
    A ring is pickled as the paths of its files, which the other process reads.
    """

    def __init__(
        self,
        logs: Sequence[str] = (),
        private_keys: Sequence[str] = (),
        passwords: KeyPasswords | None = None,
        *,
        grows: bool = False,
    ) -> None:
        passwords = passwords or KeyPasswords()
        self.paths = tuple(logs), tuple(private_keys), KeyPasswords(passwords.path)
        self.log = self._shared = KeyLog()
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
            self._private.append(load_private_key(path, passwords))

    def __repr__(self) -> str:
        return f"KeyRing({len(self._files)} key logs, {len(self._private)} private keys)"

    def __reduce__(self) -> tuple[type[KeyRing], tuple[tuple[str, ...], tuple[str, ...], KeyPasswords]]:
        return KeyRing, self.paths

    def extend(self, texts: Sequence[bytes]) -> KeyRing:
        """Returns a ring with the secrets of this one and of more key logs; this one stays as it is."""
        ring = KeyRing(grows=self.grows)
        ring.paths, ring._files, ring._private, ring._shared = self.paths, self._files, self._private, self._shared
        ring.log = KeyLog(self._shared)
        for text in texts:
            ring.log.feed(text)
        return ring

    def refresh(self) -> bool:
        """Reads the new lines of the key logs; returns whether there were any."""
        new = False
        for file in self._files:
            if file.grew:
                try:
                    new |= file.read_growth(self._shared)
                except OSError:
                    continue  # it is being replaced; the next refresh reads it
        self.version += new
        return new

    def find(self, label: str, identifier: bytes) -> bytes | None:
        """Returns a secret by its label and identifier, also one that was just added to its key log."""
        found = self.log.find(label, identifier)
        if found is None and self._files and self.refresh():
            found = self.log.find(label, identifier)
        return found

    def learn(self, label: str, identifier: bytes, secret: bytes) -> None:
        """Adds a secret derived with a private key."""
        self.log.add(label, identifier, secret)

    def decrypt_premaster(self, certificate: bytes, encrypted: bytes) -> bytes | None:
        """Returns an RSA premaster secret if the ring has the private key of a certificate (DER)."""
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


def load_private_key(path: str, passwords: KeyPasswords) -> tuple[bytes, RSAPrivateKey]:
    """Returns the public key (DER of SubjectPublicKeyInfo) and the private key of a PEM or PKCS#12 file.

    Raises UserError.
    """
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UserError(f"Cannot read the private key {path}: {error.strerror}.") from None
    key = next(_parse_private_key(data), None)
    if key is None and (b"ENCRYPTED" in data or data[:1] == _SEQUENCE):
        password = passwords.find(path)
        if not password:
            raise UserError(
                f"{path} needs a password. Give it in a file with --key-password-file FILE, or in the environment"
                f" variable {PASSWORD_VARIABLE}."
            )
        key = next(_parse_private_key(data, password), None)
        if key is None:
            raise UserError(f"The password does not fit {path}, or the file holds no private key.")
    if key is None:
        raise UserError(f"{path} holds no private key that can be read: give an RSA key as PEM or PKCS#12.")
    if not isinstance(key, RSAPrivateKey):
        raise UserError(f"{path} is no RSA key. Only an RSA key exchange can be decrypted with a private key.")
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo), key


_SEQUENCE = b"\x30"
"""The first byte of DER, and so of PKCS#12."""


def _parse_private_key(data: bytes, password: bytes | None = None) -> Iterator[object]:
    """Yields the key in each format that parses."""
    from cryptography.hazmat.primitives.serialization import load_der_private_key, load_pem_private_key
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_key_and_certificates

    if b"-----BEGIN" in data:
        try:
            yield load_pem_private_key(data, password)
        except (ValueError, TypeError):
            return
    for each in (password, b""):
        try:
            if (key := load_key_and_certificates(data, each)[0]) is not None:
                yield key
        except (ValueError, TypeError):
            continue
    try:
        yield load_der_private_key(data, password)
    except (ValueError, TypeError):
        return
