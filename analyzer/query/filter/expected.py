"""Finds which tokens may follow at the end of an unfinished filter, for completion.

Theory. The parser reads from left to right, asks for each token that may come next, and never goes back. So at the end
of a text it has asked for all tokens that could stand there. find_completion() runs the parser over the text. The last
tokens that it asked for, at a place where a new word can begin, are the candidates for the last word of the text,
whether that word has been begun or not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from typing import NamedTuple

from analyzer.query.filter.nodes import FilterError, Literal, Name, Node, Range, Value
from analyzer.query.filter.operators import IN
from analyzer.query.filter.parse import FilterParser, NamedFilters
from analyzer.query.filter.scan import FIELD, FilterScanner

_BEFORE = frozenset(" \t\n\r\f\v({[,=<>!&|~^")
"""Characters after which a new word can begin at once."""

_SIGN = re.compile(r"[=!<>~&^|]+|\w+")
_MACRO = re.compile(r"\$(?:\{[\w.-]*\}?|[\w-]*)")


class CompletionKind(Enum):
    """The kinds of words that a completion can offer.

    COMPARISON: a field or what may stand before one; FIELD: only a field, or a function. OPERATOR: also a joining word,
    because a field alone is a comparison. IN: of `not in`. NAMED: a filter by its name.
    """

    COMPARISON = "comparison"
    FIELD = "field"
    OPERATOR = "operator"
    IN = "in"
    JOINING = "joining"
    SET = "set"
    VALUE = "value"
    NAMED = "named"


_PATTERNS = {CompletionKind.COMPARISON: FIELD, CompletionKind.FIELD: FIELD, CompletionKind.NAMED: _MACRO}


class CompletionTarget(NamedTuple):
    """The last word of a text begins at `begin` and is to become a word of kind `wanted`.

    field: the name of the field that is compared; None if a part or a function of a field is compared. operator: the
    one before a value, as written.
    """

    wanted: CompletionKind
    begin: int
    field: str | None = None
    operator: str | None = None


def find_completion(text: str, named: Mapping[str, str] | None = None) -> CompletionTarget:
    """Returns what may come at the end of a text; `named`: filters that it may use."""
    listening = _CompletionParser(text, NamedFilters(named or {}))
    with suppress(FilterError):  # the parser records a target before it finds an error
        listening.parse_all()
    return listening.last


def find_word_end(text: str, begin: int, wanted: CompletionKind) -> int:
    """Returns where the word at the cursor ends, with everything that a completion replaces."""
    return _WordScanner(text, begin).find_end(wanted)


class _CompletionParser(FilterParser):
    """Records the last token that the parser asked for at a place where a word can begin."""

    def __init__(self, text: str, named: NamedFilters) -> None:
        super().__init__(text, named)
        self.last = CompletionTarget(CompletionKind.COMPARISON, len(text) - len(text.lstrip()))
        self._compared: str | None = None
        self._behind = 0

    def _note(self, wanted: CompletionKind, field: str | None = None, operator: str | None = None) -> None:
        """Records the first target at a place, because it is the widest."""
        at, text = self._at, self._text
        if at > self.last.begin and (text[at - 1] in _BEFORE or text.endswith("..", 0, at)):
            self.last = CompletionTarget(wanted, at, field, operator)

    def _parse_negation(self) -> Node:
        self._note(CompletionKind.COMPARISON)
        return super()._parse_negation()

    def _parse_macro(self) -> Node:
        self.last = CompletionTarget(CompletionKind.NAMED, self._at)
        return super()._parse_macro()

    def _parse_value(self) -> Value:
        self._note(CompletionKind.FIELD)
        found = super()._parse_value()
        self._compared, self._behind = found.name if isinstance(found, Name) else None, self._at
        return found

    def _parse_operation(self) -> tuple[str | None, tuple[Literal | Range, ...]]:
        self._note(CompletionKind.OPERATOR, self._compared)
        return super()._parse_operation()

    def _take_one_of(self, *words: str) -> str | None:
        if words == (IN,):
            self._note(CompletionKind.IN)
        elif words[0] in ("and", "xor", "or"):
            self._note(CompletionKind.JOINING)
        return super()._take_one_of(*words)

    def _parse_set(self) -> tuple[Literal | Range, ...]:
        self._note(CompletionKind.SET)
        return super()._parse_set()

    def _take_literal(self) -> Literal:
        operator = self._text[self._behind : self._at].partition("{")[0].strip()
        self._note(CompletionKind.VALUE, self._compared, operator)
        return super()._take_literal()


class _WordScanner(FilterScanner):
    def __init__(self, text: str, begin: int) -> None:
        super().__init__(text)
        self._at = begin

    def find_end(self, wanted: CompletionKind) -> int:
        if wanted is CompletionKind.VALUE:
            with suppress(FilterError):  # an open quote, whose end is unknown
                return self._take_literal().span.stop
            return self._at
        match = _PATTERNS.get(wanted, _SIGN).match(self._text, self._at)
        return self._at if match is None else match.end()
