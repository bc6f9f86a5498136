"""Reads bearer tokens (RFC 7628) and AWS IAM tokens, and the JSON objects in them.

A client's token is a GS2 header and pairs of key and value, each behind a 0x01, with two of these at the end. `auth` is
`Bearer` and the token, usually a JSON Web Token (RFC 7519): header, claims and signature in base64url, separated by
dots. A broker that refuses answers with a JSON object, and the client with a single 0x01. Kafka puts its SASL
extensions (KIP-342) among the pairs. AWS_MSK_IAM is one JSON object in each direction.

The bytes are read as Latin-1 to find the places: JSON's own marks are ASCII, so a character is one byte. Names and
values are then decoded from their bytes as UTF-8.
"""

from __future__ import annotations

import json
import re
from binascii import Error, a2b_base64
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, NamedTuple

from dissectors.field import FieldSpec, Label
from dissectors.kafka.sasl.scram import gs2_header
from dissectors.wire.parts import DecodedPart, ValuePart, hide_part, mark, seal_part, show_part, struct, text_of
from dissectors.wire.sasl.token import Token, user_words
from dissectors.wire.secret import Secret
from dissectors.wire.specs import PartedSpec
from dissectors.wire.times import timestamp

BEARER, IAM = "OAUTHBEARER", "AWS_MSK_IAM"
_MOST_CLAIMS = 64
"""Pairs of one token."""

_PLAIN_KEYS = frozenset({"host", "port"})
_JWT = re.compile(rb"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")
_STANDARD = bytes.maketrans(b"-_", b"+/")


def _seconds(value: object) -> str | None:
    """Seconds since 1970 as a time."""
    if not isinstance(value, int | float) or not 0 <= value < 1e12:
        return None
    return timestamp(round(value * 1000))


_HEADER: KnownMembers = {"alg": None, "typ": None, "kid": None}
_CLAIMS: KnownMembers = {
    "iss": None,
    "sub": None,
    "aud": None,
    "scope": None,
    "exp": _seconds,
    "iat": _seconds,
    "nbf": _seconds,
}
_REFUSAL: KnownMembers = {"status": None, "scope": None, "openid-configuration": None}
_SIGNED: KnownMembers = dict.fromkeys(
    ("version", "host", "user-agent", "action", "x-amz-algorithm", "x-amz-date", "x-amz-signedheaders", "x-amz-expires")
)
_ACCEPTED: KnownMembers = {"version": None, "request-id": None}


def client_bearer(data: bytes) -> Token | None:
    """Formats as `n,a=user,^Aauth=Bearer TOKEN^A^A`, or the single 0x01 behind a refusal."""
    if data == b"\x01":
        return Token(BEARER, ("refusal acknowledged",), (mark("acknowledged", data, 0, 1),))
    header = gs2_header(data)
    if header is None:
        return None
    flag, identity, at = header
    pieces = data[at + 1 :].split(b"\x01", _MOST_CLAIMS + 3)
    if len(pieces) > _MOST_CLAIMS + 3 or len(pieces) < 3 or pieces[0] or any(pieces[-2:]):
        return None
    pairs: list[ValuePart] = []
    for piece in pieces[1:-2]:
        key, sign, value = piece.partition(b"=")
        name = text_of(key)
        if not sign or not isinstance(name, str) or not name.isprintable():
            return None
        start, begin = at, at + (1 if pairs else 2)  # the comma that ends the header goes with the first pair
        at = begin + len(piece)
        pairs.append(_pair(data, name, start, at - len(value), at))
    claims = _read_claims(pairs)
    words = (*user_words("for", identity.value), *_words(claims))
    parts = (struct("gs2Header", (flag, identity)), *pairs, mark("end", data, at, len(data)))
    subject = claims.get("sub")
    return Token(BEARER, words, parts, subject if isinstance(subject, str) else None)


def server_bearer(data: bytes) -> Token | None:
    """Reads the server's refusal of an OAUTHBEARER token, such as `{"status":"invalid_token"}` (RFC 7628)."""
    parts = object_parts(data, _REFUSAL)
    status = None if parts is None else values_of(parts).get("status")
    if parts is None or status is None:
        return None
    return Token(BEARER, ("refused", *((status,) if isinstance(status, str) else ())), parts)


def client_iam(data: bytes) -> Token | None:
    """Reads the JSON token that an AWS IAM client signed."""
    parts = object_parts(data, _SIGNED)
    return None if parts is None else Token(IAM, user_words("host", values_of(parts).get("host")), parts)


def server_iam(data: bytes) -> Token | None:
    """Reads the JSON token by which the broker accepts an AWS IAM client."""
    parts = object_parts(data, _ACCEPTED)
    return None if parts is None else Token(IAM, user_words("request", values_of(parts).get("request-id")), parts)


def _pair(data: bytes, name: str, start: int, value: int, stop: int) -> ValuePart:
    head = value - start
    if name in _PLAIN_KEYS:
        return show_part(name, text_of(data[value:stop]), start, stop, head)
    scheme, space, _ = data[value:stop].partition(b" ")
    if name != "auth" or not space or not scheme.isalpha():
        return hide_part(name, data, start, stop, head)
    at = value + len(scheme)
    return struct(name, (show_part("scheme", scheme.decode("ascii"), start, at, head), _bearer(data, at, stop)))


def _bearer(data: bytes, start: int, stop: int) -> ValuePart:
    """The token behind a space; taken apart if it is a signed JSON Web Token."""
    text = data[start + 1 : stop]
    if len(text) > 4 * LARGEST or _JWT.fullmatch(text) is None:
        return hide_part("token", data, start, stop, 1)
    first = data.index(b".", start, stop)
    second = data.index(b".", first + 1, stop)
    header = _decode_object("header", data, start, first, _HEADER)
    claims = _decode_object("claims", data, first, second, _CLAIMS)
    if header is None or claims is None:
        return hide_part("token", data, start, stop, 1)
    return seal_part("token", data, (header, claims, hide_part("signature", data, second, stop, 1)), 1, "jwt")


def _decode_object(name: str, data: bytes, start: int, stop: int, known: KnownMembers) -> ValuePart | None:
    """A JSON object in base64url, behind one byte."""
    encoded = data[start + 1 : stop].translate(_STANDARD)
    try:
        content = a2b_base64(encoded + b"=" * (-len(encoded) % 4), strict_mode=True)
    except Error:
        return None
    parts = object_parts(content, known)
    if parts is None:
        return None
    spec, value = PartedSpec(name, "base64url", secret=True), Secret(text_of(data[start + 1 : stop]))
    return ValuePart(spec, value, start, stop, 1, decoded=DecodedPart(f"JWT {name}", content, parts))


def _read_claims(pairs: list[ValuePart]) -> Mapping[str, Any]:
    """The claims of the JSON Web Token in a message; none where it has no such token."""
    for part in _flatten_parts(pairs):
        if part.spec.name == "claims" and part.decoded is not None:
            return values_of(part.decoded.parts)
    return {}


def _words(claims: Mapping[str, Any]) -> Iterator[str]:
    """Who a token is for and until when, as its claims say."""
    yield from user_words("subject", claims.get("sub"))
    yield from user_words("from", claims.get("iss"))
    yield from user_words("expires", _seconds(claims.get("exp")))


def _flatten_parts(parts: list[ValuePart]) -> Iterator[ValuePart]:
    for part in parts:
        yield part
        yield from _flatten_parts(list(part.inside))


LARGEST = 65_536
"""Bytes of an object that are looked at; a token of more is none that a broker takes."""

_MOST, _DEEPEST = 256, 256
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_TYPES = {str: "json_string", bool: "json_bool", int: "json_number", float: "json_number", list: "json_array"}
KnownMembers = Mapping[str, Label | None]
"""The names of members that everybody may see, with the labels of their values."""


class _Member(NamedTuple):
    """A name, the value, and where the name begins and the value begins and ends."""

    name: str
    value: object
    start: int
    content: int
    stop: int


def object_parts(data: bytes, known: KnownMembers) -> tuple[ValuePart, ...] | None:
    """Parts that tile the text of an object; None for what is none, or too much of one."""
    if len(data) > LARGEST or data.count(b"{") + data.count(b"[") > _DEEPEST:
        return None
    try:
        members = list(_members(data))
    except (ValueError, RecursionError):
        return None
    if len(members) > _MOST:
        return None
    if not members:
        return (mark("object", data, 0, len(data), "json_object"),)
    ends = [member.start for member in members[1:]] + [len(data)]
    opening = mark("object", data, 0, members[0].start, "json_object")
    return (opening, *(_part(data, member, stop, known) for member, stop in zip(members, ends, strict=True)))


def values_of(parts: tuple[ValuePart, ...]) -> Mapping[str, object]:
    """Returns the values that everybody may see, by name."""
    return {part.spec.name: part.value for part in parts if not part.spec.secret}


def _members(data: bytes) -> Iterator[_Member]:
    """Raises ValueError where the text is no object in UTF-8."""
    data.decode()
    text = data.decode("latin-1")
    at = _skip_sign(text, 0, "{")
    if text[at : at + 1] == "}":
        _end(text, at)
        return
    while True:
        start = at
        if text[at : at + 1] != '"':
            raise ValueError
        _, stop = _DECODER.raw_decode(text, at)
        name = json.loads(data[start:stop])
        content = at = _skip_sign(text, stop, ":")
        _, at = _DECODER.raw_decode(text, at)
        yield _Member(name, json.loads(data[content:at]), start, content, at)
        at = _skip_space(text, at)
        if text[at : at + 1] == "}":
            _end(text, at)
            return
        at = _skip_sign(text, at, ",")


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _skip_sign(text: str, at: int, sign: str) -> int:
    """The offset of what follows a sign, around which there may be space."""
    at = _skip_space(text, at)
    if text[at : at + 1] != sign:
        raise ValueError
    return _skip_space(text, at + 1)


def _end(text: str, at: int) -> None:
    if _skip_space(text, at + 1) != len(text):
        raise ValueError


def _part(data: bytes, member: _Member, stop: int, known: KnownMembers) -> ValuePart:
    value, head = member.value, member.content - member.start
    kind = _TYPES.get(type(value), "json_value")
    if member.name in known and _is_plain(value):
        return ValuePart(FieldSpec(member.name, kind, known[member.name]), value, member.start, stop, head)
    secret = Secret(data[member.content : member.stop].decode())
    return ValuePart(FieldSpec(member.name, kind, secret=True), secret, member.start, stop, head)


def _is_plain(value: object) -> bool:
    """A word, a number, or a list of words."""
    if isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    if isinstance(value, float):
        return isfinite(value)
    return isinstance(value, str | bool) or (isinstance(value, int) and abs(value) < 1 << 63)
