"""Receipt handles and lists of offsets that POP hands out, and where the characters of such texts lie.

Facts (ExtraInfoUtil). A receipt handle is words between spaces: the offset of its checkpoint's first message, the time
of the POP, the invisible time, the queue of the revive log, the kind of topic (0 itself, 1 the group's retry topic, 2
that of the second form), broker, queue, and since 5.0 the message's offset. The revive queue 999 stands for orderly
consumption (KeyBuilder.POP_ORDER_REVIVE_QUEUE). An answer to POP has lists between semicolons, of three words: kind of
topic, queue, and an offset, offsets between commas, or a count of consumptions; there the queue may be `qo`, queue, `%`
and an offset. A recall handle's words are those of identifiers.py.

Theory. The content of a text is found in its characters, but a node needs bytes. In the binary header and in bodies the
text is UTF-8; in a JSON header a character may be an escape (Java writes the separators of properties as six bytes
each). So the bytes of each character are found once, and readers only handle characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from dissectors.field import Label
from dissectors.rocketmq.nested.identifiers import format_topic, format_unique_id
from dissectors.wire.amounts import duration_text
from dissectors.wire.parts import ValuePart, show_part, struct
from dissectors.wire.times import milliseconds, timestamp

_ESCAPES = re.compile(
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

    def make_part(
        self, name: str, start: int, stop: int, kind: str, value: object, label: Label | None, head: int = 0
    ) -> ValuePart:
        """Makes a part of the characters from `start` to `stop`; its first `head` precede the value."""
        first, content = self.places(start), self.places(start + head)
        return show_part(name, value, first, self.places(stop), content - first, kind, label)


def spell_utf8(text: str) -> SpelledText:
    """Maps each character of a text to its bytes in UTF-8."""
    if text.isascii():
        return SpelledText(text, int)
    sizes = [0, *accumulate(len(character.encode()) for character in text)]
    return SpelledText(text, sizes.__getitem__)


def spell_json(raw: bytes, text: str) -> SpelledText | None:
    """Maps each character of a JSON text to its bytes in the token `raw`, quotes included. None if they differ."""
    end = raw.rfind(raw[:1])
    sizes = [found.end() - found.start() for found in _ESCAPES.finditer(raw, 1, max(end, 1))]
    if len(sizes) != len(text) or sum(sizes) != end - 1:
        return None
    places = [*accumulate(sizes, initial=1)]
    places[0], places[-1] = 0, len(raw)
    return SpelledText(text, places.__getitem__)


_INTEGER = re.compile(r"-?[0-9]{1,19}")
_ORDERLY = 999
_MOST = 1000
"""Words of lists that are taken apart."""

_LONGEST = 16 * 1024
"""Characters of what is taken for words."""

WordLabel = Callable[[Any], "str | None"]


class _Word(NamedTuple):
    name: str
    kind: str
    label: WordLabel | None = None


def _format_topic_kind(value: Any) -> str | None:
    return {0: "the topic itself", 1: "retry topic", 2: "retry topic, second form"}.get(value)


_TOPIC_KIND = _Word("topicType", "int", _format_topic_kind)
_QUEUE = _Word("queueId", "int")
_HANDLE = (
    _Word("ckQueueOffset", "long"),
    _Word("popTime", "long", timestamp),
    _Word("invisibleTime", "long", milliseconds),
    _Word("reviveQid", "int", lambda value: "consumed in order" if value == _ORDERLY else None),
    _TOPIC_KIND,
    _Word("brokerName", "string"),
    _QUEUE,
    _Word("queueOffset", "long"),
)
_RECALL = (
    _Word("version", "string"),
    _Word("topic", "string", format_topic),
    _Word("brokerName", "string"),
    _Word("timestamp", "long", timestamp),
    _Word("messageId", "string", format_unique_id),
)
_LISTS: Mapping[str, Sequence[_Word]] = {
    "startOffsetInfo": (_TOPIC_KIND, _QUEUE, _Word("startOffset", "long")),
    "msgOffsetInfo": (_TOPIC_KIND, _QUEUE, _Word("queueOffsets", "string")),
    "orderCountInfo": (_TOPIC_KIND, _Word("queue", "string"), _Word("consumed", "int")),
}
"""By the name of the field: the words of each entry."""

LISTS = frozenset(_LISTS)


def read_handle(spelling: SpelledText) -> tuple[ValuePart, ...]:
    """Returns the parts of a receipt handle; none of what is no such thing."""
    return _read_words(spelling, 0, len(spelling.text), _HANDLE, len(_HANDLE) - 1)


def read_recall(spelling: SpelledText) -> tuple[ValuePart, ...]:
    """Returns the parts of what a recall handle is the base64 of."""
    return _read_words(spelling, 0, len(spelling.text), _RECALL, len(_RECALL))


def read_offsets(spelling: SpelledText, name: str) -> tuple[ValuePart, ...]:
    """Returns the entries of one of the lists in an answer to POP; none if one of them is not as it should be."""
    found = []
    for index, (start, stop) in enumerate(_iterate_pieces(spelling.text, ";", 0, len(spelling.text))):
        parts = _read_words(spelling, start, stop, _LISTS[name], 3)
        if not parts or index == _MOST:
            return ()
        found.append(struct(f"[{index}]", parts))
    return tuple(found)


def format_handle(text: str) -> str | None:
    """Returns a receipt handle in one line."""
    words = text.split(" ")
    if len(words) not in (len(_HANDLE) - 1, len(_HANDLE)) or not all(map(_is_word, _HANDLE, words)):
        return None
    parts = [f"popped {timestamp(int(words[1]))}", f"invisible for {duration_text(int(words[2]))}"]
    parts.append(f"{words[5]}, queue {words[6]}" + (f", offset {words[7]}" if len(words) == len(_HANDLE) else ""))
    return ", ".join(parts)


def _is_word(word: _Word, text: str) -> bool:
    return word.kind == "string" or _INTEGER.fullmatch(text) is not None


def _iterate_pieces(text: str, separator: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Where the pieces between separators begin and end; the separator belongs to the piece before it."""
    at = start
    while at < stop:
        found = text.find(separator, at, stop)
        end = stop if found < 0 else found + 1
        yield at, end
        at = end


def _read_words(
    spelling: SpelledText, start: int, stop: int, words: Sequence[_Word], least: int
) -> tuple[ValuePart, ...]:
    """Parts for the words of a text, of which there are at least `least`; a separator belongs to what is before it."""
    if stop - start > _LONGEST:
        return ()
    places = list(_iterate_pieces(spelling.text, " ", start, stop))
    if not least <= len(places) <= len(words):
        return ()
    found = []
    for word, (at, end) in zip(words, places, strict=False):
        text = spelling.text[at:end].rstrip(" ;")
        if not _is_word(word, text):
            return ()
        value: Any = text if word.kind == "string" else int(text)
        found.append(spelling.make_part(word.name, at, end, word.kind, value, word.label))
    return tuple(found)
