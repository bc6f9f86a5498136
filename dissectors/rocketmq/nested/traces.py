"""What clients write to the trace topic: lines of columns.

Facts (TraceDataEncoder, TraceConstants). A line ends with a byte 2, and its columns have a byte 1 between them; the
first one says what was done. Newer clients write more columns, at a line's end or before the last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from dissectors.rocketmq.nested.spelling import SpelledText
from dissectors.rocketmq.nested.words import format_in_form
from dissectors.rocketmq.tables import table
from dissectors.wire.parts import Part, struct

_COLUMN, _LINE = "\x01", "\x02"
_KIND = "string"
_MOST = 1000
"""Lines of one message that are taken apart; a client puts a hundred into one."""


def is_trace(text: str) -> bool:
    """Whether a text begins as a trace does."""
    return text.partition(_COLUMN)[0] in table("meanings")["traces"] and _COLUMN in text


def read_trace(spelling: SpelledText) -> tuple[Part, ...]:
    """A part for each line; none where one of them is not as it should be."""
    found: list[Part] = []
    text, at = spelling.text, 0
    while at < len(text):
        end = text.find(_LINE, at)
        stop, behind = (len(text), len(text)) if end < 0 else (end, end + 1)
        parts = _read_columns(spelling, at, stop, behind)
        if not parts or len(found) == _MOST:
            return ()
        found.append(struct(f"[{len(found)}]", parts))
        at = behind
    return tuple(found)


def _read_columns(spelling: SpelledText, start: int, stop: int, behind: int) -> tuple[Part, ...]:
    """The columns from `start` to `stop`; the last one has all that is before `behind`."""
    kind, *values = spelling.text[start:stop].split(_COLUMN)
    names = _find_columns(kind, len(values))
    if names is None:
        return ()
    found, at = [], start
    for (name, form), value in zip([("traceType", ""), *names], [kind, *values], strict=False):
        end = behind if at + len(value) == stop else at + len(value) + 1
        found.append(spelling.make_labelled_part(name, at, end, _KIND, value, partial(format_in_form, form)))
        at = end
    return tuple(found)


def _find_columns(kind: str, count: int) -> Sequence[tuple[str, str]] | None:
    """The columns of a line of so many: those of the shortest form that has as many."""
    forms: Sequence[Sequence[tuple[str, str]]] = table("meanings")["traces"].get(kind, ())
    return next((form for form in forms if len(form) >= count), None)
