"""How much a frame looks like Kafka: on a first look at a connection, and behind a gap.

Theory. A request gives itself away: its key is one of ninety-odd, its version in a narrow range, and the length of its
client id must fit into the frame. A response has nothing but a size and a correlation id, which any bytes may be, so it
counts for little where the protocol is in question, and is just good enough to find the next frame in a stream that is
known to be Kafka.
"""

from __future__ import annotations

from struct import Struct

from dissectors.kafka.header import MAXIMUM, NEWER
from dissectors.kafka.schemas import apis, header_version

_REQUEST = Struct(">ihhih")
_RESPONSE = Struct(">ii")
_SANE = 0x0100_0000
"""Sizes from here on are rare in Kafka, and what text or TLS looks like when it is read as a size."""

REQUEST = 95
NEWER_REQUEST = 60
GSSAPI = 40
RESPONSE = 25


def request_evidence(prefix: bytes) -> int:
    """How sure the first bytes of a frame make us that it is a request."""
    if len(prefix) < 12:
        return _short_evidence(prefix)
    size, key, version, correlation = _REQUEST.unpack_from(prefix.ljust(14, b"\0"))[:4]
    if not 8 <= size <= MAXIMUM:
        return _gssapi(prefix)
    api = apis().get(key)
    if api is None or not api.versions.low <= version <= api.versions.high + NEWER:
        return _gssapi(prefix)
    if header_version(key, version, False) > 0 and not _client_fits(prefix, size):
        return _gssapi(prefix)
    if version not in api.versions:
        return NEWER_REQUEST
    return REQUEST if correlation >= 0 else REQUEST - 15


def _client_fits(prefix: bytes, size: int) -> bool:
    if size < 10:
        return False
    if len(prefix) < 14:
        return True
    length = _REQUEST.unpack_from(prefix)[4]
    if length < -1 or 10 + length > size:
        return False
    text = prefix[14 : 14 + max(length, 0)]
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data" and len(text) < length
    return True


def _short_evidence(prefix: bytes) -> int:
    """The first bytes of what may become a request, too few to be sure."""
    if len(prefix) < 8:
        return 0
    size, key, version = Struct(">ihh").unpack_from(prefix)
    api = apis().get(key)
    return RESPONSE if api is not None and version in api.versions and 8 <= size <= MAXIMUM else 0


def _gssapi(prefix: bytes) -> int:
    """Old clients open with a size and a bare GSSAPI token: ASN.1's application tag 0x60, a length, an OID."""
    size = int.from_bytes(prefix[:4], "big")
    return GSSAPI if 8 <= size < _SANE and prefix[4:5] == b"\x60" and b"\x06" in prefix[5:11] else 0


def response_evidence(prefix: bytes) -> int:
    """How sure the first bytes of a frame make us that it is a response; never much."""
    if len(prefix) < 8:
        return 0
    size, correlation = _RESPONSE.unpack_from(prefix)
    if correlation < 0 or not 4 <= size <= MAXIMUM:
        return 0
    return RESPONSE if size < _SANE else RESPONSE // 3


def plausible_request(prefix: bytes) -> bool:
    """Whether a request of a known version can begin here."""
    return len(prefix) >= 12 and request_evidence(prefix) > NEWER_REQUEST


def plausible_response(prefix: bytes) -> bool:
    """Whether a response can begin here."""
    return response_evidence(prefix) == RESPONSE
