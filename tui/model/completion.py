"""Judges the text in the filter bar, and completes the word at its cursor.

Theory. The parser itself says what kind of word may stand at the cursor (analyzer.query.filter.expected). This module
lists the words of that kind that match the part before the cursor: first those that begin with it, then those that
contain it, in upper or lower case. Names and values take time to read, so they are given; missing ones are reported.

An unfinished filter is not a wrong one. If the parser stopped at the very end, or if the last word is the beginning of
a valid one, the text is unfinished.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from analyzer.errors import UserError
from analyzer.query.fields.catalog import UnknownField, find_field
from analyzer.query.fields.path import FieldKind, FieldPath
from analyzer.query.fields.possible import list_possible_values
from analyzer.query.filter import compile_filter
from analyzer.query.filter.expected import CompletionKind, CompletionTarget, find_completion, find_word_end
from analyzer.query.filter.nodes import FilterError, Span
from analyzer.query.filter.operators import FUNCTIONS, OPERATORS
from analyzer.query.filter.scan import FilterScanner
from analyzer.query.units import UNITS
from tui.model.completion_sources import FieldNames, SampledValue

FEW_VALUES = 40
"""A field with at most so many possible values offers all of them, besides those of the capture."""

MOST_COMPLETIONS = 300
"""The number of completions at most."""

QUOTES = ("'", '"')

_EQUAL = (
    "==",
    "eq",
    "any_eq",
    "!=",
    "ne",
    "all_ne",
    "===",
    "all_eq",
    "!==",
    "~=",
    "any_ne",
    "in",
    "not in",
    "contains",
)
"""Operators that compare with one value; after them, values of the capture are offered."""

_OPERATOR_HELP = {
    "==": "any value is equal",
    "!=": "it exists, and no value is equal",
    "<": "any value is less",
    "<=": "less or equal",
    ">": "any value is greater",
    ">=": "greater or equal",
    "contains": "contains a text or bytes",
    "matches": "matches a regular expression",
    "in {": "any value is one of these: {1, 2, 5..9}",
    "not in {": "it exists, and no value is one of these",
    "&": "has any of these bits",
    "===": "all values are equal",
    "!==": "any value is different",
}
_ORDERED = ("<", "<=", ">", ">=")
_SEARCHING = ("contains", "matches")
_JOINING = {"and": "both", "or": "either", "xor": "exactly one of them"}
_BEFORE = {"not": "the other messages", "any": "any value must match", "all": "every value must match"}


class Completion(NamedTuple):
    """A word that completes the text, and its description; None: it is a field, see describe_field."""

    text: str
    about: str | None = None


class Completions(NamedTuple):
    """Words that may replace the characters `begin` to `end`.

    missing: the field whose values are not read yet. on_request: shown only on Tab, because nothing is typed and
    anything may follow.
    """

    begin: int
    end: int
    items: Sequence[Completion] = ()
    missing: str | None = None
    on_request: bool = False

    def shift(self, by: int) -> Completions:
        """Returns the same for a longer text, in which this part begins at `by`."""
        return self._replace(begin=self.begin + by, end=self.end + by)


NO_COMPLETIONS = Completions(0, 0)


class CompletionSources(NamedTuple):
    """The words to complete with.

    names: None while they are being read. named: named filters. values: of each field that was sampled.
    """

    names: FieldNames | None
    named: Mapping[str, str]
    values: Mapping[str, Sequence[SampledValue]]


def complete(text: str, cursor: int, known: CompletionSources) -> Completions:
    """Returns the words that may replace the word at the cursor."""
    before = text[:cursor]
    wants = find_completion(before, known.named)
    word = before[wants.begin :]
    if any(map(str.isspace, word)) and not (wants.wanted is CompletionKind.VALUE and is_open_quote(word)):
        return NO_COMPLETIONS
    end = max(cursor, find_word_end(text, wants.begin, wants.wanted))
    items = [each for each in _list_items(wants, word, known) if each.text != word]
    is_wide = not word and wants.wanted in (CompletionKind.COMPARISON, CompletionKind.FIELD)
    missing = _get_sampled_field(wants) if wants.wanted is CompletionKind.VALUE else None
    return Completions(
        wants.begin, end, items[:MOST_COMPLETIONS], missing if missing not in known.values else None, on_request=is_wide
    )


def is_open_quote(word: str) -> bool:
    """Returns whether a word has an opening quote but no closing one."""
    return word.removeprefix("r").startswith(QUOTES) and find_word_end(word, 0, CompletionKind.VALUE) == 0


def can_continue(text: str, known: CompletionSources) -> bool:
    """Returns whether the last word of a text is the beginning of a valid one."""
    wants = find_completion(text, known.named)
    word = text[wants.begin :]
    if wants.wanted is CompletionKind.VALUE and is_open_quote(word):
        return True
    if any(map(str.isspace, word)):
        return False
    if wants.wanted in (CompletionKind.COMPARISON, CompletionKind.FIELD) and known.names is None:
        return True
    lower = word.lower()
    return any(each.text.lower().startswith(lower) for each in _list_items(wants, word, known, all_of_them=True))


def describe_field(name: str) -> str:
    """Returns the description of a field, for the list of completions."""
    try:
        field = find_field(name)
    except UnknownField:
        return ""
    if field.kind is FieldKind.PRESENCE:
        return field.about or ""
    kind = f"{field.kind.value}{', many' if field.repeated else ''}"
    return f"{field.about} ({kind})" if field.about else kind


def _list_items(
    wants: CompletionTarget, word: str, known: CompletionSources, *, all_of_them: bool = False
) -> list[Completion]:
    wanted = wants.wanted
    if wanted in (CompletionKind.COMPARISON, CompletionKind.FIELD):
        return _list_operands(word, known, wanted is CompletionKind.COMPARISON)
    if wanted is CompletionKind.VALUE:
        return _list_values(wants, word, known)
    if wanted is CompletionKind.NAMED:
        form = "${%s}" if word.startswith("${") else "$%s"
        plain = {name: text for name, text in known.named.items() if "." not in name or form == "${%s}"}
        return _match_word(word, (Completion(form % name, text) for name, text in plain.items()))
    if wanted is CompletionKind.SET:
        return [Completion("{", "a set: {1, 2, 5..9}")] if not word else []
    if wanted is CompletionKind.IN:
        return _match_word(word, [Completion("in {", _OPERATOR_HELP["in {"])])
    joining = [Completion(*each) for each in _JOINING.items()]
    if wanted is CompletionKind.JOINING:
        return _match_word(word, joining)
    others = [Completion(name) for name in OPERATORS] if all_of_them else []
    return _match_word(word, [*_list_operators(wants.field), *joining, *others])


def _match_word(word: str, items: Iterable[Completion]) -> list[Completion]:
    """Returns the items that begin with a word, then those that contain it."""
    lower = word.lower()
    having = [each for each in items if lower in each.text.lower()]
    return sorted(having, key=lambda each: not each.text.lower().startswith(lower))


def _list_operands(word: str, known: CompletionSources, is_comparison: bool) -> list[Completion]:
    others = [Completion(f"{name}(", about) for name, about in FUNCTIONS.items()]
    if is_comparison:
        others += [Completion(*each) for each in _BEFORE.items()]
        others += [Completion(f"${name}", text) for name, text in known.named.items() if "." not in name]
    begins = [each for each in others if each.text.lower().startswith(word.lower())] if word else []
    fields = [] if known.names is None else [Completion(name) for name in known.names.find_matching(word)]
    at = 0 if known.names is None else len(known.names.find_beginning(word)) if word else len(fields)
    return [*fields[:at], *begins, *fields[at:], *(others if not word else ())]


def _list_operators(name: str | None) -> list[Completion]:
    """Returns the operators of a field, the usual ones first."""
    field = _find_field(name)
    left: tuple[str, ...] = ()
    if field is not None:
        is_number = field.kind in (FieldKind.NUMBER, FieldKind.DURATION, FieldKind.TIME)
        if field.kind is FieldKind.PRESENCE:
            return []
        if field.kind is FieldKind.STRUCT:
            left = (*_OPERATOR_HELP,)
        elif field.kind is FieldKind.FLAG:
            left = (*_ORDERED, *_SEARCHING, "&")
        elif is_number:
            left = _SEARCHING if field.label is None else ()
        elif field.kind is not FieldKind.ANY:
            left = ("&",) if field.kind is FieldKind.ADDRESS else (*_ORDERED, "&")
    return [Completion(symbol, about) for symbol, about in _OPERATOR_HELP.items() if symbol not in left]


def _list_values(wants: CompletionTarget, word: str, known: CompletionSources) -> list[Completion]:
    name = _get_sampled_field(wants)
    field = _find_field(name)
    if name is None or field is None:
        return []
    found = {each.text: f"in {each.occurrences:,} values" for each in known.values.get(name, ())}
    if word.startswith("r") and is_open_quote(word):
        return []
    possible = list_possible_values(field)
    for text in possible if len(possible) <= FEW_VALUES or not found else ():
        found.setdefault(text, "")
    lower = _unquote(word).lower()
    having = [Completion(*each) for each in found.items() if lower in _unquote(each[0]).lower()]
    return sorted(having, key=lambda each: not _unquote(each.text).lower().startswith(lower))


def _get_sampled_field(wants: CompletionTarget) -> str | None:
    """Returns the field whose values are to be offered."""
    return wants.field if wants.operator in _EQUAL else None


def _find_field(name: str | None) -> FieldPath | None:
    try:
        return None if name is None else find_field(name)
    except UnknownField:
        return None


class _QuotedText(FilterScanner):
    def read_text(self) -> str:
        return self._take_literal().text


def _unquote(word: str) -> str:
    """Returns the text of a word that may be quoted, also without its closing quote."""
    if not word.startswith(QUOTES):
        return word
    closed = word if not is_open_quote(word) else f"{word.rstrip(chr(92))}{word[0]}"
    return _QuotedText(closed).read_text()


class TextState(Enum):
    """The state of a text; its value is the sign for it."""

    WHOLE = "✓"
    BEGUN = "…"
    WRONG = "✗"


class TextVerdict(NamedTuple):
    """A judgement of a text.

    why: what is wrong or missing; span: where it is.
    """

    state: TextState
    why: str = ""
    span: Span | None = None

    def shift(self, by: int) -> TextVerdict:
        """Returns the same for a longer text, in which this part begins at `by`."""
        where = self.span
        return self if where is None else self._replace(span=Span(where.start + by, where.stop + by))


def judge_filter(text: str, known: CompletionSources) -> TextVerdict:
    """Judges a filter; an empty one is valid."""
    try:
        if text.strip():
            compile_filter(text, known.named)
        return TextVerdict(TextState.WHOLE)
    except FilterError as error:
        if _is_begun(text, error, known):
            return TextVerdict(TextState.BEGUN, error.why)
        return TextVerdict(TextState.WRONG, error.why, error.span)


def judge_text(read: Callable[[], object]) -> TextVerdict:
    """Judges any other text by `read`, which raises UserError for a wrong one."""
    try:
        read()
        return TextVerdict(TextState.WHOLE)
    except UserError as error:
        return TextVerdict(TextState.WRONG, str(error))


def _is_begun(text: str, error: FilterError, known: CompletionSources) -> bool:
    if error.span.start >= len(text.rstrip()):
        return True
    wants = find_completion(text, known.named)
    if wants.wanted is not CompletionKind.IN and error.span.stop < len(text) and error.span.start != wants.begin:
        return False
    return can_continue(text, known) or _is_begun_value(wants.field, text[wants.begin :])


_NUMBER = re.compile(r"[-+]?(?:0[xX]?[0-9A-Fa-f]*|[0-9]*\.?[0-9]*)([A-Za-z]*)")
_BEGUN: Mapping[FieldKind, re.Pattern[str]] = {
    FieldKind.TIME: re.compile(r"[-0-9T:.Z+]*"),
    FieldKind.ADDRESS: re.compile(r"[0-9A-Fa-f.:/]*"),
}


def _is_begun_value(name: str | None, word: str) -> bool:
    """Returns whether a value of a field may begin with a word, by the field's kind."""
    try:
        kind = None if name is None else find_field(name).kind
    except UnknownField:
        return False
    if kind in (FieldKind.NUMBER, FieldKind.DURATION):
        match = _NUMBER.fullmatch(word)
        return match is not None and any(unit.startswith(match[1]) for unit in UNITS)
    pattern = None if kind is None else _BEGUN.get(kind)
    return pattern is not None and pattern.fullmatch(word) is not None
