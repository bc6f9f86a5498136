"""Writes the JSON text of many rows into a matrix of bytes: one line for each row, padded with NULs.

Theory. All rows have the same keys, so they share a template. Its cells (analyzer.columns.cells) are as wide as the
widest value. One call makes the hexadecimal digits of all rows, and NULs fill the rest of a cell, since JSON never
contains a NUL. Removing the NULs leaves the text.

If the sizes of values differ much, most of the matrix would be padding. If a text needs escapes, its width is not known
in advance. Such rows are written by the general JSON writer.
"""

from __future__ import annotations

import json
from binascii import hexlify
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from analyzer.columns.cells import format_integers
from dissectors.wire.flat import FlatColumns, IntegerColumn, Slices

Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

_SHARED = 10**8
_PADDING = 4
"""A cell may be _PADDING times as large as its content, counted as at least _LITTLE bytes for each line."""

_LITTLE = 64
_ESCAPED = np.zeros(256, bool)
_ESCAPED[[*range(0x20), ord('"'), ord("\\")]] = True
_NULL = np.frombuffer(b"null", np.uint8)


class Unwritable(Exception):
    """Says that rows cannot be written with a matrix."""


class JsonLineMatrix:
    """Describes `rows` lines from left to right; `width` is the number of bytes described so far."""

    def __init__(self, rows: int) -> None:
        self.width = 0
        self._rows = rows
        self._shared: list[bytes] = []
        self._cells: list[tuple[int, Bytes]] = []
        self._nulls: list[tuple[int, int, Flags]] = []

    def write_into(self, lines: Bytes) -> Bytes:
        """Writes everything described so far into a matrix at least as wide; returns the matrix."""
        lines[:, : self.width] = np.frombuffer(b"".join(self._shared), np.uint8)
        for at, cell in self._cells:
            lines[:, at : at + cell.shape[1]] = cell
        for at, end, places in self._nulls:
            lines[places, at:end] = 0
            lines[places, at : at + len(_NULL)] = _NULL
        return lines

    def add_text(self, text: bytes) -> None:
        """Adds the same text to all lines."""
        self._shared.append(text)
        self.width += len(text)

    def add_columns(self, columns: FlatColumns, start: int, stop: int, limit: int | None) -> None:
        """Adds rows of columns, but not the closing bracket of each object; of a nested list only its opening one."""
        mark = "{"
        for column in columns.columns:
            self.add_text(f"{mark}{json.dumps(column.name)}:".encode())
            mark = ","
            if isinstance(column, IntegerColumn):
                self.add_numbers(np.asarray(column.values[start:stop]))
            elif isinstance(column, Slices):
                at, length = np.asarray(column.at[start:stop]), np.asarray(column.length[start:stop])
                self._add_slices(columns.data, at, length, limit, column.text)
            else:
                self.add_text(b"[")

    def add_numbers(self, values: Ints) -> None:
        """Adds decimal integers. If all have the same leading digits, these digits are added as shared text."""
        least, most = int(np.minimum.reduce(values)), int(np.maximum.reduce(values))
        shared = least // _SHARED
        if shared > 0 and shared == most // _SHARED:
            self.add_text(str(shared).encode())
            # A leading digit keeps the zeros of the rest.
            self._add_cell(format_integers(values - (shared - 1) * _SHARED)[:, 1:])
        else:
            self._add_cell(format_integers(values))

    def _add_slices(self, data: bytes, at: Ints, length: Ints, limit: int | None, text: bool) -> None:
        """Adds bytes as an object of digits and length, or text without escapes; null where the length is negative."""
        begin, null = self.width, None
        if np.minimum.reduce(length) < 0:
            null, length = length < 0, np.maximum(length, 0)
        if text:
            self.add_text(b'"')
            self._add_cell(self._add_windows(data, at, length, True))
            self.add_text(b'"')
            if null is not None:
                self.add_text(b"\0\0")  # makes the cell wide enough for null
        else:
            self.add_text(b'{"hex":"')
            self._add_cell(self._add_windows(data, at, length if limit is None else np.minimum(length, limit), False))
            self.add_text(b'","length":')
            self.add_numbers(length)
            self.add_text(b"}")
        if null is not None:
            self._nulls.append((begin, self.width, null))

    def _add_windows(self, data: bytes, at: Ints, size: Ints, text: bool) -> Bytes:
        """Returns `size` bytes of data at each position: as they are if they are text, else as hexadecimal digits."""
        width = int(np.maximum.reduce(size))
        if width < 0 or width * self._rows > _PADDING * (int(np.add.reduce(size)) + _LITTLE * self._rows):
            raise Unwritable
        if not width:
            return np.empty((self._rows, 0), np.uint8)
        if int(np.maximum.reduce(at)) + width > len(data):
            data += bytes(width)
        windows = np.ndarray((len(data) - width + 1,), f"V{width}", data, 0, (1,))[at]
        kind = np.dtype(np.uint8 if width < 256 else np.int32)
        inside: Flags = np.arange(width, dtype=kind) < size.astype(kind)[:, None]
        if not text:
            digits: npt.NDArray[np.uint16] = np.frombuffer(hexlify(windows.data), np.uint16).reshape(-1, width)
            return (digits * inside).view(np.uint8)
        letters: Bytes = windows.view(np.uint8).reshape(-1, width)
        if np.count_nonzero(_ESCAPED.take(letters) & inside):
            raise Unwritable
        return letters * inside

    def _add_cell(self, cell: Bytes) -> None:
        self._cells.append((self.width, cell))
        self.add_text(bytes(cell.shape[1]))
