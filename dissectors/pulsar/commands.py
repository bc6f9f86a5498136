"""Labels of Pulsar's numbers: times, names, and its error codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from dissectors.api import Role
from dissectors.field import Label
from dissectors.pulsar.tables import table
from dissectors.wire.protobuf import BYTES, Library, MessageType, ProtoField
from dissectors.wire.specs import LayoutSpec, Wrapping
from dissectors.wire.times import milliseconds, timestamp

_TIMES: Mapping[str, Label] = {"timestamp": timestamp, "milliseconds": milliseconds}


def find_label(shown: str) -> Label:
    """Returns the label function that a field's row asks for: timestamp, milliseconds, or the names of an enum."""
    if shown in _TIMES:
        return _TIMES[shown]
    names = {int(number): name for number, name in table("enums")[shown].items()}
    return names.get


@cache
def error_codes() -> Mapping[str, int]:
    """Returns the numbers of errors by name."""
    return {name: int(number) for number, name in table("enums")["ServerError"].items()}


def make_error(value: str | int) -> tuple[int, str]:
    """Returns number and name of an error as a message reports it; one that no release knows keeps its number."""
    if isinstance(value, int):
        return value, f"UNKNOWN_{value}"
    return error_codes()[value], value


CLIENT, BROKER = "client", "broker"

SEND, MESSAGE = 6, 9
"""The commands that a payload may follow."""

_NUMBERS: Mapping[str, tuple[str, ...]] = {
    "request": ("request_id",),
    "send": ("producer_id", "sequence_id"),
    "session": ("session_id",),
    "watchTopics": ("watch_id",),
    "watchCoordinators": ("watch_id",),
}
"""The fields that number a question, by what they count in."""

_ALSO: Mapping[str, str] = {
    "CONNECT": "client_version",
    "AUTH_RESPONSE": "client_version",
    "CLOSE_PRODUCER": "producer_id",
    "PRODUCER": "producer_id",
    "PRODUCER_SUCCESS": "producer_ready",
    "SEND_RECEIPT": "highest_sequence_id",
}
"""What else is read of a command before its body is asked for."""


@dataclass(frozen=True, slots=True)
class Command:
    """A type of Pulsar's commands (BaseCommand.Type in PulsarApi.proto).

    roles: of a message from the broker, and from the client. counts: what its number counts in, None where it is
    neither question nor answer. answers: a push that answers the first question with its number. uncounted: the role
    of one without a number. answered_by: the names of what may answer it, besides an ERROR; empty where nobody knows.
    sender: client, broker or both. begin: the bytes of a frame behind its two sizes, up to the length of the body.
    wanted: places by tag of the fields that header and pairing need. error: the field that reports one. secret: whether
    something in it is.
    """

    code: int
    name: str
    field: str
    message: MessageType
    roles: tuple[Role, Role]
    counts: str | None
    answers: bool
    uncounted: Role | None
    answered_by: frozenset[str]
    sender: str
    begin: bytes
    wanted: Mapping[int, int]
    error: str | None
    secret: bool
    versions: None = None


@cache
def library() -> Library:
    """Returns all messages and enums of PulsarApi.proto, built from the tables."""
    return Library(table("messages")["messages"], table("enums"), find_label)


@cache
def commands() -> Mapping[int, Command]:
    """Returns all commands by their number, BaseCommand.Type of PulsarApi.proto."""
    found = {}
    for row in table("commands")["commands"]:
        code, name, message = row["code"], row["name"], library().message(row["message"])
        role = Role[row["role"].upper()]
        wanted = (*_NUMBERS.get(row.get("counts"), ()), *((_ALSO[name],) if name in _ALSO else ()))
        places = {field.name: field.number << 3 | field.wire for field in message.fields.values()}
        found[code] = Command(
            code=code,
            name=name,
            field=row["field"],
            message=message,
            roles=(Role[row["fromBroker"].upper()] if "fromBroker" in row else role, role),
            counts=row.get("counts"),
            answers=row.get("answers", False),
            uncounted=Role[row["uncounted"].upper()] if "uncounted" in row else None,
            answered_by=frozenset(row.get("answeredBy", ())),
            sender=row["from"],
            begin=b"\x08" + encode_varint(code) + encode_varint(code << 3 | BYTES),
            wanted={places[each]: place for place, each in enumerate(wanted)},
            error=next((each for each in ("error", "error_code") if each in places), None),
            secret=message.sensitive,
        )
    return found


def encode_varint(value: int) -> bytes:
    """Encodes an unsigned integer as a varint of Protocol Buffers."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


@cache
def markers() -> Mapping[int, MessageType]:
    """Returns the message type of a marker's payload by marker type; other types have no payload."""
    return {int(number): library().message(name) for number, name in table("commands")["markers"].items()}


@lru_cache(maxsize=128)
def make_base_command(code: int | None) -> MessageType:
    """BaseCommand as the tree of a type's frames has it: the body's fields are the frame's, its type is not.

    None: of a type that is not in the tables.
    """
    layout = MessageType("BaseCommand")
    for row in _make_base_fields():
        if row.number == 1:
            row = replace(row, spec=Wrapping(row.name, "enum", row.spec.label))
        elif row.number == code:
            row = replace(row, spec=LayoutSpec(row.name, "struct"), required=True)
        layout.add(row)
    return layout


@cache
def _make_base_fields() -> tuple[ProtoField, ...]:
    """The rows of BaseCommand, which the table of commands tells."""
    types = {"Type": {str(code): command.name for code, command in commands().items()}}
    rows = [{"number": 1, "name": "type", "type": "enum", "of": "Type", "label": "required"}]
    rows += [
        {"number": code, "name": command.field, "type": "message", "of": command.field, "label": "optional"}
        for code, command in commands().items()
    ]
    bodies = {command.field: command.message for command in commands().values()}
    base = Library({}, types, find_label, bodies)
    return tuple(ProtoField.parse(row, base) for row in rows)
