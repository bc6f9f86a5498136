"""Sorts rows by keys of the row or by fields of the body.

Theory. Each column becomes a column of ranks, so that all keys are sorted together as numbers. A number is its own
rank; the rank of any other value is its position among the distinct values. Numbers come before texts, texts before
bytes; if a row has several values, the first one counts. Rows without a value come last, in both directions. So do
secrets, because their order would reveal something about them. Equal rows keep their order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from analyzer.columns.arrays import Array, Bools, Ints
from analyzer.columns.values import FlagColumn, IntegerColumn, TextColumn, TimeColumn
from analyzer.decode.rows import BODY_KEYS, RowReader, split_rows
from analyzer.errors import UserError
from analyzer.query.column_names import resolve_key
from analyzer.query.fields import FieldKind, FieldPath, FieldReader
from analyzer.query.path_columns import READ, READ_BYTES
from dissectors.slotted import make_slotted
from dissectors.wire.embedded import EmbeddedValue

_DOWN, _UP = "desc", "asc"
_Rank = tuple[Array, Bools]
"""A number for each row, and which rows have no value."""


@make_slotted
class SortKey:
    """A key by which rows are sorted: a key of rows, or a field."""

    key: str | FieldPath
    descending: bool = False


def parse_sort_keys(text: str) -> list[SortKey]:
    """Parses `time,-latency,kafka.topic:desc`. Raises UserError for a key that rows cannot be sorted by."""
    return [_parse_sort_key(part) for part in text.split(",") if part]


def _parse_sort_key(text: str) -> SortKey:
    name, _, way = text.rpartition(":") if text.endswith((f":{_DOWN}", f":{_UP}")) else (text, "", "")
    key = resolve_key(name.removeprefix("-"), "--sort")
    if key == "fields" or (isinstance(key, FieldPath) and key.kind is FieldKind.STRUCT):
        raise UserError(f"--sort {text}: This is a structure. Give one of its fields.")
    return SortKey(key, name.startswith("-") != (way == _DOWN))


def sort_rows(reader: RowReader, rows: Ints, keys: Sequence[SortKey]) -> Ints:
    """Returns the rows sorted by the first key; equal ones by the next key, and so on."""
    columns: list[Array] = []
    for key in keys:
        rank, null = _rank_rows(reader, rows, key.key)
        # The complement reverses the order of any integer, including the least one.
        columns += [null, np.where(null, rank.dtype.type(0), ~rank if key.descending else rank)]
    return rows[np.lexsort(columns[::-1])] if columns else rows


def _rank_rows(reader: RowReader, rows: Ints, key: str | FieldPath) -> _Rank:
    if isinstance(key, FieldPath):
        return _rank_values(_read_first_values(reader, rows, key))
    if key in BODY_KEYS:
        return _rank_values(_read_body_values(reader, rows, key))
    column, never = reader.read_column(key, rows), np.zeros(len(rows), bool)
    if isinstance(column, IntegerColumn):
        return column.numbers, never if column.null is None else column.null
    if isinstance(column, TimeColumn):
        return column.times, never
    if isinstance(column, FlagColumn):
        return column.flags.astype(np.int8), never
    if isinstance(column, TextColumn):
        distinct, place = np.unique(column.numbers, return_inverse=True)
        rank, null = _rank_values(column.texts.values(distinct))
        return rank[place], null[place]
    return _rank_values(column.values())


def _read_first_values(reader: RowReader, rows: Ints, path: FieldPath) -> list[Any]:
    reading, found = FieldReader(reader, [path]), list[Any]()
    for part in split_rows(reader.session, rows, READ, READ_BYTES):
        found += [next((value for value in values if value != []), None) for values in reading.read_by_row(path, part)]
        reading.forget()
    return found


def _read_body_values(reader: RowReader, rows: Ints, key: str) -> list[Any]:
    row_values = (each[key] for part in split_rows(reader.session, rows) for each in reader.read_objects([key], part))
    if key == "error":
        return [None if value is None else value["name"] or value["code"] for value in row_values]
    if key == "findings":
        return [",".join(each["code"] for each in value) or None for value in row_values]
    return list(row_values)


def _rank_values(values: Sequence[Any]) -> _Rank:
    """Returns the ranks of any values."""
    kinds = [_make_comparable(value) for value in values]
    place = {each: rank for rank, each in enumerate(sorted({each for each in kinds if each is not None}))}
    ranks = np.fromiter((-1 if each is None else place[each] for each in kinds), np.int64, len(kinds))
    return ranks, ranks < 0


def _make_comparable(value: Any) -> tuple[int, Any] | None:
    """Returns a value that can be compared with all others; None if it has no order."""
    if isinstance(value, EmbeddedValue):
        value = value.data
    if isinstance(value, int | float):
        return None if math.isnan(value) else (0, value)
    if isinstance(value, str):
        return 1, value
    return (2, value) if isinstance(value, bytes) else None
