"""A message's bytes as framers ask for them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Bytes:
    """A Window that counts what is read of it, and what was most at once."""

    data: bytes
    asked: int = 0
    most: int = 0

    def __len__(self) -> int:
        return len(self.data)

    def read_bytes(self, offset: int, length: int) -> bytes:
        found = self.data[offset : offset + length]
        self.asked, self.most = self.asked + len(found), max(self.most, len(found))
        return found
