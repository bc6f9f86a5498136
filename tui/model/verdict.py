"""Whether what is typed into a line is right, while it is being typed.

Theory. Half a filter is not a wrong one. Where the parser stopped at the very end, or what the text ends with is the
beginning of something that would be right there, nothing is wrong yet; a person wants to be told of a mistake, not of
the letters that are still to come.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import NamedTuple

from analyzer.errors import UserError
from analyzer.query.fields.catalog import UnknownField, find
from analyzer.query.fields.path import Kind
from analyzer.query.filter import compiled
from analyzer.query.filter.errors import FilterError, Span
from analyzer.query.filter.expected import Wanted, expected
from analyzer.query.units import UNITS
from tui.model.completion import Known, can_become


class State(Enum):
    """What a text is; the value is the sign for it."""

    WHOLE = "✓"
    BEGUN = "…"
    WRONG = "✗"


class Verdict(NamedTuple):
    """why: what is wrong or still to come; where: its place."""

    state: State
    why: str = ""
    where: Span | None = None

    def moved(self, by: int) -> Verdict:
        """The same of a text of which this is the part from `by` on."""
        where = self.where
        return self if where is None else self._replace(where=Span(where.start + by, where.stop + by))


def filter_verdict(text: str, known: Known) -> Verdict:
    """Of a filter; none at all is right."""
    try:
        if text.strip():
            compiled(text, known.named)
        return Verdict(State.WHOLE)
    except FilterError as error:
        if _is_begun(text, error, known):
            return Verdict(State.BEGUN, error.why)
        return Verdict(State.WRONG, error.why, error.span)


def other_verdict(read: Callable[[], object]) -> Verdict:
    """Of anything else: `read` reads it, or raises UserError."""
    try:
        read()
        return Verdict(State.WHOLE)
    except UserError as error:
        return Verdict(State.WRONG, str(error))


def _is_begun(text: str, error: FilterError, known: Known) -> bool:
    if error.span.start >= len(text.rstrip()):
        return True
    wants = expected(text, known.named)
    if wants.wanted is not Wanted.IN and error.span.stop < len(text) and error.span.start != wants.begin:
        return False
    return can_become(text, known) or _is_begun_value(wants.field, text[wants.begin :])


_NUMBER = re.compile(r"[-+]?(?:0[xX]?[0-9A-Fa-f]*|[0-9]*\.?[0-9]*)([A-Za-z]*)")
_BEGUN: Mapping[Kind, re.Pattern[str]] = {
    Kind.TIME: re.compile(r"[-0-9T:.Z+]*"),
    Kind.ADDRESS: re.compile(r"[0-9A-Fa-f.:/]*"),
}


def _is_begun_value(name: str | None, word: str) -> bool:
    """Whether a value of a field may begin so, where its kind says how values look."""
    try:
        kind = None if name is None else find(name).kind
    except UnknownField:
        return False
    if kind in (Kind.NUMBER, Kind.DURATION):
        match = _NUMBER.fullmatch(word)
        return match is not None and any(unit.startswith(match[1]) for unit in UNITS)
    pattern = None if kind is None else _BEGUN.get(kind)
    return pattern is not None and pattern.fullmatch(word) is not None
