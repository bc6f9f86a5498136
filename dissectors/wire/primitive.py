"""Numbers on the wire: values of a fixed width, and lengths.

A Fixed is a code of the struct module, so neighbours merge into one Struct. dissectors.wire.dialect builds values of
numbers and bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any

from dissectors.slotted import field, make_slotted


@make_slotted(eq=False)
class FixedWidth:
    """A value of constant width. `code` is its struct format; `convert` makes the plain value of what that gives."""

    type: str
    code: str
    convert: Callable[[Any], object] | None = None
    layout: Struct = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "layout", Struct(">" + self.code))

    @property
    def size(self) -> int:
        """The number of bytes on the wire."""
        return self.layout.size


@make_slotted(eq=False)
class Length:
    """A length, a count, or a presence mark: what is on the wire minus `bias` is the number, -1 is null.

    `code` None is an unsigned varint (seven bits a byte, the lowest first).
    """

    type: str
    code: str | None
    bias: int = 0
    layout: Struct = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "layout", Struct(">" + (self.code or "B")))

    @property
    def size(self) -> int:
        """The fewest bytes on the wire."""
        return self.layout.size


LENGTHS = {
    **{f"uint{8 << power}": Length(f"uint{8 << power}", code) for power, code in enumerate("BHI")},
    **{f"int{16 << power}": Length(f"int{16 << power}", code) for power, code in enumerate("hi")},
    "uvarint": Length("uvarint", None),
}
"""What may stand in front of a part, by the name that a schema has for it."""

INT8, INT16, INT32, INT64 = (FixedWidth(f"int{8 << power}", code) for power, code in enumerate("bhiq"))
UINT8, UINT16, UINT32, UINT64 = (FixedWidth(f"uint{8 << power}", code) for power, code in enumerate("BHIQ"))
