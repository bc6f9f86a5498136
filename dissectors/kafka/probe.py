"""Probes bytes for Kafka: at the start of a connection, and behind a gap.

Theory. A request is easy to recognise: its key is one of ninety-odd, its version is in a narrow range, and the length
of its client id must fit into the frame. Two kinds need a second look. An unknown key or version may be a client's
mistake: a client id of printable text that fits is weak evidence. And zeros read like a Produce, as ZooKeeper's first
frame and answers with small correlation ids do. So a Produce must also fit, or name a topic, before it decides about a
connection; behind a gap this holds only for one with an empty client id. A response has only a size and a correlation
id, which any bytes may be. So it is weak evidence for the protocol of a connection, but good enough to find the next
frame in a stream that is known to be Kafka.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct as Layout

from dissectors.api import Context, Role
from dissectors.kafka.body import decode_values
from dissectors.kafka.header import MAXIMUM, NEWER, body_offset
from dissectors.kafka.reading import body_plan
from dissectors.kafka.schemas import apis, body_schema, header_version
from dissectors.wire.budget import Budget
from dissectors.wire.emit import FAILURES
from dissectors.wire.fields import read_members
from dissectors.wire.plan import Array, Struct, resolve
from dissectors.wire.reader import Reader

_REQUEST = Layout(">ihhih")
_RESPONSE = Layout(">ii")
_BEGIN = Layout(">ihh")
_PRINTABLE = frozenset(range(0x20, 0x7F))
_SMALL = 0x10_0000
"""Sizes from here on are no evidence where little else is."""

_SANE = 0x0100_0000
"""Sizes from here on are rare in Kafka, and what text or TLS looks like when it is read as a size."""

_UNFIT = frozenset({"malformed-body", "limit-exceeded", "trailing-bytes", "unsupported-version"})
"""What is found where a body does not fit its layout exactly."""

PRODUCE = bytes(2)
REQUEST = 95
NEWER_REQUEST = 60
GSSAPI = 40
UNKNOWN_REQUEST = 30
RESPONSE = 25
SHORT = 15

FEWEST_ZEROS = 16
"""Of so many bytes that are no text at least one is zero."""


def request_evidence(prefix: bytes) -> int:
    """Returns how sure the first bytes of a frame make us that it is a request."""
    found = _header_evidence(prefix)
    if found < NEWER_REQUEST or len(prefix) < _REQUEST.size or prefix[4:6] != PRODUCE:
        return found
    size, _, version = _BEGIN.unpack_from(prefix)
    return min(found, _produce(prefix, size, version))


def _header_evidence(prefix: bytes) -> int:
    """The same by the header alone, but for a Produce with an empty client id."""
    if len(prefix) < 14:
        return _short_evidence(prefix)
    size, key, version, correlation, client = _REQUEST.unpack_from(prefix)
    if not 8 <= size <= MAXIMUM:
        return _gssapi(prefix)
    api = apis().get(key)
    if api is None or not api.versions.low <= version <= api.versions.high + NEWER:
        return _gssapi(prefix) or _unknown_request(prefix)
    if header_version(key, version, False) > 0 and not _client_fits(prefix, size, _least(key, version)):
        return _gssapi(prefix)
    if key == client == 0:
        return _produce(prefix, size, version)
    if version not in api.versions:
        return NEWER_REQUEST
    return REQUEST if correlation >= 0 else REQUEST - 15


def _unknown_request(prefix: bytes) -> int:
    """What has the form of a request and a client id of printable text, whatever its key and version."""
    size, _, _, correlation, length = _REQUEST.unpack_from(prefix)
    text = prefix[14 : 14 + max(length, 0)]
    if size >= _SMALL or correlation < 0 or not 0 < len(text) == length <= size - 10:
        return 0
    return UNKNOWN_REQUEST if _PRINTABLE.issuperset(text) else 0


def _produce(prefix: bytes, size: int, version: int) -> int:
    """A Produce is believed when its body fits exactly, or else for the first of its topics.

    One that is cut before them is weak evidence if its client has a name.
    """
    cut = len(prefix) < size + 4
    if not cut:
        body = decode_values(prefix[: size + 4], Context(Role.REQUEST, 0, version))
        if version in apis()[0].versions and not any(finding.code in _UNFIT for finding in body.findings):
            return REQUEST
    name = _first_topic(prefix[: size + 4], version)
    if name is None:
        return (_unknown_request(prefix) or SHORT) if cut else 0
    return REQUEST if isinstance(name, str) and name.isprintable() and name else 0


def _first_topic(message: bytes, version: int) -> object:
    """The name or id of the first topic in a Produce; None where it is not reached."""
    plan = body_plan(0, version, False)
    assert plan is not None
    place = next(index for index, step in enumerate(plan.steps) if isinstance(step, Array))
    topics = plan.steps[place]
    assert isinstance(topics, Array)
    assert isinstance(topics.element, Struct)
    assert topics.count is not None
    reader = Reader.start(message, Budget())
    try:
        reader.at = body_offset(message, 0, version, False)
        read_members(reader, plan.steps[:place])
        count, reader.at = reader.number(topics.count, reader.at, topics.spec.name)
        reader.need(count * topics.element.minimum, reader.at, topics.spec.name)
        read_members(reader, topics.element.steps[: count > 0])
    except FAILURES:
        return None
    return reader.into[-1].value if count > 0 else None


@lru_cache(maxsize=1024)
def _least(key: int, version: int) -> int:
    """The fewest bytes of a body; 0 where the layout is not known."""
    if version > apis()[key].versions.high:
        return 0
    return sum(step.minimum for step in resolve(body_schema(key, False), version).steps)


def _client_fits(prefix: bytes, size: int, body: int) -> bool:
    """Whether the client id is text, and it and at least `body` bytes more fit into the frame.

    Text has hardly any zeros: the counts and lengths of an answer have many where a request would have its client id.
    """
    length = _REQUEST.unpack_from(prefix)[4]
    if length < -1 or 10 + max(length, 0) + body > size:
        return False
    text = prefix[14 : 14 + max(length, 0)]
    if text.count(0) * FEWEST_ZEROS > len(text):
        return False
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data" and len(text) < length
    return True


def _short_evidence(prefix: bytes) -> int:
    """The first bytes of what may become a request, too few to be sure."""
    if len(prefix) < 8:
        return 0
    size, key, version = _BEGIN.unpack_from(prefix)
    api = apis().get(key)
    if api is None or version not in api.versions or not 8 <= size <= MAXIMUM:
        return 0
    return REQUEST if len(prefix) - 4 == size == 8 and header_version(key, version, False) == 0 else SHORT


def _gssapi(prefix: bytes) -> int:
    """Old clients open with a size and a bare GSSAPI token: ASN.1's application tag 0x60, a length, an OID."""
    size = int.from_bytes(prefix[:4], "big")
    return GSSAPI if 8 <= size < _SANE and prefix[4:5] == b"\x60" and b"\x06" in prefix[5:11] else 0


def response_evidence(prefix: bytes) -> int:
    """Returns how sure the first bytes of a frame make us that it is a response; never much."""
    if len(prefix) < 8:
        return 0
    size, correlation = _RESPONSE.unpack_from(prefix)
    if correlation < 0 or not 4 <= size <= MAXIMUM:
        return 0
    return RESPONSE if size < _SANE else RESPONSE // 3


def plausible_request(prefix: bytes) -> bool:
    """Returns whether a request of a known version can begin here."""
    return len(prefix) >= 12 and _header_evidence(prefix) > NEWER_REQUEST


def plausible_response(prefix: bytes) -> bool:
    """Returns whether a response can begin here."""
    return response_evidence(prefix) == RESPONSE
