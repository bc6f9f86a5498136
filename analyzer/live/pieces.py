"""Many pieces of memory to a file in few calls.

Theory. `writev` takes addresses and lengths, which is a matrix of two columns, so NumPy makes those of a thousand
packets at once. Python's own os.writev asks for an object for each of them; that took longer than all the rest.
"""

from __future__ import annotations

import ctypes
import errno
import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST = os.sysconf("SC_IOV_MAX")
"""Pieces that one call takes."""

_writev = ctypes.CDLL(None, use_errno=True).writev
_writev.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
_writev.restype = ctypes.c_ssize_t


@dataclass(frozen=True, slots=True)
class MemoryPieces:
    """rows: n x 2 of uintp, address and length of each. owner: keeps the memory that they lie in."""

    rows: NDArray[np.uintp]
    owner: object

    def slice(self, begin: int, end: int) -> MemoryPieces:
        """Some of them, in order."""
        return MemoryPieces(self.rows[begin:end], self.owner)

    def write(self, out: int) -> None:
        """All of them, whole. Raises OSError; some of the bytes may have been written then."""
        rows = np.ascontiguousarray(self.rows)
        while len(rows):
            some = rows[:MOST]
            done = _writev(out, some.ctypes.data, len(some))
            if done < 0:
                code = ctypes.get_errno()
                if code == errno.EINTR:
                    continue
                raise OSError(code, os.strerror(code))
            ends = some[:, 1].cumsum()
            whole = int(np.searchsorted(ends, done, side="right"))
            rows = rows[whole:]
            begun = done - (int(ends[whole - 1]) if whole else 0)
            if begun:
                rows = rows.copy()
                rows[0] += np.array((begun, 0), np.uintp)
                rows[0, 1] -= np.uintp(begun)


def write_all(out: int, data: bytes | memoryview) -> None:
    """All of it; a full disk is an OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(out, view) :]
