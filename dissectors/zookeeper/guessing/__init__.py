"""Replies whose requests are not in the capture: plausible.py judges readings, guess.py decides between them."""

from __future__ import annotations

from typing import NamedTuple

from dissectors.finding import Finding


class Guess(NamedTuple):
    """The result of guessing an orphaned reply: a finding, and the opcode to read it as.

    secret: the body may be one.
    """

    finding: Finding | None = None
    opcode: int | None = None
    secret: bool = False


NOTHING = Guess()
