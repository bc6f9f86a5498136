"""Where templates read the bytes of messages: in captures (Store), or in one piece of memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.columns.cells import Cells


class ByteSource(Protocol):
    """Describes the methods of Store that matching needs."""

    def gather(self, locations: Ints, width: int) -> Cells:
        """Returns rows of `width` bytes at many places."""

    def read_many(self, locations: Ints, lengths: Ints) -> list[bytes]:
        """Returns the bytes at many places."""


class ConcatenatedMessages:
    """Holds messages that are not contiguous in the capture, as one bytes object."""

    def __init__(self, messages: Sequence[bytes]) -> None:
        self._data = b"".join(messages)
        self._bytes = np.frombuffer(self._data, np.uint8)

    def gather(self, locations: Ints, width: int) -> Cells:
        """Returns `width` bytes at n positions (n, width); bytes after the last message are undefined."""
        found: Cells = self._bytes.take(locations[:, None] + np.arange(width), mode="clip")
        return found

    def read_many(self, locations: Ints, lengths: Ints) -> list[bytes]:
        """Returns the bytes at n locations, of n lengths."""
        ends = (locations + lengths).tolist()
        return [self._data[begin:end] for begin, end in zip(locations.tolist(), ends, strict=True)]
