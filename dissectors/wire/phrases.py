"""What lines for people are made of, whatever the protocol: phrases with a place in them, flags, lists of names.

Theory. A table says of each field what to say of it, in order of importance; a function there gets the value and all
values beside it. Values may be missing or of another type in a body that breaks, and may be holes (dissectors.holes).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeGuard

from dissectors.wire.amounts import count_text

SHOWN = 3
"""So many of a list before the rest is only counted."""

MOST = (1 << 63) - 1
"""The largest signed number; what is larger is less than nothing."""

Values = Mapping[str, Any]

NOTHING: Values = {}

Say = Callable[[Any, Values], Iterable[str]]
"""What to say of a field: its value, and all values of the message; nothing of what is not as the tables promise."""


def is_number(value: Any) -> TypeGuard[int]:
    """Whether it is a number, or a hole for one."""
    return isinstance(value, int)


def text(value: Any, _: Values = NOTHING) -> Iterable[str]:
    """A text as it is."""
    return (f"{value}",) if isinstance(value, str) and value != "" else ()


def said(words: str) -> Say:
    """A phrase with a place in it, for a text or a number."""
    return lambda value, _: (words.format(value),) if isinstance(value, str | int) and value != "" else ()


def positive(words: str) -> Say:
    """The same of a number that says nothing where it is 0, or less than that."""
    return lambda value, _: (words.format(value),) if is_number(value) and 0 < value <= MOST else ()


def when(word: str, so: object = True) -> Say:
    """A word for a flag that has this value."""
    return lambda value, _: (word,) if value is so else ()


def unless(usual: str, words: str = "{}") -> Say:
    """A word of an enum, but for the usual one."""
    return lambda value, _: (words.format(value),) if isinstance(value, str | int) and value != usual else ()


def some(items: Any, noun: str) -> list[str]:
    """Few names as they are, many counted."""
    names = [f"{each}" for each in items if isinstance(each, str)] if isinstance(items, list) else []
    whole = isinstance(items, list) and 0 < len(items) == len(names) <= SHOWN
    return names if whole else [count_text(len(items), noun)] if isinstance(items, list) else []


def shown_in(*names: str, by: str = "") -> Callable[[Any], str]:
    """What shows a dict of a list by some of its values."""
    return lambda value: by.join(f"{value.get(name, '?')}" for name in names) if isinstance(value, dict) else "?"


def listed(noun: str) -> Say:
    """A list of names."""
    return lambda value, _: some(value, noun)


def joined(words: str, items: Any, show: Callable[[Any], str] = "{}".format) -> Iterable[str]:
    """`new a, b, c, 2 more`: some of a list behind a word."""
    if not isinstance(items, list) or not items:
        return
    names = [show(each) for each in items[:SHOWN]]
    more = [f"{len(items) - SHOWN} more"] if len(items) > SHOWN else []
    yield words + ", ".join(names + more)
