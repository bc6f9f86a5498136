"""Lines as tables: the phrases about a struct in order of importance, some of them only under a condition.

A row is a phrase (wire.summary), or

    {"when": CONDITION, "say": ROW}    a row that counts only where the condition holds (wire.condition)
    [ROW, ROW]                         the first that is not silent; an empty phrase is silent and ends the search
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, TypeAlias

from dissectors.wire.condition import condition
from dissectors.wire.summary import Say, Summaries

Row: TypeAlias = Any
"""As JSON has it: a text, a list of rows, or an object with `when` and `say`."""

Line: TypeAlias = Callable[[Mapping[str, Any], list[int]], list[str]]
"""What to say of a struct, the most telling first. Errors that are said are added to the list."""

_KINDS_OF_STRUCTS = 512


def line(summaries: Summaries, rows: Sequence[Row]) -> Line:
    """Returns the line of a list of rows. Raises ValueError or KeyError for what is none."""
    says = [_row(summaries, row) for row in rows]
    return lambda struct, reported: [text for say in says if (text := say(struct, reported))]


def line_by_field(summaries: Summaries, rows: Mapping[str, Sequence[Row]]) -> Line:
    """Returns the line of rows about fields, by the fields' names: those count that a struct has."""

    @cache
    def find_phrases(name: str) -> list[Say]:  # when first asked for: most messages need few of them
        return [_row(summaries, row) for row in rows[name]]

    @lru_cache(maxsize=_KINDS_OF_STRUCTS)
    def find_phrases_of_all(names: tuple[str, ...]) -> list[Say]:
        return [say for name in rows if name in names for say in find_phrases(name)]

    return lambda struct, reported: [
        text for say in find_phrases_of_all(tuple(struct)) if (text := say(struct, reported))
    ]


def _row(summaries: Summaries, row: Row) -> Say:
    if isinstance(row, str):
        return summaries.phrase(row) if row else _silence
    if isinstance(row, list):
        return _first([_row(summaries, each) for each in row])
    return _under(row["when"], _row(summaries, row["say"]))


def _silence(struct: Any, reported: list[int]) -> str:
    return ""


def _first(says: Sequence[Say]) -> Say:
    def say(struct: Any, reported: list[int]) -> str | None:
        return next((text for each in says if (text := each(struct, reported)) is not None), None)

    return say


def _under(when: str, say: Say) -> Say:
    holds = condition(when)
    return lambda struct, reported: say(struct, reported) if holds(struct) else None
