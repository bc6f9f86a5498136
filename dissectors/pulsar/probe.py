"""How much bytes look like a Pulsar frame: on a first look at a connection, and behind a gap.

Theory. A frame says thrice how long it is: its own size, that of the command in it, and that of the body in that. Only
where a payload may follow does the first say more than the second. With the command's type, which stands in two places,
nearly all of a dozen bytes are checked, and nothing else looks like that. Fewer bytes, or a type that is in no table,
are believed on Pulsar's own port alone.
"""

from __future__ import annotations

from dissectors.pulsar.commands import MESSAGE, SEND, commands
from dissectors.pulsar.frame import SIZES
from dissectors.pulsar.header import COMMAND_AT, MAXIMUM, can_send, find_command
from dissectors.pulsar.tables import table
from dissectors.wire.varint import Unfit, uvarint

FRAME = 97
REORDERED = 40
"""A frame that is sound, but whose command's type is not in front."""

SHORT = 15


def rate_evidence(prefix: bytes, from_client: bool | None) -> int:
    """How sure the first bytes of a frame make us that it is one that this side sends."""
    if len(prefix) < COMMAND_AT + 2:
        return 0
    total, size = SIZES.unpack_from(prefix)
    if not 2 <= size <= total - 4 <= MAXIMUM - 4:
        return 0
    command = commands().get(prefix[9]) if prefix[8] == 8 else None
    if command is None:
        return _rate_unusual(prefix, total, size, from_client)
    if from_client is not None and not can_send(command, from_client):
        return 0
    if size < total - 4 and command.code not in (SEND, MESSAGE):
        return 0
    begin = command.begin
    if not prefix.startswith(begin, COMMAND_AT):
        return SHORT if begin.startswith(prefix[COMMAND_AT:]) or size == 2 else 0
    try:
        length, at = uvarint(prefix, COMMAND_AT + len(begin))
    except (IndexError, Unfit):
        return SHORT
    return FRAME if at + length == COMMAND_AT + size else 0


def describe_too_large(prefix: bytes, from_client: bool) -> str | None:
    """What a frame is that says of itself that it is larger than any that is believed; None for anything else."""
    if len(prefix) < COMMAND_AT + 2:
        return None
    total, size = SIZES.unpack_from(prefix)
    command, _, _ = find_command(prefix)
    if not (total > MAXIMUM and 2 <= size <= total - 4) or command is None or not can_send(command, from_client):
        return None
    text: str = table("expert_info")["beyond"]
    return text.format(name=command.name, most=MAXIMUM >> 20)


def _rate_unusual(prefix: bytes, total: int, size: int, from_client: bool | None) -> int:
    """A command whose type is not in front, or in no table."""
    if size != total - 4 or len(prefix) < COMMAND_AT + size:
        return 0
    command, code, _ = find_command(prefix[: COMMAND_AT + size])
    if command is None:
        return SHORT if code >= 0 else 0
    return REORDERED if from_client is None or can_send(command, from_client) else 0
