"""Texts that stand for something else, said for people by their form: milliseconds, ids, topics, handles."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dissectors.rocketmq.nested.handles import handle_text
from dissectors.rocketmq.nested.ids import id_text, unique_text
from dissectors.rocketmq.nested.topics import delay_text, topic_text
from dissectors.rocketmq.tables import table
from dissectors.wire.amounts import duration_text
from dissectors.wire.times import timestamp

_DIGITS = 18
"""What has more is none of these numbers."""


def in_form(form: str, text: str) -> str | None:
    """A text that the tables say to be in a form; None where it is not, or the form is none of these."""
    say = _FORMS.get(form)
    return None if say is None else say(text)


def _of_number(say: Callable[[int], str | None]) -> Callable[[str], str | None]:
    return lambda text: say(int(text)) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None


def _message_type(number: int) -> str | None:
    types: list[str] = table("meanings")["messageTypes"]
    return types[number] if number < len(types) else None


_FORMS: Mapping[str, Callable[[str], str | None]] = {
    "delay": _of_number(delay_text),
    "handle": handle_text,
    "id": id_text,
    "milliseconds": _of_number(duration_text),
    "seconds": _of_number(lambda number: duration_text(number * 1000)),
    "time": _of_number(timestamp),
    "topic": topic_text,
    "type": _of_number(_message_type),
    "unique": unique_text,
}
"""By the table's `as`."""
