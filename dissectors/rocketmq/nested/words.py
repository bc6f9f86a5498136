"""Texts that stand for something else, said for people by their form: milliseconds, ids, topics, handles."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dissectors.rocketmq.nested.handles import format_handle
from dissectors.rocketmq.nested.ids import format_id, format_unique_id
from dissectors.rocketmq.nested.topics import format_default_delay, format_topic
from dissectors.rocketmq.tables import table
from dissectors.wire.amounts import duration_text
from dissectors.wire.times import timestamp

_DIGITS = 18
"""What has more is none of these numbers."""


def format_in_form(form: str, text: str) -> str | None:
    """A text that the tables say to be in a form; None where it is not, or the form is none of these."""
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
