"""Replies whose requests are not in the capture: plausible.py judges readings, guess.py decides between them."""

from __future__ import annotations

from typing import NamedTuple

from dissectors.finding import Finding


class Guess(NamedTuple):
    """What is to be said of a reply, and the opcode whose response it is read as; None where nothing is told.

    secret: the body may be one.
    """

    finding: Finding | None = None
    opcode: int | None = None
    secret: bool = False


NOTHING = Guess()
