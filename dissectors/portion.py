"""What is too large for one message, and so was cut and sent in several, each with a portion of it.

Theory. A message with a portion is decoded alone, as any other. The whole is in none of them, so whoever shows the one
that completes it gets the others, too. Which these are little tells: what they are portions of, and their places in it.
They come one after the other in one direction of a connection, perhaps between others, and a server that delivers
again begins again; so the others are the nearest ones before the last.
"""

from __future__ import annotations

from typing import NamedTuple


class Portion(NamedTuple):
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
