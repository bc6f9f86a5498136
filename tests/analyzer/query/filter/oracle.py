"""What a filter means, said a second time: plain Python over one printed row after the other.

Theory. A row is what `list --format ndjson --fields --bytes-limit all --max-items all` prints, read back: nothing here
knows columns, bodies or catalogs, nor how a filter is parsed. What a path leads to is walked in that JSON; what a
comparison says is written down from the output contract ("Field paths") and from Wireshark 4's manual:

- a value that is missing or null makes every comparison false, `not in` too; `==` wants any of several, `!=` all;
- text is compared with text, bytes with bytes, a number with a number or, where it has one, its label with a text;
- contains minds upper and lower case, matches does not; a slice that is not wholly there is no value;
- what is masked has a length and is there; nothing else can be learned of it.
"""

from __future__ import annotations

import ipaddress
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any, TypeAlias

Row: TypeAlias = Mapping[str, Any]
Labels: TypeAlias = Callable[[str, int], str | None]
"""The label of a number at a path, None where it has none."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A value as it is written. pattern: what a regular expression is made of, with its escapes."""

    text: str
    quoted: bool = True
    data: bytes | None = None

    @property
    def content(self) -> bytes:
        """The bytes that are looked for in bytes."""
        if self.data is not None:
            return self.data
        plain = None if self.quoted else _hexadecimal(self.text)
        return self.text.encode("utf-8", "surrogatepass") if plain is None else plain


@dataclass(frozen=True, slots=True)
class Range:
    """Both ends included."""

    low: Literal
    high: Literal


@dataclass(frozen=True, slots=True)
class Value:
    """A path, and what is done to its values, in turn: the name of a function, or the slices (start, length)."""

    path: str
    steps: tuple[str | tuple[tuple[int, int | None], ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """operator: as in OPERATORS, or None for presence. quantifier: "any", "all", or None for the operator's own."""

    value: Value
    operator: str | None = None
    operands: tuple[Literal | Range, ...] = ()
    quantifier: str | None = None


@dataclass(frozen=True, slots=True)
class Joined:
    """word: not (of one), and, or, xor."""

    word: str
    parts: tuple[Expression, ...]


Expression: TypeAlias = Comparison | Joined

SIDED = frozenset({"kafka", "zookeeper", "rocketmq"})
"""Protocols whose requests and answers have bodies of their own: elsewhere `request` can only be a field."""

ALL_OF = frozenset({"!=", "==="})
"""Operators that want all values to fulfil them; `not in` wants that none is in the set."""


def holds(expression: Expression, row: Row, labels: Labels | None = None) -> bool:
    """Whether a row fulfils an expression."""
    if isinstance(expression, Joined):
        text = [holds(part, row, labels) for part in expression.parts]
        if expression.word == "not":
            return not text[0]
        return all(text) if expression.word == "and" else any(text) if expression.word == "or" else sum(text) % 2 == 1
    return _compared(expression, row, labels)


def _compared(comparison: Comparison, row: Row, labels: Labels | None) -> bool:
    path = comparison.value.path
    values = values_of(path, row)
    if comparison.operator is None and not comparison.value.steps:
        return bool(values)
    found: list[Any] = [value for value in values if value != []]
    for step in comparison.value.steps:
        found = _stepped(step, found)
    if comparison.operator is None or not found:
        return bool(found)
    label = (lambda number: labels(path, number)) if labels and not comparison.value.steps else _nameless
    if comparison.operator in ("in", "not in"):
        text = [_is_in(value, comparison.operands, path, label) for value in found]
        if comparison.operator == "not in":
            text = [not each for each in text]
            return any(text) if comparison.quantifier == "any" else all(text)
        return all(text) if comparison.quantifier == "all" else any(text)
    (operand,) = comparison.operands
    assert isinstance(operand, Literal)
    judge = _JUDGES[comparison.operator]
    text = [judge(value, operand, path, label) for value in found]
    every = comparison.operator in ALL_OF if comparison.quantifier is None else comparison.quantifier == "all"
    return all(text) if every else any(text)


# ---- what a path leads to


def values_of(path: str, row: Row) -> list[Any]:
    """The values of a path in a row; an empty list at its end is given as it is."""
    special = _OF_ROW.get(path)
    if special is not None:
        return [value for value in special(row) if value is not None]
    if path in row:
        return [row[path]] if row[path] not in (None, []) else []
    protocol, *names = path.split(".")
    if row["protocol"] != protocol:
        return []
    if not names:
        return [True]
    operation, *names = names
    if row["operation"] != operation:
        return []
    if names and names[0] in ("request", "response") and protocol in SIDED:
        side, *names = names
        if (row["role"] == "response") is not (side == "response"):
            return []
    return list(_walk(row.get("fields"), names)) if names else [True]


def _walk(value: Any, names: Sequence[str]) -> Iterator[Any]:
    if isinstance(value, list):
        if not value and not names:
            yield value
        for each in value:
            yield from _walk(each, names)
    elif value is None:
        return
    elif not names:
        yield value
    elif isinstance(value, dict) and names[0] in value:
        yield from _walk(value[names[0]], names[1:])


def _address(endpoint: str) -> str:
    return endpoint.rpartition(":")[0].strip("[]")


def _port(endpoint: str) -> int:
    return int(endpoint.rpartition(":")[2])


def _texts(value: Any) -> Iterator[str]:
    """All that a decoded body says."""
    if is_masked(value):
        yield from _texts(value.get("value"))
    elif is_bytes(value):
        yield bytes.fromhex(value["hex"]).decode("utf-8", "replace")
        yield from _texts(value.get("value"))
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


_OF_ROW: Mapping[str, Callable[[Row], Sequence[Any]]] = {
    "latency": lambda row: [row["latency_ns"]],
    "time_ns": lambda row: [_moment(row["time"])],
    "error.code": lambda row: [row["error"] and row["error"]["code"]],
    "error.name": lambda row: [row["error"] and row["error"]["name"]],
    "findings": lambda row: [each["code"] for each in row["findings"]],
    "findings.severity": lambda row: [each["severity"] for each in row["findings"]],
    "findings.text": lambda row: [each["text"] for each in row["findings"]],
    "source.ip": lambda row: [_address(row["source"])],
    "destination.ip": lambda row: [_address(row["destination"])],
    "source.port": lambda row: [_port(row["source"])],
    "destination.port": lambda row: [_port(row["destination"])],
    "ip": lambda row: [_address(row["source"]), _address(row["destination"])],
    "port": lambda row: [_port(row["source"]), _port(row["destination"])],
    "text": lambda row: [row["info"], *_texts(row["fields"])],
}


def is_bytes(value: Any) -> bool:
    """Whether it is the printed form of bytes."""
    return isinstance(value, dict) and {"hex", "length"} <= value.keys() <= {"hex", "length", "as", "value"}


def is_masked(value: Any) -> bool:
    """Whether it is the printed form of a secret."""
    return isinstance(value, dict) and value.get("redacted") is True


def _content(value: Any) -> bytes | None:
    return bytes.fromhex(value["hex"]) if is_bytes(value) else None


# ---- what is done to values


def _stepped(step: str | tuple[tuple[int, int | None], ...], values: list[Any]) -> list[Any]:
    if not isinstance(step, str):
        return [part for value in values if (part := _cut(value, step)) is not None]
    if step == "count":
        return [len(values)] if values else []
    if step in ("min", "max"):
        numbers = [value for value in values if _is_number(value)]
        return [(min if step == "min" else max)(numbers)] if numbers else []
    return [made for value in values if (made := _APPLIED[step](value)) is not None]


def _cut(value: Any, cuts: tuple[tuple[int, int | None], ...]) -> Any:
    data = _content(value)
    whole: Any = value if data is None else data
    if not isinstance(whole, str | bytes):
        return None
    found = whole[:0]
    for start, length in cuts:
        begin = start if start >= 0 else len(whole) + start
        stop = len(whole) if length is None else begin + length
        if not 0 <= begin <= stop <= len(whole):
            return None
        found += whole[begin:stop]
    return found if isinstance(found, str) else {"hex": found.hex(), "length": len(found)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _length(value: Any) -> int | None:
    return len(value) if isinstance(value, str) else value["length"] if is_bytes(value) or is_masked(value) else None


def _string(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


_APPLIED: Mapping[str, Callable[[Any], Any]] = {
    "len": _length,
    "lower": lambda value: value.lower() if isinstance(value, str) else None,
    "upper": lambda value: value.upper() if isinstance(value, str) else None,
    "string": _string,
    "abs": lambda value: abs(value) if _is_number(value) else None,
}

# ---- what operators say of one value

_NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_SIZES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_IN_MILLISECONDS = re.compile(r"(Ms|_ms|Millis|_millis|MilliSec)$")
_WRITTEN = re.compile(r"([+-]?)(0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?)\s?([A-Za-z]*)")
_HEX = re.compile(r"0[xX](?:[0-9A-Fa-f]{2})+|[0-9A-Fa-f]{2}(?:[:.-][0-9A-Fa-f]{2})*")
_ASKED: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "===": operator.eq,
    "!=": operator.ne,
    "!==": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _nameless(number: int) -> str | None:
    return None


def _hexadecimal(text: str) -> bytes | None:
    return None if _HEX.fullmatch(text) is None else bytes.fromhex(re.sub("0[xX]|[:.-]", "", text))


def _number(literal: Literal, path: str) -> Fraction | None:
    """The number that is written, in the units of the path."""
    match = None if literal.quoted else _WRITTEN.fullmatch(literal.text)
    if match is None:
        return None
    sign, digits, unit = match.groups()
    number = Fraction(int(digits, 16)) if digits[:2] in ("0x", "0X") else Fraction(digits)
    number = -number if sign == "-" else number
    if unit in _NANOSECONDS:
        scale = 10**6 if _IN_MILLISECONDS.search(path) else 1
        return number * _NANOSECONDS[unit] / scale
    return number * _SIZES[unit] if unit else number


def _moment(text: str) -> int:
    """Nanoseconds since 1970; what has no zone is UTC."""
    match = re.fullmatch(r"([\d-]{10})[T ]?([\d:]*)(?:\.(\d+))?\s*(Z|[+-][\d:]+)?", text)
    assert match is not None, text
    day, clock, fraction, zone = match.groups()
    clock = {0: "00:00:00", 5: f"{clock}:00"}.get(len(clock), clock)
    moment = datetime.fromisoformat(f"{day}T{clock}{'+00:00' if zone in (None, 'Z') else zone}")
    since = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    return since * 10**9 + int((fraction or "").ljust(9, "0"))


def _asked(symbol: str) -> Callable[[Any, Literal, str, Callable[[int], str | None]], bool]:
    ask = _ASKED[symbol]
    otherwise = symbol in ("!=", "!==")

    def judge(value: Any, literal: Literal, path: str, label: Callable[[int], str | None]) -> bool:
        if is_masked(value):
            return False
        if path == "time":
            return ask(_moment(value), _moment(literal.text))
        if path in ("ip", "source.ip", "destination.ip") and isinstance(value, str):
            return _beside(symbol, value, literal.text)
        if path == "error" and isinstance(value, dict):
            number = _number(literal, path)
            named = (value["name"].lower(), literal.text.lower())
            return ask(*named) if number is None else ask(value["code"], number)
        if isinstance(value, bool):
            flag = {"true": True, "1": True, "false": False, "0": False}.get(literal.text.lower())
            return otherwise if flag is None else ask(value, flag)
        if isinstance(value, str):
            return ask(value, literal.text)
        if _is_number(value):
            number = _number(literal, path)
            if number is not None:
                return ask(value, number)
            text = label(value)
            return otherwise if text is None else ask(text, literal.text)
        data = _content(value)
        return data is not None and ask(data, literal.content)

    return judge


def _beside(symbol: str, value: str, written: str) -> bool:
    network = ipaddress.ip_network(written, strict=False)
    address = ipaddress.ip_address(value)
    if symbol in ("==", "===", "!=", "!=="):
        return (address in network) is (symbol in ("==", "==="))
    if address.version != network.version:
        return False
    return _ASKED[symbol](int(address), int(network.network_address))


def _is_in(value: Any, wanted: Sequence[Literal | Range], path: str, label: Callable[[int], str | None]) -> bool:
    equal, least, most = _JUDGES["=="], _JUDGES[">="], _JUDGES["<="]
    return any(
        equal(value, each, path, label)
        if isinstance(each, Literal)
        else least(value, each.low, path, label) and most(value, each.high, path, label)
        for each in wanted
    )


def _searchable(value: Any, path: str, label: Callable[[int], str | None]) -> str | bytes | None:
    if is_masked(value):
        return None
    if path == "error" and isinstance(value, dict):
        name: str = value["name"]
        return name
    if isinstance(value, int) and not isinstance(value, bool):
        return label(value)
    return value if isinstance(value, str) else _content(value)


def _contains(value: Any, literal: Literal, path: str, label: Callable[[int], str | None]) -> bool:
    found = _searchable(value, path, label)
    if found is None:
        return False
    return literal.text in found if isinstance(found, str) else literal.content in found


def _matches(value: Any, literal: Literal, path: str, label: Callable[[int], str | None]) -> bool:
    """By Python's own expressions: what is drawn means the same to both libraries."""
    found = _searchable(value, path, label)
    if found is None:
        return False
    if isinstance(found, str):
        return re.search(literal.text, found, re.IGNORECASE) is not None
    return re.search(literal.text.encode(), found, re.IGNORECASE) is not None


def _has_bits(value: Any, literal: Literal, path: str, label: Callable[[int], str | None]) -> bool:
    number = _number(literal, path)
    return isinstance(value, int) and not isinstance(value, bool) and number is not None and bool(value & int(number))


_JUDGES: Mapping[str, Callable[[Any, Literal, str, Callable[[int], str | None]], bool]] = {
    **{symbol: _asked(symbol) for symbol in _ASKED},
    "contains": _contains,
    "matches": _matches,
    "&": _has_bits,
}
