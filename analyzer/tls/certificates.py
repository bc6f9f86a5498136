"""The fields of an X.509 certificate (RFC 5280) that the analyzer shows: subject, issuer and validity.

This is a small reader of DER, so nothing has to be installed to read a certificate without a key. It does not check
signatures.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

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
