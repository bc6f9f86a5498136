"""Jute, Hadoop's first serialization: the encoding of its types.

Facts (BinaryInputArchive). Everything is big-endian and nothing is tagged. A ustring (UTF-8), a buffer and a vector
have an int in front, and -1 is null everywhere. A record has nothing around it among its parent's fields.
"""

from __future__ import annotations

from functools import cache

from dissectors.wire.dialect import Dialect, SizedBytes
from dissectors.wire.primitive import FixedWidth, Length
from dissectors.zookeeper.labels import labels, load_names
from dissectors.zookeeper.nested.credentials import SECRET_SCHEMES

LENGTH = Length("int", "i")
INT, LONG, BOOLEAN = FixedWidth("int", "i"), FixedWidth("long", "q"), FixedWidth("boolean", "?")
USTRING, BUFFER = SizedBytes("ustring", LENGTH, True, bytes.decode), SizedBytes("buffer", LENGTH, True)

TYPES = {each.type: each for each in (INT, LONG, BOOLEAN, USTRING, BUFFER)}
"""By name; any other is an int that has names."""


@cache
def make_named_int(enum: str) -> FixedWidth:
    """Makes the type of an int whose values may have names."""
    found = load_names(enum)
    return FixedWidth("int", "i", lambda number: found.get(number, number))


JUTE = Dialect(
    primitive=lambda name, flexible, nullable: TYPES.get(name) or make_named_int(name),
    count=lambda flexible: LENGTH,
    presence=lambda tagged: LENGTH,
    array=lambda flexible, nullable: "array",
    labels=labels,
    sensitive=lambda scheme: scheme in SECRET_SCHEMES,
)
