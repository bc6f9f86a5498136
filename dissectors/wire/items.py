"""Items with their whole size in front, up to the end of their container: to values, and to nodes.

Theory. The size of an item tells where the next one begins, so damage in an item does not affect the others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from struct import Struct
from typing import Any

from dissectors.errors import MalformedField
from dissectors.field import FieldSpec
from dissectors.slotted import make_slotted
from dissectors.wire.budget import Budget
from dissectors.wire.emit import values_decoder
from dissectors.wire.fields import read_members
from dissectors.wire.plan import Plan
from dissectors.wire.reader import Reader
from dissectors.wire.specs import Many, element
from dissectors.wire.varint import Unfit

_SIZE = Struct(">i")


@make_slotted(eq=False)
class Items:
    """A list of them. layout: of the item at an offset; it may raise Malformed, and gets what makes a name a path.

    head, least: bytes that each must have, there and by its size. number: what stands in front of the members of each
    where the list counts on from a number.
    """

    spec: Many
    layout: Callable[[bytes, int, Callable[[str], str]], Plan]
    head: int
    least: int
    number: FieldSpec

    def decode(self, data: bytes, at: int, budget: Budget, first: int | None = None) -> list[dict[str, Any]]:
        """Returns the values from `at` to the end, numbered from `first` on. Raises one of emit.FAILURES."""
        found: list[dict[str, Any]] = []
        end, layout = len(data), self.layout
        while at < end:
            size = _SIZE.unpack_from(data, at)[0]
            values, stop = values_decoder(layout(data, at, str))(data, at, budget)
            if stop != at + size or stop > end:
                raise Unfit
            found.append(values if first is None else {self.number.name: first + len(found), **values})
            at = stop
        return found

    def read_items(self, reader: Reader, first: int | None = None) -> None:
        """Reads up to the reader's end into a list of the node that is open."""
        end, index = reader.end, 0
        reader.enter(self.spec)
        while reader.at < end:
            reader.need(self.head, reader.at, f"[{index}]")
            size = _SIZE.unpack_from(reader.data, reader.at)[0]
            if size < self.least:
                raise MalformedField(
                    reader.path(f"[{index}]"), reader.at, f"has size {size}, the least is {self.least}"
                )
            reader.enter(element(index, "struct"))
            stop, number = reader.at + size, None if first is None else first + index
            reader.guard(partial(self._read_item, stop=stop, number=number), min(stop, end))
            reader.leave()
            index += 1
        reader.leave()

    def _read_item(self, reader: Reader, stop: int, number: int | None) -> None:
        if number is not None:
            reader.leaf(self.number, number, reader.at)
        read_members(reader, self.layout(reader.data, reader.at, reader.path).steps)
        if reader.at != stop:
            raise MalformedField(reader.path(), reader.at, f"ends {stop - reader.at} bytes before its size")
