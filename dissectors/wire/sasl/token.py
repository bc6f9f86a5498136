"""Facts about a decoded SASL token."""

from __future__ import annotations

from dissectors.slotted import make_slotted
from dissectors.wire.parts import ValuePart


@make_slotted
class Token:
    """A token that was understood.

    words: what a line about it says, its step first, then who it is for; user: who logs in, where the token names them.
    """

    mechanism: str
    words: tuple[str, ...]
    parts: tuple[ValuePart, ...]
    user: str | None = None


def user_words(word: str, value: object) -> tuple[str, ...]:
    """Returns the words of a line about a user name."""
    return (f"{word} {value}",) if isinstance(value, str) and value else ()
