"""Weighs bytes under a layout by how surprising they are, in bits, to guess unknown messages.

Theory. The shortest description (Rissanen's MDL): the right layout explains its bytes cheaply. A zero in a number's
place tells little; a name of letters costs less than random bytes; a known error code costs less than an unknown one.
So each kind of value has a price, about the negative logarithm of its frequency in real messages. Of all layouts that
consume the bytes exactly, the cheapest is the likeliest; one more bit halves the likelihood. Prices need not be exact,
but must reflect what is rare.

This module reads the plan as tuples that compare by meaning, so layouts that are equal on the wire, and beginnings
that many share, are weighed once.
"""

from __future__ import annotations

from functools import reduce
from math import inf
from struct import Struct
from typing import Any, NamedTuple, TypeAlias

from dissectors.kafka.records.layout import ENTRY, MAGIC_AT
from dissectors.kafka.tables import table
from dissectors.slotted import make_slotted
from dissectors.wire.dialect import SizedBytes
from dissectors.wire.plan import Array, Leaf, Plan, Step, Tags
from dissectors.wire.plan import Struct as StructStep
from dissectors.wire.primitive import FixedWidth, Length
from dissectors.wire.varint import Unfit, uvarint

Piece: TypeAlias = tuple[str, Any]
"""What stands next on the wire: a kind, and what that kind needs. Equal pieces read alike, whatever their names."""

Pieces: TypeAlias = tuple[Piece, ...]

ABSURD = 40.0
"""Bits for a value that no sane peer writes: an error code that does not exist, a boolean of 7."""

BYTE, CHARACTER, OTHER_CHARACTER = 8.0, 5.5, 12.0
_TAG_KNOWN, TAG_UNKNOWN = 4.0, 24.0
_ERROR, _ENUM, _RANDOM_UUID, NOW = 9.0, 4.0, 122.0, 34.0
RECORDS, NO_RECORDS = 0.5, 12.0
DAY = 86_400_000
YEARS = (946_684_800_000, 4_102_444_800_000)
"""Times between which a time in milliseconds is likely one: 2000 to 2100."""

LOOKED_AT = 4096
"""Bytes of a text that are looked at."""

PRINTABLE = bytes(range(0x20, 0x7F))
TEXT, _CONTENT, ENTRIES = "string", "bytes", "records"
LIST, OPTIONAL, TAGS = "list", "optional", "tags"


def pieces(plan: Plan) -> Pieces:
    """Returns the pieces of a plan: the kinds of values in their order on the wire."""
    return _pieces(plan.steps)


def _pieces(steps: tuple[Step, ...]) -> Pieces:
    found: list[Piece] = []
    for step in steps:
        if isinstance(step, StructStep) and step.presence is None:
            found += _pieces(step.steps)
        else:
            found.append(_piece(step))
    return tuple(found)


def _piece(step: Step) -> Piece:
    if isinstance(step, Tags):
        return TAGS, tuple((tag, (_piece(member),)) for tag, member in sorted(step.steps.items()))
    if isinstance(step, Array):
        assert step.count is not None
        element = (_piece(step.element),)
        return LIST, (_form(step.count), step.nullable, element, max(measure(element).least, 1))
    if isinstance(step, StructStep):
        return (OPTIONAL, (None if step.presence is None else _form(step.presence), _pieces(step.steps)))
    assert isinstance(step, Leaf)  # of the other steps Kafka's layouts have none
    return _leaf(step)


def _form(length: Length) -> tuple[str, int]:
    """The format of a length, empty for a varint, and its bias."""
    return length.code or "", length.bias


def _leaf(step: Leaf) -> Piece:
    primitive = step.primitive
    if isinstance(primitive, SizedBytes):
        kind = primitive.type.rpartition("_")[2]
        return kind, (_form(primitive.length), primitive.nullable)
    assert isinstance(primitive, FixedWidth)
    if primitive.type in ("bool", "uuid", "float64"):
        return primitive.type, primitive.code
    return step.enum or ("port" if step.spec.name == "port" else "number"), primitive.code


class Room(NamedTuple):
    """How many bytes pieces take, at the least and at the most."""

    least: int
    most: float

    def __add__(self, other: Room) -> Room:  # type: ignore[override]
        return Room(self.least + other.least, self.most + other.most)


def measure(wanted: Pieces) -> Room:
    """Returns how many bytes these pieces take: what has not so many is refuted before it is read."""
    return reduce(Room.__add__, map(_measure, wanted), Room(0, 0))


def _measure(piece: Piece) -> Room:
    kind, detail = piece
    if isinstance(detail, str):
        return Room(LAYOUTS[detail].size, LAYOUTS[detail].size)
    if kind == OPTIONAL and detail[0] is None:
        return measure(detail[1])
    code = "" if kind == TAGS else detail[0][0]
    return Room(LAYOUTS[code].size if code else 1, inf)


def _numbers() -> list[float]:
    """The price of a number by its bits: what Elias' gamma code takes, a little more than twice as many."""
    return [1.0] + [2.0 * bits + 1 for bits in range(1, 65)]


NUMBERS = _numbers()
LAYOUTS = {code: Struct(">" + code) for code in "bhHiIqd?"} | {"16s": Struct("16s")}


def _price_of_number(value: int, size: int) -> float:
    if value >= 0:
        price = NUMBERS[value.bit_length()]
        return price if price < 8 * size + 2 else 8.0 * size + 2
    return 2.0 if value == -1 else 8.0 * size + 6


def price_of_fixed(kind: str, value: Any, size: int) -> float:
    """Returns the price of a value of fixed width: a number, an enum, a time, a UUID."""
    if kind == "number":
        return _price_of_number(value, size)
    if kind == "error":
        return 1.0 if value == 0 else _ERROR if str(value) in table("errors") else ABSURD
    if kind == "bool":
        return 1.0
    if kind == "milliseconds":
        sane = -1 <= value < DAY
        return _price_of_number(value, size) + (0 if sane else ABSURD / 2)
    if kind == "timestamp":
        return NOW if YEARS[0] < value < YEARS[1] else _price_of_number(value, size) + (0 if value < 1 else ABSURD / 2)
    if kind == "uuid":
        return _price_of_uuid(value)
    if kind == "port":
        return 12.0 if 0 < value < 65_536 else 6.0 if value in (0, -1) else ABSURD
    if kind == "float64":
        return 64.0
    names = table("enums").get(kind)
    if names is None or size > 2:  # wide ones are numbers that have a few names, or bits
        return _price_of_number(value, size)
    return _ENUM if str(value) in names else _price_of_number(value, size) + ABSURD / 2


def _price_of_uuid(value: bytes) -> float:
    if value[:15] == bytes(15):
        return 4.0 + NUMBERS[value[15].bit_length()]
    return _RANDOM_UUID if value[6] >> 4 == 4 and value[8] >> 6 == 2 else _RANDOM_UUID + 16


def price_of_text(shown: bytes, size: int) -> float:
    """Returns the price of a text of `size` bytes that begins so."""
    odd = len(shown.translate(None, PRINTABLE))
    price = CHARACTER * size
    if not odd:
        return price
    try:
        text = shown.decode(errors="strict" if len(shown) == size else "ignore")
    except UnicodeDecodeError:
        return price + ABSURD + OTHER_CHARACTER * odd
    return price + odd * (OTHER_CHARACTER if text.isprintable() else 2 * OTHER_CHARACTER)


def _price_of_records(head: bytes, size: int) -> float:
    """Records give themselves away by their magic."""
    if not size:
        return 1.0
    known = size > MAGIC_AT + 1 and head[MAGIC_AT] <= 2 and ENTRY.unpack_from(head)[1] > 0
    return size * (RECORDS if known else NO_RECORDS)


@make_slotted(frozen=False, eq=False)
class Scales:
    """Weighs bytes by pieces. `left`: values that may still be looked at, so that no bytes cost more than a while.

    limit: bits from which on no layout is believed any more.
    """

    data: bytes
    left: int
    limit: float = inf

    def weigh(self, wanted: Pieces, at: int) -> tuple[float, int]:
        """Returns the price of what these pieces read from `at` on, and the offset behind it.

        Raises Unfit, IndexError or struct.error where the bytes do not fit, or where there is nothing left.
        """
        total = 0.0
        for piece in wanted:
            price, at = self.one(piece, at)
            total += price
        return total, at

    def one(self, piece: Piece, at: int) -> tuple[float, int]:
        """Weighs the bytes from `at` on as a single piece."""
        self.left -= 1
        if self.left < 0:
            raise Unfit
        kind, detail = piece
        if type(detail) is str:
            layout = LAYOUTS[detail]
            value = layout.unpack_from(self.data, at)[0]
            if kind == "bool" and self.data[at] > 1:
                return ABSURD, at + 1
            return price_of_fixed(kind, value, layout.size), at + layout.size
        if kind == LIST:
            return self._list(detail, at)
        if kind == TAGS:
            return self._tags(detail, at)
        if kind == OPTIONAL:
            return self._optional(detail, at)
        return self._weigh_sized(kind, detail, at)

    def _length(self, form: tuple[str, int], at: int) -> tuple[int, int]:
        code, bias = form
        if not code:
            value, at = uvarint(self.data, at)
            return value - bias, at
        layout = LAYOUTS[code]
        return layout.unpack_from(self.data, at)[0] - bias, at + layout.size

    def _weigh_sized(self, kind: str, detail: tuple[tuple[str, int], bool], at: int) -> tuple[float, int]:
        form, nullable = detail
        size, at = self._length(form, at)
        if size < 0:
            if size < -1 or not nullable:
                raise Unfit
            return 2.0, at
        stop = at + size
        if stop > len(self.data):
            raise Unfit
        price = NUMBERS[size.bit_length()] if kind != ENTRIES else 0.0
        head = self.data[at : min(stop, at + LOOKED_AT)]
        if kind == TEXT:
            price += price_of_text(head, size)
        elif kind == ENTRIES:
            price += _price_of_records(head, size)
        else:
            price += BYTE * size
        return price, stop

    def _list(self, detail: tuple[tuple[str, int], bool, Pieces, int], at: int) -> tuple[float, int]:
        form, nullable, element, least = detail
        count, at = self._length(form, at)
        if count < 0:
            if count < -1 or not nullable:
                raise Unfit
            return 2.0, at
        if count * least > len(self.data) - at:
            raise Unfit
        price = NUMBERS[count.bit_length()]
        for _ in range(count):
            more, at = self.weigh(element, at)
            price += more
        return price, at

    def _optional(self, detail: tuple[tuple[str, int] | None, Pieces], at: int) -> tuple[float, int]:
        form, inside = detail
        if form is None:
            return self.weigh(inside, at)
        present, at = self._length(form, at)
        if present < 0:
            return 2.0, at
        price, at = self.weigh(inside, at)
        return price + NUMBERS[present.bit_length()], at

    def _tags(self, known: tuple[tuple[int, Pieces], ...], at: int) -> tuple[float, int]:
        count, at = uvarint(self.data, at)
        if count == 0:
            return 0.2, at
        if 2 * count > len(self.data) - at:
            raise Unfit
        price = 0.0
        members = dict(known)
        for _ in range(count):
            tag, at = uvarint(self.data, at)
            size, at = uvarint(self.data, at)
            if size > len(self.data) - at:
                raise Unfit
            if tag not in members:
                price, at = price + TAG_UNKNOWN + BYTE * size, at + size
                continue
            more, stop = self.weigh(members[tag], at)
            if stop != at + size:
                raise Unfit
            price, at = price + _TAG_KNOWN + more, stop
        return price, at
