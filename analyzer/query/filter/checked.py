"""A filter's tree after checking: every name is resolved, every literal read, and every comparison allowed.

Theory. A comparison that can never be true is a typing mistake, so it is an error with its position: a word for a field
that has only numbers, a unit of time for a field that is no time, an unknown role. If the kind of the values is not
known (JSON, maps), every comparison is allowed.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NoReturn, TypeAlias

from analyzer.query.fields.catalog import UnknownField, find_field, find_near, suggest_names
from analyzer.query.fields.path import FieldKind, FieldPath, RowKey, find_names
from analyzer.query.fields.possible import list_possible_values
from analyzer.query.filter.literals import (
    find_unknown_unit,
    parse_data,
    parse_flag,
    parse_network,
    parse_number,
    parse_time,
)
from analyzer.query.filter.nodes import (
    Call,
    Comparison,
    FilterError,
    Junction,
    Literal,
    Name,
    NamedFilter,
    Node,
    Not,
    Range,
    Slice,
    SliceRange,
    Span,
    Value,
)
from analyzer.query.filter.operators import OPERATORS, Operand, Pattern
from analyzer.query.units import DURATIONS, SIZES
from dissectors.slotted import make_slotted, replace


@make_slotted
class ValueStep:
    """A step on a row's values before the comparison: a function, or a slice of each value."""

    function: str | None
    cuts: tuple[SliceRange, ...] = ()


@make_slotted
class FieldTest:
    """One comparison. wanted: one of these must match; pairs are ranges. operator None: tests for presence."""

    field: FieldPath
    steps: tuple[ValueStep, ...]
    operator: str | None
    wanted: tuple[Operand | tuple[Operand, Operand], ...]
    every: bool
    negated: bool = False


@make_slotted
class Combination:
    """Checked parts joined by `and`, `or` or `xor`, or one part negated by `not`."""

    word: str
    parts: tuple[Checked, ...]


Checked: TypeAlias = FieldTest | Combination

_NULLS = ("null", "none", "nil")
"""Words that people write to test whether there is a value."""

_LISTED = 8
"""Number of values that an error lists."""

_ANY_CASE = (RowKey("error"),)
"""Fields whose names are compared without regard to case."""

_NAMELESS = re.compile("UNKNOWN_-?[0-9]+")
"""The name of an error code that no release names."""

_NUMERIC = frozenset({FieldKind.NUMBER, FieldKind.DURATION, FieldKind.TIME})


def check_filter(node: Node, text: str) -> Checked:
    """Resolves the names and literals of a parsed filter. Raises FilterError with the place of the first mistake."""
    if isinstance(node, Not):
        return Combination("not", (check_filter(node.part, text),))
    if isinstance(node, Junction):
        return Combination(node.word, tuple(check_filter(part, text) for part in node.parts))
    if isinstance(node, NamedFilter):
        try:
            return check_filter(node.part, node.text)
        except FilterError as error:
            raise FilterError(text, node.span, f"in the filter {node.name}: {error.why}") from None
    return _Checker(node, text).check_test()


class _Checker:
    """Checks one comparison of a filter."""

    def __init__(self, comparison: Comparison, text: str) -> None:
        self._comparison, self._text = comparison, text

    def check_test(self) -> FieldTest:
        comparison = self._comparison
        field, steps = self._check_value(comparison.value)
        name = comparison.operator
        if name is None:
            return FieldTest(field, steps, None, (), False)
        negated = name == "not_in"
        if name in ("in", "not_in"):
            wanted = tuple(self._check_member(field, each) for each in comparison.operands)
            return FieldTest(
                field, steps, "in", wanted, comparison.every or (negated and comparison.every is None), negated
            )
        if name == "contains" and field.repeated and field.kind is FieldKind.NUMBER and field.label is None:
            name = "eq"  # a list of numbers contains one of them, while a text contains a part of it
        operator = OPERATORS[name]
        (operand,) = comparison.operands
        assert isinstance(operand, Literal)
        every = operator.every if comparison.every is None else comparison.every
        return FieldTest(field, steps, name, (self._check_operand(field, operand, operator.takes),), every)

    def _check_value(self, value: Value) -> tuple[FieldPath, tuple[ValueStep, ...]]:
        if isinstance(value, Name):
            try:
                return find_field(value.name), ()
            except UnknownField as error:
                raise FilterError(self._text, value.span, str(error)) from None
        field, steps = self._check_value(value.value)
        if isinstance(value, Slice):
            if field.kind in _NUMERIC or field.kind is FieldKind.FLAG:
                self._fail(value.span, f"{field.name} is a {field.kind.value}, but only text and bytes have slices")
            kind = FieldKind.TEXT if field.kind is FieldKind.ADDRESS else field.kind
            return replace(field, kind=kind), (*steps, ValueStep(None, value.cuts))
        return self._check_call(field, value), (*steps, ValueStep(value.function))

    def _check_call(self, field: FieldPath, call: Call) -> FieldPath:
        """Returns the field that a function makes of a field."""
        if field.kind is FieldKind.PRESENCE:
            self._fail(call.span, f"{field.name} has no value. Give {call.function} a field")
        if call.function == "len" and (field.kind in _NUMERIC or field.kind is FieldKind.FLAG):
            self._fail(call.span, f"len takes text or bytes, but {field.name} is {_add_article(field.kind)}")
        if call.function in ("len", "count"):
            return replace(field, kind=FieldKind.NUMBER, label=None, scale=None)
        if call.function in ("min", "max", "abs"):
            if field.kind not in (*_NUMERIC, FieldKind.ANY):
                self._fail(call.span, f"{call.function} takes numbers, but {field.name} is {_add_article(field.kind)}")
            return field
        if field.kind is FieldKind.TIME and field.scale is None:
            self._fail(
                call.span, f'{field.name} is a time. Compare it with one, as in {field.name} > "2026-11-21 10:00"'
            )
        if call.function != "string" and field.kind not in (FieldKind.TEXT, FieldKind.ADDRESS, FieldKind.ANY):
            self._fail(call.span, f"{call.function} takes text, but {field.name} is {_add_article(field.kind)}")
        return replace(field, kind=FieldKind.TEXT, label=None, scale=None)

    def _check_member(self, field: FieldPath, member: Literal | Range) -> Operand | tuple[Operand, Operand]:
        if isinstance(member, Literal):
            return self._check_operand(field, member, "any")
        return self._check_operand(field, member.low, "any"), self._check_operand(field, member.high, "any")

    def _check_operand(self, field: FieldPath, literal: Literal, takes: str) -> Operand:
        if field.kind is FieldKind.PRESENCE:
            self._fail(literal.span, f"{field.name} has no value to compare. Write it alone")
        if takes in ("searched", "pattern"):
            return self._check_searched(field, literal, takes)
        found = Operand(literal.text, self._read_data(field, literal), label=field.label)
        kind = field.kind
        if takes == "number" or (kind in _NUMERIC and field.label is None):
            return self._check_numeric(field, literal, found)
        if kind is FieldKind.FLAG:
            flag = parse_flag(literal.text)
            if flag is None:
                self._fail(literal.span, f"{field.name} is true or false. Compare it with one of them")
            return replace(found, flag=flag)
        if kind is FieldKind.ADDRESS:
            network = parse_network(literal.text)
            if network is None:
                self._fail(literal.span, f"{field.name} is an address. Write one, such as 10.0.0.1, ::1 or 10.0.0.0/8")
            return replace(found, network=network)
        if kind is FieldKind.TEXT:
            if isinstance(self._comparison.value, Name):
                self._require_possible(field, literal)
            return replace(found, labels=_labels(field, literal))
        if kind is FieldKind.STRUCT:
            self._fail(literal.span, f"{field.name} is a structure. Compare one of its fields, or its count()")
        if kind is FieldKind.BYTES:
            return found
        number = self._read_number(field, literal)
        if number is None and kind in _NUMERIC:
            self._require_name(field, literal)
        elif number is None and isinstance(self._comparison.value, Name):
            self._require_possible(field, literal)
        return replace(found, number=number, flag=parse_flag(literal.text))

    def _check_searched(self, field: FieldPath, literal: Literal, takes: str) -> Operand:
        if (field.kind in _NUMERIC and field.label is None) or field.kind is FieldKind.FLAG:
            self._fail(
                literal.span, f"{field.name} is {_add_article(field.kind)}, but only text and bytes can be searched"
            )
        found = Operand(literal.text, self._read_data(field, literal) or literal.data, label=field.label)
        return replace(found, pattern=self._read_pattern(literal)) if takes == "pattern" else found

    def _check_numeric(self, field: FieldPath, literal: Literal, found: Operand) -> Operand:
        if field.kind is FieldKind.TIME:
            return replace(found, number=self._read_moment(field, literal))
        number = self._read_number(field, literal)
        if number is None:
            self._fail(
                literal.span, f"{field.name} is {_add_article(field.kind)}. {_describe_expected(field, literal)}"
            )
        if self._comparison.operator == "bitwise_and" and number.denominator != 1:
            self._fail(literal.span, "only whole numbers have bits")
        return replace(found, number=number)

    def _read_moment(self, field: FieldPath, literal: Literal) -> Fraction:
        """Returns a time in the units of the field. A plain number has its unit; for a row's own time, seconds."""
        if field.scale is not None and not literal.quoted and (plain := parse_number(literal.text)) and not plain[1]:
            return plain[0]
        time = parse_time(literal.text)
        if time is None:
            self._fail(literal.span, f'{field.name} is a time. Write one, such as "2026-11-21 10:00" (UTC)')
        return Fraction(time, field.scale or 1)

    def _read_number(self, field: FieldPath, literal: Literal) -> Fraction | None:
        """Returns the number in the units of the field."""
        found = None if literal.quoted else parse_number(literal.text)
        if found is None:
            return None
        number, unit = found
        if field.kind is FieldKind.DURATION and unit in SIZES:
            self._fail(literal.span, f"{field.name} is a duration. Its unit is one of {', '.join(DURATIONS)}")
        if unit not in DURATIONS:
            return number
        scale = 1 if field.kind is FieldKind.DURATION else field.scale
        if scale is None:
            self._fail(literal.span, f"{field.name} is not a duration. Leave out {unit}")
        return number / scale

    def _read_data(self, field: FieldPath, literal: Literal) -> bytes | None:
        """Returns the literal as bytes: hexadecimal if the field may be bytes, else its text."""
        if literal.quoted:
            return literal.data
        found = parse_data(literal.text) if field.kind in (FieldKind.BYTES, FieldKind.ANY) else None
        return literal.data if found is None else found

    def _read_pattern(self, literal: Literal) -> Pattern:
        import re2  # only filters with a pattern load this library

        options = re2.Options()
        options.case_sensitive, options.log_errors = False, False
        plain = re2.Options()
        plain.case_sensitive, plain.log_errors, plain.encoding = False, False, re2.Options.Encoding.LATIN1
        try:
            text = re2.compile(literal.raw, options)
            return Pattern(text, re2.compile(literal.raw.encode("utf-8", "surrogatepass"), plain))
        except (re2.error, UnicodeError) as error:
            why = error.args[0] if error.args else "it can't be read"
            message = why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)
            self._fail(literal.span, f"this is not a regular expression in RE2's syntax: {message}")

    def _require_possible(self, field: FieldPath, literal: Literal) -> None:
        """Rejects a value that the field can never have."""
        name = self._comparison.operator
        tests_equality = name in ("in", "not_in") or (name is not None and OPERATORS[name].compares in ("eq", "ne"))
        among = list_possible_values(field) if tests_equality and isinstance(field.origin, RowKey) else ()
        text, known = literal.text, set(among)
        if field.origin in _ANY_CASE:
            text, known = text.lower(), {each.lower() for each in among}
        if not among or text in known or _NAMELESS.fullmatch(literal.text):
            return
        hint = suggest_names(find_near(literal.text, among))
        if len(among) <= _LISTED:
            self._fail(literal.span, f"{field.name} is one of {', '.join(among)}{hint}")
        self._fail(literal.span, f"{field.name} is never {literal.text}{hint}")

    def _require_name(self, field: FieldPath, literal: Literal) -> None:
        """Rejects a word that is not the name of any number."""
        names = find_names(field.label)
        if names is not None and literal.text.lower() not in {name.lower() for name in names}:
            hint = suggest_names(find_near(literal.text, names))
            self._fail(literal.span, f"{field.name} is a number, and none is called {literal.text}{hint}")

    def _fail(self, span: Span, why: str) -> NoReturn:
        raise FilterError(self._text, span, why)


def _labels(field: FieldPath, literal: Literal) -> tuple[str, ...]:
    """Returns the name of a number, for a field whose values are texts."""
    number = parse_number(literal.text) if field.label is not None and not literal.quoted else None
    if field.label is None or number is None or number[0].denominator != 1:
        return ()
    message = field.label(int(number[0]))
    return () if message is None else (message,)


def _add_article(kind: FieldKind) -> str:
    return kind.value if kind in (FieldKind.TEXT, FieldKind.BYTES, FieldKind.FLAG) else f"a {kind.value}"


def _describe_expected(field: FieldPath, literal: Literal) -> str:
    """Returns how the number should have been written."""
    unit = find_unknown_unit(literal.text)
    if unit is not None:
        known = DURATIONS if field.kind is FieldKind.DURATION or field.scale is not None else SIZES
        return f"{unit} is not a unit. Give one of {', '.join(known)}"
    if literal.text.lower() in _NULLS:
        return f"To test whether it has a value, write {field.name} alone"
    example = (
        ", such as 50ms or 1.5s"
        if field.kind is FieldKind.DURATION
        else ", such as 1MiB"
        if field.name == "length"
        else ""
    )
    return f"Write a number{example}{', without quotes' if literal.quoted and parse_number(literal.text) else ''}"
