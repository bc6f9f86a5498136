"""Symbolic values with a size in front, and the record of their uses (dissectors.symbolic)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

BEGIN, END = "\ue000", "\ue001"
"""Around the number of a mark. Texts that are not ASCII are never symbolic, so no message has these characters."""

_WIDE = 8
"""Bytes of an integer that is not added to others in columns, for the sum could wrap around."""

UVARINT, ZIGZAG, FLOWING = "u", "z", "v"
"""Codes of a Term that is a varint; all others are struct's, of the same letter.

FLOWING: an unsigned one that may take another number of bytes in other messages, up to WIDEST.
"""

WIDEST = 9
"""Bytes of a varint that always fits in 63 bits."""

RUN, DECIMAL = "r", "a"
"""Codes of a Term that takes what bytes its own content says: how many those are, and a number (symbolic_text.py)."""


class Term(NamedTuple):
    """An integer in the message: its place, its width in bytes and its encoding. `negated`: its sign is reversed."""

    at: int
    size: int
    code: str
    negated: bool = False


class DerivedInteger(NamedTuple):
    """An integer that `function` computes from a NestedValue."""

    nested: NestedValue
    function: Callable[[Any], int]


class Condition(NamedTuple):
    """A comparison of the sum of `terms` and `constant` with `other`, which must have this `outcome`."""

    terms: tuple[Term | DerivedInteger, ...]
    constant: int
    name: str
    other: int
    outcome: bool


class Extent(NamedTuple):
    """The bytes from `begin` to `end`, whose number is that at `term` less `bias`.

    less: numbers that are taken off too, where what they count is counted by `term`: a rest has no size of its own.
    """

    term: Term
    bias: int
    begin: int
    end: int
    less: tuple[Term, ...] = ()

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms that add up to the size and the bias."""
        return (self.term, *(term._replace(negated=True) for term in self.less))


class Checksum(NamedTuple):
    """A condition: the CRC-32C (big-endian) at `at` is that of the bytes from `begin` to `end`."""

    at: int
    begin: int
    end: int


COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}
OPPOSITES = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "le": "gt", "gt": "le"}
"""What holds of two integers exactly where the other does not."""


class Recorder:
    """Records what uses of symbolic values ask of another message: it must have something in common with `data`.

    fixed: 1 for each byte that must be the same, 0 for one that may differ. marks: what was printed, by number.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.fixed = bytearray(b"\1" * len(data))
        self.conditions: list[Condition] = []
        self.marks: list[Marked] = []
        self._noted: set[tuple[object, ...]] = set()

    def leave_open(self, at: int, stop: int) -> None:
        """Lets these bytes differ in other messages."""
        self.fixed[at:stop] = bytes(stop - at)

    def pin(self, at: int, stop: int) -> None:
        """Requires these bytes to be the same in other messages."""
        self.fixed[at:stop] = b"\1" * (stop - at)

    def note(self, condition: Condition) -> None:
        """Others must meet it; what is asked again is noted once."""
        if all(isinstance(term, Term) for term in condition.terms):
            if condition in self._noted:
                return
            self._noted.add(condition)
        self.conditions.append(condition)

    def mark(self, value: Marked) -> str:
        """Returns the mark that stands for a symbolic value in a text."""
        self.marks.append(value)
        return f"{BEGIN}{len(self.marks) - 1}{END}"


class SymbolicValue:
    """Base of symbolic values: an operation that cannot be recorded specialises the value. It is none of what it claims
    to be.
    """

    __slots__ = ("builder",)
    claims: ClassVar[type] = object
    builder: Recorder

    @property
    def __class__(self) -> type:
        return self.claims

    @__class__.setter
    def __class__(self, kind: type) -> None:
        raise TypeError

    def specialise(self) -> Any:
        """Returns the plain value; other messages must now have the same bytes there."""
        raise NotImplementedError

    def __str__(self) -> str:
        return str(self.specialise())

    def __repr__(self) -> str:
        return repr(self.specialise())

    def __reduce_ex__(self, protocol: object) -> str:
        # A copy would record its uses in a copy of the builder, which nobody reads.
        raise TypeError("a symbolic value cannot be copied")

    def __format__(self, form: str) -> str:
        return format(self.specialise(), form) if form else str(self)

    def __hash__(self) -> int:
        return hash(self.specialise())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.specialise(), name)


class Integer(SymbolicValue):
    """A symbolic integer: the sum of `terms` and a constant. `value` is that of the decoded message."""

    __slots__ = ("constant", "terms", "value")
    claims = int

    def __init__(self, builder: Recorder, terms: tuple[Term | DerivedInteger, ...], constant: int, value: int) -> None:
        self.builder, self.terms, self.constant, self.value = builder, terms, constant, value

    def specialise(self) -> int:
        """Returns the plain number; other messages must now have the same bytes for its terms."""
        for term in self.terms:
            if isinstance(term, DerivedInteger):
                term.nested.specialise()
            else:
                self.builder.pin(term.at, term.at + term.size)
        return self.value

    def __str__(self) -> str:
        return self.builder.mark(self)

    __repr__ = __str__

    def _compare(self, name: str, other: object) -> bool:
        if other is None or isinstance(other, (str, bytes)):
            return NotImplemented  # type: ignore[no-any-return]
        if not isinstance(other, int):
            return bool(COMPARISONS[name](self.specialise(), other))
        against = other if type(other) is int else int(other)
        outcome: bool = COMPARISONS[name](self.value, against)
        self.builder.note(Condition(self.terms, self.constant, name, against, outcome))
        return outcome

    def __eq__(self, other: object) -> bool:
        return self._compare("eq", other)

    def __ne__(self, other: object) -> bool:
        return self._compare("ne", other)

    def __lt__(self, other: object) -> bool:
        return self._compare("lt", other)

    def __le__(self, other: object) -> bool:
        return self._compare("le", other)

    def __gt__(self, other: object) -> bool:
        return self._compare("gt", other)

    def __ge__(self, other: object) -> bool:
        return self._compare("ge", other)

    def __bool__(self) -> bool:
        return self._compare("ne", 0)

    def __add__(self, other: object) -> Integer | int:
        if type(other) is Integer and self._is_narrow() and other._is_narrow():
            terms = self.terms + other.terms
            return Integer(self.builder, terms, self.constant + other.constant, self.value + other.value)
        if not isinstance(other, int):
            return NotImplemented
        number = int(other)
        if not self._is_narrow() or abs(number) >> 32:
            return self.specialise() + number
        return Integer(self.builder, self.terms, self.constant + number, self.value + number)

    def _is_narrow(self) -> bool:
        """Whether a sum with other such numbers stays far from the ends of 64 bits."""
        return all(
            isinstance(term, DerivedInteger)
            or term.code in (RUN, DECIMAL)
            or (term.size < _WIDE and term.code != FLOWING)
            for term in self.terms
        )

    __radd__ = __add__
    __hash__ = SymbolicValue.__hash__

    def __and__(self, other: int) -> int:
        return self.specialise() & other

    def __int__(self) -> int:
        return self.specialise()

    __index__ = __int__


class NonEmpty(SymbolicValue):
    """A symbolic value that is never empty, so it is true and unequal to empty values."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        if other is None or isinstance(other, int) or (isinstance(other, (str, bytes)) and not other):
            return False
        return bool(self.specialise() == other)

    __hash__ = SymbolicValue.__hash__

    def __contains__(self, item: object) -> bool:
        return item in self.specialise()

    def __getitem__(self, place: slice | int) -> Any:
        return self.specialise()[place]


class _Stretch(NonEmpty):
    """Bytes that are not empty, after their length; `size` is the length as a symbolic integer."""

    __slots__ = ("extent", "settled", "size")

    def __init__(self, builder: Recorder, extent: Extent, size: Integer) -> None:
        self.builder, self.extent, self.size = builder, extent, size
        self.settled = False

    def settle(self) -> None:
        """Others have the same length."""
        self.settled = True
        self.size.specialise()

    def _specialise(self) -> bytes:
        self.settle()
        self.builder.pin(self.extent.begin, self.extent.end)
        return self.builder.data[self.extent.begin : self.extent.end]

    def __len__(self) -> int:
        self.settle()
        return self.extent.end - self.extent.begin


class Text(_Stretch):
    """A symbolic text of plain ASCII."""

    __slots__ = ()
    claims = str

    def __str__(self) -> str:
        return self.builder.mark(self)

    def specialise(self) -> str:
        """Returns the plain text; other messages must now have the same bytes there."""
        return self._specialise().decode("ascii")


class Bytes(_Stretch):
    """Bytes that nobody looks into."""

    __slots__ = ()
    claims = bytes

    def specialise(self) -> bytes:
        """Returns the plain bytes; other messages must now have the same there."""
        return self._specialise()


ReadMany: TypeAlias = Callable[[Sequence[bytes], Sequence[tuple[int, ...]]], list[Any]]
"""Decodes the bytes of many messages, each with the numbers that it needs; None for one that fits no template."""


class NestedValue(_Stretch):
    """Bytes that hold a value of their own, a list or other bytes; each message's is read by itself."""

    __slots__ = ("needed_numbers", "read", "value")

    def __init__(
        self,
        builder: Recorder,
        extent: Extent,
        size: Integer,
        read: ReadMany,
        value: Any,
        numbers: tuple[Integer, ...],
    ) -> None:
        super().__init__(builder, extent, size)
        self.needed_numbers, self.read, self.value = numbers, read, value

    @property
    def __class__(self) -> type:
        return bytes if type(self.value) is bytes else list

    @__class__.setter
    def __class__(self, kind: type) -> None:
        raise TypeError

    def specialise(self) -> Any:
        """Returns the plain value; other messages must now have its bytes and the numbers that it needs."""
        self._specialise()
        for number in self.needed_numbers:
            number.specialise()
        return self.value

    def __len__(self) -> int:
        return len(self.specialise())

    def __bool__(self) -> bool:
        return bool(self.specialise())

    def __eq__(self, other: object) -> bool:
        return bool(self.specialise() == other)

    __hash__ = SymbolicValue.__hash__

    def __iter__(self) -> Iterator[Any]:
        return iter(self.specialise())


def plain(value: Any) -> Any:
    """Returns the plain value of anything; a symbolic value is specialised."""
    return value.specialise() if issubclass(type(value), SymbolicValue) else value


def derive(function: Callable[[Any], int], value: Any) -> Any:
    """Returns function(value); for a NestedValue a symbolic value, which may differ between messages."""
    if type(value) is not NestedValue:
        return function(value)
    return Integer(value.builder, (DerivedInteger(value, function),), 0, function(value.value))


def length(value: Any) -> Any:
    """Returns len(value); for a symbolic value a symbolic integer, so that lengths may differ."""
    return value.size if type(value) in (Text, Bytes) else derive(len, value)


def is_below(one: Any, other: Any) -> bool:
    """Returns one < other; for two symbolic values it records a condition and specialises neither."""
    if type(one) is not Integer or type(other) is not Integer:
        return bool(one < other)
    terms = [term._replace(negated=not term.negated) for term in other.terms if isinstance(term, Term)]
    if len(terms) < len(other.terms) or not (one._is_narrow() and other._is_narrow()):
        return bool(one.specialise() < other.specialise())
    outcome: bool = one.value < other.value
    one.builder.note(Condition((*one.terms, *terms), one.constant - other.constant, "lt", 0, outcome))
    return outcome


class MadeText(NamedTuple):
    """A text that `function` makes of a symbolic number."""

    number: Integer
    function: Callable[[int], str]


def make_text(function: Callable[[int], str], number: Any) -> str:
    """Returns function(number) as text; for a symbolic number a mark, so that numbers may differ."""
    return number.builder.mark(MadeText(number, function)) if type(number) is Integer else function(number)


Stretch: TypeAlias = Text | Bytes | NestedValue


class WrittenValue(NamedTuple):
    """A NestedValue in an output format; `write` formats those of many messages."""

    nested: NestedValue
    write: Callable[[Sequence[Any]], list[bytes]]


class Hex(NamedTuple):
    """The first `limit` bytes (None: all) of a symbolic value as hexadecimal digits."""

    stretch: Bytes
    limit: int | None


Marked: TypeAlias = Integer | Text | Hex | WrittenValue | MadeText
"""What a mark can stand for."""
