"""Rows of bytes out of a buffer, at any positions: what every layer reads its headers with."""

from __future__ import annotations

import mmap

import numpy as np
from numpy.typing import NDArray

Buffer = bytes | memoryview | mmap.mmap


def gather_rows(data: Buffer, positions: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    """Rows (n, width) of `data` at `positions` (at least 0); bytes behind its end are 0.

    A void view with stride 1 lets one fancy index copy whole rows (25 ns each); take() would first lay out the view.
    """
    last = len(data) - width
    if last >= 0 and (not len(positions) or int(positions.max()) <= last):
        return _rows(data, positions, width)
    rows = np.zeros((len(positions), width), np.uint8)
    inside = np.flatnonzero(positions <= last)
    if len(inside):
        rows[inside] = _rows(data, positions[inside], width)
    edge = max(0, last + 1)
    cut = np.flatnonzero((positions >= edge) & (positions < len(data)))
    if len(cut):
        rows[cut] = _rows(bytes(data[edge:]) + bytes(width), positions[cut] - edge, width)
    return rows


def _rows(data: Buffer, positions: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    view = np.ndarray((len(data) - width + 1,), f"V{width}", data, 0, (1,))
    return view[positions].view(np.uint8).reshape(len(positions), width)
