"""Long lists of small alike things, as record batches have them.

Theory. Writing a list of dicts as JSON asks for each bytes value on its own, which costs more than decoding it did. A
list that says of itself that its rows are alike can be written a column at a time; to everybody else it is the list
that it looks like.
"""

from __future__ import annotations

from typing import Any


class FlatRows(list[dict[str, Any]]):
    """A list of dicts with the same keys in the same order; a column holds few types: int, bytes, None, list."""

    __slots__ = ()
