"""What decoding one message keeps account of: how much may be built out of it, and what is put off."""

from __future__ import annotations

from typing import Any

from dissectors.slotted import slotted


@slotted(frozen=False)
class Budget:
    """Bytes that may still be decompressed for one message: a small frame can hold gigabytes of zeros.

    later: where not None, parts of the message that are decoded together, faster, when all of it has been read.
    """

    left: int = 64 * 1024 * 1024
    later: list[Any] | None = None
