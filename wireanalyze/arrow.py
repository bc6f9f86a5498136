"""Messages as Arrow tables, straight from the columns of the index: no Python object for a message.

Theory. What the index tells is an array already, and Arrow takes it as it is; texts of which there are few are
dictionaries. Fields of bodies are read for many messages at once and get the type of their kind, or of their layout if
they are structures, so the schema depends on the columns that were asked for and not on the capture. There are two
exceptions: a number (see _make_numbers), and `fields`, a struct with a member for each operation that the rows have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from analyzer.columns.arrays import Ints
from analyzer.columns.values import CellColumn, TextColumn
from analyzer.decode.jsonable import JsonWriter
from analyzer.decode.rows import BODY_KEYS, RowReader, split_rows
from analyzer.decode.template_decoder import TOGETHER, TOGETHER_BYTES
from analyzer.query.column_names import resolve_key
from analyzer.query.fields import FieldKind, FieldPath, FieldReader
from analyzer.query.fields.gathered import FieldValues
from analyzer.query.fields.keys import parse_address, parse_port
from analyzer.query.fields.path import BodyField
from analyzer.query.path_columns import READ, READ_BYTES
from analyzer.query.response_errors import find_errors
from analyzer.tables.arrow_columns import build_array, convert_sequence
from analyzer.tables.body_types import find_field_type
from analyzer.tables.body_values import ValueConverter, find_bytes, make_text
from analyzer.tables.message_tables import convert_errors
from analyzer.tables.table_schemas import DURATION, ERROR, FINDING, TIME
from analyzer.tables.table_schemas import NAMES_TYPE as NAMES
from wireanalyze.arrow_bodies import BodyColumn
from wireanalyze.errors import translate_errors

MOST_NANOSECONDS = (1 << 63) - 1
DEFAULT = (
    *("number", "time", "stream", "protocol", "source", "source_ip", "source_port", "destination", "destination_ip"),
    *("destination_port", "from_client", "role", "operation", "code", "version", "correlation", "client", "length"),
    *("offset", "first_packet", "last_packet", "partner", "latency", "state"),
)
"""The columns of a table if none are named: what needs no body."""

TYPES: Mapping[str, pa.DataType] = {
    **dict.fromkeys(("number", "length", "offset", "first_packet", "last_packet", "partner"), pa.int64()),
    **dict.fromkeys(("time_ns", "latency_ns"), pa.int64()),
    **dict.fromkeys(("stream", "code", "version"), pa.int32()),
    **dict.fromkeys(("protocol", "source", "destination", "role", "operation", "client", "state", "stream_id"), NAMES),
    **dict.fromkeys(("source_ip", "destination_ip"), NAMES),
    **dict.fromkeys(("source_port", "destination_port"), pa.uint16()),
    **dict.fromkeys(("id", "partner_id", "correlation", "info"), pa.string()),
    "time": TIME,
    "latency": DURATION,
    "from_client": pa.bool_(),
    "error": ERROR,
    "findings": pa.list_(FINDING),
}
"""The type of each key of a row but `fields`."""

_KINDS: Mapping[FieldKind, pa.DataType] = {
    FieldKind.NUMBER: pa.int64(),
    FieldKind.DURATION: DURATION,
    FieldKind.TIME: TIME,
    FieldKind.FLAG: pa.bool_(),
    FieldKind.BYTES: pa.binary(),
    FieldKind.PRESENCE: pa.bool_(),
}
"""The type of a field's values; others are texts, structures have the type of their layout."""

_SIDES = {"source_ip": True, "source_port": True, "destination_ip": False, "destination_port": False}


class Column(NamedTuple):
    """A column: its title, and the field that it shows; None for a key of a row."""

    title: str
    key: str
    field: FieldPath | None = None


def choose_columns(names: Iterable[str]) -> list[Column]:
    """Returns the columns of these names, each once. Raises UsageError for an unknown name."""
    return [_choose_column(name) for name in dict.fromkeys(names)]


def _choose_column(name: str) -> Column:
    if name in TYPES or name == "fields":
        return Column(name, name)
    with translate_errors():
        key = resolve_key(name, "column")
    return Column(name, key) if isinstance(key, str) else Column(name, name, key)


def build_table(reader: RowReader, rows: Ints, columns: Sequence[Column]) -> pa.Table:
    """Returns a table with a row for each of `rows` (n, in any order). The session must be open."""
    order, back = np.unique(rows, return_inverse=True)
    builder = _TableBuilder(reader, columns)
    parts = list(builder.build_parts(order))
    arrays = [_join_chunks([part[place] for part in parts]) for place in range(len(columns))]
    table = pa.Table.from_arrays(arrays, [column.title for column in columns]).unify_dictionaries()
    return table if np.array_equal(order, rows) else table.take(pa.array(back))


def _join_chunks(chunks: Sequence[pa.Array]) -> pa.ChunkedArray:
    """The parts of a column, all with the type of the widest: a number may be a fraction in one part only."""
    kinds = {chunk.type for chunk in chunks}
    if len(kinds) > 1:
        kind = next(kind for kind in kinds if "double" in str(kind))
        chunks = [chunk.cast(kind, safe=False) for chunk in chunks]  # large integers are rounded
    return pa.chunked_array(chunks)


class _TableBuilder:
    """Builds the columns of rows, some at a time where bodies are read."""

    def __init__(self, reader: RowReader, columns: Sequence[Column]) -> None:
        self._reader, self._columns = reader, columns
        fields = [column.field for column in columns if column.field is not None]
        self._fields = FieldReader(reader, fields)
        self._reads_bodies = bool(fields) or any(column.key in BODY_KEYS for column in columns)
        self._json = JsonWriter()

    def build_parts(self, rows: Ints) -> Iterator[list[pa.Array]]:
        """Yields the columns of some rows after the other; of none, empty columns."""
        if any(column.key == "fields" for column in self._columns):
            self._bodies = BodyColumn(self._reader, rows, self._json)
        split = split_rows(self._reader.session, rows, *self._choose_sizes()) if self._reads_bodies else iter((rows,))
        empty = True
        for part in split:
            empty = False
            yield self._build_part(part)
        if empty:
            yield self._build_part(rows)

    def _choose_sizes(self) -> tuple[int, int]:
        """Rows, and bytes of their messages, that are read at a time: more for whole bodies, as more are alike."""
        if any(column.key == "fields" for column in self._columns):
            return TOGETHER, TOGETHER_BYTES
        return READ, READ_BYTES

    def _build_part(self, rows: Ints) -> list[pa.Array]:
        keys = [column.key for column in self._columns if column.field is None and column.key in _FROM_OBJECTS]
        objects = list(self._reader.read_objects(keys, rows)) if keys else []
        found = []
        for column in self._columns:
            if column.field is not None:
                found.append(_build_field(self._fields, column.field, rows, self._json))
            elif column.key in keys:
                found.append(convert_sequence([each[column.key] for each in objects], TYPES[column.key]))
            elif column.key == "fields":
                found.append(self._bodies.build(rows))
            else:
                found.append(_build_key(self._reader, column.key, rows))
        self._fields.forget()
        return found


_FROM_OBJECTS = frozenset(BODY_KEYS - {"error", "fields"})


def _build_key(reader: RowReader, key: str, rows: Ints) -> pa.Array:
    """The column of a key of rows that needs no body."""
    kind = TYPES[key]
    if key in ("time", "time_ns"):
        return pa.array(reader.take_cells("time", rows)).cast(kind)
    if key in ("latency", "latency_ns"):
        return build_array(reader.read_latencies(rows)).cast(kind)
    if key == "error":
        errors = find_errors(reader.session, rows)
        numbers = np.zeros(len(rows), np.int64)
        numbers[errors.places] = errors.numbers + 1
        return convert_errors([None, *errors.kinds]).take(pa.array(numbers))
    if key in _SIDES:
        convert: Callable[[str], Any] = parse_address if key.endswith("_ip") else parse_port
        return _encode(reader.read_endpoints(rows, _SIDES[key]), kind, convert)
    return _encode(reader.read_column(key, rows), kind)


def _encode(column: CellColumn, kind: pa.DataType, convert: Callable[[str], Any] = str) -> pa.Array:
    """A column as an array of a type; texts of which there are few become a dictionary or are taken from one."""
    if not isinstance(column, TextColumn):
        return build_array(column).cast(kind)
    used, places = np.unique(column.numbers, return_inverse=True)
    texts = [None if text is None else convert(text) for text in column.texts.values(used)]
    if not pa.types.is_dictionary(kind):
        return convert_sequence(texts, kind).take(pa.array(places))
    # A null is no entry of a dictionary, and no text is there twice.
    entries = {text: place for place, text in enumerate(dict.fromkeys(text for text in texts if text is not None))}
    numbers = np.array([-1 if text is None else entries[text] for text in texts], np.int32)[places]
    indices = pa.array(numbers, pa.int32(), mask=numbers < 0)
    return pa.DictionaryArray.from_arrays(indices, convert_sequence(list(entries), pa.string()))


def _build_field(reading: FieldReader, field: FieldPath, rows: Ints, json: JsonWriter) -> pa.Array:
    """The column of a field: a list where a message can have several values, else the first value or null."""
    found = reading.read_occurrences(field, rows)
    if field.kind is FieldKind.STRUCT:
        found = _leave_out_empty(found)
    values = _make_values(field, found.values, json)
    if field.repeated:
        ends = np.zeros(len(rows) + 1, np.int32)
        np.cumsum(np.bincount(found.rows, minlength=len(rows)), out=ends[1:])
        return pa.ListArray.from_arrays(pa.array(ends), values)
    first, place = np.unique(found.rows, return_index=True)
    numbers = np.zeros(len(rows), np.int64)
    numbers[first] = place
    missing = np.ones(len(rows), bool)
    missing[first] = False
    return values.take(pa.array(numbers, mask=missing))


def _leave_out_empty(found: FieldValues) -> FieldValues:
    """Values without empty lists, which stand for a list that is there and has no element."""
    there = [place for place, value in enumerate(found.values) if value != []]
    return found._replace(rows=found.rows[there], values=[found.values[place] for place in there])


def _make_values(field: FieldPath, values: Any, json: JsonWriter) -> pa.Array:
    """Values of a field with the type of its kind; what is secret is null."""
    kind = _find_type(field)
    if field.kind is FieldKind.STRUCT:
        return ValueConverter(json).convert(values, kind)
    if field.kind is FieldKind.NUMBER:
        return _make_numbers(values)
    if kind in (TIME, DURATION):
        return _make_nanoseconds(values, field.scale or 1).cast(kind)
    if kind == pa.bool_():
        return pa.array([value if isinstance(value, bool) else bool(value) for value in values], kind)
    if kind == pa.binary():
        return pa.array([find_bytes(value) for value in values], kind)
    return convert_sequence([make_text(value, json) for value in values], kind)


def _find_type(field: FieldPath) -> pa.DataType:
    """The type of one value; a structure that no layout describes is JSON."""
    if field.kind is FieldKind.STRUCT and isinstance(field.origin, BodyField):
        return find_field_type(field.origin) or pa.string()
    return _KINDS.get(field.kind, pa.string())


def _make_nanoseconds(values: Any, scale: int) -> pa.Array:
    """Times in units of `scale` ns as int64; null where that does not suffice."""
    most = MOST_NANOSECONDS // scale
    if not isinstance(values, list):
        numbers = values.astype(np.int64)
        return pa.array(numbers * scale, mask=(numbers < -most) | (numbers > most))
    fits = [isinstance(value, int | float) and -most <= value <= most for value in values]
    return pa.array([int(value * scale) if fit else None for value, fit in zip(values, fits, strict=True)], pa.int64())


def _make_numbers(values: Any) -> pa.Array:
    """Numbers as int64; as float64 where one has a fraction or needs more bits."""
    if not isinstance(values, list):
        return pa.array(values.astype(np.int64))
    numbers = [value if isinstance(value, int | float) else None for value in values]
    if all(value is None or (isinstance(value, int) and -(1 << 63) <= value < 1 << 63) for value in numbers):
        return pa.array(numbers, pa.int64())
    return pa.array([None if value is None else float(value) for value in numbers], pa.float64())
