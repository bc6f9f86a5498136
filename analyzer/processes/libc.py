"""Calls of the C library: tuning of malloc, holes in files, and processes that end with their parent.

Theory. Reading captures and printing rows takes rounds, each of which needs the same tens of megabytes. glibc returns
free memory at the end of its heap to the system at once. Clearing new pages for the next round would take a tenth of
the total time. So malloc is set to keep free memory during the rounds, and returns it after the last one. Other C
libraries are left alone.

A hole in a file reads as zeros and takes no disk space, even while the file is mapped. Linux and macOS support holes in
all common file systems, but Python has no call for it.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import struct
import sys
from functools import cache

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Options of glibc's mallopt: the free bytes kept at the end of the heap, and the size too large for the heap."""

LARGEST = 32 << 20
"""The largest M_MMAP_THRESHOLD that glibc accepts."""


def keep_free(most: int) -> None:
    """Makes malloc keep up to `most` free bytes for the next round."""
    option = getattr(load_libc(), "mallopt", None)
    if option is not None:
        option(M_TRIM_THRESHOLD, most)
        option(M_MMAP_THRESHOLD, LARGEST)


def give_back() -> None:
    """Returns free memory to the system."""
    trim = getattr(load_libc(), "malloc_trim", None)
    if trim is not None:
        trim(0)


@cache
def load_libc() -> ctypes.CDLL:
    """Returns the C library, loaded once."""
    return ctypes.CDLL(None)


PARENT_DEATH_SIGNAL = 1
"""An option of prctl (Linux)."""


def end_with_parent(parent: int) -> None:
    """Ends this process when its parent ends, if the system supports that. parent: its number at the fork."""
    option = getattr(load_libc(), "prctl", None)
    if option is not None:
        option(PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


KEEP_SIZE, PUNCH_HOLE = 1, 2
F_PUNCHHOLE = 99
"""The command of fcntl on macOS."""


def punch_hole(descriptor: int, begin: int, end: int) -> bool:
    """Makes a hole from `begin` to `end`, multiples of the page size; returns whether that worked."""
    if sys.platform == "darwin":
        try:
            fcntl.fcntl(descriptor, F_PUNCHHOLE, struct.pack("=IIqq", 0, 0, begin, end - begin))
        except OSError:
            return False
        return True
    import ctypes  # lazy: only endless pipes need it

    call = getattr(load_libc(), "fallocate64", None) or getattr(load_libc(), "fallocate", None)
    if call is None:
        return False
    return bool(call(descriptor, PUNCH_HOLE | KEEP_SIZE, ctypes.c_int64(begin), ctypes.c_int64(end - begin)) == 0)
