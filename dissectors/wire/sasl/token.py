"""What is known of a SASL token that was understood."""

from __future__ import annotations

from dissectors.slotted import slotted
from dissectors.wire.parts import Part


@slotted
class Token:
    """A token that was understood. `words` are what a line about it says: its step first, then who it is for."""

    mechanism: str
    words: tuple[str, ...]
    parts: tuple[Part, ...]


def user_words(word: str, value: object) -> tuple[str, ...]:
    """What a line says of a name."""
    return (f"{word} {value}",) if isinstance(value, str) and value else ()
