"""The primitive types of a protocol, as data for both decoders.

Theory. Nearly all values on the wire have a fixed width, or a length and that many bytes. A Fixed has a constant
width; a Sized has a Length in front; a Varint ends by its own bits, and a Rest ends with its container; a Scanned is
everything else. A protocol's Dialect maps type names to these, for flexible and nullable fields too. It is the
protocol's only part in the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from dissectors.slotted import make_slotted
from dissectors.wire.primitive import FixedWidth, Length

if TYPE_CHECKING:
    from dissectors.field import Label
    from dissectors.symbolic import TemplateBuilder
    from dissectors.symbolic_values import Extent
    from dissectors.wire.budget import Budget
    from dissectors.wire.reader import Reader


@make_slotted(eq=False)
class SizedBytes:
    """A length and that many bytes.

    `convert` makes the plain value of the bytes (None: they are the value). It may raise UnicodeDecodeError, then the
    bytes are the value. A type with an inner structure has `nested` (bytes and budget to plain value, may raise
    DecodeError) and `unfold`, its counterpart in the field decoder: it reads the content into the node that is open, as
    far as the offset it is given. `template` is the third: an extent to a symbolic value
    (wire/template.py). `swells` says of content (source, offset, size) that is passed over whether it may be far more
    than its bytes.
    """

    type: str
    length: Length
    nullable: bool = False
    convert: Callable[[bytes], object] | None = None
    nested: Callable[[bytes, Budget], object] | None = None
    unfold: Callable[[Reader, int], None] | None = None
    template: Callable[[TemplateBuilder, Extent], object] | None = None
    swells: Callable[[bytes, int, int], bool] | None = None

    @property
    def size(self) -> int:
        """The fewest bytes on the wire."""
        return self.length.size


@make_slotted(eq=False)
class Varint:
    """An unsigned integer of 32 bits, seven bits a byte, the lowest first."""

    type: str = "uvarint"
    size: int = 1
    """The fewest bytes on the wire."""


@make_slotted(eq=False)
class Rest:
    """All bytes up to the end of the message, or of the enclosing part that has a length."""

    type: str = "bytes"
    convert: Callable[[bytes], object] | None = None
    size: int = 0
    """The fewest bytes on the wire."""


@make_slotted(eq=False)
class ScannedValue:
    """A value that ends where it says itself: a DNS name, a text up to a zero.

    `scan` gets the source and an offset, and gives the value and the offset behind it. On bytes that do not fit it
    raises Unfit, IndexError, struct.error or UnicodeDecodeError, as any careless reader does. It must come to an end on
    all bytes.
    """

    type: str
    scan: Callable[[bytes, int], tuple[Any, int]]
    size: int = 1
    """The fewest bytes on the wire."""


@make_slotted(eq=False)
class Dialect:
    """How a protocol writes what a schema names.

    primitive: by type name, flexible, nullable. count: of an array's elements, presence: in front of a nullable struct
    (also when tagged), array: the type name of an array; by flexible. labels: of an enum's values, by its name.
    sensitive: whether what stands under a key is a secret.
    """

    primitive: Callable[[str, bool, bool], Primitive]
    count: Callable[[bool], Length]
    presence: Callable[[bool], Length]
    array: Callable[[bool, bool], str]
    labels: Callable[[str], Label | None]
    sensitive: Callable[[object], bool] = lambda key: False


Primitive: TypeAlias = FixedWidth | SizedBytes | Varint | Rest | ScannedValue
