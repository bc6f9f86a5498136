"""Properties of messages and lines of traces: their parts and the meaning of their values.

Facts. Properties are one text in SEND's header and in stored messages (MessageDecoder.messageProperties2String): a
name, a byte 1, a value, a byte 2, again and again; Java ends with a separator, others do not. RocketMQ's own names are
those of MessageConst; a table has their meaning and the format of their values.

Facts (TraceDataEncoder, TraceConstants). A line of a trace ends with a byte 2, and its columns have a byte 1 between
them; the first one is the kind of event. Newer clients write more columns, at a line's end or before the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from dissectors.rocketmq.nested.handles import SpelledText, format_handle
from dissectors.rocketmq.nested.identifiers import format_default_delay, format_id, format_topic, format_unique_id
from dissectors.rocketmq.stored import NAME_VALUE, PROPERTY
from dissectors.rocketmq.tables import table
from dissectors.wire.amounts import duration_text
from dissectors.wire.parts import ValuePart, struct
from dissectors.wire.times import timestamp

_DIGITS = 18
"""What has more is none of these numbers."""


def format_in_form(form: str, text: str) -> str | None:
    """Returns a text that the tables say to be in a form; None where it is not, or the form is none of these."""
    say = _FORMS.get(form)
    return None if say is None else say(text)


def _make_number_formatter(say: Callable[[int], str | None]) -> Callable[[str], str | None]:
    return lambda text: say(int(text)) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None


def _name_message_type(number: int) -> str | None:
    types: list[str] = table("meanings")["messageTypes"]
    return types[number] if number < len(types) else None


_FORMS: Mapping[str, Callable[[str], str | None]] = {
    "delay": _make_number_formatter(format_default_delay),
    "handle": format_handle,
    "id": format_id,
    "milliseconds": _make_number_formatter(duration_text),
    "seconds": _make_number_formatter(lambda number: duration_text(number * 1000)),
    "time": _make_number_formatter(timestamp),
    "topic": format_topic,
    "type": _make_number_formatter(_name_message_type),
    "unique": format_unique_id,
}
"""By the table's `as`."""


KIND = "property"
"""The type of a property's node."""

_MOST = 1000
"""Properties that are shown one by one; a message has a dozen."""


def read_properties(spelling: SpelledText) -> tuple[ValuePart, ...]:
    """Parts for the properties in a text; none where they are too many, or none at all."""
    text, found, at = spelling.text, [], 0
    if NAME_VALUE not in text:
        return ()
    while at < len(text):
        end = text.find(PROPERTY, at)
        stop = len(text) if end < 0 else end + 1
        name, mark, value = text[at : stop if end < 0 else end].partition(NAME_VALUE)
        found.append(
            spelling.make_part(name, at, stop, KIND, value, partial(format_property, name), len(name) + len(mark))
        )
        if len(found) > _MOST:
            return ()
        at = stop
    return tuple(found)


def format_property(name: str, value: object) -> str | None:
    """Returns the meaning of a property, and its value for people."""
    row: Mapping[str, str] | None = table("meanings")["properties"].get(name)
    if row is None or not isinstance(value, str):
        return None
    form = format_in_form(row.get("as", ""), value)
    return row["says"] if form is None else f"{row['says']}: {form}"


_COLUMN, _LINE = "\x01", "\x02"
_KIND = "string"
_MOST_LINES = 1000
"""Lines of one message that are taken apart; a client puts a hundred into one."""


def is_trace(text: str) -> bool:
    """Returns whether a text begins as a trace does."""
    return text.partition(_COLUMN)[0] in table("meanings")["traces"] and _COLUMN in text


def read_trace(spelling: SpelledText) -> tuple[ValuePart, ...]:
    """Makes a part for each line of a message trace; none if one line is malformed."""
    found: list[ValuePart] = []
    text, at = spelling.text, 0
    while at < len(text):
        end = text.find(_LINE, at)
        stop, behind = (len(text), len(text)) if end < 0 else (end, end + 1)
        parts = _read_columns(spelling, at, stop, behind)
        if not parts or len(found) == _MOST_LINES:
            return ()
        found.append(struct(f"[{len(found)}]", parts))
        at = behind
    return tuple(found)


def _read_columns(spelling: SpelledText, start: int, stop: int, behind: int) -> tuple[ValuePart, ...]:
    """The columns from `start` to `stop`; the last one has all that is before `behind`."""
    kind, *values = spelling.text[start:stop].split(_COLUMN)
    names = _find_columns(kind, len(values))
    if names is None:
        return ()
    found, at = [], start
    for (name, form), value in zip([("traceType", ""), *names], [kind, *values], strict=False):
        end = behind if at + len(value) == stop else at + len(value) + 1
        found.append(spelling.make_part(name, at, end, _KIND, value, partial(format_in_form, form)))
        at = end
    return tuple(found)


def _find_columns(kind: str, count: int) -> Sequence[tuple[str, str]] | None:
    """The columns of a line of so many: those of the shortest form that has as many."""
    forms: Sequence[Sequence[tuple[str, str]]] = table("meanings")["traces"].get(kind, ())
    return next((form for form in forms if len(form) >= count), None)
