"""Reads only the command of a frame and its metadata, for readers that need nothing behind them.

Theory. A payload costs several times as much as the command and the metadata before it, and a checksum covers all its
bytes. Damage behind these two does not change them; if anything in them is unusual, values() reads the frame. Field
names of markers are possible for all messages, but few messages are markers: those without the deciding field are
skipped.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from dissectors.api import Context, Pick
from dissectors.message import Path
from dissectors.pulsar.commands import MESSAGE, SEND, commands, library
from dissectors.pulsar.frame import decode_command, describe_wrapping, find_metadata
from dissectors.wire.emit import FAILURES
from dissectors.wire.sections import PlainSections

_MARKER = ("payload", "value")
"""Where what a marker says would stand."""

_MARKER_TYPE = (b"\xa0\x01", b"\xa0\x81")
"""What the field begins with that makes a payload a marker; the second is a longer way to write the same."""

_METADATA = frozenset({"metadata", "encrypted", "chunk"})
"""What the metadata says."""


def make_projection(context: Context, paths: frozenset[Path]) -> Pick | None:
    """Makes a decoder of the asked fields alone; None where these need the whole frame."""
    command = None if context.code is None else commands().get(context.code)
    if command is None:
        return None
    names = {field.name for field in command.message.fields.values()}
    behind = {path for path in paths if path[0] not in names}
    if command.code not in (SEND, MESSAGE):
        return None if behind or command.error is not None else _project_command
    markers = {path for path in behind if path[:2] == _MARKER}
    parts = {path[0] for path in behind - markers}
    return partial(_project, bool(parts), bool(markers)) if parts <= _METADATA else None


def _project_command(message: bytes) -> dict[str, Any] | None:
    """The fields of a command that nothing follows."""
    sections = PlainSections(message)
    try:
        found, end = decode_command(sections)
    except FAILURES:
        return None
    return found if end == sections.end else None


def _project(metadata: bool, markers: bool, message: bytes) -> dict[str, Any] | None:
    """What is asked for: the command, `metadata` too, and what markers say, which is for others."""
    try:
        sections = PlainSections(message)
        found, end = decode_command(sections)
        if markers and any(message.find(begin, end) >= 0 for begin in _MARKER_TYPE):
            return None
        if metadata and not _add_metadata(sections, found):
            return None
    except FAILURES:
        return None
    return found


def _add_metadata(sections: PlainSections, found: dict[str, Any]) -> bool:
    """What the metadata says; False where it is not all there. Raises one of FAILURES."""
    begin, end = find_metadata(sections.data)
    if not begin < end <= sections.end:
        return False
    found["metadata"] = sections.section(begin, end, library().message("MessageMetadata"))
    found.update(describe_wrapping(found["metadata"]))
    return True
