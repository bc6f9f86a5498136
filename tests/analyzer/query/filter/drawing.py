"""Filters at random, as the oracle reads them and as people write them.

Theory. A filter that is never true proves nothing: so fields are those that rows of a capture have, literals are values
that stand there, or nearly. Each expression is drawn as the oracle's tree and then written down, each time with other
spellings, quotes and parentheses; that it is read as the same tree is a part of what is tested.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from ipaddress import ip_network
from random import Random
from typing import Any, NamedTuple, TypeVar

from hypothesis import strategies as st

from tests.analyzer.query.filter.captured import Captured
from tests.analyzer.query.filter.oracle import (
    Comparison,
    Expression,
    Joined,
    Literal,
    Range,
    Value,
    is_bytes,
    is_masked,
    values_of,
)

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[T]], T]

KEYS = (
    *("number", "id", "stream_id", "partner_id", "time", "time_ns", "stream", "protocol", "source"),
    *("destination", "from_client"),
    *("role", "operation", "code", "version", "correlation", "client", "length", "offset", "first_packet"),
    *("last_packet", "partner", "latency_ns", "latency", "error", "error.code", "error.name", "state", "info"),
    *("findings", "findings.severity", "findings.text", "source.ip", "source.port", "destination.ip"),
    *("destination.port", "ip", "port", "bytes", "text"),
)
CLOSED = frozenset({"operation", "protocol", "findings", "findings.severity", "error.name"})
"""Fields whose values are known: another one is an error, as tests/analyzer/cli/test_nothing.py shows."""

AMONG = {
    "role": ("request", "response", "oneway", "push", "raw"),
    "state": ("complete", "partial", "guessed", "undecoded"),
}
ADDRESSES = frozenset({"ip", "source.ip", "destination.ip"})

_SPELLINGS = {
    "==": ("==", "eq", "any_eq"),
    "!=": ("!=", "ne", "all_ne"),
    "===": ("===", "all_eq"),
    "!==": ("!==", "any_ne", "~="),
    "<": ("<", "lt"),
    "<=": ("<=", "le"),
    ">": (">", "gt"),
    ">=": (">=", "ge"),
    "matches": ("matches", "~"),
    "&": ("&", "bitwise_and"),
    "and": ("and", "&&"),
    "or": ("or", "||"),
    "xor": ("xor", "^^"),
}
_TIGHTNESS = {"or": 1, "xor": 2, "and": 3, "not": 4}
_EQUAL = ("==", "!=", "===", "!==")
_ORDER = ("<", "<=", ">", ">=")
_BARE = re.compile(r"(?!r[\"'])[^\s(){},\"'=!<>&|]+")
_UNITS = (("ns", 1), ("us", 10**3), ("ms", 10**6), ("s", 10**9), ("m", 60 * 10**9), ("h", 3600 * 10**9))
_SIZES = (("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20))
_COUNTS_TIME = re.compile(r"(Ms|_ms|Millis|_millis|MilliSec)$")


class Question(NamedTuple):
    """An expression, its text, and rows to ask."""

    expression: Expression
    text: str
    rows: list[int]


@st.composite
def questions(draw: Draw[Any], capture: Captured) -> Question:
    """Any filter, with rows that have its fields and others, in any order."""
    expression, paths = draw(expressions(capture))
    random = Random(draw(st.integers(0, 1 << 16)))
    count = len(capture.printed)
    rows = random.sample(range(count), 12)
    for path in paths:
        for side in (path, *(re.sub(r"^(kafka\.\w+)", rf"\1.{side}", path) for side in ("request", "response"))):
            having = capture.fields.get(side, ())
            rows += random.sample(having, min(len(having), 12))
    return Question(expression, written(expression, random), list(dict.fromkeys(rows)))


@st.composite
def expressions(draw: Draw[Any], capture: Captured, depth: int = 3) -> tuple[Expression, list[str]]:
    """An expression, and the paths in it."""
    kind = draw(st.sampled_from(("comparison",) * 4 + ("not", "and", "or", "xor"))) if depth else "comparison"
    if kind == "comparison":
        comparison = draw(comparisons(capture))
        return comparison, [comparison.value.path]
    count = 1 if kind == "not" else draw(st.integers(2, 3))
    parts = [draw(expressions(capture, depth - 1)) for _ in range(count)]
    return Joined(kind, tuple(part for part, _ in parts)), [path for _, paths in parts for path in paths]


@st.composite
def comparisons(draw: Draw[Any], capture: Captured) -> Comparison:
    """A comparison of a field with what stands there, or nearly."""
    if draw(st.integers(0, 2)) == 0:
        path = draw(st.sampled_from(KEYS))
        having: Sequence[int] = range(len(capture.printed))
    else:
        path = draw(st.sampled_from(_names(capture)))
        having = capture.fields[path]
    values: list[Any] = []
    for _ in range(4):
        values += values_of(path, capture.printed[having[draw(st.integers(0, len(having) - 1))]])
        if values:
            break
    value = values[draw(st.integers(0, len(values) - 1))] if values else None
    quantifier = draw(st.sampled_from((None, None, None, "any", "all")))
    requested = draw(_ASKING[_kind(path, value)](path, value))
    if path not in KEYS and draw(st.integers(0, 3)) == 0:
        requested = replace(
            requested, value=replace(requested.value, path=re.sub(r"^(kafka\.\w+)\.(request|response)", r"\1", path))
        )
    return requested if requested.operator is None else replace(requested, quantifier=quantifier)


_known: dict[str, list[str]] = {}


def _names(capture: Captured) -> list[str]:
    found = _known.get(capture.name)
    if found is None:
        found = _known[capture.name] = sorted(capture.fields)
    return found


def _kind(path: str, value: Any) -> str:
    if path in ("time", "error", "role", "state"):
        return path if path in ("time", "error") else "word"
    if path in ADDRESSES:
        return "address"
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "text"
    if is_masked(value):
        return "masked"
    return "bytes" if is_bytes(value) else "struct"


# ---- comparisons by what is compared


def _asking(draw: Draw[Any], path: str, symbols: Sequence[str], literal: Callable[[], Literal]) -> Comparison:
    """One of some operators, or a set."""
    symbol = draw(st.sampled_from((*symbols, "in", "not in")))
    if symbol not in ("in", "not in"):
        return Comparison(Value(path), symbol, (literal(),))
    members: list[Literal | Range] = [literal() for _ in range(draw(st.integers(1, 3)))]
    if symbols[-1] in _ORDER and draw(st.booleans()):
        members.append(Range(literal(), literal()))
    return Comparison(Value(path), symbol, tuple(members))


@st.composite
def _of_number(draw: Draw[Any], path: str, value: float) -> Comparison:
    step = draw(st.sampled_from(("none", "none", "none", "bits", "abs", "min", "max", "count", "string", "there")))
    if step == "there":
        return Comparison(Value(path))
    if step == "count":
        return Comparison(Value(path, ("count",)), draw(st.sampled_from((*_EQUAL, *_ORDER))), (_plain(1),))
    if step == "string":
        return Comparison(Value(path, ("string",)), "contains", (Literal(str(value)[:2]),))
    if step == "bits":
        return Comparison(Value(path), "&", (Literal(str(draw(st.sampled_from((1, 2, 6, 0xFF)))), False),))
    requested = _asking(draw, path, (*_EQUAL, *_ORDER), lambda: draw(_numbers(path, value)))
    return requested if step == "none" else Comparison(Value(path, (step,)), requested.operator, requested.operands)


def _plain(number: int) -> Literal:
    return Literal(str(number), False)


@st.composite
def _numbers(draw: Draw[Any], path: str, value: float) -> Literal:
    near = value + draw(st.sampled_from((0, 0, 0, 1, -1, 1000)))
    if isinstance(near, float):
        text = f"{near:f}"
        return Literal(text, False)
    form = draw(st.sampled_from(("plain", "plain", "hexadecimal", "half", "unit", "signed")))
    if form == "hexadecimal" and near >= 0:
        return Literal(hex(near), False)
    if form == "half":
        return Literal(f"{near}.5", False)
    if form == "signed" and near >= 0:
        return Literal(f"+{near}", False)
    counts = 1 if path.startswith("latency") else 10**6 if _COUNTS_TIME.search(path) else None
    if form == "unit" and (counts is not None or path == "length"):
        unit, size = draw(st.sampled_from(_SIZES if counts is None else _UNITS))
        whole, rest = divmod(near * (counts or 1), size)
        tail = "" if not rest else draw(st.sampled_from(("", f".{rest * 1000 // size:03}")))
        gap = draw(st.sampled_from(("", " ")))
        return Literal(f"{whole}{tail}{gap}{unit}", False)
    return Literal(str(near), False)


_LONG = 10_000
"""Letters of a text from which on it is not written out in a filter, which has a bound."""


@st.composite
def _of_text(draw: Draw[Any], path: str, value: str) -> Comparison:
    steps = ("contains", "contains", "matches", "len", "count", "there")
    if len(value) < _LONG:
        steps += ("none",) * 3 + ("lower", "upper", "slice")
    step = draw(st.sampled_from(steps))
    if step == "there":
        return Comparison(Value(path))
    if step == "count":
        return Comparison(Value(path, ("count",)), draw(st.sampled_from(_EQUAL)), (_plain(1),))
    if step == "contains":
        return Comparison(Value(path), "contains", (Literal(_part(draw, value)),))
    if step == "matches":
        return Comparison(Value(path), "matches", (Literal(draw(_patterns(value))),))
    if step == "len":
        return Comparison(Value(path, ("len",)), draw(st.sampled_from((*_EQUAL, *_ORDER))), (_plain(len(value)),))
    if step in ("lower", "upper"):
        made = value.lower() if step == "lower" else value.upper()
        return Comparison(Value(path, (step,)), draw(st.sampled_from(_EQUAL)), (Literal(made),))
    if step == "slice":
        cuts = draw(_slices(len(value)))
        part = "".join(value[start:][:length] for start, length in cuts)
        return Comparison(Value(path, (cuts,)), draw(st.sampled_from(_EQUAL)), (Literal(part),))
    texts = st.just(Literal(value)) if path in CLOSED else _texts(value)
    return _asking(draw, path, (*_EQUAL, *_ORDER), lambda: draw(texts))


def _part(draw: Draw[Any], value: str) -> str:
    begin = draw(st.integers(0, max(0, len(value) - 1)))
    part = value[begin : begin + draw(st.integers(1, 6))]
    return part.swapcase() if draw(st.integers(0, 3)) == 0 else part


@st.composite
def _texts(draw: Draw[Any], value: str) -> Literal:
    near = draw(st.sampled_from((value, value, f"{value}x", value[:-1], value.swapcase(), "")))
    is_bare = _BARE.fullmatch(near) is not None and ".." not in near and not near.startswith("0x")
    return Literal(near, not (is_bare and draw(st.booleans())))


@st.composite
def _patterns(draw: Draw[Any], value: str) -> str:
    """Expressions that Python and RE2 understand alike."""
    part = "".join(f"\\{letter}" if not letter.isalnum() and letter.isascii() else letter for letter in value[2:8])
    part = part if part.isprintable() and part.isascii() else "e"
    start = f"^{value[:1]}" if value[:1].isascii() and value[:1].isalnum() else "a"
    return draw(st.sampled_from((part, part.swapcase(), start, "[a-f]+[0-9]", "e.*e", "^$", "(x|y)z?$")))


@st.composite
def _slices(draw: Draw[Any], length: int) -> tuple[tuple[int, int | None], ...]:
    edge = st.integers(-length - 1, length + 1)
    return tuple((draw(edge), draw(st.one_of(st.none(), st.integers(1, 5)))) for _ in range(draw(st.integers(1, 2))))


@st.composite
def _of_bytes(draw: Draw[Any], path: str, value: Any) -> Comparison:
    data = bytes.fromhex(value["hex"])
    step = draw(st.sampled_from(("none", "none", "contains", "slice", "len", "count", "there")))
    if step == "there":
        return Comparison(Value(path))
    if step == "count":
        return Comparison(Value(path, ("count",)), draw(st.sampled_from(_EQUAL)), (_plain(1),))
    if step == "len":
        return Comparison(Value(path, ("len",)), draw(st.sampled_from((*_EQUAL, *_ORDER))), (_plain(len(data)),))
    if step == "slice":
        cuts = draw(_slices(min(len(data), 40)))
        part = b"".join(data[start:][:length] for start, length in cuts)
        return Comparison(Value(path, (cuts,)), draw(st.sampled_from(_EQUAL)), (_data(part, True),))
    begin = draw(st.integers(0, max(0, len(data) - 1)))
    part = data[begin:][: draw(st.integers(1, 5))]
    if step == "contains":
        return Comparison(Value(path), "contains", (_data(part, draw(st.booleans())),))
    return _asking(draw, path, _EQUAL, lambda: _data(draw(st.sampled_from((data[:64], data[:64] + b"x"))), True))


def _data(data: bytes, quoted: bool) -> Literal:
    return Literal(data.decode("latin-1"), True, data) if quoted or not data else Literal(data.hex(":"), False)


@st.composite
def _of_flag(draw: Draw[Any], path: str, value: bool) -> Comparison:
    words = ("true", "false", "1", "0", "True", "FALSE")
    return _asking(draw, path, _EQUAL, lambda: Literal(draw(st.sampled_from(words)), False))


@st.composite
def _of_word(draw: Draw[Any], path: str, value: str) -> Comparison:
    return _asking(draw, path, _EQUAL, lambda: Literal(draw(st.sampled_from(AMONG[path])), draw(st.booleans())))


@st.composite
def _of_address(draw: Draw[Any], path: str, value: str) -> Comparison:
    step = draw(st.sampled_from(("none", "none", "contains", "there")))
    if step == "there":
        return Comparison(Value(path))
    if step == "contains":
        return Comparison(Value(path), "contains", (Literal(value[:3]),))
    bits = 128 if ":" in value else 32
    near = (value, f"{value}/{bits // 2}", str(ip_network(value)[0] + 1), "::1", "127.0.0.0/8", "10.0.0.1")
    return _asking(draw, path, (*_EQUAL, *_ORDER), lambda: Literal(draw(st.sampled_from(near)), draw(st.booleans())))


@st.composite
def _of_time(draw: Draw[Any], path: str, value: str) -> Comparison:
    return _asking(draw, path, (*_EQUAL, *_ORDER), lambda: draw(_times(value)))


@st.composite
def _times(draw: Draw[Any], value: str) -> Literal:
    forms = (value, value[:-1].replace("T", " "), value[:19], value[:16].replace("T", " "), value[:10])
    text = draw(st.sampled_from((*forms, f"{value[:23]}Z", f"{value[:19]}+02:00", f"{value[:19]}.5")))
    return Literal(text, " " in text or draw(st.booleans()))


@st.composite
def _of_error(draw: Draw[Any], path: str, value: Any) -> Comparison:
    step = draw(st.sampled_from(("none", "none", "contains", "there")))
    if value is None or step == "there":
        return Comparison(Value(path))
    if step == "contains":
        return Comparison(Value(path), "contains", (Literal(_part(draw, value["name"])),))
    if draw(st.booleans()):
        return _asking(draw, path, (*_EQUAL, *_ORDER), lambda: draw(_numbers(path, value["code"])))
    name = st.sampled_from((value["name"], value["name"].swapcase()))
    return _asking(draw, path, _EQUAL, lambda: Literal(draw(name)))


@st.composite
def _of_masked(draw: Draw[Any], path: str, value: Any) -> Comparison:
    if draw(st.booleans()):
        return Comparison(Value(path, ("len",)), draw(st.sampled_from((*_EQUAL, *_ORDER))), (_plain(value["length"]),))
    if draw(st.booleans()):
        return Comparison(Value(path), draw(st.sampled_from((*_EQUAL, "contains", "matches"))), (Literal("a"),))
    return Comparison(Value(path))


@st.composite
def _of_struct(draw: Draw[Any], path: str, value: Any) -> Comparison:
    if value not in (None, []) and draw(st.booleans()):
        count = draw(st.integers(0, 3))
        return Comparison(Value(path, ("count",)), draw(st.sampled_from((*_EQUAL, *_ORDER))), (_plain(count),))
    return Comparison(Value(path))


_ASKING: dict[str, Callable[[str, Any], st.SearchStrategy[Comparison]]] = {
    "number": _of_number,
    "text": _of_text,
    "bytes": _of_bytes,
    "flag": _of_flag,
    "word": _of_word,
    "address": _of_address,
    "time": _of_time,
    "error": _of_error,
    "masked": _of_masked,
    "struct": _of_struct,
}

# ---- how people write them


def written(expression: Expression, random: Random, outer: int = 0) -> str:
    """The text of an expression, with the parentheses that it needs and sometimes more."""
    if isinstance(expression, Comparison):
        text, tightness = _comparison(expression, random), 5
    else:
        word, tightness = expression.word, _TIGHTNESS[expression.word]
        if word == "not":
            text = random.choice(("not ", "!", "! ")) + written(expression.parts[0], random, tightness)
        else:
            text = written(expression.parts[0], random, tightness)
            for part in expression.parts[1:]:
                text = f"{text} {_spelt(word, random)} {written(part, random, tightness + 1)}"
    if tightness < outer or random.random() < 0.1:
        space = random.choice(("", " "))
        return f"({space}{text}{space})"
    return text


def _spelt(word: str, random: Random) -> str:
    return random.choice(_SPELLINGS.get(word, (word,)))


def _comparison(comparison: Comparison, random: Random) -> str:
    text = comparison.value.path
    for step in comparison.value.steps:
        text = f"{step}({text})" if isinstance(step, str) else f"{text}[{','.join(_cut(*cut, random) for cut in step)}]"
    if comparison.operator is None:
        return text
    if comparison.quantifier is not None:
        text = f"{comparison.quantifier} {text}"
    if comparison.operator in ("in", "not in"):
        members = random.choice((", ", ",", " ")).join(_member(each, random) for each in comparison.operands)
        return f"{text} {comparison.operator} {{{members}}}"
    symbol = _spelt(comparison.operator, random)
    space = " " if symbol[0].isalpha() or random.random() < 0.5 else ""
    return f"{text}{space}{symbol}{space}{_literal(comparison.operands[0], random)}"


def _cut(start: int, length: int | None, random: Random) -> str:
    if length is None:
        return f"{start}:"
    forms = [f"{start}:{length}"]
    if length == 1:
        forms.append(str(start))
    if start == 0:
        forms.append(f":{length}")
    if (start < 0) == (start + length - 1 < 0):
        forms.append(f"{start}-{start + length - 1}")
    return random.choice(forms)


def _member(member: Literal | Range, random: Random) -> str:
    if isinstance(member, Literal):
        return _literal(member, random)
    return f"{_literal(member.low, random)}{random.choice(('..', ' .. '))}{_literal(member.high, random)}"


def _literal(literal: Literal | Range, random: Random) -> str:
    assert isinstance(literal, Literal)
    if not literal.quoted:
        return literal.text
    if literal.data is not None:
        return f'"{"".join(_byte(byte) for byte in literal.data)}"'
    if not re.search(r"[\"\\]", literal.text) and random.random() < 0.5:
        return f'r"{literal.text}"'
    quote = random.choice(('"', "'"))
    escaped = literal.text.replace("\\", "\\\\").replace(quote, f"\\{quote}")
    return quote + re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\x{ord(match[0]):02x}", escaped) + quote


def _byte(byte: int) -> str:
    letter = chr(byte)
    return letter if 32 <= byte < 127 and letter not in '"\\' else f"\\x{byte:02x}"
