"""Reading only the header of a frame, for who asks for nothing in its body.

Theory. Most of what a frame is about, its topic and its group, stands in the header. Whatever is wrong with the body,
the header before it is what it is; one in which anything is out of the ordinary is left to values().
"""

from __future__ import annotations

from typing import Any

from dissectors.api import Context, Pick, Role
from dissectors.lesson import Path
from dissectors.rocketmq.extfields import header_class
from dissectors.rocketmq.message import head_values
from dissectors.wire.emit import FAILURES

HEADER = "header"


def picker(context: Context, paths: frozenset[Path]) -> Pick | None:
    """See Dissector.picker."""
    fields = header_class(context.code, context.role is Role.RESPONSE)
    if fields is None or not all(path[0] == HEADER for path in paths):
        return None

    def picked(message: bytes) -> dict[str, Any] | None:
        try:
            return {HEADER: head_values(message, fields)[1]}
        except FAILURES:
            return None

    return picked
