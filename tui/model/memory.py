"""How much memory this process holds of its own; pages of a mapped capture are not counted."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

STATM = Path("/proc/self/statm")


def measure_memory() -> int | None:
    """Bytes of anonymous memory that are in use; None where the system does not tell."""
    with suppress(OSError, ValueError, IndexError):
        _, resident, shared = map(int, STATM.read_bytes().split()[:3])
        return (resident - shared) * os.sysconf("SC_PAGE_SIZE")
    return None
