"""The budget of decoding one message: limits of what is built, and work that is put off.

Theory. A small frame can decompress to gigabytes of zeros, and a few megabytes can hold millions of tiny records, each
of which takes a hundred times its size as a value and a thousand times as nodes. So the budget limits decompressed
bytes, and the number of values and nodes. Both limits follow from one figure, which a user may raise.
"""

from __future__ import annotations

from typing import Any

from dissectors.slotted import field, make_slotted

USUAL = 64 * 1024 * 1024
_BYTES_AN_ITEM, _BYTES_A_NODE = 32, 64


class _Bound:
    """What a user has said, in this process."""

    size = USUAL


def allow(size: int) -> None:
    """Sets how many bytes may be decompressed for each message from now on."""
    _Bound.size = size


def get_allowance() -> int:
    """Returns how many bytes may be decompressed for a message."""
    return _Bound.size


@make_slotted(frozen=False)
class Budget:
    """left: bytes that may still be decompressed.

    items, nodes: records and elements of arrays, and nodes of a tree, that may still be made.

    later: where not None, parts of the message that are decoded together, faster, when all of it has been read.
    """

    left: int = field(default_factory=get_allowance)
    later: list[Any] | None = None
    items: int = field(init=False)
    nodes: int = field(init=False)

    def __post_init__(self) -> None:
        self.items, self.nodes = max(self.left, USUAL) // _BYTES_AN_ITEM, max(self.left, USUAL) // _BYTES_A_NODE

    def take(self, items: int) -> bool:
        """Returns whether so many items more may be made."""
        self.items -= items
        return self.items >= 0
