"""A filter's tree with every name looked up and every literal read: what a field can be asked is asked of it here.

Theory. A comparison that can never hold is a slip of the pen, so it is an error with its place: a word where a field
has numbers only, a unit of time where nothing counts time, an unknown role. Where only the values tell what they are
(JSON, maps), nothing is refused.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NoReturn, TypeAlias

from analyzer.query.fields.catalog import UnknownField, find, near
from analyzer.query.fields.path import FieldPath, Key, Kind, names_of
from analyzer.query.fields.possible import possible_values
from analyzer.query.filter import units
from analyzer.query.filter.errors import FilterError, Span
from analyzer.query.filter.nodes import (
    Call,
    Comparison,
    Cut,
    Joined,
    Literal,
    Name,
    Named,
    Node,
    Not,
    Range,
    Slice,
    Value,
)
from analyzer.query.filter.operators import OPERATORS, Against, Pattern
from analyzer.query.units import DURATIONS, SIZES
from dissectors.slotted import make_slotted, replace


@make_slotted
class Step:
    """What is done to a row's values before they are compared: a function, or parts of each."""

    function: str | None
    cuts: tuple[Cut, ...] = ()


@make_slotted
class Test:
    """One comparison. wanted: any of them will do; pairs are ranges. operator None: whether there is a value at all."""

    field: FieldPath
    steps: tuple[Step, ...]
    operator: str | None
    wanted: tuple[Against | tuple[Against, Against], ...]
    every: bool
    negated: bool = False


@make_slotted
class Both:
    """Several by `and`, `or`, `xor`; one by `not`."""

    word: str
    parts: tuple[Checked, ...]


Checked: TypeAlias = Test | Both

_NULLS = ("null", "none", "nil")
"""What people write who want to ask whether there is a value."""

_LISTED = 8
"""Values that an error lists."""

_ANY_CASE = (Key("error"),)
"""Fields whose names are compared without regard to case."""

_NAMELESS = re.compile("UNKNOWN_-?[0-9]+")
"""What an error is called that no release names."""

_NUMERIC = frozenset({Kind.NUMBER, Kind.DURATION, Kind.TIME})


def check(node: Node, text: str) -> Checked:
    """The tree with its names and literals read. Raises FilterError."""
    if isinstance(node, Not):
        return Both("not", (check(node.part, text),))
    if isinstance(node, Joined):
        return Both(node.word, tuple(check(part, text) for part in node.parts))
    if isinstance(node, Named):
        try:
            return check(node.part, node.text)
        except FilterError as error:
            raise FilterError(text, node.span, f"in the filter {node.name}: {error.why}") from None
    return _Checker(node, text).test()


class _Checker:
    """Checks one comparison of a filter."""

    def __init__(self, comparison: Comparison, text: str) -> None:
        self._comparison, self._text = comparison, text

    def test(self) -> Test:
        comparison = self._comparison
        field, steps = self._value(comparison.value)
        name = comparison.operator
        if name is None:
            return Test(field, steps, None, (), False)
        negated = name == "not_in"
        if name in ("in", "not_in"):
            wanted = tuple(self._member(field, each) for each in comparison.operands)
            return Test(field, steps, "in", wanted, comparison.every or (negated and comparison.every is None), negated)
        if name == "contains" and field.repeated and field.kind is Kind.NUMBER and field.label is None:
            name = "eq"  # several numbers have one among them, where a text has another inside
        operator = OPERATORS[name]
        (operand,) = comparison.operands
        assert isinstance(operand, Literal)
        every = operator.every if comparison.every is None else comparison.every
        return Test(field, steps, name, (self._against(field, operand, operator.takes),), every)

    def _value(self, value: Value) -> tuple[FieldPath, tuple[Step, ...]]:
        if isinstance(value, Name):
            try:
                return find(value.name), ()
            except UnknownField as error:
                raise FilterError(self._text, value.span, str(error)) from None
        field, steps = self._value(value.value)
        if isinstance(value, Slice):
            if field.kind in _NUMERIC or field.kind is Kind.FLAG:
                self._fail(value.span, f"{field.name} is a {field.kind.value}: only text and bytes have parts")
            kind = Kind.TEXT if field.kind is Kind.ADDRESS else field.kind
            return replace(field, kind=kind), (*steps, Step(None, value.cuts))
        return self._called(field, value), (*steps, Step(value.function))

    def _called(self, field: FieldPath, call: Call) -> FieldPath:
        """What a function makes of a field."""
        if field.kind is Kind.PRESENCE:
            self._fail(call.span, f"{field.name} has no values: {call.function} wants a field")
        if call.function == "len" and (field.kind in _NUMERIC or field.kind is Kind.FLAG):
            self._fail(call.span, f"len wants text or bytes, {field.name} is {_a(field.kind)}")
        if call.function in ("len", "count"):
            return replace(field, kind=Kind.NUMBER, label=None, scale=None)
        if call.function in ("min", "max", "abs"):
            if field.kind not in (*_NUMERIC, Kind.ANY):
                self._fail(call.span, f"{call.function} wants numbers, {field.name} is {_a(field.kind)}")
            return field
        if field.kind is Kind.TIME and field.scale is None:
            self._fail(call.span, f'{field.name} is a time: compare it with one, as {field.name} > "2026-11-21 10:00"')
        if call.function != "string" and field.kind not in (Kind.TEXT, Kind.ADDRESS, Kind.ANY):
            self._fail(call.span, f"{call.function} wants text, {field.name} is {_a(field.kind)}")
        return replace(field, kind=Kind.TEXT, label=None, scale=None)

    def _member(self, field: FieldPath, member: Literal | Range) -> Against | tuple[Against, Against]:
        if isinstance(member, Literal):
            return self._against(field, member, "any")
        return self._against(field, member.low, "any"), self._against(field, member.high, "any")

    def _against(self, field: FieldPath, literal: Literal, takes: str) -> Against:
        if field.kind is Kind.PRESENCE:
            self._fail(literal.span, f"{field.name} has no value to compare: it stands alone")
        if takes in ("searched", "pattern"):
            return self._searched(field, literal, takes)
        found = Against(literal.text, self._data(field, literal), label=field.label)
        kind = field.kind
        if takes == "number" or (kind in _NUMERIC and field.label is None):
            return self._numeric(field, literal, found)
        if kind is Kind.FLAG:
            flag = units.flag(literal.text)
            if flag is None:
                self._fail(literal.span, f"{field.name} is true or false")
            return replace(found, flag=flag)
        if kind is Kind.ADDRESS:
            network = units.network(literal.text)
            if network is None:
                self._fail(literal.span, f"{field.name} is an address: expected one, as 10.0.0.1, ::1 or 10.0.0.0/8")
            return replace(found, network=network)
        if kind is Kind.TEXT:
            if isinstance(self._comparison.value, Name):
                self._known(field, literal)
            return replace(found, labels=_labels(field, literal))
        if kind is Kind.STRUCT:
            self._fail(literal.span, f"{field.name} has fields of its own: compare one of them, or ask count() of it")
        if kind is Kind.BYTES:
            return found
        number = self._number(field, literal)
        if number is None and kind in _NUMERIC:
            self._named(field, literal)
        elif number is None and isinstance(self._comparison.value, Name):
            self._known(field, literal)
        return replace(found, number=number, flag=units.flag(literal.text))

    def _searched(self, field: FieldPath, literal: Literal, takes: str) -> Against:
        if (field.kind in _NUMERIC and field.label is None) or field.kind is Kind.FLAG:
            self._fail(literal.span, f"{field.name} is {_a(field.kind)}: only text and bytes can be searched")
        found = Against(literal.text, self._data(field, literal) or literal.data, label=field.label)
        return replace(found, pattern=self._pattern(literal)) if takes == "pattern" else found

    def _numeric(self, field: FieldPath, literal: Literal, found: Against) -> Against:
        if field.kind is Kind.TIME:
            return replace(found, number=self._moment(field, literal))
        number = self._number(field, literal)
        if number is None:
            self._fail(literal.span, f"{field.name} is {_a(field.kind)}: {_expected(field, literal)}")
        if self._comparison.operator == "bitwise_and" and number.denominator != 1:
            self._fail(literal.span, "only whole numbers have bits")
        return replace(found, number=number)

    def _moment(self, field: FieldPath, literal: Literal) -> Fraction:
        """A time in the units of the field; a plain number counts as the field does, for the row's own in seconds."""
        if field.scale is not None and not literal.quoted and (plain := units.number(literal.text)) and not plain[1]:
            return plain[0]
        time = units.time(literal.text)
        if time is None:
            self._fail(literal.span, f'{field.name} is a time: expected one, as "2026-11-21 10:00" (UTC)')
        return Fraction(time, field.scale or 1)

    def _number(self, field: FieldPath, literal: Literal) -> Fraction | None:
        """The number in the units of the field."""
        found = None if literal.quoted else units.number(literal.text)
        if found is None:
            return None
        number, unit = found
        if field.kind is Kind.DURATION and unit in SIZES:
            self._fail(literal.span, f"{field.name} counts time: expected a unit of {', '.join(DURATIONS)}")
        if unit not in DURATIONS:
            return number
        scale = 1 if field.kind is Kind.DURATION else field.scale
        if scale is None:
            self._fail(literal.span, f"{field.name} does not count time: leave {unit} away")
        return number / scale

    def _data(self, field: FieldPath, literal: Literal) -> bytes | None:
        """The literal as bytes: hexadecimal where the field may be bytes, else its text."""
        if literal.quoted:
            return literal.data
        found = units.data(literal.text) if field.kind in (Kind.BYTES, Kind.ANY) else None
        return literal.data if found is None else found

    def _pattern(self, literal: Literal) -> Pattern:
        import re2  # a library in C++, which only a filter with a pattern needs

        options = re2.Options()
        options.case_sensitive, options.log_errors = False, False
        plain = re2.Options()
        plain.case_sensitive, plain.log_errors, plain.encoding = False, False, re2.Options.Encoding.LATIN1
        try:
            text = re2.compile(literal.raw, options)
            return Pattern(text, re2.compile(literal.raw.encode("utf-8", "surrogatepass"), plain))
        except (re2.error, UnicodeError) as error:
            why = error.args[0] if error.args else "it can't be read"
            said = why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)
            self._fail(literal.span, f"this is no regular expression as RE2 has them: {said}")

    def _known(self, field: FieldPath, literal: Literal) -> None:
        """Refuses a value that the field can never have."""
        name = self._comparison.operator
        asks_equal = name in ("in", "not_in") or (name is not None and OPERATORS[name].compares in ("eq", "ne"))
        among = possible_values(field) if asks_equal and isinstance(field.origin, Key) else ()
        text, known = literal.text, set(among)
        if field.origin in _ANY_CASE:
            text, known = text.lower(), {each.lower() for each in among}
        if not among or text in known or _NAMELESS.fullmatch(literal.text):
            return
        meant = near(literal.text, among)
        hint = f"; did you mean {' or '.join(meant)}?" if meant else ""
        if len(among) <= _LISTED:
            self._fail(literal.span, f"{field.name} is one of {', '.join(among)}{hint}")
        self._fail(literal.span, f"{field.name} is never {literal.text}{hint}")

    def _named(self, field: FieldPath, literal: Literal) -> None:
        """Refuses a word that is no name of a number."""
        names = names_of(field.label)
        if names is not None and literal.text.lower() not in {name.lower() for name in names}:
            meant = near(literal.text, names)
            hint = f"; did you mean {' or '.join(meant)}?" if meant else ""
            self._fail(literal.span, f"{field.name} is a number, and none is called {literal.text}{hint}")

    def _fail(self, span: Span, why: str) -> NoReturn:
        raise FilterError(self._text, span, why)


def _labels(field: FieldPath, literal: Literal) -> tuple[str, ...]:
    """What a number is called where values are texts."""
    number = units.number(literal.text) if field.label is not None and not literal.quoted else None
    if field.label is None or number is None or number[0].denominator != 1:
        return ()
    said = field.label(int(number[0]))
    return () if said is None else (said,)


def _a(kind: Kind) -> str:
    return kind.value if kind in (Kind.TEXT, Kind.BYTES, Kind.FLAG) else f"a {kind.value}"


def _expected(field: FieldPath, literal: Literal) -> str:
    """What a number should have been written as."""
    unit = units.unknown_unit(literal.text)
    if unit is not None:
        known = DURATIONS if field.kind is Kind.DURATION or field.scale is not None else SIZES
        return f"{unit} is no unit, expected one of {', '.join(known)}"
    if literal.text.lower() in _NULLS:
        return f"{field.name} alone asks whether there is one"
    example = ", as 50ms or 1.5s" if field.kind is Kind.DURATION else ", as 1MiB" if field.name == "length" else ""
    return f"expected a number{example}{', without quotes' if literal.quoted and units.number(literal.text) else ''}"
