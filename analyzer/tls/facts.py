"""The facts of a TLS connection that can be read without keys, its alerts and certificates; why it is not decrypted.

The reader of certificates (X.509, RFC 5280) knows as much of DER as it needs, so nothing has to be installed to read a
certificate without a key. It does not check signatures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from analyzer.tls.handshake import VERSIONS
from analyzer.tls.suites import name_suite

MOST_ALERTS = 8
MOST_CERTIFICATES = 4
MOST_VERSIONS = 16


class Refusal(StrEnum):
    """The reasons why a connection, or the rest of it, is not decrypted."""

    NO_KEY = "its keys are in no key log"
    WRONG_KEY = "its keys do not fit"
    NO_HANDSHAKE = "the capture begins inside the session, without its handshake"
    INCOMPLETE = "the capture lacks a part of its handshake"
    OLD_VERSION = "its version is not decrypted"
    SUITE = "its cipher suite is not decrypted"
    RENEGOTIATED = "the session was renegotiated"
    COMPRESSED = "its records are compressed"
    NO_DATA = "it carried no data"


class Alert(NamedTuple):
    """One alert. encrypted: only the keys made it readable."""

    from_client: bool
    fatal: bool
    code: int
    encrypted: bool = False

    def __str__(self) -> str:
        return name_alert(self.code)


@dataclass(slots=True)
class TlsFacts:
    """Holds the facts of a connection. Fields are empty, 0 or None until a message sets them.

    random: of the client; key logs identify the session by it.

    offered: versions of the client. opened, failed: records by side, the client (0) and the server (1). `failed`
    records did not match their keys; `lost` records lack bytes. is_reported: a finding reports the refusal.
    """

    random: bytes = b""
    server_name: str = ""
    offered: tuple[int, ...] = ()
    fingerprint: str = ""
    version: int = 0
    suite: int = 0
    alpn: str = ""
    resumed: bool = False
    retried: bool = False
    certificates: list[Certificate] = field(default_factory=list)
    alerts: list[Alert] = field(default_factory=list)
    key_updates: int = 0
    opened: list[int] = field(default_factory=lambda: [0, 0])
    failed: list[int] = field(default_factory=lambda: [0, 0])
    lost: list[int] = field(default_factory=lambda: [0, 0])
    refusal: Refusal | None = None
    is_reported: bool = False

    @property
    def is_decrypted(self) -> bool:
        """Whether data was decrypted, and nothing indicates wrong keys."""
        return self.refusal is None and any(self.opened)

    @property
    def version_name(self) -> str:
        """The usual name of the version that the server chose; empty if it is unknown."""
        return VERSIONS.get(self.version, f"version 0x{self.version:04x}") if self.version else ""

    @property
    def suite_name(self) -> str:
        """The name of the chosen suite; empty if it is unknown."""
        return name_suite(self.suite) if self.suite else ""

    def add_alert(self, alert: Alert) -> None:
        """Records an alert; only the first ones are kept."""
        if len(self.alerts) < MOST_ALERTS:
            self.alerts.append(alert)


_NAMES = {
    0: "close_notify",
    10: "unexpected_message",
    20: "bad_record_mac",
    21: "decryption_failed",
    22: "record_overflow",
    30: "decompression_failure",
    40: "handshake_failure",
    41: "no_certificate",
    42: "bad_certificate",
    43: "unsupported_certificate",
    44: "certificate_revoked",
    45: "certificate_expired",
    46: "certificate_unknown",
    47: "illegal_parameter",
    48: "unknown_ca",
    49: "access_denied",
    50: "decode_error",
    51: "decrypt_error",
    60: "export_restriction",
    70: "protocol_version",
    71: "insufficient_security",
    80: "internal_error",
    86: "inappropriate_fallback",
    90: "user_canceled",
    100: "no_renegotiation",
    109: "missing_extension",
    110: "unsupported_extension",
    111: "certificate_unobtainable",
    112: "unrecognized_name",
    113: "bad_certificate_status_response",
    115: "unknown_psk_identity",
    116: "certificate_required",
    120: "no_application_protocol",
}


def name_alert(code: int) -> str:
    """Returns the name of an alert, or its number."""
    return _NAMES.get(code, f"alert {code}")


_SEQUENCE, _UTC_TIME, _GENERALIZED_TIME, _CONTEXT_0, _BMP = 0x30, 0x17, 0x18, 0xA0, 0x1E
_ATTRIBUTES = {
    "550403": "CN",
    "550406": "C",
    "550407": "L",
    "550408": "ST",
    "55040a": "O",
    "55040b": "OU",
    "2a864886f70d010901": "emailAddress",
    "0992268993f22c640119": "DC",
}
_MOST = 64
"""Maximum number of elements read from one sequence; a certificate has ten, a name a few."""


MOST_REMEMBERED = 64
"""Maximum number of certificates in the cache."""


class Certificate(NamedTuple):
    """Holds the fields of a certificate. Times in seconds since 1970."""

    subject: str
    issuer: str
    not_before: int
    not_after: int


class _Element(NamedTuple):
    tag: int
    content: bytes


class _Unfit(Exception):
    """The bytes are not DER of the expected form."""


@lru_cache(maxsize=MOST_REMEMBERED)
def parse_certificate(der: bytes) -> Certificate | None:
    """Parses a certificate; None if the bytes are not one. Results are cached, because servers repeat certificates."""
    try:
        outer = _first(der, _SEQUENCE)
        body = list(_elements(_first(outer, _SEQUENCE)))
        if body and body[0].tag == _CONTEXT_0:
            del body[0]  # the version
        _, _, issuer, validity, subject = (element.content for element in body[:5])
        begin, end = (_time(element) for element in list(_elements(validity))[:2])
        return Certificate(_name(subject), _name(issuer), begin, end)
    except (_Unfit, ValueError, OverflowError):
        return None


def _elements(data: bytes) -> Iterator[_Element]:
    at = 0
    for _ in range(_MOST):
        if at >= len(data):
            return
        tag, length, at = data[at], *_length(data, at + 1)
        if at + length > len(data):
            raise _Unfit
        yield _Element(tag, data[at : at + length])
        at += length


def _length(data: bytes, at: int) -> tuple[int, int]:
    """Returns the length at an offset, and the offset after it."""
    if at >= len(data):
        raise _Unfit
    first = data[at]
    if first < 0x80:
        return first, at + 1
    size = first & 0x7F
    if not 1 <= size <= 4 or at + 1 + size > len(data):
        raise _Unfit
    return int.from_bytes(data[at + 1 : at + 1 + size]), at + 1 + size


def _first(data: bytes, tag: int) -> bytes:
    element = next(_elements(data), None)
    if element is None or element.tag != tag:
        raise _Unfit
    return element.content


def _name(data: bytes) -> str:
    """Returns a distinguished name as text, with the most significant part last."""
    parts = []
    for group in _elements(data):
        for pair in _elements(group.content):
            kind, value = list(_elements(pair.content))[:2]
            text = value.content.decode("utf-16-be" if value.tag == _BMP else "utf-8", "replace")
            parts.append(f"{_ATTRIBUTES.get(kind.content.hex(), 'OID')}={text}")
    return ", ".join(reversed(parts))


def _time(element: _Element) -> int:
    text = element.content.decode("ascii", "replace")
    if element.tag == _UTC_TIME:
        text = ("19" if text[:2] >= "50" else "20") + text
    elif element.tag != _GENERALIZED_TIME:
        raise _Unfit
    return int(datetime.strptime(text[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp())
