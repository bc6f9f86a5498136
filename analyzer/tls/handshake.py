"""Parses the messages of the handshake (RFC 5246, section 7.4; RFC 8446, section 4): hellos, certificates, tickets.

Parsing is tolerant: nothing here is trusted, so fields that are truncated or invalid are omitted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from struct import unpack_from
from typing import NamedTuple

HELLO_REQUEST, CLIENT_HELLO, SERVER_HELLO, NEW_TICKET, END_OF_EARLY_DATA = 0, 1, 2, 4, 5
ENCRYPTED_EXTENSIONS, CERTIFICATE, CLIENT_KEY_EXCHANGE, FINISHED, KEY_UPDATE = 8, 11, 16, 20, 24

TLS12, TLS13 = 0x0303, 0x0304
VERSIONS = {0x0300: "SSL 3.0", 0x0301: "TLS 1.0", 0x0302: "TLS 1.1", TLS12: "TLS 1.2", TLS13: "TLS 1.3"}

RETRY_RANDOM = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
"""The random of a ServerHello that is a HelloRetryRequest."""

MOST_MESSAGE = 1 << 18
"""Maximum size in bytes of a handshake message that is reassembled; certificate chains take a few thousand."""

LONGEST_NAME = 255
"""Maximum length in bytes of a server name (RFC 1035, section 2.3.4)."""

_SNI, _SIGNATURES, _ALPN, _ETM, _EMS, _TICKET, _PSK, _EARLY_DATA, _VERSIONS = 0, 13, 16, 22, 23, 35, 41, 42, 43


class Reader:
    """Reads numbers and vectors; missing bytes read as zeros or as nothing."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    @property
    def left(self) -> int:
        """Number of unread bytes."""
        return len(self._data) - self._at

    def take(self, size: int) -> bytes:
        """Returns the next `size` bytes, fewer at the end."""
        found = self._data[self._at : self._at + size]
        self._at += len(found)
        return found

    def number(self, size: int) -> int:
        """Returns a number of `size` bytes."""
        return int.from_bytes(self.take(size))

    def vector(self, width: int) -> bytes:
        """Returns the bytes that follow a length of `width` bytes."""
        begin = self._at + width
        end = begin + int.from_bytes(self._data[self._at : begin])
        found = self._data[begin:end]
        self._at = min(end, len(self._data))
        return found


def _numbers(data: bytes) -> tuple[int, ...]:
    count = len(data) >> 1
    return unpack_from(f">{count}H", data)


def _extensions(reader: Reader) -> dict[int, bytes]:
    """Returns the extensions of a message, in order."""
    data, at = reader.vector(2), 0
    found = {}
    while len(data) - at >= 4:
        end = at + 4 + (data[at + 2] << 8 | data[at + 3])
        found[data[at] << 8 | data[at + 1]] = data[at + 4 : end]
        at = end
    return found


def _text(data: bytes) -> str:
    return data.decode("ascii", "backslashreplace")


class ClientHello(NamedTuple):
    """Holds a client's offer. `versions`: all that it supports; `psk`: it offers to resume; `early`: it sends 0-RTT.

    ticket: of an earlier session (TLS 1.2).
    """

    random: bytes
    session_id: bytes
    suites: tuple[int, ...]
    versions: tuple[int, ...]
    server_name: str
    alpn: tuple[str, ...]
    extensions: tuple[int, ...]
    signatures: tuple[int, ...]
    psk: bool
    early: bool
    ticket: bytes


class ServerHello(NamedTuple):
    """Holds the choices of a server. `resumes`: it accepted the offered PSK (TLS 1.3)."""

    random: bytes
    session_id: bytes
    suite: int
    version: int
    compression: int
    encrypt_then_mac: bool
    extended_master: bool
    resumes: bool
    alpn: str

    @property
    def is_retry(self) -> bool:
        """Whether it requests another ClientHello."""
        return self.random == RETRY_RANDOM


def parse_client_hello(body: bytes) -> ClientHello:
    """Parses a ClientHello."""
    reader = Reader(body)
    version, random, session_id = reader.number(2), reader.take(32), reader.vector(1)
    suites = _numbers(reader.vector(2))
    reader.vector(1)
    extensions = _extensions(reader)
    versions = _numbers(extensions.get(_VERSIONS, b"")[1:]) or (version,)
    names = Reader(extensions.get(_SNI, b""))
    names.take(3)
    return ClientHello(
        random,
        session_id,
        suites,
        tuple(each for each in versions if not _is_grease(each)),
        _text(names.vector(2)[:LONGEST_NAME]),
        tuple(_protocols(extensions.get(_ALPN, b""))),
        tuple(extensions),
        _numbers(extensions.get(_SIGNATURES, b"")[2:]),
        _PSK in extensions,
        _EARLY_DATA in extensions,
        extensions.get(_TICKET, b""),
    )


def parse_server_hello(body: bytes) -> ServerHello:
    """Parses a ServerHello."""
    reader = Reader(body)
    version, random, session_id = reader.number(2), reader.take(32), reader.vector(1)
    suite, compression = reader.number(2), reader.number(1)
    extensions = _extensions(reader)
    chosen = extensions.get(_VERSIONS)
    return ServerHello(
        random,
        session_id,
        suite,
        version if chosen is None else int.from_bytes(chosen[:2]),
        compression,
        _ETM in extensions,
        _EMS in extensions,
        _PSK in extensions,
        next(_protocols(extensions.get(_ALPN, b"")), ""),
    )


def parse_encrypted_extensions(body: bytes) -> str:
    """Returns the application protocol that the server chose, or an empty text."""
    return next(_protocols(_extensions(Reader(body)).get(_ALPN, b"")), "")


def parse_certificates(body: bytes, version: int) -> list[bytes]:
    """Returns the DER of each certificate; the sender's is the first."""
    reader = Reader(body)
    if version == TLS13:
        reader.vector(1)
    chain, found = Reader(reader.vector(3)), []
    while chain.left > 3:
        found.append(chain.vector(3))
        if version == TLS13:
            chain.vector(2)
    return found


def parse_ticket(body: bytes) -> bytes:
    """Returns the ticket of a NewSessionTicket of TLS 1.2."""
    return Reader(body[4:]).vector(2)


def _protocols(data: bytes) -> Iterator[str]:
    names = Reader(Reader(data).vector(2))
    while names.left > 1:
        yield _text(names.vector(1))


def _is_grease(number: int) -> bool:
    """Returns whether a number is a reserved one without a meaning (RFC 8701)."""
    return number & 0x0F0F == 0x0A0A and number >> 8 == number & 0xFF


_CODES = {0x0304: "13", 0x0303: "12", 0x0302: "11", 0x0301: "10", 0x0300: "s3"}


def fingerprint(hello: ClientHello) -> str:
    """Returns the JA4 fingerprint of a client: its offer, without the parts that vary between connections."""
    alpn = hello.alpn[0] if hello.alpn else ""
    return _make_fingerprint(
        tuple(each for each in hello.suites if not _is_grease(each)),
        tuple(each for each in hello.extensions if not _is_grease(each)),
        alpn[0] + alpn[-1] if alpn else "00",
        max(hello.versions, default=0),
        tuple(hello.signatures),
    )


@lru_cache(maxsize=64)
def _make_fingerprint(
    suites: tuple[int, ...], kinds: tuple[int, ...], alpn: str, version: int, signatures: tuple[int, ...]
) -> str:
    """Makes a fingerprint from suites, extension types, the ends of the first ALPN, and the latest version."""
    head = f"t{_CODES.get(version, '00')}{'d' if _SNI in kinds else 'i'}"
    head += f"{min(len(suites), 99):02}{min(len(kinds), 99):02}{alpn}"
    compared = ",".join(sorted(f"{each:04x}" for each in kinds if each not in (_SNI, _ALPN)))
    signed = ",".join(f"{each:04x}" for each in signatures)
    both = f"{compared}_{signed}" if signed else compared
    return f"{head}_{_short_hash(','.join(sorted(f'{each:04x}' for each in suites)))}_{_short_hash(both)}"


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12] if text else "0" * 12


@dataclass(slots=True)
class MessageJoiner:
    """Reassembles handshake messages from records."""

    pending: bytes = field(default=b"")

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
        """Yields type, body and all bytes of each message that is complete now."""
        data, self.pending, at = self.pending + data, b"", 0
        while len(data) - at >= 4:
            length = int.from_bytes(data[at + 1 : at + 4])
            if length > MOST_MESSAGE:
                return  # not a message; its bytes are dropped
            end = at + 4 + length
            if end > len(data):
                break
            yield data[at], data[at + 4 : end], data[at:end]
            at = end
        self.pending = data[at:]
