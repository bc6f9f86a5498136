"""How long messages are, for the fast path: of many at once, and of one that begins anywhere.

Theory. Most protocols say it in front, at a fixed place; that is two columns. For others only a framer tells, but of
nearly all their messages the fast path can say in columns what the framer would say of each (FastPath.lengths). What it
leaves open, one message at a time, is asked of a new framer, which is right as long as none that were asked before
remember anything (Framer.settled).
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
    """The capture room's Store, as far as it is needed here."""

    def gather(self, locations: Ints, width: int) -> Array:
        """Rows of `width` bytes at many places."""


class LengthReader(ABC):
    """Of the messages of a protocol. width: the bytes of a message below which nobody can tell."""

    width: int

    @abstractmethod
    def read_many(self, at: Ints, room: Ints, from_client: Bools) -> Ints:
        """Of messages at locations, of which the first `room` bytes are at hand: at least `width`, and no gap in them.

        0: no message begins so, or one that only the slow path knows. Negative: this is not enough to tell.
        """

    @abstractmethod
    def read_one(self, message: Window, from_client: bool) -> int:
        """The same of one message, of which more is at hand."""


def make_length_reader(dissector: Dissector, fast_path: FastPath, store: ByteStore) -> LengthReader:
    """Those of a protocol that has a fast_path."""
    framer = dissector.make_framer(True, False)
    if isinstance(framer, VarintPrefixed):
        return VarintLengths(framer, store)
    if dissector.framing is None:
        return FramerLengths(dissector, fast_path, store)
    return PrefixLengths(dissector.framing, store)


class PrefixLengths(LengthReader):
    """A big-endian number in front says it."""

    def __init__(self, framing: LengthPrefixed, store: ByteStore) -> None:
        """By this framing, from bytes of this store."""
        self._framing, self._store = framing, store
        self.width = framing.width

    def read_many(self, at: Ints, room: Ints, from_client: Bools) -> Ints:
        """See Lengths.many."""
        size = np.zeros(len(at), np.int64)
        for column in self._store.gather(at, self.width).T:
            size <<= 8
            size |= column
        # Zeros would be one empty message after the other; a real one is so rare that the slow path may have it.
        sound = (size >= max(self._framing.minimum, 1)) & (size <= self._framing.maximum)
        return np.where(sound, size + self.width, 0)

    def read_one(self, message: Window, from_client: bool) -> int:
        """See Lengths.one."""
        head = message.read(0, self.width)
        if len(head) < self.width:
            return -self.width
        size = int.from_bytes(head)
        return size + self.width if self._framing.minimum <= size <= self._framing.maximum else 0


class VarintLengths(LengthReader):
    """A varint behind the first bytes says it."""

    def __init__(self, framing: VarintPrefixed, store: ByteStore) -> None:
        """By this framing, from bytes of this store."""
        self._framing, self._store = framing, store
        self.width = framing.offset + 1

    def read_many(self, at: Ints, room: Ints, from_client: Bools) -> Ints:
        """See Lengths.many."""
        offset, width = self._framing.offset, self._framing.width
        there = self._store.gather(at + offset, width).astype(np.int64)
        there[np.arange(width) >= (room - offset)[:, None]] = 0x80
        ended = there < 0x80
        taken = ended.argmax(axis=1) + 1
        mine = np.arange(width) < taken[:, None]
        whole = ((there & 0x7F) * mine << 7 * np.arange(width)).sum(axis=1) + offset + taken
        found = np.where(whole <= self._framing.maximum, whole, 0)
        return np.where(ended.any(axis=1), found, np.where(room < offset + width, -1, 0))

    def read_one(self, message: Window, from_client: bool) -> int:
        """See Lengths.one."""
        return self._framing.length(message, False)


class FramerLengths(LengthReader):
    """Only a framer says it, or the fast_path in its place."""

    def __init__(self, dissector: Dissector, fast_path: FastPath, store: ByteStore) -> None:
        """By this dissector and its fast_path, from bytes of this store."""
        self._dissector, self._fast_path, self._store = dissector, fast_path, store
        self.width = fast_path.WIDTH

    def read_many(self, at: Ints, room: Ints, from_client: Bools) -> Ints:
        """See Lengths.many."""

        def gather(rows: Array, offset: Array, width: int) -> Array:
            return self._store.gather(at[rows] + offset, width)

        return self._fast_path.lengths(Wire(self._store.gather(at, self.width), room, from_client, gather))

    def read_one(self, message: Window, from_client: bool) -> int:
        """See Lengths.one; what a message leaves to be remembered is the slow path's."""
        framer = self._dissector.make_framer(from_client, False)
        length = 0 if framer is None else framer.length(message, False) or 0
        return length if framer is not None and framer.settled else 0
