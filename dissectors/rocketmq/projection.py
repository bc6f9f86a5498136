"""Reading only the header of a frame, for who asks for nothing in its body.

Theory. Most of what a frame is about, its topic and its group, stands in the header. Whatever is wrong with the body,
the header before it is what it is; one in which anything is out of the ordinary is left to values().
"""

from __future__ import annotations

from typing import Any

from dissectors.api import Context, Pick, Role
from dissectors.message import Path
from dissectors.report import REPORTED
from dissectors.rocketmq.command_fields import HeaderClass
from dissectors.rocketmq.extfields import find_header_class
from dissectors.rocketmq.message import decode_header, find_error
from dissectors.wire.emit import FAILURES

HEADER = "header"
_TOLD = (HEADER, REPORTED[0])


def make_projection(context: Context, paths: frozenset[Path]) -> Pick | None:
    """See Dissector.projection."""
    fields = find_header_class(context.code, context.role is Role.RESPONSE)
    if not all(path[0] in _TOLD for path in paths) or (fields is None and paths != {REPORTED}):
        return None
    known: HeaderClass = {} if fields is None else fields
    reports = REPORTED in paths

    def project(message: bytes) -> dict[str, Any] | None:
        try:
            command, header = decode_header(message, known)
        except FAILURES:
            return None
        if not reports:
            return {HEADER: header}
        return {HEADER: header, REPORTED[0]: find_error(command.code, command.version, context)}

    return project
