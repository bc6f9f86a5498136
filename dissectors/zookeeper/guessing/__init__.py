"""The result of guessing a reply whose request is not in the capture; guess.py makes it."""

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
