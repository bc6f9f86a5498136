"""The words that complete a filter: the names of all fields, and values of a field that occur in the capture.

Theory. There are some twenty thousand names, so they are listed one level at a time, like folders: `kafka.` leads to
fields of any message and to the operations, `kafka.Fetch.` to request, response and the fields of both. After the names
that begin with the typed word come names that contain it, short and usual ones first. Listing all names takes a third
of a second, so a thread reads them once, when the filter bar opens for the first time.

Values are a sample, because nobody waits for all messages to be read: the messages around the cursor, the first ones,
then some from everywhere until the time is up. Columns of the index are sampled over many more rows, which costs
little. A value is written exactly as the filter language reads it; the widget makes it safe for the terminal.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.decode.rows import RowReader
from analyzer.query.fields.catalog import (
    DOTTED_ALIASES,
    UnknownField,
    find_field,
    find_near,
    list_fields,
    list_shared_names,
)
from analyzer.query.fields.dense import ChoiceColumn, NumberColumn
from analyzer.query.fields.keys import FIELDS, NAMES
from analyzer.query.fields.path import FieldKind, FieldPath, find_names
from analyzer.query.fields.reading import FieldReader, ReportedError
from analyzer.query.filter.literals import format_bytes, quote
from analyzer.session import Analysis
from dissectors import registry
from dissectors.wire.embedded import EmbeddedValue, holds_secret

MOST_NAMES = 300
"""The number of names that are offered at most."""

SHORTEST = 2
"""The letters of the shortest word that is searched inside of names."""

ROLES = ("request", "response")
_ROLE = 2
"""The index of the role in a name, behind protocol and operation. It may be left out."""


class FieldNames:
    """All names by level.

    first: the outermost level, in order. usual names come before the others, foreign ones after them.
    """

    def __init__(
        self, names: Iterable[str], first: Sequence[str], usual: Collection[str], foreign: Collection[str]
    ) -> None:
        self._first = first
        self._sorted = sorted(names, key=lambda name: (name not in usual, name in foreign, name.count(".")))
        self._lower = [name.lower() for name in self._sorted]
        self._search_texts = [_make_search_text(name) for name in self._lower]
        self._inside: dict[str, dict[str, None]] = {}
        for name in self._sorted:
            self._add(name)

    def _add(self, name: str) -> None:
        """Adds a name to its level, and its prefixes to theirs."""
        around, dot, _ = name.rpartition(".")
        while dot:
            level = self._inside.setdefault(around.lower(), {})
            if name in level:
                return
            level[name] = None
            name = around
            around, dot, _ = name.rpartition(".")

    def list_inside(self, around: str) -> list[str]:
        """Returns the names one level inside of another, which may lack its role; "" for the outermost level."""
        if not around:
            return list(self._first)
        lower = around.lower()
        found = dict(self._inside.get(lower, {}))
        parts = lower.split(".")
        if len(parts) >= _ROLE:
            for role in ROLES:
                with_role = ".".join((*parts[:_ROLE], role, *parts[_ROLE:]))
                found.update(dict.fromkeys(map(_drop_role, self._inside.get(with_role, ()))))
        return list(found)

    def find_beginning(self, word: str) -> list[str]:
        """Returns the names of the word's level that begin with it; on the outermost level shorter ones first."""
        lower, around = word.lower(), word.rpartition(".")[0]
        found = [name for name in self.list_inside(around) if name.lower().startswith(lower)]
        return found if around or not word else sorted(found, key=len)

    def find_matching(self, word: str) -> list[str]:
        """Returns the names that match a typed word, the best ones first; similar names if there are none."""
        around, _, last = word.rpartition(".")
        level, lower = self.list_inside(around), last.lower()
        found = dict.fromkeys((*self.find_beginning(word), *(self.list_inside(word) if word else ())))
        found.update(dict.fromkeys(name for name in level if lower in name[len(around) :].lower()))
        if len(lower) >= SHORTEST and len(found) < MOST_NAMES:
            found.update(dict.fromkeys(self._find_containing(word.lower())))
        if not found and last:
            by_last = {name[len(around) + bool(around) :]: name for name in level}
            found = dict.fromkeys(by_last[each] for each in find_near(last, by_last))
        found.pop(word, None)
        return list(found)[:MOST_NAMES]

    def _find_containing(self, word: str) -> Iterator[str]:
        """Yields names that contain a word, first those whose last part begins with it.

        A word without a dot is searched in the last part and in the operation, one with a dot anywhere.
        """
        around, dot, last = word.rpartition(".")
        if dot:
            size, inner = len(around) + 1, f"{around}."
            hits = [at for at, n in enumerate(self._lower) if word in n or (n.startswith(inner) and last in n[size:])]
        else:
            hits = [at for at, label_text in enumerate(self._search_texts) if word in label_text]
        begins = [f".{last}" in self._lower[at] for at in hits]
        for wanted in (True, False):
            yield from (self._sorted[at] for at, is_first in zip(hits, begins, strict=True) if is_first is wanted)


@cache
def read_field_names() -> FieldNames:
    """Reads the names of all fields; the first call takes a third of a second."""
    catalogs = {protocol: registry.by_name(protocol).catalog for protocol in registry.names()}
    known = [(protocol, catalog) for protocol, catalog in catalogs.items() if catalog is not None]
    field_aliases = [f"{protocol}.{short.name}" for protocol, catalog in known for short in catalog.field_aliases()]
    others = [name for name in NAMES if name not in FIELDS]
    aliases = {name for _, catalog in known for name in catalog.aliases()}
    shared = list_shared_names()
    first = [*FIELDS, *shared, *registry.names(), *others]
    known_names = {*NAMES, *DOTTED_ALIASES, *shared, *field_aliases}
    return FieldNames((field.name for field in list_fields()), first, known_names, aliases)


def _make_search_text(lower: str) -> str:
    """Returns the parts of a name that are searched: the last one, and the operation."""
    parts = lower.split(".")
    return f"{parts[-1]} {parts[1] if len(parts) > _ROLE else ''}"


def _drop_role(name: str) -> str:
    parts = name.split(".")
    return ".".join((*parts[:_ROLE], *parts[_ROLE + 1 :]))


SAMPLE_SECONDS = 0.3
"""Seconds that a sample may take."""

AROUND, FIRST, PART_ROWS = 512, 4096, 512
"""Messages that are read around the cursor, at the beginning, and in one portion."""

COLUMN = 1 << 18
"""The number of rows whose index columns are read."""

MOST_SAMPLES, LONGEST_VALUE = 300, 300
"""The number of values at most, and the characters or bytes of the longest one."""

_BARE = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_:/@+*%#$;?-]|\.(?!\.))*")
_DECIMAL = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


class SampledValue(NamedTuple):
    """A value as a filter writes it, and how often it was found."""

    text: str
    occurrences: int


def sample_values(session: Analysis, name: str, rows: int, around: int, begin: int = 0) -> list[SampledValue]:
    """Samples the values of a field in the first `rows` rows from `begin` on; the most frequent ones come first.

    around: the row around which messages are read. Returns none for an unknown field, or one whose values no filter
    compares by name.
    """
    try:
        field = find_field(name)
    except UnknownField:
        return []
    if field.kind in (FieldKind.PRESENCE, FieldKind.STRUCT) or (field.kind is FieldKind.TIME and field.scale is None):
        return []
    reading = FieldReader(RowReader(session, streaming=True), [field])
    there = range(begin, rows)
    counted = _count_in_index(reading, field, there)
    if counted is None:
        counted = _count_in_messages(reading, field, there, around)
    written = [(_write_value(value, field), times) for value, times in counted.most_common(2 * MOST_SAMPLES)]
    return [SampledValue(text, times) for text, times in written if text is not None][:MOST_SAMPLES]


def _count_in_index(reading: FieldReader, field: FieldPath, there: range) -> Counter[object] | None:
    """Counts values in the index; None if the index does not have them."""
    sample = np.array(there[:COLUMN], np.int64)
    columns = reading.read_columns(field, sample[reading.find_candidates(field, sample)]) if field.is_cheap else None
    if columns is None:
        return None
    found: Counter[object] = Counter()
    for column in columns:
        numbers = column.numbers
        if isinstance(column, NumberColumn) and column.null is not None:
            numbers = numbers[~column.null]
        each, times = np.unique(numbers, return_counts=True)
        for number, count in zip(each.tolist(), times.tolist(), strict=True):
            value = (
                number
                if not isinstance(column, ChoiceColumn)
                else column.choices.value(number)
                if number >= 0
                else None
            )
            if value is not None:
                found[value] += count
    return found


def _count_in_messages(reading: FieldReader, field: FieldPath, there: range, around: int) -> Counter[object]:
    found: Counter[object] = Counter()
    end = time.monotonic() + SAMPLE_SECONDS
    sample = np.arange(there.start, there.stop)
    having = sample[reading.find_candidates(field, sample)]
    for part in _split_rows(having, around):
        values = reading.read_values(field, part).values
        reading.forget()
        found.update(
            value.data if isinstance(value, EmbeddedValue) else value for value in values if _is_offered(value)
        )
        if time.monotonic() > end:
            break
    return found


def _split_rows(rows: Ints, around: int) -> Iterator[Ints]:
    """Yields the rows in portions: the first ones, those around the cursor, then every n-th."""
    middle = int(np.searchsorted(rows, around))
    for begin, end in ((0, FIRST), (max(middle - AROUND // 2, FIRST), middle + AROUND // 2)):
        yield from (rows[first : min(first + PART_ROWS, end)] for first in range(begin, min(end, len(rows)), PART_ROWS))
    rest = rows[FIRST:]
    turns = -(-len(rest) // PART_ROWS)
    yield from (rest[turn::turns] for turn in range(turns))


def _is_offered(value: object) -> bool:
    """Returns whether a value fits into a line; secrets, structures and long values do not."""
    if isinstance(value, EmbeddedValue):
        return len(value.data) <= LONGEST_VALUE and not holds_secret(value)
    if isinstance(value, str | bytes):
        return len(value) <= LONGEST_VALUE
    return isinstance(value, bool | int | float | ReportedError)


def _write_value(value: object, field: FieldPath) -> str | None:
    """Writes a value as a filter has it behind an operator; None if that is impossible."""
    if isinstance(value, ReportedError):
        return value.name or str(value.code)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return format_bytes(value)
    if isinstance(value, str):
        return _write_word(value, field)
    return _write_number(value, field) if isinstance(value, int | float) else None


def _write_number(value: float, field: FieldPath) -> str | None:
    names, label = find_names(field.label), field.label
    label_text = label(value) if names and label is not None and isinstance(value, int) else None
    if label_text is not None and names is not None and label_text in names:
        return _write_word(label_text, field)
    text = repr(value)
    return text if _DECIMAL.fullmatch(text) else None


def _write_word(text: str, field: FieldPath) -> str:
    """Writes a text without quotes if the filter language reads it as the same text."""
    bare = field.kind in (FieldKind.TEXT, FieldKind.NUMBER, FieldKind.ADDRESS) and _BARE.fullmatch(text)
    return text if bare or (field.kind is FieldKind.ADDRESS and ":" in text) else quote(text)
