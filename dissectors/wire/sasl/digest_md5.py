"""DIGEST-MD5 (RFC 2831): a challenge, a response and the server's proof, each a list of names and values.

An attribute is a name, `=` and a word or a quoted text, in which a backslash escapes the next byte. Commas separate
attributes, and spaces may be anywhere around them (section 7.1). The password is not transmitted, but anyone with the
nonces and a response can try passwords against them. So these, the proofs, and all attributes outside the specification
are secret. The user, realm, service and quality of protection are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from dissectors.field import FieldSpec
from dissectors.wire.parts import ValuePart, show_part, text_of
from dissectors.wire.sasl.token import Token, user_words
from dissectors.wire.secret import Secret

DIGEST_MD5 = "DIGEST-MD5"
LARGEST = 8192
"""Bytes of a token that is taken apart; a challenge is shorter than 2048, a response than 4096 (sections 2.1)."""

_ATTRIBUTE = re.compile(
    rb"""[ \t\r\n,]*(?P<name>[A-Za-z][A-Za-z0-9-]{0,31})[ \t\r\n]*=[ \t\r\n]*
    (?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^\x00-\x20,"\\]+))[ \t\r\n]*(?=,|\Z)""",
    re.VERBOSE | re.DOTALL,
)
_MOST = 32
"""Attributes of one token; the longest specified one has twelve, and a realm may stand there several times."""

_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
_SHOWN = frozenset(
    ("realm", "qop", "algorithm", "charset", "cipher", "username", "digest-uri", "nc", "maxbuf", "authzid", "stale")
)
_STEPS: Mapping[str, frozenset[str]] = {
    "response": frozenset({"nonce", "cnonce", "response"}),
    "challenge": frozenset({"nonce", "algorithm"}),
    "server's proof": frozenset({"rspauth"}),
}
"""What a step must have to be known by it; the first that fits counts."""


class _Attribute(NamedTuple):
    """Its name and value, and where it begins, its value begins, and it ends."""

    name: str
    value: bytes
    start: int
    content: int
    stop: int


def digest_token(data: bytes) -> Token | None:
    """Decodes a DIGEST-MD5 token of any of the three steps (RFC 2831); None if it is none."""
    found = _attributes(data) if 0 < len(data) <= LARGEST else None
    if found is None:
        return None
    names = {each.name for each in found}
    step = next((step for step, needed in _STEPS.items() if needed <= names), None)
    if step is None:
        return None
    parts = tuple(map(_part, found))
    return Token(DIGEST_MD5, (step, *_words(parts)), parts)


def _attributes(data: bytes) -> list[_Attribute] | None:
    """All attributes, which tile the bytes; each but the first begins at its comma."""
    found: list[_Attribute] = []
    at = 0
    while at < len(data):
        match = _ATTRIBUTE.match(data, at)
        if match is None or len(found) == _MOST or (found and data[at : at + 1] != b","):
            return None
        kind = "plain" if match["quoted"] is None else "quoted"
        value = _ESCAPED.sub(rb"\1", match[kind]) if kind == "quoted" else match[kind]
        found.append(_Attribute(match["name"].decode("ascii").lower(), value, at, match.start(kind), match.end()))
        at = match.end()
    return found


def _part(each: _Attribute) -> ValuePart:
    head = each.content - each.start
    if each.name not in _SHOWN:
        secret = Secret(text_of(each.value))
        return ValuePart(FieldSpec(each.name, "text", secret=True), secret, each.start, each.stop, head)
    if each.name == "maxbuf" and each.value.isdigit() and len(each.value) < 11:
        return show_part(each.name, int(each.value), each.start, each.stop, head, "number")
    return show_part(each.name, text_of(each.value), each.start, each.stop, head)


def _words(parts: tuple[ValuePart, ...]) -> Iterator[str]:
    """Who asks, for whom if that is somebody else, and where."""
    values = {part.spec.name: part.value for part in parts}
    user = values.get("username")
    yield from user_words("user", user)
    if values.get("authzid") != user:
        yield from user_words("for", values.get("authzid"))
    yield from user_words("realm", values.get("realm"))
    yield from user_words("service", values.get("digest-uri"))
