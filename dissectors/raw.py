"""Facts about bytes that no dissector framed.

Theory. A run of unframed bytes is one row, and stays one row when a protocol recognises it, because row numbers must
not change. But the port or the first bytes often tell what the run is. So a protocol may have a RawReader, which
describes it in a summary line and a tree (Dissector.raw).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from dissectors.field import Tree


class RawRun(NamedTuple):
    """Bytes of one direction without a gap, which belong to no message. ports: of the sender and of the receiver."""

    data: bytes
    ports: tuple[int, int]
    from_client: bool


class RawReader(Protocol):
    """Knows some of the runs that are of no framed protocol. Never raises, and looks at a bounded part of a run."""

    def line(self, run: RawRun) -> str | None:
        """Describes unframed bytes in a line; None if they are unknown."""

    def tree(self, run: RawRun) -> Tree | None:
        """Decodes raw bytes to a tree whose leaves cover all of them. None if nothing more than a line is known."""
