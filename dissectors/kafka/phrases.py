"""Phrases: what to say of a message's fields, written as a text with places in it.

Theory. A line for people is made of few things: a word beside a field, a list of topics with a phrase for each of its
partitions, an error by name. So each API's line is a row of a table (tables/info.json tells how it is written), and
what is here turns a phrase into a function, once. A place that says nothing (null, an empty text, -1) silences the
phrase around it, so phrases need no conditions. Fields may be missing, in a body that breaks, and may be holes
(dissectors.holes), which note what they are asked: a phrase asks as little as it can, and prints the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from dissectors.kafka.labels import error_name, labels
from dissectors.kafka.verbs import OF_NONE, VERBS
from dissectors.wire.amounts import count_text
from dissectors.wire.embedded import Embedded

SHOWN = 3
"""So many items of a list are said, before the rest is only counted."""

Say: TypeAlias = Callable[[Any, list[int]], str | None]
"""What to say of a struct; None for nothing. Errors that are said are added to the list."""

Get: TypeAlias = Callable[[Any], Any]

_NOTHING = (None, "", -1)
_TOKEN = re.compile(r"[^{}()]+|[{}()]")
_PLACE = re.compile(r"([\w.|]+)([!=+#~?%:]?)(.*)")
_BRACKETS = re.compile(r"\[.*\]")
_SEVERAL = re.compile(r", |%records|%fetched")
"""What makes an item say several things, with commas between: then items have semicolons between them."""

_NO_ID = "A" * 22
"""A UUID of zeros, as it is printed."""


@lru_cache(maxsize=1024)
def phrase(text: str) -> Say:
    """The function of a phrase."""
    return _joined(_parts(_TOKEN.findall(text)))


def _parts(tokens: Sequence[str]) -> list[str | Say]:
    """What stands in a phrase, in order: texts as they are, places and optional parts as functions."""
    parts: list[str | Say] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        stop = _closing(tokens, at) if token in "{(" else at
        inside = "".join(tokens[at + 1 : stop])
        if token == "{":
            parts.append(_place(inside))
        elif token == "(":
            parts.append(_optional(phrase(inside)))
        elif token in "})":
            raise ValueError(f"{''.join(tokens)!r} closes what it has not opened")
        else:
            parts.append(token)
        at = stop + 1
    return parts


def _closing(tokens: Sequence[str], at: int) -> int:
    """Where what opens at `at` closes. Raises ValueError if it never does."""
    depth = 0
    for place in range(at, len(tokens)):
        depth += (tokens[place] in "{(") - (tokens[place] in "})")
        if not depth:
            return place
    raise ValueError(f"{''.join(tokens)!r} leaves something open")


def _joined(parts: Sequence[str | Say]) -> Say:
    if len(parts) == 1 and not isinstance(parts[0], str):
        return parts[0]

    def say(struct: Any, told: list[int]) -> str | None:
        text = ""
        for part in parts:
            if isinstance(part, str):
                text += part
                continue
            said = part(struct, told)
            if said is None:
                return None
            text += said
        return text

    return say


def _optional(say: Say) -> Say:
    return lambda struct, told: say(struct, told) or ""


def _place(inside: str) -> Say:
    found = _PLACE.fullmatch(inside)
    if found is None:
        raise ValueError(f"{inside!r} is no place in a phrase")
    path, kind, rest = found.groups()
    if kind == "%" and rest.partition(" ")[0] in OF_NONE:
        return _of_none(path, rest)
    return _KINDS[kind](_getter(path), rest)


# ---- paths


def _getter(path: str) -> Get:
    """The function from a struct to what a path leads to; None where there is nothing."""
    first, *others = map(_way, path.split("|"))
    if not others:
        return first
    ways = (first, *others)

    def get(struct: Any) -> Any:
        for way in ways:
            value = way(struct)
            if value not in _NOTHING:
                return value
        return None

    return get


def _way(path: str) -> Get:
    if path == ".":
        return lambda item: item
    steps = path.split(".")
    if len(steps) == 1:
        return _identified(path) if path.endswith("Id") and path in _UUIDS else lambda struct: struct.get(path)
    return lambda struct: _walk(struct, steps)


_UUIDS = frozenset({"topicId", "clientInstanceId", "voterDirectoryId"})
"""Fields in which a UUID of zeros stands for none; a name may be written like that."""


def _identified(name: str) -> Get:
    def get(struct: Any) -> Any:
        value = struct.get(name)
        return None if value == _NO_ID else value

    return get


def _walk(struct: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        if isinstance(struct, Embedded):
            struct = struct.value
        if step.isdecimal() and isinstance(struct, list):
            struct = struct[int(step)] if int(step) < len(struct) else None
        elif isinstance(struct, dict):
            struct = struct.get(step)
        else:
            return None
    return struct


# ---- places


def _plain(get: Get, _: str) -> Say:
    def say(struct: Any, _: list[int]) -> str | None:
        value = get(struct)
        return None if value in _NOTHING else _text(value)

    return say


def _any(get: Get, _: str) -> Say:
    def say(struct: Any, _: list[int]) -> str | None:
        value = get(struct)
        return None if value is None else _text(value)

    return say


def _positive(get: Get, _: str) -> Say:
    def say(struct: Any, _: list[int]) -> str | None:
        value = get(struct)
        return f"{value}" if isinstance(value, (int, float)) and value > 0 else None

    return say


def _text(value: Any) -> str | None:
    """A number or a text; one that is not UTF-8 is bytes. Nothing of what is a secret, or of many parts."""
    if isinstance(value, (str, int, float)):
        return f"{value}"
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else None


def _error(get: Get, _: str) -> Say:
    def say(struct: Any, told: list[int]) -> str | None:
        code = get(struct)
        if not code:
            return None
        number = int(code)
        told.append(number)
        return error_name(number)

    return say


def _labelled(get: Get, enum: str) -> Say:
    def say(struct: Any, _: list[int]) -> str | None:
        value, label = get(struct), labels(enum)
        return None if value is None else (label and label(value)) or f"{value}"

    return say


def _counted(get: Get, noun: str) -> Say:
    def say(struct: Any, _: list[int]) -> str | None:
        items = get(struct)
        return count_text(len(items), noun) if isinstance(items, list) and items else None

    return say


def _chosen(get: Get, words: str) -> Say:
    yes, _, no = words.partition("/")

    def say(struct: Any, _: list[int]) -> str | None:
        value = get(struct)
        return None if value is None else (yes if value else no or None)

    return say


def _measured(get: Get, verb: str) -> Say:
    name, _, noun = verb.partition(" ")
    make = VERBS[name]

    def say(struct: Any, _: list[int]) -> str | None:
        value = get(struct)
        return None if value is None else make(value, noun)

    return say


def _of_none(name: str, verb: str) -> Say:
    """What a list means that is null, or empty; one that is missing means nothing."""
    word, _, noun = verb.partition(" ")
    text, empty = OF_NONE[word]
    said = f"{text} {noun}".rstrip()

    def say(struct: Any, _: list[int]) -> str | None:
        value = struct.get(name, ...)
        return said if value is None or (empty and value == []) else None

    return say


def _each(get: Get, text: str) -> Say:
    item_says = phrase(text.removeprefix(" "))
    comma = "; " if _SEVERAL.search(_BRACKETS.sub("", text)) else ", "

    def say(struct: Any, told: list[int]) -> str | None:
        items = get(struct)
        if not isinstance(items, list) or not items:
            return None
        parts = [said for item in items[:SHOWN] if item is not None and (said := item_says(item, told))]
        if len(items) > SHOWN and parts:
            parts.append(f"{len(items) - SHOWN} more")
        return comma.join(parts) or None

    return say


_KINDS: dict[str, Callable[[Get, str], Say]] = {
    "": _plain,
    "=": _any,
    "+": _positive,
    "!": _error,
    "~": _labelled,
    "#": _counted,
    "?": _chosen,
    "%": _measured,
    ":": _each,
}
