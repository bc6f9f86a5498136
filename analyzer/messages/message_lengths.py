"""Reads lengths of messages for the fast path: of many messages at once, or of one at any position.

Theory. Most protocols have a length at a fixed position in front, which is two columns. Other protocols need a Framer,
but FastPath.lengths computes nearly all of their lengths in columns. For the rest, a new Framer measures one message at
a time. This is right if no earlier message leaves state in the framer (Framer.settled).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np

from analyzer.columns.arrays import Array, Bools, Ints
from analyzer.messages.framing import ByteReader
from dissectors.api import Dissector, LengthPrefixed, VarintPrefixed, Window
from dissectors.wire.fast_path import FastPath, Wire


class ByteStore(ByteReader, Protocol):
    """Reads bytes at many locations; implemented by Store."""

    def gather(self, locations: Ints, width: int) -> Array:
        """Returns rows of `width` bytes at n locations, shape (n, width)."""

    def window(self, location: int, length: int) -> memoryview:
        """Returns a view of `length` bytes at a location."""


class LengthReader(ABC):
    """Reads the lengths of a protocol's messages. width: bytes that are needed for any length."""

    width: int

    @abstractmethod
    def read_many(self, at: Ints, available: Ints, from_client: Bools) -> Ints:
        """Returns the lengths of n messages at locations; the first `available` bytes of each are there without a gap.

        `available` is at least `width`. 0: no message, or one that only the slow path can measure. Negative: more bytes
        are needed.
        """

    @abstractmethod
    def read_one(self, message: Window, from_client: bool) -> int:
        """Returns the length of one message in bytes; 0 and negative numbers mean the same as in read_many()."""

    def read_run(self, data: memoryview) -> list[int]:
        """Returns the lengths of messages that begin in `data`, one behind the other, as read_one() does.

        The last one may end behind `data`. If the list is empty, read_one() decides.
        """
        return []


def make_length_reader(dissector: Dissector, fast_path: FastPath, store: ByteStore) -> LengthReader:
    """Returns the length reader of a protocol that has a fast path."""
    framer = dissector.make_framer(True, False)
    if isinstance(framer, VarintPrefixed):
        return VarintLengths(framer, store)
    if dissector.framing is None:
        return FramerLengths(dissector, fast_path, store)
    return PrefixLengths(dissector.framing, store)


class PrefixLengths(LengthReader):
    """Reads lengths from a big-endian number in front."""

    def __init__(self, framing: LengthPrefixed, store: ByteStore) -> None:
        """By this framing, from bytes of this store."""
        self._framing, self._store = framing, store
        self.width = framing.width

    def read_many(self, at: Ints, available: Ints, from_client: Bools) -> Ints:
        """Returns the lengths of n messages from their prefixes."""
        size = np.zeros(len(at), np.int64)
        for column in self._store.gather(at, self.width).T:
            size <<= 8
            size |= column
        # Zeros would be a series of empty messages; a real empty message is rare, so the slow path handles it.
        sound = (size >= max(self._framing.minimum, 1)) & (size <= self._framing.maximum)
        return np.where(sound, size + self.width, 0)

    def read_one(self, message: Window, from_client: bool) -> int:
        """Returns the length of one message from its prefix."""
        head = message.read_bytes(0, self.width)
        if len(head) < self.width:
            return -self.width
        size = int.from_bytes(head)
        return size + self.width if self._framing.minimum <= size <= self._framing.maximum else 0

    def read_run(self, data: memoryview) -> list[int]:
        """Returns the lengths of messages that begin in `data`, from their prefixes."""
        width, minimum, maximum = self.width, self._framing.minimum, self._framing.maximum
        lengths, here, last = [], 0, len(data) - width
        while here <= last:
            size = int.from_bytes(data[here : here + width])
            if not minimum <= size <= maximum:
                break
            lengths.append(size + width)
            here += size + width
        return lengths


class VarintLengths(LengthReader):
    """Reads lengths from a varint after the first bytes."""

    def __init__(self, framing: VarintPrefixed, store: ByteStore) -> None:
        """By this framing, from bytes of this store."""
        self._framing, self._store = framing, store
        self.width = framing.offset + 1

    def read_many(self, at: Ints, available: Ints, from_client: Bools) -> Ints:
        """Returns the lengths of n messages from their varints."""
        offset, width = self._framing.offset, self._framing.width
        there = self._store.gather(at + offset, width).astype(np.int64)
        there[np.arange(width) >= (available - offset)[:, None]] = 0x80
        ended = there < 0x80
        taken = ended.argmax(axis=1) + 1
        mine = np.arange(width) < taken[:, None]
        whole = ((there & 0x7F) * mine << 7 * np.arange(width)).sum(axis=1) + offset + taken
        found = np.where(whole <= self._framing.maximum, whole, 0)
        return np.where(ended.any(axis=1), found, np.where(available < offset + width, -1, 0))

    def read_one(self, message: Window, from_client: bool) -> int:
        """Returns the length of one message from its varint."""
        return self._framing.length(message, False)


class FramerLengths(LengthReader):
    """Reads lengths that need a Framer, or FastPath.lengths."""

    def __init__(self, dissector: Dissector, fast_path: FastPath, store: ByteStore) -> None:
        """By this dissector and its fast_path, from bytes of this store."""
        self._dissector, self._fast_path, self._store = dissector, fast_path, store
        self.width = fast_path.WIDTH

    def read_many(self, at: Ints, available: Ints, from_client: Bools) -> Ints:
        """Returns the lengths of n messages from FastPath.lengths."""

        def gather(rows: Array, offset: Array, width: int) -> Array:
            return self._store.gather(at[rows] + offset, width)

        return self._fast_path.lengths(Wire(self._store.gather(at, self.width), available, from_client, gather))

    def read_one(self, message: Window, from_client: bool) -> int:
        """Returns the length of one message from a new Framer; 0 if the message leaves state in it."""
        framer = self._dissector.make_framer(from_client, False)
        length = 0 if framer is None else framer.length(message, False) or 0
        return length if framer is not None and framer.settled else 0
