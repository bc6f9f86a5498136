"""The display filter: a text that says which rows are wanted, checked once and asked of any number of rows.

text -> parse (nodes) -> check (names looked up, literals read) -> bound (functions over columns) -> mask
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from analyzer.columns.arrays import Bools, Ints
from analyzer.decode.rows import Rows, chunks
from analyzer.query.fields.path import FieldPath
from analyzer.query.fields.reading import Reading
from analyzer.query.filter.checked import check
from analyzer.query.filter.errors import FilterError, Span
from analyzer.query.filter.masks import Mask, bound, fields_of
from analyzer.query.filter.parse import parse

__all__ = ["Filter", "FilterError", "Span", "compiled"]

AT_ONCE = 1 << 16
"""Rows whose messages are remembered while an expression asks for one field after the other."""


class Filter:
    """A checked filter. Of the reader that it was asked with last it keeps what it learned."""

    def __init__(self, text: str, named: Mapping[str, str] | None = None) -> None:
        self.text = text
        self._checked = check(parse(text, named), text)
        self._reading: Reading | None = None
        self._mask: Mask | None = None

    @property
    def fields(self) -> list[FieldPath]:
        """The fields that it asks for."""
        return fields_of(self._checked)

    def mask(self, reader: Rows, rows: Ints) -> Bools:
        """Which of `rows`, in any order, it keeps."""
        mask = self._bound(reader)
        if len(rows) > 1 and not (rows[1:] > rows[:-1]).all():
            each, back = np.unique(rows, return_inverse=True)
            mixed: Bools = self.mask(reader, each)[back]
            return mixed
        return np.concatenate([np.zeros(0, bool), *(mask(some) for some in self._parts(reader, rows))])

    def rows(self, reader: Rows, rows: Ints | range) -> Ints:
        """Those of `rows` that it keeps."""
        if not isinstance(rows, range):
            return rows[self.mask(reader, rows)]
        mask = self._bound(reader)
        kept = [np.zeros(0, np.int64)]
        if self._is_large:
            numbers = np.arange(rows.start, rows.stop)
            kept += [some[mask(some)] for some in self._parts(reader, numbers)]
        else:
            for first in range(rows.start, rows.stop, AT_ONCE):
                some = reader.between(first, min(first + AT_ONCE, rows.stop))
                kept.append(np.flatnonzero(mask(some)) + first)
        return np.concatenate(kept)

    @property
    def _is_large(self) -> bool:
        """Whether what it reads of messages may be as large as these."""
        return any(field.is_large for field in self.fields)

    def _parts(self, reader: Rows, rows: Ints) -> Iterator[Ints]:
        """The same rows, few enough for what is remembered of them."""
        if self._is_large:
            return chunks(reader.session, rows)
        return (rows[first : first + AT_ONCE] for first in range(0, len(rows), AT_ONCE))

    def _bound(self, reader: Rows) -> Mask:
        """The function for a reader's rows, which remembers what it decoded until it is asked again."""
        if self._reading is None or self._reading.reader is not reader or self._mask is None:
            self._reading = Reading(reader, self.fields, masked=False)
            self._mask = bound(self._checked, self._reading)
        reading, mask = self._reading, self._mask

        def once(rows: Ints) -> Bools:
            found = mask(rows)
            reading.forget()
            return found

        return once


def compiled(text: str, named: Mapping[str, str] | None = None) -> Filter:
    """A filter; `named` are those that it may refer to as $name. Raises FilterError."""
    return Filter(text, named)
