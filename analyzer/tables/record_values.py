"""The records in a message, as a JSON text: of a decoded body, or once for all rows of a template.

Theory. A protocol extracts records from the values of a message (dissectors.payload). In a template the values are
symbolic, and so is what is extracted of them: numbers, texts, lengths. A list of messages is a value of its own in each
row. Its records are extracted row by row, from values without symbols. What they have from around the list is found
with one item of the template's own message: those cells are symbolic, and each row fills them in.

A text is [cells around, [cells of each record]]: topic, partition, offset, time, key and length of the value. A key is
its hash and its length, or, from a template, its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from analyzer.columns.arrays import Ints
from analyzer.decode.template_json import MarkingWriter
from analyzer.messages import defects
from analyzer.tables.arrow_columns import convert_sequence, escape_surrogates
from analyzer.tables.record_fields import hash_key
from dissectors.api import Context, Dissector
from dissectors.message import Values
from dissectors.payload import Payload, Place
from dissectors.symbolic import NotTemplatable
from dissectors.symbolic_text import PiecewiseText
from dissectors.symbolic_values import NestedValue, SymbolicValue, Text, WrittenValue, length, plain
from dissectors.wire.fast_path import FastPath, load_fast_path
from dissectors.wire.inner import content, find_within

INT64 = 1 << 63

Cells = list[Any]
_KEY, _SIZE = 4, 5
_NO_CELLS: Cells = [None] * 6


RECORD_TYPES = {
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp_ms": pa.int64(),
    "key_hash": pa.string(),
    "key_length": pa.int64(),
    "value_length": pa.int64(),
}
"""The columns that records have by themselves."""


def list_cells(payloads: Iterable[Payload]) -> Iterator[Cells]:
    """Yields the cells of each record among the payloads of a message."""
    found: Cells = []
    path: Place = ()
    for place, kind, value, _, record in payloads:
        if record is None:
            continue
        if not found or place[:-1] != path:
            if found:
                yield found
            path = place[:-1]
            found = [record.topic, record.partition, record.offset, record.time, _make_key(record.key), None]
        if kind == "key":
            found[_KEY] = _make_key(value)
        elif found[_SIZE] is None and (data := content(value)) is not None:
            found[_SIZE] = length(data)
    if found:
        yield found


def _make_key(key: object) -> Any:
    if key is None or type(key) is Text or type(key) is PiecewiseText:
        return key
    data = plain(content(key))
    return None if data is None else [hash_key(data) if isinstance(data, bytes) else None, len(data)]


def _split_key(key: Any) -> tuple[Any, Any]:
    """Hash and length of a key."""
    if isinstance(key, str):
        data = key.encode()
        return hash_key(data), len(data)
    return (None, None) if key is None else tuple(key)


def _check_range(number: int | None, bound: int) -> int | None:
    return number if number is not None and -bound <= number < bound else None


def format_records(payloads: Iterable[Payload]) -> bytes:
    """Returns the text of the records in a message."""
    return b"[null,%b]" % _dump_cells(payloads)


def _dump_cells(payloads: Iterable[Payload]) -> bytes:
    found = list(list_cells(payloads))
    try:
        return orjson.dumps(found)
    except TypeError:  # JSON has neither surrogates nor numbers of more than 64 bits
        return orjson.dumps(
            [
                [escape_surrogates(topic), *(_check_range(each, INT64) for each in numbers), key, size]
                for topic, *numbers, key, size in found
            ]
        )


def may_carry_records(dissector: Dissector | None, context: Context) -> bool:
    """Returns whether records are read from the bodies of a context, and there may be any."""
    if dissector is None or has_log_columns(load_fast_path(dissector)):
        return False
    carriers = defects.find_carriers(dissector)
    return carriers is None or (context.code, context.role) in carriers


def has_log_columns(fast_path: FastPath | None) -> bool:
    """Returns whether a protocol's fast path reads records as columns (record_fields.py)."""
    return fast_path is not None and type(fast_path).logs is not FastPath.logs


def format_template_records(dissector: Dissector, context: Context, values: Values, writer: MarkingWriter) -> str:
    """Returns the text of the records in symbolic values, with marks. Raises NotTemplatable if it depends on more."""
    payloads = dissector.payloads
    if payloads is None or not may_carry_records(dissector, context):
        return ""
    if any(each.scope is None for each in defects.list_references(dissector, context)):
        raise NotTemplatable  # names may take the place of ids
    place = _find_nested(values)
    if place is None:
        return writer.dumps([None, list(list_cells(payloads.extract(values, _refuse_request)))]).decode()
    nested = find_within(values, place)
    first = next(list_cells(payloads.extract(_replace(values, place, nested.value[:1]), _refuse_request)), None)
    if first is None:
        raise NotTemplatable
    around = [cell if issubclass(type(cell), SymbolicValue) else None for cell in first]
    without = _drop_symbols(values)

    def write(lists: Sequence[Any]) -> list[bytes]:
        found = (payloads.extract(_replace(without, place, each), _refuse_request) for each in lists)
        return list(map(_dump_cells, found))

    return writer.dumps([around, orjson.Fragment(nested.builder.mark(WrittenValue(nested, write)))]).decode()


def _refuse_request() -> Values | None:
    raise NotTemplatable


def _find_nested(values: Any, place: tuple[str, ...] = ()) -> tuple[str, ...] | None:
    """Returns the place of the list that each row has for itself. Raises NotTemplatable if there are several."""
    if type(values) is NestedValue and isinstance(values.value, list):
        return place
    found = [_find_nested(value, (*place, name)) for name, value in values.items()] if type(values) is dict else []
    places = [each for each in found if each is not None]
    if len(places) > 1:
        raise NotTemplatable
    return places[0] if places else None


def _replace(values: Any, place: Place, new: Any) -> Any:
    """Returns a copy of values with another value at a place."""
    return {**values, place[0]: _replace(values.get(place[0], {}), place[1:], new)} if place else new


def _drop_symbols(value: Any) -> Any:
    if type(value) is dict:
        return {name: _drop_symbols(each) for name, each in value.items() if not issubclass(type(each), SymbolicValue)}
    return value


def parse_records(texts: pa.Array) -> tuple[Ints, dict[str, pa.Array]]:
    """Returns the records in the texts of n messages: the index of the message of each, and their columns by name."""
    lists = [orjson.loads(text) for text in texts.to_pylist()]
    counts = np.fromiter((len(records) for _, records in lists), np.int64, len(lists))
    message = np.repeat(np.arange(len(lists)), counts)
    cells = list(chain.from_iterable(records for _, records in lists))
    around = [cells or _NO_CELLS for cells, _ in lists]
    places = range(len(_NO_CELLS))
    return message, _build_columns(
        _fill_column([each[place] for each in cells], [each[place] for each in around], message) for place in places
    )


def build_record_columns(records: Sequence[Cells]) -> dict[str, pa.Array]:
    """Returns the columns of records by name."""
    return _build_columns([each[place] for each in records] for place in range(len(_NO_CELLS)))


def _build_columns(cells: Iterable[list[Any]]) -> dict[str, pa.Array]:
    """Columns of cells; numbers that they do not have are null."""
    topic, partition, offset, time, key, size = cells
    hashes, lengths = zip(*map(_split_key, key), strict=True) if key else ((), ())
    values = zip(RECORD_TYPES.items(), (topic, partition, offset, time, hashes, lengths, size), strict=True)
    return {name: _build_column(column, kind) for (name, kind), column in values}


def _fill_column(cells: list[Any], around: list[Any], message: Ints) -> list[Any]:
    """Cells of records; where one is null, that of its message."""
    if all(each is None for each in around):
        return cells
    return [around[place] if cell is None else cell for cell, place in zip(cells, message.tolist(), strict=True)]


def _build_column(cells: Sequence[Any], kind: pa.DataType) -> pa.Array:
    try:
        return convert_sequence(cells, kind)
    except (OverflowError, pa.ArrowInvalid):
        return pa.array([_check_range(each, 1 << kind.bit_width - 1) for each in cells], kind)
