"""A text that stands in a header or in bytes, and where each of its characters lies.

Theory. What is in a text is found in its characters; a node needs bytes. In the binary header and in bodies the text is
UTF-8; in a JSON header a character may be an escape (Java writes the separators of properties as six bytes each). So a
text is spelt once, and whatever takes it apart speaks of characters alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate

from dissectors.field import FieldSpec, Label
from dissectors.wire.parts import Part

_SPELT = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\[\0-\x7f]"
    rb"|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|[\0-\x7f]"
)
"""One character in JSON."""


class SpelledText:
    """`text`, and the bytes that it takes: from `places[i]` on stands character i."""

    __slots__ = ("places", "text")

    def __init__(self, text: str, places: Callable[[int], int]) -> None:
        """places: the offset of a character in the bytes; that of the end is behind all that belongs to the text."""
        self.text = text
        self.places = places

    def make_part(self, name: str, start: int, stop: int, kind: str, value: object, head: int = 0) -> Part:
        """A part of the characters from `start` to `stop`, the first `head` of them before its value."""
        first, content = self.places(start), self.places(start + head)
        return Part(FieldSpec(name, kind), value, first, self.places(stop), content - first)

    def make_labelled_part(
        self, name: str, start: int, stop: int, kind: str, value: object, label: Label, head: int = 0
    ) -> Part:
        """The same, with what people read beside it."""
        first, content = self.places(start), self.places(start + head)
        return Part(FieldSpec(name, kind, label), value, first, self.places(stop), content - first)


def spell_utf8(text: str) -> SpelledText:
    """A text in UTF-8."""
    if text.isascii():
        return SpelledText(text, int)
    sizes = [0, *accumulate(len(character.encode()) for character in text)]
    return SpelledText(text, sizes.__getitem__)


def spell_json(raw: bytes, text: str) -> SpelledText | None:
    """A text in JSON: its token with both quotes, and what belongs to it behind. None where that can't be told."""
    end = raw.rfind(raw[:1])
    sizes = [found.end() - found.start() for found in _SPELT.finditer(raw, 1, max(end, 1))]
    if len(sizes) != len(text) or sum(sizes) != end - 1:
        return None
    places = [*accumulate(sizes, initial=1)]
    places[0], places[-1] = 0, len(raw)
    return SpelledText(text, places.__getitem__)
