"""Messages made of lines, each of which announces what follows: bytes of a string, or more lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from dissectors.api import Framer, Window
from dissectors.errors import MalformedField
from dissectors.wire.reader import Reader

LineMeasure: TypeAlias = Callable[[bytes], tuple[int, int]]
"""From a line with its end to the bytes of the string behind it, which ends with \\r\\n, and the lines behind that.

Bytes: 0 where no string follows, -1 where the protocol has no such line.
"""

_SHORT, _LONGEST = 512, 1 << 16
"""Bytes that are looked at for the end of a line: at first, and at most."""


@dataclass(slots=True)
class LineFramer(Framer):
    """Frames one direction. `first` and `more` measure a message's first line and its others; `maximum` is in bytes.

    at: how far the message was read. left: lines to come.
    """

    first: LineMeasure
    more: LineMeasure
    maximum: int
    at: int = 0
    left: int = 1

    def length(self, message: Window, ended: bool) -> int:
        """Returns the bytes of it; negative: minus the bytes that must be there to tell more; 0: it is none."""
        while self.left:
            line = message.read_bytes(self.at, _SHORT)
            if b"\n" not in line:
                line = message.read_bytes(self.at, _LONGEST)
            stop = self.at + line.find(b"\n") + 1
            if stop == self.at:
                return -stop - len(line) - 1 if len(line) < _LONGEST else 0
            size, more = (self.more if self.at else self.first)(line[: stop - self.at])
            stop, left = stop + size, self.left + more - 1
            if size < 0 or stop + left > self.maximum:
                return 0
            if left and len(message) < stop:
                return -stop
            if size and not b"\r\n".startswith(message.read_bytes(stop - 2, 2)):
                return 0
            self.at, self.left = stop, left
        found, self.at, self.left = self.at, 0, 1
        return found


def find_line(reader: Reader, name: str, measure: LineMeasure) -> tuple[bytes, int, int]:
    """Returns the line at the cursor, its end, and the number of lines after it. Raises DecodeError."""
    at = reader.at
    line = reader.data[at : reader.data.find(b"\n", at, reader.end) + 1]
    reader.need(len(line) or reader.end - at + 1, at, name)
    size, more = measure(line)
    stop = at + len(line) + size
    reader.need(size, stop - size, name)
    if size < 0 or (size and reader.data[stop - 2 : stop] != b"\r\n"):
        raise MalformedField(reader.path(name), at, "is not written as the protocol has it")
    reader.require_nodes(1, name)
    return line, stop, more
