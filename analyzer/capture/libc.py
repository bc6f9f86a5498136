"""What the C library does with memory that arrays leave free.

Theory. Captures are read, and rows are printed, in rounds that need the same tens of megabytes each. glibc gives free
memory at the end of its heap back to the system at once, and the system clears new pages for the next round: a tenth
of all the time. So while rounds go on it is asked to keep what is free, and behind the last one to give it back, which
it does by itself only where no small object happens to sit behind it. Elsewhere than glibc: nothing.
"""

from __future__ import annotations

import ctypes
import fcntl
import struct
import sys
from functools import cache

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Of glibc's malloc.h: what is too much free at the heap's end, and what is too large for the heap."""

LARGEST = 32 << 20
"""The most that glibc allows as the second bound."""


def keep_free(most: int) -> None:
    """Keeps up to `most` free bytes for the next round."""
    option = getattr(load_libc(), "mallopt", None)
    if option is not None:
        option(M_TRIM_THRESHOLD, most)
        option(M_MMAP_THRESHOLD, LARGEST)


def give_back() -> None:
    """Returns what is free to the system."""
    trim = getattr(load_libc(), "malloc_trim", None)
    if trim is not None:
        trim(0)


@cache
def load_libc() -> ctypes.CDLL:
    """The C library; to look it up makes a class each time."""
    return ctypes.CDLL(None)


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
