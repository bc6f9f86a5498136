"""What is too large for one message, and so was cut and sent in several, each with a portion of it.

Theory. A message with a portion is decoded alone, as any other. The whole is in none of them, so whoever shows the one
that completes it gets the others, too. Which these are little tells: what they are portions of, and their places in it.
They come one after the other in one direction of a connection, perhaps between others, and a server that delivers
again begins again; so the others are the nearest ones before the last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from dissectors.field import Tree
from dissectors.message import Body, Context
from dissectors.slotted import make_slotted


class Fragment(NamedTuple):
    """What a message says of its portion, none of it believed yet.

    whole: what it is a portion of; the same in all that belong together, and among what does the same in this direction
    of this connection in no others. number: its place, from 0; total: how many there are.
    """

    whole: tuple[int | str | None, ...]
    number: int
    total: int

    @property
    def completes(self) -> bool:
        """Whether no portion comes behind it."""
        return self.number >= self.total - 1


class Other(NamedTuple):
    """A message with another portion of the same whole. row: its number, as it is printed; number: the portion's.

    message: its bytes before the first that is missing; None where all together are more than may be held.
    """

    row: int
    number: int
    message: bytes | None


@make_slotted(eq=False)
class Fragments:
    """The messages of a protocol that may carry a portion of something larger. None of its functions raises.

    codes: of these messages. portion: of a message's first bytes (as Conversation.step gets them) the portion that it
    carries, None for what is whole; many may be asked for one that is looked at. tree: what Dissector.tree gives, and
    behind its nodes what the whole says, as a source of its own. values: what Dissector.values gives of a message that
    completes something, with the whole in its portion's place; None where the whole cannot be read. Both get, for a
    message that completes something, those that were found before it, in their order; for any other portion the one
    that completes it.
    """

    codes: frozenset[int]
    portion: Callable[[bytes], Fragment | None]
    tree: Callable[[bytes, Context, Sequence[Other]], Tree]
    values: Callable[[bytes, Context, Sequence[Other]], Body | None]
