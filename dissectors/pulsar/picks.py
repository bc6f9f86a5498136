"""Reading only the command of a frame, for who asks for nothing that stands behind it.

Theory. A payload with its metadata costs several times what its command does. Whatever is wrong with it, the command
before it is what it is; and a command in which anything is out of the ordinary is left to values(). Names that markers
tell are asked of all messages, and few are markers: not those whose bytes have none of the field that says so.
"""

from __future__ import annotations

from typing import Any

from dissectors.api import Context, Pick
from dissectors.lesson import Path
from dissectors.pulsar.commands import MESSAGE, SEND, commands
from dissectors.pulsar.frame import command_values
from dissectors.wire.emit import FAILURES

_MARKER = ("payload", "value")
"""Where what a marker says would stand."""

_MARKER_TYPE = (b"\xa0\x01", b"\xa0\x81")
"""What the field begins with that makes a payload a marker; the second is a longer way to write the same."""


def picker(context: Context, paths: frozenset[Path]) -> Pick | None:
    """See Dissector.picker."""
    command = None if context.code is None else commands().get(context.code)
    if command is None or command.code not in (SEND, MESSAGE):
        return None
    names = {field.name for field in command.message.fields.values()}
    behind = {path[:2] for path in paths if path[0] not in names}
    return _picked if behind <= {_MARKER} else None


def _picked(message: bytes) -> dict[str, Any] | None:
    try:
        found, end = command_values(message)
    except FAILURES:
        return None
    return None if any(message.find(begin, end) >= 0 for begin in _MARKER_TYPE) else found
