"""The display filter: a text that selects rows. It is checked once and can be applied to any number of rows.

text -> parse (nodes) -> check (names looked up, literals read) -> bind (functions over columns) -> mask
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from analyzer.columns.arrays import Bools, Ints
from analyzer.decode.rows import CHUNK, CHUNK_BYTES, RowReader, split_rows
from analyzer.decode.template_decoder import TOGETHER, TOGETHER_BYTES
from analyzer.processes.jobs import divide, map_in_order
from analyzer.query.fields.path import FieldPath
from analyzer.query.fields.reading import FieldReader
from analyzer.query.filter.checked import check_filter
from analyzer.query.filter.masks import FindMask, bind, can_scan, list_fields
from analyzer.query.filter.nodes import FilterError, Span
from analyzer.query.filter.parse import parse

__all__ = ["Filter", "FilterError", "Span", "compile_filter"]

AT_ONCE = 1 << 16
"""Number of rows whose messages are cached while an expression reads one field after the other."""


class Filter:
    """A checked filter. It caches what it read with the last reader."""

    def __init__(self, text: str, named: Mapping[str, str] | None = None) -> None:
        self.text = text
        self._checked = check_filter(parse(text, named), text)
        self._reading: FieldReader | None = None
        self._mask: FindMask | None = None

    @property
    def fields(self) -> list[FieldPath]:
        """The fields that the filter reads."""
        return list_fields(self._checked)

    def find_mask(self, reader: RowReader, rows: Ints) -> Bools:
        """Returns which of `rows`, in any order, match the filter (bool, n)."""
        mask = self._bind(reader)
        if len(rows) > 1 and not (rows[1:] > rows[:-1]).all():
            each, back = np.unique(rows, return_inverse=True)
            return self.find_mask(reader, each)[back]
        return np.concatenate([np.zeros(0, bool), *(mask(some) for some in self._split_rows(reader, rows))])

    def select_rows(self, reader: RowReader, rows: Ints | range) -> Ints:
        """Returns those of `rows` that match the filter."""
        jobs = reader.session.jobs
        if jobs > 1 and not all(field.is_cheap for field in self.fields):
            numbers, parts = np.asarray(rows), divide(len(rows), jobs, AT_ONCE)
            masks = map_in_order(lambda part: self.find_mask(reader, numbers[part.start : part.stop]), parts, jobs)
            matching: Ints = numbers[np.concatenate([np.zeros(0, bool), *masks])]
            return matching
        if not isinstance(rows, range):
            return rows[self.find_mask(reader, rows)]
        mask = self._bind(reader)
        found = [np.zeros(0, np.int64)]
        if self._is_large:
            numbers = np.arange(rows.start, rows.stop)
            found += [some[mask(some)] for some in self._split_rows(reader, numbers)]
        else:
            for first in range(rows.start, rows.stop, AT_ONCE):
                some = reader.select_range(first, min(first + AT_ONCE, rows.stop))
                found.append(np.flatnonzero(mask(some)) + first)
        return np.concatenate(found)

    @property
    def _is_large(self) -> bool:
        """Returns whether the values that it reads may be as large as messages."""
        return any(field.is_large for field in self.fields)

    def _split_rows(self, reader: RowReader, rows: Ints) -> Iterator[Ints]:
        """Divides rows into parts that are small enough to cache."""
        if self._is_large:
            together = (TOGETHER, TOGETHER_BYTES) if can_scan(self._checked) else (CHUNK, CHUNK_BYTES)
            return split_rows(reader.session, rows, *together)
        return (rows[first : first + AT_ONCE] for first in range(0, len(rows), AT_ONCE))

    def _bind(self, reader: RowReader) -> FindMask:
        """Returns the function for a reader's rows, which forgets what it decoded at the end of each call."""
        if self._reading is None or self._reading.reader is not reader or self._mask is None:
            self._reading = FieldReader(reader, self.fields, masked=False)
            self._mask = bind(self._checked, self._reading)
        reading, mask = self._reading, self._mask

        def find_mask_once(rows: Ints) -> Bools:
            found = mask(rows)
            reading.forget()
            return found

        return find_mask_once


def compile_filter(text: str, named: Mapping[str, str] | None = None) -> Filter:
    """Compiles a filter; `named`: the filters that it may use as $name. Raises FilterError."""
    return Filter(text, named)
