"""Properties of messages: those in a header's text as parts, and what each of them says.

Facts. They are one text in SEND's header and in stored messages (MessageDecoder.messageProperties2String): a name, a
byte 1, a value, a byte 2, again and again; Java ends with a separator, others do not. Names that RocketMQ itself knows
are those of MessageConst: what they are, and in which form their values are, is a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from dissectors.rocketmq.nested.spelling import SpelledText
from dissectors.rocketmq.nested.words import format_in_form
from dissectors.rocketmq.stored import NAME_VALUE, PROPERTY
from dissectors.rocketmq.tables import table
from dissectors.wire.parts import Part

KIND = "property"
"""The type of a property's node."""

_MOST = 1000
"""Properties that are shown one by one; a message has a dozen."""


def read_properties(spelling: SpelledText) -> tuple[Part, ...]:
    """Parts for the properties in a text; none where they are too many, or none at all."""
    text, found, at = spelling.text, [], 0
    if NAME_VALUE not in text:
        return ()
    while at < len(text):
        end = text.find(PROPERTY, at)
        stop = len(text) if end < 0 else end + 1
        name, mark, value = text[at : stop if end < 0 else end].partition(NAME_VALUE)
        found.append(
            spelling.make_labelled_part(
                name, at, stop, KIND, value, partial(format_property, name), len(name) + len(mark)
            )
        )
        if len(found) > _MOST:
            return ()
        at = stop
    return tuple(found)


def format_property(name: str, value: object) -> str | None:
    """What a property is, and its value in a form for people."""
    row: Mapping[str, str] | None = table("meanings")["properties"].get(name)
    if row is None or not isinstance(value, str):
        return None
    form = format_in_form(row.get("as", ""), value)
    return row["says"] if form is None else f"{row['says']}: {form}"
