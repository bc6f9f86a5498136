"""Facts about bytes that no dissector framed.

Theory. A run of such bytes is one row and stays one, whoever knows what it is: rows are a promise. But people who look
at one want to know what passes there, and often the port or the bytes tell. So a protocol may have a RawReader, that
says so in a line and a tree (Dissector.raw); the row and its values stay as they are.
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
