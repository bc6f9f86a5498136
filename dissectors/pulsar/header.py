"""Pulsar's message headers, read from the first bytes of a frame.

Facts. A frame is uint32 totalSize (of all behind it), uint32 commandSize, and a BaseCommand; a payload may follow. All
clients and brokers write the command's type first and then its body, though Protocol Buffers does not ask for it, so a
frame of a known type begins with bytes that are known too; what begins otherwise is read field by field. Fields of the
body come in any order: Java writes a request's id behind its schema and metadata. The id 2^64-1 stands for none.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct
from typing import Any, NamedTuple

from dissectors.api import HEADLESS, MessageHeader, Role, State
from dissectors.pulsar.commands import CLIENT, MESSAGE, SEND, Command, commands
from dissectors.pulsar.tables import table
from dissectors.wire.protobuf import BYTES, VARINT
from dissectors.wire.protobuf_values import unknown_span
from dissectors.wire.varint import Unfit, uvarint, uvarlong

MAXIMUM = 128 * 1024 * 1024
"""The largest frame that is believed. Brokers take 5 MiB and a little unless told otherwise (maxMessageSize)."""

PREFIX = 32 * 1024
"""Bytes of a frame in which a request's id is looked for: behind a schema, or a thousand message ids of an ACK."""

SIZES = Struct(">II")
"""The layout of what a frame begins with: its size, and the command's."""

COMMAND_AT = 8
_MOST_CODE = 0x7FFF_FFFF
NO_ID = 0xFFFF_FFFF_FFFF_FFFF


class FrameHeader(NamedTuple):
    """The beginning of a frame: its command (None: not in the tables), and the fields of it that pairing needs."""

    header: MessageHeader
    command: Command | None
    wanted: list[Any]


NO_HEADER = FrameHeader(HEADLESS, None, [])


def read_header(prefix: bytes, from_client: bool, client: str | None = None) -> FrameHeader:
    """Reads a frame's header. `client`: how the connection's client has called itself."""
    command, begin, end = find_command(prefix)
    if command is None:
        if len(prefix) < COMMAND_AT + 2:
            return NO_HEADER
        role, code = Role.REQUEST if from_client else Role.PUSH, begin if 0 <= begin <= _MOST_CODE else None
        return FrameHeader(MessageHeader(role, code=code, client=client, state=State.UNDECODED), None, [])
    wanted = _read_wanted(prefix, begin, end, command.wanted)
    role, scope, number = command.roles[from_client], None, None
    if command.counts == "request":
        number = wanted[0]
        if number is None or number == NO_ID:
            role, number = command.uncounted or role, None
        else:
            scope = "request:"
    elif command.counts == "send" and wanted[0] is not None and wanted[1] is not None:
        scope, number = f"send:{wanted[0]}/", wanted[1]
    elif command.name == "CONNECT" or (client is None and command.name == "AUTH_RESPONSE"):
        client = wanted[0] if wanted[0] is None or wanted[0].isprintable() else None
    header = MessageHeader(role, command.name, command.code, None, number, client, State.COMPLETE, scope)
    return FrameHeader(header, command, wanted)


def find_command(prefix: bytes) -> tuple[Command | None, int, int]:
    """The command, and where its body begins and ends. Without a command of the tables: its type, or -1; and 0."""
    if len(prefix) < COMMAND_AT + 2:
        return None, -1, 0
    command = commands().get(prefix[9]) if prefix[8] == 8 else None
    if command is None or not prefix.startswith(command.begin, COMMAND_AT):
        return _search_command(prefix)
    at = COMMAND_AT + len(command.begin)
    try:
        size, at = uvarint(prefix, at)
    except (IndexError, Unfit):
        return command, at, at
    return command, at, at + size


def _search_command(prefix: bytes) -> tuple[Command | None, int, int]:
    """The same of a command whose fields come in another order, or whose type is not in the tables."""
    at, end = COMMAND_AT, min(COMMAND_AT + int.from_bytes(prefix[4:8]), len(prefix))
    code, bodies = -1, {}
    try:
        while at < end:
            tag, at = uvarint(prefix, at)
            if tag == 1 << 3 | VARINT:
                code, at = uvarlong(prefix, at)
            else:
                begin, stop, at = unknown_span(prefix, at, end, tag)
                bodies[tag] = begin, stop
    except (IndexError, Unfit):
        pass
    command = commands().get(code)
    if command is None:
        return None, code, 0
    return command, *bodies.get(code << 3 | BYTES, (end, end))


def _read_wanted(d: bytes, p: int, end: int, wanted: Mapping[int, int]) -> list[Any]:
    """The values of the wanted fields (numbers, or texts) by their places, None where these bytes do not hold them."""
    found: list[Any] = [None] * len(wanted)
    left = len(wanted)
    try:
        while left and p < end:
            tag = d[p]
            p += 1
            if tag > 127:
                tag, p = uvarint(d, p - 1)
            value: Any
            if tag & 7 == VARINT:
                value = d[p]
                p += 1
                if value > 127:
                    value, p = uvarlong(d, p - 1)
                if tag in wanted:
                    found[wanted[tag]] = value
                    left -= 1
            elif tag & 7 == BYTES:
                size = d[p]
                p += 1
                if size > 127:
                    size, p = uvarint(d, p - 1)
                if tag in wanted and p + size <= len(d):
                    found[wanted[tag]] = d[p : p + size].decode("utf-8", "replace")
                    left -= 1
                p += size
            else:
                p = unknown_span(d, p, end, tag)[2]
    except (IndexError, Unfit):
        pass
    return found


def can_send(command: Command, from_client: bool) -> bool:
    """Returns whether this side sends such commands."""
    return command.sender == "both" or (command.sender == CLIENT) is from_client


FRAME = 97
REORDERED = 40
"""A frame that is sound, but whose command's type is not in front."""

SHORT = 15


def rate_evidence(prefix: bytes, from_client: bool | None) -> int:
    """Rates how certainly the first bytes of a frame are one that this side sends."""
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
    """Describes a frame that claims to be larger than is plausible; None for any other."""
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
