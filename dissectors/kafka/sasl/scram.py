"""SCRAM (RFC 5802, RFC 7677): two rounds of attributes, a letter and a value each, with commas between them.

The client's first token begins with a GS2 header (RFC 5801, section 4): its support of channel binding, and the
authorization identity. Kafka adds `tokenauth=true` if the user is the id of a delegation token (KIP-48). A comma or an
equals sign in a name is written `=2C`, `=3D`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from dissectors.wire.parts import ValuePart, hide_part, show_part, struct, text_of
from dissectors.wire.sasl.token import Token, user_words

SCRAM = "SCRAM"
_GS2 = re.compile(rb"(n|y|p=[A-Za-z0-9.\-]{1,64}),(a=[^,]+)?,")
_ATTRIBUTE = re.compile(rb"([A-Za-z]{1,32})=")
_MOST = 32
"""Attributes of one token; the specified ones are four, extensions are few."""

_NAMES = {
    "n": "user",
    "r": "nonce",
    "s": "salt",
    "i": "iterations",
    "c": "channelBinding",
    "p": "proof",
    "v": "serverSignature",
    "e": "error",
    "tokenauth": "tokenauth",
}
_SHOWN = frozenset({"n", "c", "e", "tokenauth"})
_BINDING = {"n": "not supported by the client", "y": "not supported by the server, says the client"}


class _Attribute(NamedTuple):
    """Its letter, and where it begins, its value begins, and it ends."""

    letter: str
    start: int
    value: int
    stop: int


def gs2_header(data: bytes) -> tuple[ValuePart, ValuePart, int] | None:
    """Returns the binding flag, the authorization identity, and the offset of the comma that ends the header."""
    found = _GS2.match(data)
    if found is None:
        return None
    flag = show_part("bindingFlag", found[1].decode("ascii"), 0, found.end(1), label=_BINDING.get)
    stop = found.end() - 1
    identity = None if found[2] is None else _name(found[2][2:])
    return flag, show_part("authzid", identity, found.end(1), stop, 1 if identity is None else 3), stop


def client_first(data: bytes) -> Token | None:
    """Reads the client's first message (RFC 5802, section 7): `n,,n=user,r=nonce`."""
    header = gs2_header(data)
    if header is None:
        return None
    flag, identity, at = header
    found = _attributes(data, at + 1)
    if found is None or [each.letter for each in found if each.letter != "m"][:2] != ["n", "r"]:
        return None
    parts = tuple(_parts(data, found))
    who = next(part.value for part in parts if part.spec.name == "user")
    word = "token" if any(each.letter == "tokenauth" for each in found) else "user"
    words = ("client first", *user_words(word, who), *user_words("for", identity.value))
    named = who if isinstance(who, str) else None
    return Token(SCRAM, words, (struct("gs2Header", (flag, identity)), *parts), named)


def server_first(data: bytes) -> Token | None:
    """Reads the server's first message (RFC 5802, section 7): `r=nonce,s=salt,i=4096`."""
    found = _attributes(data, 0)
    if found is None or [each.letter for each in found if each.letter != "m"][:3] != ["r", "s", "i"]:
        return None
    parts = tuple(_parts(data, found))
    count = next(part.value for part in parts if part.spec.name == "iterations")
    return Token(SCRAM, ("server first", *((f"{count} iterations",) if isinstance(count, int) else ())), parts)


def client_final(data: bytes) -> Token | None:
    """Reads the client's final message (RFC 5802, section 7): `c=biws,r=nonce,p=proof`."""
    found = _attributes(data, 0)
    if found is None or [each.letter for each in found][:2] != ["c", "r"] or found[-1].letter != "p":
        return None
    return Token(SCRAM, ("client final",), tuple(_parts(data, found)))


def server_final(data: bytes) -> Token | None:
    """Reads the server's final message (RFC 5802, section 7): `v=signature` or `e=error`."""
    found = _attributes(data, 0)
    if found is None or found[0].letter not in ("v", "e"):
        return None
    parts = tuple(_parts(data, found))
    error = parts[0].value if found[0].letter == "e" else None
    return Token(SCRAM, ("server final", *((str(error),) if isinstance(error, str) else ())), parts)


STEPS: dict[bool, tuple[Callable[[bytes], Token | None], ...]] = {
    True: (client_first, client_final),
    False: (server_first, server_final),
}
"""By whether the client sends it, in order; the forms exclude each other."""


def _attributes(data: bytes, at: int) -> list[_Attribute] | None:
    """The attributes from an offset to the end; each but the first begins at its comma."""
    if data.count(b",", at) >= _MOST:
        return None
    found: list[_Attribute] = []
    begin = at
    for piece in data[at:].split(b","):
        name = _ATTRIBUTE.match(piece)
        if name is None:
            return None
        start = max(begin - 1, 0)  # its comma; the first attribute of a whole token has none
        found.append(_Attribute(name[1].decode("ascii"), start, begin + name.end(), begin + len(piece)))
        begin += len(piece) + 1
    return found


def _parts(data: bytes, found: list[_Attribute]) -> Iterator[ValuePart]:
    for letter, start, value, stop in found:
        name, head = _NAMES.get(letter, letter), value - start
        text = data[value:stop]
        if letter == "i" and text.isdigit() and len(text) < 11:
            yield show_part(name, int(text), start, stop, head, "number")
        elif letter in _SHOWN:
            yield show_part(name, _name(text) if letter == "n" else text_of(text), start, stop, head)
        else:
            yield hide_part(name, data, start, stop, head)


def _name(data: bytes) -> str | bytes:
    return text_of(data.replace(b"=2C", b",").replace(b"=3D", b"="))
