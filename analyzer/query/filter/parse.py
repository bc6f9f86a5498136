"""The language of display filters, as Wireshark's users know it.

    expression  = exclusion { ("or" | "||") exclusion }
    exclusion   = conjunction { ("xor" | "^^") conjunction }
    conjunction = negation { ("and" | "&&") negation }
    negation    = ("not" | "!") negation | "(" expression ")" | "$" NAME | "${" NAME "}" | comparison
    comparison  = [ "any" | "all" ] value [ operator literal | [ "not" ] "in" "{" member { [","] member } "}" ]
    value       = FIELD [ "[" cut { "," cut } "]" ] | FUNCTION "(" value ")"
    member      = literal [ ".." literal ]
    cut         = N | N ":" LENGTH | N "-" LAST | ":" LENGTH | N ":"
    literal     = "text" | 'text' | r"text" | a run of characters that are none of white space ( ) { } , " ' = ! < > & |

Theory. The language has no words that a field could be called, and what stands behind an operator is never a field: so
a bare word there is a text, as `role == response` wants it, and one function for each rule reads a filter from left to
right without ever going back. Where it can't go on it says where, and what it expected. A named filter stands for its
text in parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from analyzer.query.fields.catalog import near
from analyzer.query.filter.errors import FilterError, Span
from analyzer.query.filter.nodes import (
    Call,
    Comparison,
    Cut,
    Joined,
    Literal,
    Name,
    Named,
    Node,
    Not,
    Range,
    Slice,
    Value,
)
from analyzer.query.filter.operators import FUNCTIONS, IN, OPERATORS, SYMBOLS
from analyzer.query.filter.scan import FIELD, WORD, Scanner

DEEPEST = 100
"""Parentheses, negations and named filters within each other."""

MOST_NAMED = 256
"""Named filters that one filter may unfold to."""

LONGEST = 100_000
"""Characters of a filter."""

_SYMBOL = re.compile("(?!&&)(?:" + "|".join(map(re.escape, sorted(SYMBOLS, key=len, reverse=True))) + ")")
_MACRO = re.compile(r"\$(?:\{([A-Za-z_][\w.-]*)\}|([A-Za-z_][\w-]*))")
_JOINING = ("and", "or", "xor", IN)
"""Words that no field is called."""


def parse(text: str, named: Mapping[str, str] | None = None) -> Node:
    """The tree of a filter; `named` are the filters that it may refer to. Raises FilterError."""
    try:
        return Parser(text, Texts(named or {})).whole()
    except FilterError as error:
        from analyzer.query.filter.capture_filter import as_display_filter  # only a wrong filter pays for it

        meant = as_display_filter(text)
        if meant is None or not _is_filter(meant):
            raise
        why = f"this is a capture filter, as sniff -f takes it; the display filter is {meant}"
        raise FilterError(text, error.span, why) from None


def _is_filter(text: str) -> bool:
    try:
        Parser(text, Texts({})).whole()
    except FilterError:
        return False
    return True


class Texts:
    """The filters that one may refer to, and how many of them have been unfolded."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts, self.unfolded = texts, 0


class Parser(Scanner):
    """Reads one text. `within`: named filters that this one is part of, `depth` levels deep."""

    def __init__(self, text: str, named: Texts, within: tuple[str, ...] = (), depth: int = 0) -> None:
        super().__init__(text)
        self._named, self._within, self._depth = named, within, depth

    def whole(self) -> Node:
        """The tree of all of the text. Raises FilterError."""
        if len(self._text) > LONGEST:
            raise FilterError(self._text, Span(LONGEST, LONGEST), f"longer than {LONGEST:,} characters")
        self._skip()
        if self._at == len(self._text):
            raise self._error("it is empty: write a field, as in error or latency > 50ms")
        found = self._expression()
        if self._at < len(self._text):
            raise self._error(f"expected and, or, or the end{self._operator_hint(found)}")
        return found

    # ---- rules, from the loosest to the tightest

    def _expression(self) -> Node:
        self._deeper()
        found = self._joined("or", "||", self._exclusion)
        self._depth -= 1
        return found

    def _exclusion(self) -> Node:
        return self._joined("xor", "^^", self._conjunction)

    def _conjunction(self) -> Node:
        return self._joined("and", "&&", self._negation)

    def _joined(self, word: str, symbol: str, rule: Callable[[], Node]) -> Node:
        """Parts in a row are one node, so that many of them are not deep."""
        parts = [rule()]
        while self._one_of(word, symbol) is not None:
            parts.append(rule())
        return parts[0] if len(parts) == 1 else Joined(word, tuple(parts))

    def _negation(self) -> Node:
        if self._one_of("not", "!") is not None:
            self._deeper()
            found: Node = Not(self._negation())
            self._depth -= 1
            return found
        if self._take("("):
            found = self._expression()
            self._expect(")", "a closing parenthesis")
            return found
        return self._macro() if self._text.startswith("$", self._at) else self._comparison()

    def _macro(self) -> Node:
        begin = self._at
        match = _MACRO.match(self._text, begin)
        if match is None:
            raise self._error("expected the name of a filter behind $")
        name = match[1] or match[2]
        self._at = match.end()
        span = Span(begin, self._at)
        if name not in self._named.texts:
            meant = _meant(near(name, self._named.texts)) or "; the configuration names filters, under [filters]"
            raise FilterError(self._text, span, f"no filter is called {name}{meant}")
        if name in self._within:
            raise FilterError(self._text, span, f"the filter {name} refers to itself")
        self._named.unfolded += 1
        if self._named.unfolded > MOST_NAMED:
            raise FilterError(self._text, span, f"more than {MOST_NAMED} named filters, each as often as it is used")
        self._skip()
        try:
            text = self._named.texts[name]
            part = Parser(text, self._named, (*self._within, name), self._depth + 1).whole()
            return Named(name, part, text, span)
        except FilterError as error:
            raise FilterError(self._text, span, f"in the filter {name}: {error.why}") from None

    def _comparison(self) -> Comparison:
        begin = self._at
        word = self._one_of("any", "all")
        value = self._value()
        every = None if word is None else word == "all"
        operator, operands = self._operation()
        if operator is None and word is not None:
            raise self._error(f"expected an operator: {word} says how many values must fulfil it")
        return Comparison(value, operator, operands, every, Span(begin, self._end()))

    def _operation(self) -> tuple[str | None, tuple[Literal | Range, ...]]:
        symbol = _SYMBOL.match(self._text, self._at)
        if symbol is not None:
            self._at = symbol.end()
            self._skip()
            return SYMBOLS[symbol[0]], (self._literal(),)
        before, word = (self._at, self._stop), self._word()
        if word == "not" and self._one_of("in") is not None:
            return f"not_{IN}", self._set()
        if word == IN:
            return IN, self._set()
        if word in OPERATORS:
            self._skip()
            return word, (self._literal(),)
        self._at, self._stop = before
        return None, ()

    def _set(self) -> tuple[Literal | Range, ...]:
        self._expect("{", "a set, as in {1, 2, 5..9}")
        found: list[Literal | Range] = []
        while not self._take("}"):
            low = self._literal()
            found.append(Range(low, self._literal()) if self._take("..") else low)
            self._take(",")
        if not found:
            raise self._error("the set is empty: write its values between the braces", self._at - 1)
        return tuple(found)

    def _value(self) -> Value:
        begin = self._at
        field = FIELD.match(self._text, begin)
        if field is None or field[0] in _JOINING:
            found = self._found()
            raise self._error(f"expected a field, found {found}{_field_hint(found)}")
        self._at = field.end()
        name = field[0]
        if name in FUNCTIONS and self._text.startswith("(", self._at):
            return self._call(name, begin)
        value: Value = Name(name, Span(begin, self._at))
        self._skip()
        if self._take("["):
            value = Slice(value, self._cuts(), Span(begin, self._end()))
        elif self._text.startswith("(", self._at):
            raise FilterError(
                self._text, Span(begin, self._at), f"there is no function {name}; there are {', '.join(FUNCTIONS)}"
            )
        return value

    def _call(self, name: str, begin: int) -> Value:
        self._expect("(", "a parenthesis")
        self._deeper()
        inner = self._value()
        self._depth -= 1
        self._expect(")", "a closing parenthesis")
        found: Value = Call(name, inner, Span(begin, self._end()))
        return Slice(found, self._cuts(), Span(begin, self._end())) if self._take("[") else found

    def _cuts(self) -> tuple[Cut, ...]:
        found = [self._cut()]
        while self._take(","):
            found.append(self._cut())
        self._expect("]", "a closing bracket")
        return tuple(found)

    def _cut(self) -> Cut:
        begin = self._at
        if self._take(":"):
            return Cut(0, self._size(begin))
        start = self._integer()
        if self._take(":"):
            return Cut(start, None if self._text.startswith(("]", ","), self._at) else self._size(begin))
        if self._take("-"):
            last = self._integer()
            if (start < 0) != (last < 0) or last < start:
                raise FilterError(self._text, Span(begin, self._end()), "a slice [first-last] goes forward")
            return Cut(start, last - start + 1)
        return Cut(start, 1)

    def _size(self, begin: int) -> int:
        size = self._integer()
        if size <= 0:
            raise FilterError(self._text, Span(begin, self._end()), "a slice takes at least one: [start:length]")
        return size

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._error(f"more than {DEEPEST} levels")

    def _operator_hint(self, found: Node) -> str:
        """What stands behind an expression, and what it could have been."""
        last = found.parts[-1] if isinstance(found, Joined) else found
        operated = isinstance(last, Comparison) and last.operator is not None
        if self._text.startswith("=", self._at) and not operated:
            return ", found =; did you mean ==?"
        if self._text.startswith(".", self._at):
            return ", found a dot without a name behind it"
        word = WORD.match(self._text, self._at)
        if word is None and not operated:
            return f", found {self._found()}"
        known = _JOINING[:3] if operated else (*OPERATORS, IN, f"not {IN}", *_JOINING[:3])
        meant = [] if word is None else near(word[0], known)
        hint = "; a text of several words, or with signs in it, stands in quotes" if operated and not meant else ""
        return f", found {self._found()}{_meant(meant)}{hint}"


def _meant(close: list[str]) -> str:
    return f"; did you mean {' or '.join(close)}?" if close else ""


def _field_hint(found: str) -> str:
    if found in ('"', "'") or found[:1].isdigit():
        return "; the field stands first, as in version == 3"
    return ""
