"""Framing: cuts a stream of bytes into messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

from dissectors.slotted import make_slotted


@make_slotted
class LengthPrefixed:
    """Messages behind a big-endian length of `width` bytes that does not count itself; bounds are of that length."""

    width: int
    minimum: int
    maximum: int

    def size(self, head: bytes) -> int:
        """Returns length of a message with these first `width` bytes, which it counts; 0 where it is out of bounds."""
        size = int.from_bytes(head, "big")
        return self.width + size if self.minimum <= size <= self.maximum else 0


class Window(Protocol):
    """The bytes of a message that have come so far, from its first one on, without a gap."""

    def __len__(self) -> int:
        """How many there are."""

    def read_bytes(self, offset: int, length: int) -> bytes:
        """Returns `length` bytes from `offset` on; fewer where no more have come."""


class Framer(ABC):
    """How long the messages of one direction are, where no prefix of a fixed form says it, or not from the start.

    One is made for each direction of a connection. It is asked about one message after the other, about the same one
    again when more of it has come, and may remember how far it has read. Plain data, for it is pickled between blocks.
    """

    @abstractmethod
    def length(self, message: Window, ended: bool) -> int | None:
        """Returns the bytes of the message at the window's beginning, which may be more than have come. Never raises.

        0: no message can begin so. Negative: more bytes are needed to tell. None: from here on Dissector.framing
        tells, and this framer is asked no more. ended: no more bytes will come; a message that only the end of the
        stream ends is as long as the window, others stay negative.
        """

    @property
    def settled(self) -> bool:
        """Whether it remembers nothing, so that a new one would say the same of the next message; for speed alone."""
        return False

    def measure_across_loss(self, message: Window, lost: range, ended: bool) -> int:
        """Returns the length of a message that has lost bytes, which read as zeros.

        lost: the first offset of each loss.

        0 (the default): unknown; then the message ends with the known bytes. ended: as in length().
        """
        return 0


@make_slotted
class VarintPrefixed(Framer):
    """Messages of `offset` bytes, then an unsigned varint of at most `width` bytes: the number of bytes behind it.

    The varint has seven bits a byte, the lowest first. Larger messages than `maximum` bytes are not believed.
    """

    offset: int
    width: int
    maximum: int

    def length(self, message: Window, ended: bool) -> int:
        """The message's length by its varint; 0 where none can begin so, negative where more bytes are needed."""
        return self.size(message.read_bytes(0, self.offset + self.width))

    def size(self, head: bytes) -> int:
        """Length of a message with these first bytes; 0 where none can begin so, negative where they are too few."""
        size, head = 0, head[: self.offset + self.width]
        for at, byte in enumerate(head[self.offset :]):
            size |= (byte & 0x7F) << 7 * at
            if byte < 0x80:
                whole = self.offset + at + 1 + size
                return whole if whole <= self.maximum else 0
        return 0 if len(head) == self.offset + self.width else -len(head) - 1

    @property
    def settled(self) -> bool:
        """True, because each message says its own length."""
        return True
