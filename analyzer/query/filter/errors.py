"""Errors in a filter, with their place."""

from __future__ import annotations

from typing import NamedTuple

from analyzer.errors import UserError

SHOWN = 40
"""Characters of a filter that an error repeats."""


class Span(NamedTuple):
    """Characters `start` up to `stop` of a filter's text, from 0."""

    start: int
    stop: int


class FilterError(UserError):
    """A mistake in a filter. `why` says what is wrong at `span` of `text`; str() shows the place, too."""

    def __init__(self, text: str, span: Span, why: str) -> None:
        self.text, self.span, self.why = text, span, why
        cut = text[span.start : span.stop]
        shown = f" at {cut[:SHOWN]}{'...' if len(cut) > SHOWN else ''}" if cut else " at its end"
        super().__init__(f"Filter, character {span.start + 1}{shown}: {why}{'' if why.endswith(('.', '?')) else '.'}")
