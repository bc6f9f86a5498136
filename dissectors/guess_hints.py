"""What Context.extra says of a response without request: what it was guessed to be, or that nobody guesses.

Each protocol writes its own guesses under GUESS; SKIPPED is the same for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from dissectors.finding import Finding, Severity

GUESS = "guess"
_SKIPPED = "skipped"

SKIPPED: Mapping[str, str] = MappingProxyType({GUESS: _SKIPPED})
"""The extra context with which a response is read without a guess, as bytes that may be a secret."""

SKIPPED_FINDING = Finding(
    Severity.NOTE, "guess-skipped", "not guessed, because guesses have used up their share of the time"
)


def is_skipped(hints: Mapping[str, str]) -> bool:
    """Returns whether a response is to be read without a guess."""
    return hints[GUESS] == _SKIPPED
