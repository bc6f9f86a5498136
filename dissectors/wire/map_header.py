"""A header of a few members and a map of texts, written as fields in a row or as one JSON object.

Theory. A MapHeader describes it once, for both spellings. decode_header() reads its values through a Frame, plain or
symbolic. Most of the JSON on the wire is strict, and the C parser of the standard library reads it fifty times faster
than a reader that records places. Anything unusual (bare keys, broken text, numbers that do not fit) raises one of
emit.FAILURES. Then map_header_fields.py reads the same bytes to nodes and reports the problem.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from itertools import repeat
from struct import Struct
from typing import Any, NamedTuple

from dissectors.field import FieldSpec
from dissectors.slotted import field, make_slotted
from dissectors.wire.frame import Frame
from dissectors.wire.json_strict import decode_json, has_duplicate_key
from dissectors.wire.primitive import INT16, INT32, FixedWidth
from dissectors.wire.specs import Wrapping
from dissectors.wire.varint import Unfit

BOUNDS = {"int": (-(1 << 31), (1 << 31) - 1), "long": (-(1 << 63), (1 << 63) - 1)}
"""The least and the greatest number, by the type of a field."""

LOWEST, HIGHEST = BOUNDS["int"]
NAME_LENGTH, LENGTH = INT16, INT32
"""The lengths of a name in the map, and of everything else."""


class MapField(NamedTuple):
    """What a text in the map means: its name, and how it becomes a value (None: it is text). May raise Unfit.

    is_converted: whether that is more than what stands on the wire, so that a tree shows it.
    """

    name: str
    convert: Callable[[str], object] | None
    spec: Wrapping
    is_converted: bool


@make_slotted(eq=False)
class HeaderNumber:
    """A member that is a number in a row.

    is_named: JSON has a name in its place. is_open: its four bytes may be any in similar messages.
    """

    spec: FieldSpec
    primitive: FixedWidth
    is_named: bool = False
    is_open: bool = False


@make_slotted(eq=False)
class MapHeader:
    """Numbers in a row, a text behind its length, and the map behind its own; or all of these as members of an object.

    text: may be empty or null. fields: what pairs of the map mean, by their names on the wire. secrets: names of values
    that are hidden; mentions, may_hide: whether bytes have such a name, as it is or in any spelling. sentence: of the
    findings `twice` and `number`, in which a name is put.
    """

    numbers: tuple[HeaderNumber, ...]
    text: FieldSpec
    pairs: str
    fields: Mapping[str, MapField]
    secrets: Set[str]
    mentions: Callable[[bytes], bool]
    may_hide: Callable[[bytes], bool]
    sentence: Callable[[str], str]
    row: Struct = field(init=False)
    """The numbers."""
    conversions: list[tuple[int, Callable[[int], object]]] = field(init=False)
    """What converts numbers of the row, by their places."""

    def __post_init__(self) -> None:
        primitives = [each.primitive for each in self.numbers]
        conversions = [(place, each.convert) for place, each in enumerate(primitives) if each.convert is not None]
        object.__setattr__(self, "row", Struct(">" + "".join(each.code for each in primitives)))
        object.__setattr__(self, "conversions", conversions)

    @property
    def names(self) -> list[str]:
        """The names of all members."""
        return [*(each.spec.name for each in self.numbers), self.text.name, self.pairs]

    def read_number(self, data: bytes, at: int, name: str) -> int:
        """Returns a number of a header in a row as on the wire, of which no more may be there. Raises struct.error."""
        place = self.names.index(name)
        at += sum(each.primitive.size for each in self.numbers[:place])
        found: int = self.numbers[place].primitive.layout.unpack_from(data, at)[0]
        return found

    def read_numbers(self, data: bytes, at: int) -> list[Any]:
        """Returns the values of the numbers of a header in a row. Raises struct.error."""
        found = list(self.row.unpack_from(data, at))
        for place, convert in self.conversions:
            found[place] = convert(found[place])
        return found


class HeaderValues(NamedTuple):
    """Values of a header: its members by name, the map as on the wire, and what the texts of the map mean."""

    members: dict[str, Any]
    pairs: dict[str, Any]
    typed: dict[str, Any]


def decode_header(frame: Frame, layout: MapHeader, at: int, stop: int, is_json: bool) -> HeaderValues:
    """Returns the values of the header between two offsets. Raises one of emit.FAILURES, or what the frame raises."""
    members, pairs = (_decode_json if is_json else _decode_row)(frame, layout, at, stop)
    secrets = [name for name in pairs if name in layout.secrets] if layout.mentions("\n".join(pairs).encode()) else []
    for name in secrets:
        pairs[name] = frame.hide(pairs[name])
    fields, typed = layout.fields, {}
    for name in filter(fields.__contains__, pairs):
        text, known = pairs[name], fields[name]
        convert = None if name in secrets else known.convert
        typed[known.name] = text if convert is None else frame.convert(text, convert, BOUNDS.get(known.spec.type))
    return HeaderValues(members, pairs, typed)


def _decode_json(frame: Frame, layout: MapHeader, at: int, stop: int) -> tuple[dict[str, Any], dict[str, Any]]:
    def decode_object(data: bytes) -> dict[str, Any]:
        """An object in which no name stands twice; each has a colon, but texts may have some, too."""
        found = decode_json(data)
        if type(found) is not dict:
            raise Unfit
        pairs = found.get(layout.pairs)
        names = len(found) + (len(pairs) if type(pairs) is dict else 0)
        if data.count(b":") != names and has_duplicate_key(data):
            raise Unfit
        return found

    found, members = frame.json(at, stop, decode_object), {}
    for number in layout.numbers:
        name = number.spec.name
        value = found.get(name)
        if number.is_open:
            if not isinstance(value, int) or isinstance(value, bool):
                raise Unfit
        else:
            value = frame.specialise(value)
            if type(value) is not (str if number.is_named else int):
                raise Unfit
        if not number.is_named and not LOWEST <= value <= HIGHEST:
            raise Unfit
        members[name] = value
    text, pairs = found.get(layout.text.name), found.get(layout.pairs)
    if not (text is None or isinstance(text, str)):
        raise Unfit
    members[layout.text.name] = text
    if pairs is None:
        pairs = {}
    elif type(pairs) is not dict or not all(map(isinstance, pairs.values(), repeat(str))):
        raise Unfit
    return members, pairs


def _decode_row(frame: Frame, layout: MapHeader, at: int, stop: int) -> tuple[dict[str, Any], dict[str, Any]]:
    data, members = frame.data, dict[str, Any]()
    for number, value in zip(layout.numbers, layout.read_numbers(data, at), strict=True):
        members[number.spec.name] = value
        if number.is_open:
            frame.leave_open(at)
        at += number.primitive.size
    size = LENGTH.layout.unpack_from(data, at)[0]
    at += LENGTH.size
    end = at + size
    left = LENGTH.layout.unpack_from(data, end)[0]
    if size < 0 or end + LENGTH.size + left != stop:
        raise Unfit
    members[layout.text.name] = frame.text(at, end) or None
    at = end + LENGTH.size
    frame.declare_size(end, at, stop, code=LENGTH.code)
    pairs: dict[str, Any] = {}
    read_name, read_size = NAME_LENGTH.layout.unpack_from, LENGTH.layout.unpack_from
    while at < stop:
        size = read_name(data, at)[0]
        end = at + 2 + size
        length = read_size(data, end)[0]
        name, begin = data[at + 2 : end].decode(), end + 4
        at = begin + length
        if size < 0 or length < 0 or at > stop:
            raise Unfit
        text = frame.text(begin, at, name)
        if name in pairs and (type(text) is not str or pairs[name] != text):
            raise Unfit
        pairs[name] = text
    return members, pairs
