"""Conditions on decoded values, written as texts in the tables: `sessionEpoch > 0 and sessionId == 0`.

Theory. A condition is a row of clauses that must all hold, or several such rows with `or` between them. It is compiled
to Python source, because it is evaluated for every message. Fields may be missing in a damaged body: a comparison with
a missing field or with one of another type does not hold. Values may be symbolic (dissectors.symbolic): these are only
compared, which records the outcome.

    path                  is there, and not false, 0 or empty
    not path              the opposite
    has path              is there, and not null
    with path             is there, perhaps as null; without path: is not
    path == LITERAL       also != in starts; the literal is JSON: a number, true, "text", [1, 2]
    path < LITERAL        also <= > >=, of numbers
    path & LITERAL        has one of the bits of a number; !& has none of them
    path contains LITERAL a text within a text
    path < path           also == <= > >=, of numbers, and with a number behind it: lastOffsetDelta < count - 1
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

from dissectors.symbolic_values import derive, is_below
from dissectors.wire.embedded import EmbeddedValue

Condition: TypeAlias = Callable[[Mapping[str, Any]], bool]

_CLAUSE = re.compile(r"(?:(not|has|with|without) )?([\w.]+)(?: (==|!=|<=|<|>=|>|&|!&|in|starts|contains) (.+))?")
_PATH = re.compile(r"([A-Za-z_][\w.]*)(?: ([+-]) (\d+))?")
_WORDS = frozenset(("true", "false", "null"))


@cache
def condition(text: str) -> Condition:
    """Compiles a condition; an empty one is always true. Raises ValueError for a wrong one."""
    return _compile_source(f"lambda values: bool({_source(text)})")  # type: ignore[no-any-return]


def first_of(texts: Sequence[str]) -> Callable[[Mapping[str, Any]], int]:
    """Compiles conditions to a function that returns the number of the first true one, from 1; 0 if none is."""
    branches = " else ".join(f"{number} if {_source(text)}" for number, text in enumerate(texts, 1))
    return _compile_source(f"lambda values: {branches} else 0")  # type: ignore[no-any-return]


def number_of(function: Callable[[Any], int], value: Any) -> int:
    """function(value), to be compared or printed; the function itself is only given plain values."""
    return derive(function, value)  # type: ignore[no-any-return]


def walk(values: Any, steps: Sequence[str]) -> Any:
    """Returns the value at a path, through structs, lists and embedded structures; None if there is none."""
    for step in steps:
        if isinstance(values, EmbeddedValue):
            values = values.value
        if isinstance(values, dict):
            values = values.get(step)
        elif isinstance(values, list) and step.isdecimal():
            values = values[int(step)] if int(step) < len(values) else None
        else:
            return None
    return values


def leads(values: Any, steps: Sequence[str]) -> bool:
    """Returns whether a path leads to a value, which may be null."""
    *before, last = steps
    around = walk(values, before)
    if isinstance(around, EmbeddedValue):
        around = around.value
    if isinstance(around, list):
        return last.isdecimal() and int(last) < len(around)
    return isinstance(around, dict) and last in around


def _compile_source(source: str) -> Any:
    return eval(source, {"walk": walk, "leads": leads, "below": is_below})  # noqa: S307 # made of the tables of protocols alone


def _source(text: str) -> str:
    return " or ".join(map(_compile_clauses, text.split(" or "))) if text else "True"


def _compile_clauses(text: str) -> str:
    return " and ".join(_clause(clause, number) for number, clause in enumerate(text.split(" and ")))


def _clause(text: str, number: int) -> str:
    found = _CLAUSE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no condition")
    word, path, operator, right = found.groups()
    value, name = _value(path), f"v{number}"
    if operator is None:
        there = _compile_presence(path)
        words = {"not": f"not {value}", "has": f"{value} is not None", "with": there, "without": f"not {there}"}
        return words.get(word, value)
    if word is not None:
        raise ValueError(f"{text!r} compares behind {word!r}")
    other = _PATH.fullmatch(right)
    if other is None or right in _WORDS:
        return _compile_comparison(f"({name} := {value})", name, operator, json.loads(right))
    return _paths(name, value, operator, *other.groups())


def _value(path: str) -> str:
    first, *steps = path.split(".")
    if not steps:
        return f"values.get({path!r})"
    if len(steps) > 1:
        return f"walk(values.get({first!r}), {tuple(steps)!r})"
    inner = f"inner.get({steps[0]!r}) if type(inner := values.get({first!r})) is dict"
    return f"({inner} else walk(inner, {tuple(steps)!r}))"


def _compile_presence(path: str) -> str:
    steps = tuple(path.split("."))
    return f"({path!r} in values)" if len(steps) == 1 else f"leads(values, {steps!r})"


def _compile_comparison(value: str, name: str, operator: str, literal: object) -> str:
    if operator == "in":
        if not isinstance(literal, list):
            raise ValueError(f"{literal!r} is no list")
        return f"{value} in {tuple(literal)!r}"
    if operator == "starts":
        return f"isinstance({value}, str) and {name}.startswith({literal!r})"
    if operator == "contains":
        return f"isinstance({value}, str) and {literal!r} in {name}"
    if operator in ("&", "!&"):
        return f"isinstance({value}, int) and {'not ' * (operator == '!&')}{name} & {literal!r}"
    if operator in ("==", "!="):
        return f"{value} is not None and {name} {operator} {literal!r}"
    return f"isinstance({value}, (int, float)) and {name} {operator} {literal!r}"


def _paths(name: str, left: str, operator: str, path: str, sign: str | None, number: str | None) -> str:
    """Two fields compared. Of symbolic values that is a condition on both (symbolic.is_below)."""
    right = f"{name}r" if sign is None else f"{name}r + {int(f'{sign}{number}')}"
    ordered = {"<": f"below({name}, {right})", ">": f"below({right}, {name})"}
    ordered |= {">=": f"not {ordered['<']}", "<=": f"not {ordered['>']}"}
    ordered["=="] = f"{ordered['>=']} and {ordered['<=']}"
    if operator not in ordered:
        raise ValueError(f"two fields are compared by {', '.join(ordered)}, not by {operator!r}")
    there = f"isinstance({name} := {left}, int) and isinstance({name}r := {_value(path)}, int)"
    return f"{there} and {ordered[operator]}"
