"""Values that occur in a capture, as whoever writes a filter may want them behind an operator.

Theory. Nobody waits for all messages to be read to have a name completed, so what is offered is a sample: the messages
around the cursor, the first ones, and then some from everywhere until the time is up. What the index tells is taken of
many more rows, for that costs nothing. A value is written as the language reads it, exactly; whoever shows it makes it
safe.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.decode.rows import Rows
from analyzer.query.fields.catalog import UnknownField, find
from analyzer.query.fields.dense import Chosen, Numbers
from analyzer.query.fields.path import FieldPath, Kind, names_of
from analyzer.query.fields.reading import Error, Reading
from analyzer.query.filter.literals import of_bytes, quoted
from analyzer.session import Analysis
from dissectors.wire.embedded import Embedded, holds_secret

PATIENCE = 0.3
"""Seconds that a sample may take."""

AROUND, FIRST, FRAGMENT = 512, 4096, 512
"""Messages that are read around the cursor and at the beginning, and at one time."""

COLUMN = 1 << 18
"""Rows of which the index is asked."""

MOST, LONGEST = 300, 300
"""Different values that are offered, and characters or bytes of one that is."""

_BARE = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_:/@+*%#$;?-]|\.(?!\.))*")
_DECIMAL = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


class Seen(NamedTuple):
    """A value as a filter has it, and how many times it was met."""

    text: str
    times: int


def seen(session: Analysis, name: str, rows: int, around: int, begin: int = 0) -> list[Seen]:
    """The values of a field that is called so, the most frequent first; of the first `rows` rows from `begin` on, those
    around a row among them; none of a field that nobody knows, or whose values no filter compares by name.
    """
    try:
        field = find(name)
    except UnknownField:
        return []
    if field.kind in (Kind.PRESENCE, Kind.STRUCT) or (field.kind is Kind.TIME and field.scale is None):
        return []
    reading = Reading(Rows(session, streaming=True), [field])
    there = range(begin, rows)
    counted = _of_index(reading, field, there)
    if counted is None:
        counted = _of_messages(reading, field, there, around)
    written = [(_written(value, field), times) for value, times in counted.most_common(2 * MOST)]
    return [Seen(text, times) for text, times in written if text is not None][:MOST]


def _of_index(reading: Reading, field: FieldPath, there: range) -> Counter[object] | None:
    """None where the index does not tell."""
    asked = np.array(there[:COLUMN], np.int64)
    columns = reading.columns(field, asked[reading.may_have(field, asked)]) if field.is_cheap else None
    if columns is None:
        return None
    found: Counter[object] = Counter()
    for column in columns:
        numbers = column.numbers
        if isinstance(column, Numbers) and column.null is not None:
            numbers = numbers[~column.null]
        each, times = np.unique(numbers, return_counts=True)
        for number, count in zip(each.tolist(), times.tolist(), strict=True):
            value = number if not isinstance(column, Chosen) else column.choices.value(number) if number >= 0 else None
            if value is not None:
                found[value] += count
    return found


def _of_messages(reading: Reading, field: FieldPath, there: range, around: int) -> Counter[object]:
    found: Counter[object] = Counter()
    end = time.monotonic() + PATIENCE
    asked = np.arange(there.start, there.stop)
    having = asked[reading.may_have(field, asked)]
    for portion in _portions(having, around):
        values = reading.of(field, portion).values
        reading.forget()
        found.update(value.data if isinstance(value, Embedded) else value for value in values if _is_offered(value))
        if time.monotonic() > end:
            break
    return found


def _portions(rows: Ints, around: int) -> Iterator[Ints]:
    """The rows a few at a time: the first ones, those around the cursor, then every n-th."""
    middle = int(np.searchsorted(rows, around))
    for begin, end in ((0, FIRST), (max(middle - AROUND // 2, FIRST), middle + AROUND // 2)):
        yield from (rows[first : min(first + FRAGMENT, end)] for first in range(begin, min(end, len(rows)), FRAGMENT))
    rest = rows[FIRST:]
    turns = -(-len(rest) // FRAGMENT)
    yield from (rest[turn::turns] for turn in range(turns))


def _is_offered(value: object) -> bool:
    """Whether it is a value that fits into a line: secrets, structures and what is long are not."""
    if isinstance(value, Embedded):
        return len(value.data) <= LONGEST and not holds_secret(value)
    if isinstance(value, str | bytes):
        return len(value) <= LONGEST
    return isinstance(value, bool | int | float | Error)


def _written(value: object, field: FieldPath) -> str | None:
    """A value as a filter has it behind an operator."""
    if isinstance(value, Error):
        return value.name or str(value.code)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return of_bytes(value)
    if isinstance(value, str):
        return _word(value, field)
    return _number(value, field) if isinstance(value, int | float) else None


def _number(value: float, field: FieldPath) -> str | None:
    names, label = names_of(field.label), field.label
    said = label(value) if names and label is not None and isinstance(value, int) else None
    if said is not None and names is not None and said in names:
        return _word(said, field)
    text = repr(value)
    return text if _DECIMAL.fullmatch(text) else None


def _word(text: str, field: FieldPath) -> str:
    """Bare where that reads as the same text: where the field may be a number or bytes, a bare word may be, too."""
    bare = field.kind in (Kind.TEXT, Kind.NUMBER, Kind.ADDRESS) and _BARE.fullmatch(text)
    return text if bare or (field.kind is Kind.ADDRESS and ":" in text) else quoted(text)
