"""What lines for people are made of: counts, durations, numbers as ZooKeeper's logs have them, words for values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from dissectors.holes import made
from dissectors.wire.amounts import duration_text
from dissectors.zookeeper.labels import names, session

SHOWN = 3
"""So many paths or operations before the rest is only counted."""

Values = Mapping[str, Any]

NOTHING: Values = {}


class About(NamedTuple):
    """What a record's line depends on besides: what was `asked`, if it answers, and whether it is a transaction."""

    asked: Values = NOTHING
    done: bool = False


ALONE = About()
DONE = About(done=True)

Say = Callable[[Any, Values, About], Iterable[str]]
"""What to say of a field: its value, the record that it stands in, and what that is about."""


def count(number: int, noun: str) -> str:
    """`1 node`, `2 watches`, `12,000 nodes`."""
    plural = noun[:-1] + "ies" if noun.endswith("ry") else noun + ("es" if noun.endswith("ch") else "s")
    return f"{number:,} {noun if number == 1 else plural}"


def some(items: list[Any]) -> str:
    """`/a, /b, /c, 2 more`."""
    more = [f"{len(items) - SHOWN} more"] if len(items) > SHOWN else []
    return ", ".join([*map(str, items[:SHOWN]), *more])


def duration(word: str, value: Any) -> Iterable[str]:
    """`timeout 30 s`; nothing for none."""
    return (f"{word} {made(duration_text, value)}",) if isinstance(value, int) and value > 0 else ()


def zxid_text(value: Any) -> str:
    """A transaction id as ZooKeeper's logs have it."""
    return made(lambda number: f"zxid {number:#x}", value)


def session_text(value: Any) -> str:
    """`session 0x100001234560000`."""
    return made(lambda number: f"session {session(number)}", value)


def said(words: str, nothing: object = None) -> Say:
    """A phrase with a place in it, but for a value that says nothing."""
    return lambda value, *_: (words.format(value),) if value is not None and value != nothing else ()


def when(word: str) -> Say:
    """A word for what is so."""
    return lambda value, *_: (word,) if value is True else ()


def named(enum: str, noun: str, words: Mapping[Any, str]) -> Say:
    """A name in the words of people; a number that has none stands behind what it is one of."""

    def say(value: Any, *_: object) -> Iterable[str]:
        name = names(enum).get(value)
        word = f"{noun} {value}" if name is None else words.get(name, name)
        return (word,) if word else ()

    return say
