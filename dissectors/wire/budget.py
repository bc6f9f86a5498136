"""How much may be built out of one message."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Budget:
    """Bytes that may still be decompressed for one message: a small frame can hold gigabytes of zeros."""

    left: int = 64 * 1024 * 1024
