"""Gives the disk space of a file's beginning back, while its other bytes stay where they are.

Theory. A hole in a file reads as zeros and takes no space; whoever has the file mapped is not disturbed. Linux and
macOS can make one in the file systems that matter. Python has no call for it.
"""

from __future__ import annotations

import fcntl
import struct
import sys

from analyzer.capture.malloc import load_libc

KEEP_SIZE, PUNCH_HOLE = 1, 2
F_PUNCHHOLE = 99
"""Of macOS."""


def punch_hole(descriptor: int, begin: int, end: int) -> bool:
    """Whether the bytes from `begin` to `end` take no space any more; both are multiples of what a page has."""
    if sys.platform == "darwin":
        try:
            fcntl.fcntl(descriptor, F_PUNCHHOLE, struct.pack("=IIqq", 0, 0, begin, end - begin))
        except OSError:
            return False
        return True
    import ctypes  # who reads no endless pipe does without

    call = getattr(load_libc(), "fallocate64", None) or getattr(load_libc(), "fallocate", None)
    if call is None:
        return False
    return bool(call(descriptor, PUNCH_HOLE | KEEP_SIZE, ctypes.c_int64(begin), ctypes.c_int64(end - begin)) == 0)
