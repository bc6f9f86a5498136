"""The operators: their names and symbols, and their result for one value.

Theory. An operator judges one value. The quantifier decides how many values of a row must match, and the mask decides
which rows have a value. So a new operator is a row of OPERATORS. Values are decoded values: a number is compared with a
number, or its label with a text; a text with a text; bytes with bytes. Values of different kinds are not equal. A
secret is never compared, because a filter must not reveal a masked value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Any, NamedTuple

from analyzer.query.fields.path import Label
from analyzer.query.fields.reading import ReportedError
from dissectors.slotted import make_slotted
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.secret import Secret


@make_slotted
class Operand:
    """A literal of a filter in each type that it can be read as; None for other types.

    labels: texts that the number is known by, for values that are texts. label: names values that are numbers.
    """

    text: str
    data: bytes | None = None
    number: Fraction | None = None
    flag: bool | None = None
    network: IPv4Network | IPv6Network | None = None
    pattern: Pattern | None = None
    labels: tuple[str, ...] = ()
    label: Label | None = None


class Pattern(NamedTuple):
    """A regular expression of RE2, for texts and for bytes; its time is proportional to the length of the text."""

    text: Any
    data: Any


class Operator(NamedTuple):
    """judge: tests a value. every: whether all values must match. takes: the operands that it accepts.

    compares: the comparison for whole columns of numbers; None if it has none.
    """

    symbols: tuple[str, ...]
    judge: Callable[[Any, Operand], bool]
    every: bool = False
    takes: str = "any"
    compares: str | None = None


def _make_comparison(name: str) -> Callable[[Any, Operand], bool]:
    ask: Callable[[Any, Any], bool] = getattr(operator, name)
    other_kind = name == "ne"

    def judge(value: Any, against: Operand) -> bool:
        kind = type(value)
        if kind is str:
            if against.network is not None:
                return _compare_address(name, value, against.network)
            if against.labels and name in ("eq", "ne"):
                return (value in against.labels or value == against.text) is (name == "eq")
            return ask(value, against.text)
        if kind is bool:
            return other_kind if against.flag is None else ask(value, against.flag)
        if isinstance(value, ReportedError):
            return (
                _make_name_test(ask, value.name, against.text)
                if against.number is None
                else ask(value.code, against.number)
            )
        if isinstance(value, int | float):
            if against.number is not None:
                return ask(value, against.number)
            number_name = None if against.label is None or isinstance(value, float) else against.label(value)
            return other_kind if number_name is None else _make_name_test(ask, number_name, against.text)
        if isinstance(value, EmbeddedValue):
            value = value.data
        if isinstance(value, bytes):
            return other_kind if against.data is None else ask(value, against.data)
        return False

    return judge


def _make_name_test(ask: Callable[[Any, Any], bool], name: str, text: str) -> bool:
    """Compares names of numbers without regard to case."""
    return ask(name.lower(), text.lower())


def is_comparable(value: Any) -> bool:
    """Returns whether a value is of a kind that can be equal to another."""
    return not isinstance(value, Secret | dict | list)


def _compare_address(name: str, value: str, network: IPv4Network | IPv6Network) -> bool:
    try:
        address = ip_address(value)
    except ValueError:
        return name == "ne"
    if name in ("eq", "ne"):
        return (address in network) is (name == "eq")
    if address.version != network.version:
        return False
    compared: bool = getattr(operator, name)(int(address), int(network.network_address))
    return compared


def _contains(value: Any, against: Operand) -> bool:
    value = _find_searchable(value, against)
    if isinstance(value, str):
        return against.text in value
    return isinstance(value, bytes) and against.data is not None and against.data in value


def _matches(value: Any, against: Operand) -> bool:
    value, pattern = _find_searchable(value, against), against.pattern
    assert pattern is not None
    if isinstance(value, str):
        # RE2 rejects a lone surrogate, which JSON may contain.
        return pattern.text.search(value.encode("utf-8", "replace").decode()) is not None
    return isinstance(value, bytes) and pattern.data.search(value) is not None


def _find_searchable(value: Any, against: Operand) -> str | bytes | None:
    """Returns the text or the bytes of a value that can be searched."""
    if isinstance(value, EmbeddedValue):
        value = value.data
    if isinstance(value, ReportedError):
        return value.name
    if type(value) is int and against.label is not None:
        return against.label(value)
    return value if isinstance(value, str | bytes) else None


def _test_bits(value: Any, against: Operand) -> bool:
    if type(value) is not int or against.number is None:
        return False
    return value & int(against.number) != 0


OPERATORS: Mapping[str, Operator] = {
    "eq": Operator(("==",), _make_comparison("eq"), compares="eq"),
    "ne": Operator(("!=",), _make_comparison("ne"), every=True, compares="ne"),
    "all_eq": Operator(("===",), _make_comparison("eq"), every=True, compares="eq"),
    "any_ne": Operator(("!==", "~="), _make_comparison("ne"), compares="ne"),
    "any_eq": Operator((), _make_comparison("eq"), compares="eq"),
    "all_ne": Operator((), _make_comparison("ne"), every=True, compares="ne"),
    "lt": Operator(("<",), _make_comparison("lt"), compares="lt"),
    "le": Operator(("<=",), _make_comparison("le"), compares="le"),
    "gt": Operator((">",), _make_comparison("gt"), compares="gt"),
    "ge": Operator((">=",), _make_comparison("ge"), compares="ge"),
    "contains": Operator((), _contains, takes="searched"),
    "matches": Operator(("~",), _matches, takes="pattern"),
    "bitwise_and": Operator(("&",), _test_bits, takes="number"),
}

SYMBOLS: Mapping[str, str] = {symbol: name for name, each in OPERATORS.items() for symbol in each.symbols}

IN = "in"

FUNCTIONS: Mapping[str, str] = {
    "len": "characters of a text, bytes of bytes",
    "count": "how many values a row has",
    "lower": "a text in lower case",
    "upper": "a text in upper case",
    "string": "a number as text",
    "min": "the least of a row's values",
    "max": "the greatest of a row's values",
    "abs": "a number without its sign",
}


def apply_function(function: str, values: list[Any]) -> list[Any]:
    """Applies a function of the filter language to the values of a row."""
    if function == "count":
        return [len(values)] if values else []
    if function in ("min", "max"):
        numbers = [value for value in values if type(value) is int or type(value) is float]
        return [min(numbers) if function == "min" else max(numbers)] if numbers else []
    each = _EACH[function]
    return [made for value in values if (made := each(value)) is not None]


def _measure_length(value: Any) -> int | None:
    value = value.data if isinstance(value, EmbeddedValue) else value
    return len(value) if isinstance(value, str | bytes | Secret) else None


def _make_text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float | str) else None


_EACH: Mapping[str, Callable[[Any], Any]] = {
    "len": _measure_length,
    "lower": lambda value: value.lower() if isinstance(value, str) else None,
    "upper": lambda value: value.upper() if isinstance(value, str) else None,
    "string": _make_text,
    "abs": lambda value: abs(value) if type(value) is int or type(value) is float else None,
}
