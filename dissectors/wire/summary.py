"""Summary templates: a message's summary line as a text with places for its fields.

Theory. A summary line consists of few things: a word beside a field, a list of topics with a phrase for each of its
partitions, an error by name. So each operation's line is a row of a table, and this module turns a phrase into a
function, once. A place without a value (null, an empty text, -1) silences the phrase around it, so few phrases need
conditions; a part in parentheses may be silent alone. Between phrases with `|`, the first one that is not silent
counts. A backslash escapes a parenthesis. Fields may be missing, in a damaged body, and may be symbolic
(dissectors.symbolic), so that every comparison is recorded: a phrase compares as little as it can.

A place is a path, or several with `|` between them for the first one with a value (the last may be a 'text'), and a
format:

    {name}        a number or a text       {name=}          the same, also -1 and an empty text
    {size+}       a number above 0         {size+0}         a number from 0 on
    {epoch-}      a number and no text     {code!}          the name of an error; nothing for 0
    {type~enum}   the label of an enum     {items#noun}     a count of items: 3 nouns (amounts.count_text)
    {flag?yes/no} one of two words         {items: phrase}  the phrase for each of some; the rest is counted
    {time%verb}   the result of a verb: ms, size, length, many NOUN, texts, or one of the protocol's own
    {key: phrase} of a struct: about its fields; {key%name} is the same with a phrase that has a name
    {?x > 0: phrase} the phrase where a condition holds (wire.condition)

`/` behind a path leads to a number that the protocol makes of the list there: `{messages/first}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

from dissectors.field import Label
from dissectors.slotted import field, make_slotted
from dissectors.symbolic_values import NestedValue, make_text, plain
from dissectors.wire.amounts import count_text, duration_text, length_text, size_text
from dissectors.wire.condition import Condition, condition, number_of, walk
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.embedded import length_of as all_of
from dissectors.wire.secret import Secret

SHOWN = 3
"""So many items of a list are said, before the rest is only counted."""

Say: TypeAlias = Callable[[Any, list[int]], str | None]
"""What to say of a struct; None for nothing. Errors that are said are added to the list."""

Get: TypeAlias = Callable[[Any], Any]

Formatter: TypeAlias = Callable[[Any, str], str | None]
"""From a value, which is not null, and the words behind the verb's name."""

_Value = TypeVar("_Value")

_NOTHING = (None, "", -1)
_TOKEN = re.compile(r"\\[()]|[^{}()|\\]+|[{}()|]")
_WORDS = re.compile(r"[^{}]+|[{}]")
_PLACE = re.compile(r"((?:[\w./|]|'[^']*')+)([!=+#~?%:-]?)(.*)")
_BRACKETS = re.compile(r"\[.*\]")


def _no_labels(enum: str) -> Label | None:
    return None


@make_slotted(eq=False)
class Summaries:
    """The names that the phrases of a protocol can use.

    labels: the label function of an enum, by its name. error_name: of an error code. formatters: the protocol's own.
    numbers: those of them that make a text of a number, which are given plain numbers. phrases: those that are phrases
    about a struct. nulls: formatters about a list that is null: what that means, and whether the same is meant by an
    empty one. several: formatters that say several things, with commas between them. nothing: by field, a value that
    stands for none. counts: what is counted or chosen in a list, by the name behind a `/`.
    """

    labels: Callable[[str], Label | None] = _no_labels
    error_name: Callable[[int], str | None] = str
    formatters: Mapping[str, Formatter] = field(default_factory=dict)
    nulls: Mapping[str, tuple[str, bool]] = field(default_factory=dict)
    several: frozenset[str] = frozenset()
    nothing: Mapping[str, object] = field(default_factory=dict)
    numbers: Mapping[str, Callable[[int], str]] = field(default_factory=dict)
    phrases: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, Callable[[list[Any]], int]] = field(default_factory=dict)

    def phrase(self, text: str) -> Say:
        """Returns the function of a phrase, to be made once. Raises ValueError or KeyError for what is none."""
        says = [_join(self._parts(tokens)) for tokens in _alternatives(_TOKEN.findall(text))]
        return says[0] if len(says) == 1 else _first(says)

    def sentence(self, text: str) -> Say:
        """Returns the function of a phrase in which parentheses are nothing but that."""
        return _join(self._parts(_WORDS.findall(text)))

    def _parts(self, tokens: Sequence[str]) -> list[str | Say]:
        """What stands in a phrase, in order: texts as they are, places and optional parts as functions."""
        parts: list[str | Say] = []
        at = 0
        while at < len(tokens):
            token = tokens[at]
            stop = _closing(tokens, at) if token in ("{", "(") else at
            inside = "".join(tokens[at + 1 : stop])
            if token == "{":
                parts.append(self._place(inside))
            elif token == "(":
                parts.append(_optional(self.phrase(inside)))
            elif token in ("}", ")"):
                raise ValueError(f"{''.join(tokens)!r} closes what it has not opened")
            else:
                parts.append(token.removeprefix("\\"))
            at = stop + 1
        return parts

    def _place(self, inside: str) -> Say:
        if inside.startswith("?"):
            text, _, rest = inside[1:].partition(": ")
            return _say_where(condition(text), self.phrase(rest))
        found = _PLACE.fullmatch(inside)
        if found is None:
            raise ValueError(f"{inside!r} is no place in a phrase")
        path, kind, rest = found.groups()
        word, _, noun = rest.partition(" ")
        get = self._getter(path, (None,) if kind == "=" else _NOTHING)
        if kind == ":":
            return self._say_each(get, rest)
        if kind == "%" and word in self.phrases:
            return self.phrase(self.phrases[word]) if path == "." else self._say_each(get, self.phrases[word])
        if kind == "!":
            return self._error(get)
        if kind == "~":
            return self._say_label(get, rest)
        if kind != "%":
            return _KINDS[kind](get, rest)
        if word in self.nulls:
            return _of_null(path, f"{self.nulls[word][0]} {noun}".rstrip(), self.nulls[word][1])
        if word in self.numbers:
            return _say_numbered(get, self.numbers[word])
        return _say_measured(get, self.formatters.get(word) or FORMATTERS[word], noun)

    def _getter(self, path: str, nothing: tuple[object, ...]) -> Get:
        """The function from a struct to what a path leads to; None where there is nothing."""
        first, *others = map(self._resolve_path, path.split("|"))
        if not others:
            return first
        ways = (first, *others)

        def get(struct: Any) -> Any:
            for way in ways:
                value = way(struct)
                if value not in nothing:
                    return value
            return None

        return get

    def _resolve_path(self, path: str) -> Get:
        if path == ".":
            return lambda item: item
        if path.startswith("'"):
            return lambda struct: path[1:-1]
        path, _, count = path.partition("/")
        return _count_of(self._resolve_path(path), self.counts[count]) if count else self._field(path)

    def _field(self, path: str) -> Get:
        steps = path.split(".")
        if len(steps) > 1:
            return partial(walk, steps=steps)
        none = self.nothing.get(path)

        def member(struct: Any) -> Any:
            try:
                return struct.get(path)
            except AttributeError:  # an item of JSON that is no struct
                return None

        def get(struct: Any) -> Any:
            value = struct.get(path)
            return None if value == none else value

        return member if none is None else get

    def _error(self, get: Get) -> Say:
        def say(struct: Any, reported: list[int]) -> str | None:
            code = get(struct)
            if not code:
                return None
            number = int(code)
            reported.append(number)
            return self.error_name(number)

        return say

    def _say_label(self, get: Get, enum: str) -> Say:
        def say(struct: Any, _: list[int]) -> str | None:
            value, label = get(struct), self.labels(enum)
            return None if value is None else (label and label(value)) or f"{value}"

        return say

    def _say_each(self, get: Get, text: str) -> Say:
        format_item = self.phrase(text.removeprefix(" "))
        outside = _BRACKETS.sub("", text)
        comma = "; " if ", " in outside or any(f"%{verb}" in outside for verb in self.several) else ", "

        def say(struct: Any, reported: list[int]) -> str | None:
            items = get(struct)
            if isinstance(items, dict):
                return format_item(items, reported)
            if not isinstance(items, list) or not items:
                return None
            parts = [phrase for item in items[:SHOWN] if item is not None and (phrase := format_item(item, reported))]
            if len(items) > SHOWN and parts:
                parts.append(f"{len(items) - SHOWN} more")
            return comma.join(parts) or None

        return say


def _closing(tokens: Sequence[str], at: int) -> int:
    """Where what opens at `at` closes. Raises ValueError if it never does."""
    depth = 0
    for place in range(at, len(tokens)):
        depth += _depth(tokens[place])
        if not depth:
            return place
    raise ValueError(f"{''.join(tokens)!r} leaves something open")


def _depth(token: str) -> int:
    return (token in ("{", "(")) - (token in ("}", ")"))


def _alternatives(tokens: Sequence[str]) -> list[list[str]]:
    """The phrases between which there is a `|` that is in no place and no parentheses."""
    found: list[list[str]] = [[]]
    depth = 0
    for token in tokens:
        depth += _depth(token)
        if token == "|" and not depth:
            found.append([])
        else:
            found[-1].append(token)
    return found


def _join(parts: Sequence[str | Say]) -> Say:
    form = "".join([part.replace("%", "%%") if isinstance(part, str) else "%s" for part in parts])
    says = [part for part in parts if not isinstance(part, str)]
    if form == "%s":
        return says[0]

    def say(struct: Any, reported: list[int]) -> str | None:
        texts = []
        for each in says:
            text = each(struct, reported)
            if text is None:
                return None
            texts.append(text)
        return form % tuple(texts)

    return say


def _first(says: Sequence[Say]) -> Say:
    def say(struct: Any, reported: list[int]) -> str | None:
        for each in says:
            text = each(struct, reported)
            if text is not None:
                return text
        return None

    return say


def _say_where(holds: Condition, then: Say) -> Say:
    return lambda struct, reported: then(struct, reported) if holds(struct) else None


def _count_of(get: Get, function: Callable[[list[Any]], int]) -> Get:
    def count(struct: Any) -> Any:
        items = get(struct)
        return number_of(function, items) if isinstance(items, list) else None

    return count


def _optional(say: Say) -> Say:
    return lambda struct, reported: say(struct, reported) or ""


# ---- places


def _plain(get: Get, _: str) -> Say:
    def say(struct: Any, _: list[int]) -> str | None:
        value = get(struct)
        return None if value in _NOTHING else _text(value)

    return say


def _say_any(get: Get, _: str) -> Say:
    def say(struct: Any, _: list[int]) -> str | None:
        value = get(struct)
        return None if value is None else _text(value)

    return say


def _positive(get: Get, first: str) -> Say:
    above = int(first or 1) - 1

    def say(struct: Any, _: list[int]) -> str | None:
        value = get(struct)
        return f"{value}" if isinstance(value, (int, float)) and value > above else None

    return say


def _number(get: Get, _: str) -> Say:
    def say(struct: Any, _: list[int]) -> str | None:
        value = get(struct)
        return f"{value}" if isinstance(value, (int, float)) else None

    return say


def _text(value: Any) -> str | None:
    """A number or a text; one that is not UTF-8 is bytes. Nothing of what is a secret, or of many parts."""
    if isinstance(value, (str, int, float)):
        return f"{value}"
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else None


def _say_count(get: Get, noun: str) -> Say:
    def say(struct: Any, _: list[int]) -> str | None:
        items = get(struct)
        number = all_of(items) if isinstance(items, list) else 0
        return count_text(number, noun) if number else None

    return say


def _say_chosen(get: Get, words: str) -> Say:
    yes, _, no = words.partition("/")

    def say(struct: Any, _: list[int]) -> str | None:
        value = get(struct)
        return None if value is None else (yes if value else no) or None

    return say


def _say_measured(get: Get, verb: Formatter, words: str) -> Say:
    def say(struct: Any, _: list[int]) -> str | None:
        value = get(struct)
        return None if value is None else verb(value, words)

    return say


def _say_numbered(get: Get, function: Callable[[int], str]) -> Say:
    def say(struct: Any, _: list[int]) -> str | None:
        value = get(struct)
        return text_of(function, value) if isinstance(value, int) else None

    return say


def _of_null(name: str, text: str, empty: bool) -> Say:
    """What a list means that is null, or empty; one that is missing means nothing."""

    def say(struct: Any, _: list[int]) -> str | None:
        value = struct.get(name, ...)
        return text if value is None or (empty and value == []) else None

    return say


_KINDS: dict[str, Callable[[Get, str], Say]] = {
    "": _plain,
    "=": _say_any,
    "+": _positive,
    "-": _number,
    "#": _say_count,
    "?": _say_chosen,
}


# ---- what formatters are made of


def text_of(function: Callable[[int], str], number: Any) -> str:
    """function(number), for a number that differs from message to message; the function is given plain numbers."""
    return make_text(function, number)


def of_plain(kind: type[_Value], function: Callable[[_Value], str | None]) -> Formatter:
    """Makes a verb for values of a type; it specialises symbolic values."""
    return lambda value, _: function(plain(value)) if isinstance(value, kind) else None


def pairs_in(value: Any, name_ends: str, value_ends: str) -> dict[str, Any]:
    """Parses a text of names and values to a dict; a dict is returned unchanged."""
    if not isinstance(value, str):
        return value if isinstance(value, dict) else {}
    pairs = (each.partition(name_ends) for each in value.split(value_ends))
    return {plain(name): text for name, mark, text in pairs if mark}


def has_items(value: Any) -> bool:
    """Returns whether a value is a list with items. A NestedValue always has some."""
    return type(value) is NestedValue or (isinstance(value, list) and bool(value))


def wire_size(function: Callable[[Any], int], value: Any) -> Any:
    """function(value): how many bytes a value with an inner structure takes in the message, as a number to print."""
    return value.size if type(value) is NestedValue else function(value)


# ---- formatters


def _duration(value: Any, _: str) -> str | None:
    return text_of(duration_text, value) if isinstance(value, int) and value > 0 else None


def _size(value: Any, _: str) -> str | None:
    return text_of(size_text, value) if isinstance(value, int) and value > 0 else None


def _many(value: Any, noun: str) -> str | None:
    return count_text(value, noun) if isinstance(value, int) and value > 0 else None


def length_of(value: Any, _: str = "") -> str | None:
    """Returns the number of bytes of a value, or None if it has none."""
    if isinstance(value, EmbeddedValue):
        value = value.data
    return length_text(value) if isinstance(value, (bytes, Secret)) and value else None


def _texts(value: Any, _: str) -> str | None:
    """A text, or some of many."""
    if not isinstance(value, list):
        return f"{value}" if isinstance(value, str) else None
    text = ", ".join([f"{each}" for each in value[:SHOWN]])
    return (f"{text}, {len(value) - SHOWN} more" if len(value) > SHOWN else text) or None


FORMATTERS: Mapping[str, Formatter] = {
    "length": length_of,
    "many": _many,
    "ms": _duration,
    "size": _size,
    "texts": _texts,
}
"""What every protocol may say."""
