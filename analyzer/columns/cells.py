r"""Text in columns: the cells of many rows as one matrix of bytes.

Theory. Formatting a cell in Python takes a tenth of a microsecond, and a million rows have ten million cells. Here a
column is written for all rows at once: a uint8 matrix with one row for each cell, padded with zeros. Matrices side by
side are lines, and one pass in C that deletes all zeros leaves the text. No cell contains a zero of its own, because
renderers escape control characters: in tables as `\x00`, in JSON as `\u0000`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from analyzer.columns.arrays import Array, Bools, Ints, find_runs

Cells = npt.NDArray[np.uint8]
"""Matrix (n, w) of n cells of at most w bytes, padded with zeros."""

WIDEST = 512
"""Bytes of the widest cell. Longer texts are not written in columns: every row would take as many bytes."""

ZERO, SPACE, MINUS = 0x30, 0x20, 0x2D
_GROUP = 10_000
SECOND = 10**9
ISO_WIDTH = 30


class TooWide(Exception):
    """A text is wider than WIDEST, so the caller must write its rows one by one."""


def _four_digits() -> npt.NDArray[np.uint32]:
    """Returns a table of four bytes, as one integer each: 0 to 9999 without leading zeros, then `0000` to `9999`."""
    numbers = np.tile(np.arange(_GROUP, dtype=np.int32), 2)
    digits = np.empty((len(numbers), 4), np.uint8)
    for place in (3, 2, 1, 0):
        digits[:, place] = numbers % 10 + ZERO
        numbers //= 10
    for power in range(4):
        digits[: 10**power, 3 - power] = 0
    return digits.view(np.uint32)[:, 0]


_FOUR = _four_digits()


def format_integers(values: Array) -> Cells:
    """Formats signed or unsigned integers (n) in decimal, right-aligned in their cells."""
    negative = values < 0
    signed = bool(negative.any())
    size: Array = values
    if signed:
        # The negative of the lowest signed integer fits only an unsigned one.
        size = values.astype(np.uint64)
        size = np.where(negative, 0 - size, size)
    width = _width(size)
    groups = -(-width // 4)
    found = np.empty((len(values), groups), np.uint32)
    # A 32-bit division takes a third of the time of a 64-bit one.
    kind = np.uint32 if width <= 9 else np.uint64
    rest: Array = size.astype(kind)
    for group in range(groups - 1, 0, -1):
        higher: Array = rest // kind(_GROUP)
        digits = rest - higher * kind(_GROUP)
        digits += (higher != 0) * kind(_GROUP)
        found[:, group] = _FOUR[digits]
        rest = higher
    found[:, 0] = _FOUR[rest]
    cells = found.view(np.uint8)[:, 4 * groups - width :]
    cells[size == 0, -1] = ZERO
    return np.hstack((np.where(negative, np.uint8(MINUS), np.uint8(0))[:, None], cells)) if signed else cells


def _width(size: Array) -> int:
    """Returns the number of digits of the largest of several non-negative integers."""
    return len(str(int(size.max()))) if len(size) else 1


def align_right(cells: Cells, width: int) -> Cells:
    """Pads cells of integers with spaces on the left, to at least `width` bytes."""
    wide = np.zeros((len(cells), max(width, cells.shape[1])), np.uint8)
    wide[:, wide.shape[1] - cells.shape[1] :] = cells
    edge = wide[:, wide.shape[1] - width :]
    edge[edge == 0] = SPACE
    # The minus is at the left edge, where the longest number would begin.
    for place in np.flatnonzero(cells[:, 0] == MINUS).tolist():
        text = flatten_cells(cells[place]).rjust(width)
        wide[place] = 0
        wide[place, : len(text)] = np.frombuffer(text, np.uint8)
    return wide


def format_times(times: Ints) -> Cells:
    """Formats times (ns since 1970) as `2026-11-21T10:00:00.123456789Z`."""
    if not len(times):
        return np.zeros((0, ISO_WIDTH), np.uint8)
    seconds = times // SECOND
    # Most neighbours share their second.
    begin, end = find_runs(seconds)
    heads = np.datetime_as_string(seconds[begin].astype("datetime64[s]")).astype("S19")
    text = np.empty((len(times), ISO_WIDTH), np.uint8)
    text[:, :19] = np.repeat(heads.view(np.uint8).reshape(-1, 19), end - begin, axis=0)
    text[:, 19], text[:, 29] = ord("."), ord("Z")
    # Another digit in front keeps the leading zeros of the fraction.
    text[:, 20:29] = format_integers(times - seconds * SECOND + SECOND)[:, 1:]
    return text


def make_cells(texts: Sequence[bytes]) -> Cells:
    """Makes one cell from each text. Raises TooWide."""
    width = max(map(len, texts), default=0)
    if width > WIDEST:
        raise TooWide
    if not width:
        return np.zeros((len(texts), 0), np.uint8)
    return np.array(texts, f"S{width}").view(np.uint8).reshape(len(texts), width)


def replace_nulls(cells: Cells, null: Bools, text: bytes) -> Cells:
    """Replaces the cells of the rows where `null` is true by `text`."""
    if not null.any():
        return cells
    if cells.shape[1] < len(text):
        cells = np.hstack((np.zeros((len(cells), len(text) - cells.shape[1]), np.uint8), cells))
    cells[null] = 0
    if text:
        cells[null, : len(text)] = np.frombuffer(text, np.uint8)
    return cells


def join_cells(parts: Iterable[Cells | bytes], count: int) -> Cells:
    """Joins matrices side by side; a bytes object is repeated in each of the `count` rows."""
    merged: list[Cells | bytes] = []
    for part in parts:  # each costs a call
        if isinstance(part, bytes) and merged and isinstance(last := merged[-1], bytes):
            merged[-1] = last + part
        else:
            merged.append(part)
    found = [np.frombuffer(part, np.uint8) if isinstance(part, bytes) else part for part in merged]
    whole = np.empty((count, sum(part.shape[-1] for part in found)), np.uint8)
    at = 0
    for part in found:
        whole[:, at : at + part.shape[-1]] = part
        at += part.shape[-1]
    return whole


def count_cell_bytes(cells: Cells) -> Ints:
    """Returns the number of text bytes of each cell."""
    found: Ints = np.add.reduce((cells != 0).view(np.uint8), axis=1, dtype=np.int64)
    return found


def flatten_cells(cells: Cells) -> bytes:
    """Returns the text of all cells, one after the other."""
    return cells.tobytes().translate(None, b"\0")
