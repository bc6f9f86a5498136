"""Fragments of content that is too large for one message.

Theory. Each message with a fragment is decoded alone, like any other. None of them contains the whole, so the caller
that shows the last one passes in the others. They are hard to identify: a fragment names only its whole and its place
in it. Fragments of a whole follow one another in one direction of a connection, perhaps with other messages between
them. A server that delivers again starts from the first. So the right ones are the nearest before the last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from dissectors.field import Tree
from dissectors.message import Body, Context
from dissectors.slotted import make_slotted


class Fragment(NamedTuple):
    """A fragment as its message describes it; nothing of it is verified yet.

    whole: identifies the message that it is a fragment of, within one direction of a connection. number: its place
    among the fragments, from 0. total: the number of fragments.
    """

    whole: tuple[int | str | None, ...]
    number: int
    total: int

    @property
    def completes(self) -> bool:
        """Whether it is the last fragment."""
        return self.number >= self.total - 1


class Other(NamedTuple):
    """A message with another fragment of the same whole. row: its number, as printed; number: that of the fragment.

    message: its bytes up to the first missing one; None if all fragments together are too large to be in memory.
    """

    row: int
    number: int
    message: bytes | None


@make_slotted(eq=False)
class Fragments:
    """The messages of a protocol that may carry a fragment of a larger message. None of its functions raises.

    codes: the codes of these messages. read_fragment: returns the fragment in the first bytes of a message (the bytes
    that Conversation.step gets), None for a message that carries no fragment; it must be cheap. tree: the tree of
    Dissector.tree; behind its nodes, the content of the reassembled message as a source of its own. values: the values
    of Dissector.values for a message with the last fragment, with the reassembled content in place of the fragment;
    None if that cannot be decoded. For a last fragment, both get the messages with the earlier fragments, in their
    order; for any other fragment, the message with the last one.
    """

    codes: frozenset[int]
    read_fragment: Callable[[bytes], Fragment | None]
    tree: Callable[[bytes, Context, Sequence[Other]], Tree]
    values: Callable[[bytes, Context, Sequence[Other]], Body | None]
