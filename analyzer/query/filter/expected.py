"""What may stand at the end of a filter that somebody is still writing.

Theory. The grammar asks for what may come next, from left to right, and never goes back; so it knows where a text ends
what it would have taken there. The parser is let run over the text, and what it asked for last, where a new word can
begin, is what the last word of the text is to become, whether that word has been begun or not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from typing import NamedTuple

from analyzer.query.filter.errors import FilterError
from analyzer.query.filter.nodes import Literal, Name, Node, Range, Value
from analyzer.query.filter.operators import IN
from analyzer.query.filter.parse import Parser, Texts
from analyzer.query.filter.scan import FIELD, Scanner

_BEFORE = frozenset(" \t\n\r\f\v({[,=<>!&|~^")
"""Characters behind which a new word can begin at once."""

_SIGN = re.compile(r"[=!<>~&^|]+|\w+")
_MACRO = re.compile(r"\$(?:\{[\w.-]*\}?|[\w-]*)")


class Wanted(Enum):
    """What a word is to become. COMPARISON: a field or what may stand before one; FIELD: that alone, or a function.

    OPERATOR: also a joining word, for a field alone is a comparison. IN: of `not in`. NAMED: a filter by its name.
    """

    COMPARISON = "comparison"
    FIELD = "field"
    OPERATOR = "operator"
    IN = "in"
    JOINING = "joining"
    SET = "set"
    VALUE = "value"
    NAMED = "named"


class Expected(NamedTuple):
    """The last word of a text begins at `begin` and is to become this.

    field: the one that is compared, by its name; None where it is a part of one, or made of one. operator: that of a
    value, as it was written.
    """

    wanted: Wanted
    begin: int
    field: str | None = None
    operator: str | None = None


def expected(text: str, named: Mapping[str, str] | None = None) -> Expected:
    """What the end of a text wants; `named` are the filters that it may refer to."""
    listening = _Listening(text, Texts(named or {}))
    with suppress(FilterError):  # what is wrong was asked for before it was found wrong
        listening.whole()
    return listening.last


def word_end(text: str, begin: int, wanted: Wanted) -> int:
    """Where a word ends that begins there and has become what was wanted, with what stands behind a cursor in it."""
    return _Word(text, begin).end(wanted)


class _Listening(Parser):
    """Keeps the last question at a place where a word can begin."""

    def __init__(self, text: str, named: Texts) -> None:
        super().__init__(text, named)
        self.last = Expected(Wanted.COMPARISON, len(text) - len(text.lstrip()))
        self._compared: str | None = None
        self._behind = 0

    def _note(self, wanted: Wanted, field: str | None = None, operator: str | None = None) -> None:
        """Of several questions at a place the first is the widest."""
        at, text = self._at, self._text
        if at > self.last.begin and (text[at - 1] in _BEFORE or text.endswith("..", 0, at)):
            self.last = Expected(wanted, at, field, operator)

    def _negation(self) -> Node:
        self._note(Wanted.COMPARISON)
        return super()._negation()

    def _macro(self) -> Node:
        self.last = Expected(Wanted.NAMED, self._at)
        return super()._macro()

    def _value(self) -> Value:
        self._note(Wanted.FIELD)
        found = super()._value()
        self._compared, self._behind = found.name if isinstance(found, Name) else None, self._at
        return found

    def _operation(self) -> tuple[str | None, tuple[Literal | Range, ...]]:
        self._note(Wanted.OPERATOR, self._compared)
        return super()._operation()

    def _one_of(self, *words: str) -> str | None:
        if words == (IN,):
            self._note(Wanted.IN)
        elif words[0] in ("and", "xor", "or"):
            self._note(Wanted.JOINING)
        return super()._one_of(*words)

    def _set(self) -> tuple[Literal | Range, ...]:
        self._note(Wanted.SET)
        return super()._set()

    def _literal(self) -> Literal:
        operator = self._text[self._behind : self._at].partition("{")[0].strip()
        self._note(Wanted.VALUE, self._compared, operator)
        return super()._literal()


class _Word(Scanner):
    def __init__(self, text: str, begin: int) -> None:
        super().__init__(text)
        self._at = begin

    def end(self, wanted: Wanted) -> int:
        if wanted is Wanted.VALUE:
            with suppress(FilterError):  # an open quote: nobody knows where it was to end
                return self._literal().span.stop
            return self._at
        pattern = FIELD if wanted in (Wanted.COMPARISON, Wanted.FIELD) else _MACRO if wanted is Wanted.NAMED else _SIGN
        match = pattern.match(self._text, self._at)
        return self._at if match is None else match.end()
