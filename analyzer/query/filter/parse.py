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

Theory. No field has the name of a word of the language, and the right side of an operator is never a field. So a bare
word there is a text, as in `role == response`. The parser has one function for each rule and reads from left to right
without going back. If it cannot continue, the error names the position and the expected tokens. A named filter means
its text in parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from analyzer.query.fields.catalog import find_near, suggest_names
from analyzer.query.filter.nodes import (
    Call,
    Comparison,
    FilterError,
    Junction,
    Literal,
    Name,
    NamedFilter,
    Node,
    Not,
    Range,
    Slice,
    SliceRange,
    Span,
    Value,
)
from analyzer.query.filter.operators import FUNCTIONS, IN, OPERATORS, SYMBOLS
from analyzer.query.filter.scan import FIELD, WORD, FilterScanner

DEEPEST = 100
"""Nesting depth of parentheses, negations and named filters."""

MOST_NAMED = 256
"""Number of named filters that one filter may expand to."""

LONGEST = 100_000
"""Length of a filter in characters."""

_SYMBOL = re.compile("(?!&&)(?:" + "|".join(map(re.escape, sorted(SYMBOLS, key=len, reverse=True))) + ")")
_MACRO = re.compile(r"\$(?:\{([A-Za-z_][\w.-]*)\}|([A-Za-z_][\w-]*))")
_JOINING = ("and", "or", "xor", IN)
"""Words that are no field names."""


def parse(text: str, named: Mapping[str, str] | None = None) -> Node:
    """Parses a filter to a tree; `named`: the filters that it may use. Raises FilterError."""
    try:
        return FilterParser(text, NamedFilters(named or {})).parse_all()
    except FilterError as error:
        from analyzer.query.filter.capture_filter import translate_capture_filter  # only needed for a wrong filter

        meant = translate_capture_filter(text)
        if meant is None or not _is_filter(meant):
            raise
        why = f"this is a capture filter, as sniff -f takes it. The display filter is {meant}"
        raise FilterError(text, error.span, why) from None


def _is_filter(text: str) -> bool:
    try:
        FilterParser(text, NamedFilters({})).parse_all()
    except FilterError:
        return False
    return True


class NamedFilters:
    """Holds the filters that a filter may use by name, and how many of them have been expanded."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts, self.unfolded = texts, 0


class FilterParser(FilterScanner):
    """Parses one text. `within`: named filters that this one is part of, `depth` levels deep."""

    def __init__(self, text: str, named: NamedFilters, within: tuple[str, ...] = (), depth: int = 0) -> None:
        super().__init__(text)
        self._named, self._within, self._depth = named, within, depth

    def parse_all(self) -> Node:
        """Parses the whole text to a tree. Raises FilterError."""
        if len(self._text) > LONGEST:
            raise FilterError(self._text, Span(LONGEST, LONGEST), f"it is longer than {LONGEST:,} characters")
        self._skip()
        if self._at == len(self._text):
            raise self._make_error("it is empty. Write a field or a comparison, such as error or latency > 50ms")
        found = self._parse_expression()
        if self._at < len(self._text):
            raise self._make_error(f"expected and, or, or the end{self._hint_operator(found)}")
        return found

    # ---- rules, from the loosest to the tightest

    def _parse_expression(self) -> Node:
        self._enter_level()
        found = self._parse_parts("or", "||", self._parse_exclusion)
        self._depth -= 1
        return found

    def _parse_exclusion(self) -> Node:
        return self._parse_parts("xor", "^^", self._parse_conjunction)

    def _parse_conjunction(self) -> Node:
        return self._parse_parts("and", "&&", self._parse_negation)

    def _parse_parts(self, word: str, symbol: str, rule: Callable[[], Node]) -> Node:
        """Joins consecutive parts in one node, so that many of them do not nest deeply."""
        parts = [rule()]
        while self._take_one_of(word, symbol) is not None:
            parts.append(rule())
        return parts[0] if len(parts) == 1 else Junction(word, tuple(parts))

    def _parse_negation(self) -> Node:
        if self._take_one_of("not", "!") is not None:
            self._enter_level()
            found: Node = Not(self._parse_negation())
            self._depth -= 1
            return found
        if self._take_symbol("("):
            found = self._parse_expression()
            self._expect(")", "a closing parenthesis")
            return found
        return self._parse_macro() if self._text.startswith("$", self._at) else self._parse_comparison()

    def _parse_macro(self) -> Node:
        begin = self._at
        match = _MACRO.match(self._text, begin)
        if match is None:
            raise self._make_error("expected the name of a filter after $")
        name = match[1] or match[2]
        self._at = match.end()
        span = Span(begin, self._at)
        if name not in self._named.texts:
            meant = (
                suggest_names(find_near(name, self._named.texts))
                or ". The configuration defines filters in the table [filters]"
            )
            raise FilterError(self._text, span, f"there is no filter {name}{meant}")
        if name in self._within:
            raise FilterError(self._text, span, f"the filter {name} refers to itself")
        self._named.unfolded += 1
        if self._named.unfolded > MOST_NAMED:
            raise FilterError(self._text, span, f"it uses named filters more than {MOST_NAMED} times")
        self._skip()
        try:
            text = self._named.texts[name]
            part = FilterParser(text, self._named, (*self._within, name), self._depth + 1).parse_all()
            return NamedFilter(name, part, text, span)
        except FilterError as error:
            raise FilterError(self._text, span, f"in the filter {name}: {error.why}") from None

    def _parse_comparison(self) -> Comparison:
        begin = self._at
        word = self._take_one_of("any", "all")
        value = self._parse_value()
        every = None if word is None else word == "all"
        operator, operands = self._parse_operation()
        if operator is None and word is not None:
            raise self._make_error(f"expected an operator, because {word} says how many values must fulfil it")
        return Comparison(value, operator, operands, every, Span(begin, self._stop))

    def _parse_operation(self) -> tuple[str | None, tuple[Literal | Range, ...]]:
        symbol = _SYMBOL.match(self._text, self._at)
        if symbol is not None:
            self._at = symbol.end()
            self._skip()
            return SYMBOLS[symbol[0]], (self._take_literal(),)
        before, word = (self._at, self._stop), self._take_word()
        if word == "not" and self._take_one_of("in") is not None:
            return f"not_{IN}", self._parse_set()
        if word == IN:
            return IN, self._parse_set()
        if word in OPERATORS:
            self._skip()
            return word, (self._take_literal(),)
        self._at, self._stop = before
        return None, ()

    def _parse_set(self) -> tuple[Literal | Range, ...]:
        self._expect("{", "a set, as in {1, 2, 5..9}")
        found: list[Literal | Range] = []
        while not self._take_symbol("}"):
            low = self._take_literal()
            found.append(Range(low, self._take_literal()) if self._take_symbol("..") else low)
            self._take_symbol(",")
        if not found:
            raise self._make_error("the set is empty. Write its values between the braces", self._at - 1)
        return tuple(found)

    def _parse_value(self) -> Value:
        begin = self._at
        field = FIELD.match(self._text, begin)
        if field is None or field[0] in _JOINING:
            found = self._describe_next()
            raise self._make_error(f"expected a field, found {found}{_hint_field(found)}")
        self._at = field.end()
        name = field[0]
        if name in FUNCTIONS and self._text.startswith("(", self._at):
            return self._parse_call(name, begin)
        value: Value = Name(name, Span(begin, self._at))
        self._skip()
        if self._take_symbol("["):
            value = Slice(value, self._parse_cuts(), Span(begin, self._stop))
        elif self._text.startswith("(", self._at):
            raise FilterError(
                self._text, Span(begin, self._at), f"there is no function {name}. Functions are {', '.join(FUNCTIONS)}"
            )
        return value

    def _parse_call(self, name: str, begin: int) -> Value:
        self._expect("(", "a parenthesis")
        self._enter_level()
        inner = self._parse_value()
        self._depth -= 1
        self._expect(")", "a closing parenthesis")
        found: Value = Call(name, inner, Span(begin, self._stop))
        return Slice(found, self._parse_cuts(), Span(begin, self._stop)) if self._take_symbol("[") else found

    def _parse_cuts(self) -> tuple[SliceRange, ...]:
        found = [self._parse_cut()]
        while self._take_symbol(","):
            found.append(self._parse_cut())
        self._expect("]", "a closing bracket")
        return tuple(found)

    def _parse_cut(self) -> SliceRange:
        begin = self._at
        if self._take_symbol(":"):
            return SliceRange(0, self._parse_size(begin))
        start = self._take_integer()
        if self._take_symbol(":"):
            return SliceRange(start, None if self._text.startswith(("]", ","), self._at) else self._parse_size(begin))
        if self._take_symbol("-"):
            last = self._take_integer()
            if (start < 0) != (last < 0) or last < start:
                raise FilterError(
                    self._text,
                    Span(begin, self._stop),
                    "the last position of a slice [first-last] is before the first",
                )
            return SliceRange(start, last - start + 1)
        return SliceRange(start, 1)

    def _parse_size(self, begin: int) -> int:
        size = self._take_integer()
        if size <= 0:
            raise FilterError(self._text, Span(begin, self._stop), "the length of a slice [start:length] is 0")
        return size

    def _enter_level(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._make_error(f"it has more than {DEEPEST} levels")

    def _hint_operator(self, found: Node) -> str:
        """Returns what follows an expression, and what it was probably meant to be."""
        last = found.parts[-1] if isinstance(found, Junction) else found
        operated = isinstance(last, Comparison) and last.operator is not None
        if self._text.startswith("=", self._at) and not operated:
            return ", found =. Did you mean ==?"
        if self._text.startswith(".", self._at):
            return ", found a dot without a name after it"
        word = WORD.match(self._text, self._at)
        if word is None and not operated:
            return f", found {self._describe_next()}"
        known = _JOINING[:3] if operated else (*OPERATORS, IN, f"not {IN}", *_JOINING[:3])
        meant = [] if word is None else find_near(word[0], known)
        hint = ". Put a text with spaces or signs in quotes" if operated and not meant else ""
        return f", found {self._describe_next()}{suggest_names(meant)}{hint}"


def _hint_field(found: str) -> str:
    if found in ('"', "'") or found[:1].isdigit():
        return ". The field comes first, as in version == 3"
    return ""
