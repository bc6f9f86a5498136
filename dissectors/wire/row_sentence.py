"""Sentences about rows of reports: templates (wire.summary) over the row's cells."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from dissectors.wire.amounts import count_text
from dissectors.wire.summary import Say, Summaries
from dissectors.wire.times import lasting


def _count(value: Any, noun: str) -> str:
    """A number, or that of the items of a list; also 0."""
    return count_text(len(value) if isinstance(value, list) else value, noun)


_SENTENCES = Summaries(
    formatters={
        "counted": _count,
        "grouped": lambda number, _: f"{number:,}",
        "lasting": lambda nanoseconds, _: lasting(nanoseconds),
        "listed": lambda texts, mark: f"{mark or ','} ".join(texts) or None,
    }
)


class RowSentence:
    """Makes the sentence of a template from cells, by their names; an empty one where it says nothing."""

    def __init__(self, template: str) -> None:
        self._template = template

    def __call__(self, cells: Mapping[str, Any]) -> str:
        """Returns the sentence."""
        return self._say(cells, []) or ""

    @cached_property
    def _say(self) -> Say:
        return _SENTENCES.phrase(self._template)
