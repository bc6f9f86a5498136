"""Sentences about rows of reports: templates (wire.summary) over the row's cells."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
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


def say_sentence(template: str, cells: Mapping[str, Any]) -> str:
    """Returns the sentence that a template makes of cells, by their names; empty where it says nothing."""
    return _compile(template)(cells, []) or ""


@lru_cache(maxsize=64)
def _compile(template: str) -> Say:
    return _SENTENCES.phrase(template)
