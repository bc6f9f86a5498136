"""PLAIN (RFC 4616): authorization identity, user and password in one token, with a NUL before the last two."""

from __future__ import annotations

from dissectors.wire.parts import hide_part, show_part, text_of
from dissectors.wire.sasl.token import Token, user_words

PLAIN = "PLAIN"


def plain_token(data: bytes) -> Token | None:
    """The client's only token; None for what has not two NULs."""
    pieces = data.split(b"\0")
    if len(pieces) != 3:
        return None
    first, second = len(pieces[0]), len(pieces[0]) + 1 + len(pieces[1])
    identity, user = text_of(pieces[0]), text_of(pieces[1])
    parts = (
        show_part("authzid", identity, 0, first),
        show_part("user", user, first, second, 1),
        hide_part("password", data, second, len(data), 1),
    )
    return Token(PLAIN, user_words("user", user) + user_words("for", identity if identity != user else ""), parts)


def is_plain(data: bytes) -> bool:
    """Whether bytes of which nothing is known look like one: both names are words."""
    names = data.split(b"\0")[:2]
    if data.count(b"\0") != 2 or not names[1]:
        return False
    return all(isinstance(text := text_of(name), str) and (not name or text.isprintable()) for name in names)
