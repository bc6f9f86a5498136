"""The guide pages of Pulsar's commands, messages and enums, and of the frames that carry them.

Theory. The tables that decode a frame also describe it; guide.json has the texts that decoding does not need. Protocol
Buffers has no versions: fields are identified by their numbers, so a field's number comes first. A message within a
message is shown below its field, but not within itself (a MessageIdData may hold another).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

from dissectors.guide import Page
from dissectors.pulsar.commands import CLIENT, MESSAGE, SEND, Command, commands, markers
from dissectors.pulsar.tables import table
from dissectors.wire.guide import INDENT, Pages, Shelf, columns, enum_text, normalize_name, part_data

Row = Mapping[str, Any]

NOTHING = f"{INDENT}nothing"
_SEVERAL = 5
"""Values of an enum that are all named where it is used; one with more has a page of its own to look at."""


def format_layout(name: str) -> list[str]:
    """Returns the fields of a message below each other."""
    rows = [
        (
            f"{row['number']}",
            INDENT * depth + row["name"],
            _name_type(row),
            row["label"],
            _format_notes(owner, row, depth),
        )
        for depth, owner, row in _iterate_fields(name, 0, ())
    ]
    return columns([("number", "field", "type", "label", ""), *rows]) if rows else [NOTHING]


def _iterate_fields(name: str, depth: int, above: tuple[str, ...]) -> Iterator[tuple[int, str, Row]]:
    for row in table("messages")["messages"][name]:
        yield depth, name, row
        if row["type"] == "message" and row["of"] not in (name, *above):
            yield from _iterate_fields(row["of"], depth + 1, (name, *above))


def _name_type(row: Row) -> str:
    return str(row.get("of", row["type"]))


def _format_notes(owner: str, row: Row, depth: int) -> str:
    """All else that is known of a field of a message, in one order."""
    guide = table("guide")
    found = [enum_text(row["of"], {}, table("enums")[row["of"]], _SEVERAL)] if row["type"] == "enum" else []
    if row["type"] == "message" and row["of"] == owner:
        found.append("as above")
    if "oneof" in row:
        found.append(f"one of {row['oneof']}")
    if "shown" in row:
        found.append(guide["phrases"][row["shown"]])
    if row.get("former"):
        found.append("of a pre-release, told by its wire type")
    if row.get("secret"):
        found.append("masked")
    if "default" in row:
        found.append(f"default {row['default']}")
    if f"{owner}.{row['name']}" in guide["fields"]:
        found.append(guide["fields"][f"{owner}.{row['name']}"])
    return "; ".join(each for each in found if each != _name_type(row))


def make_layout_data(name: str, above: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Makes the fields of a message ready for JSON; a property that does not hold is left out."""
    return [_make_field_data(name, row, above) for row in table("messages")["messages"][name]]


def _make_field_data(owner: str, row: Row, above: tuple[str, ...]) -> dict[str, Any]:
    found = {"number": row["number"], "name": row["name"], "type": row["type"], "label": row["label"]}
    found |= {name: row[name] for name in ("of", "oneof", "default", "former") if name in row}
    if row.get("secret"):
        found["secret"] = True
    about = [table("guide")["phrases"].get(row.get("shown")), table("guide")["fields"].get(f"{owner}.{row['name']}")]
    if any(about):
        found["about"] = "; ".join(each for each in about if each)
    if row["type"] == "enum":
        found["values"] = table("enums")[row["of"]]
    if row["type"] == "message" and row["of"] not in (owner, *above):
        found["fields"] = make_layout_data(row["of"], (owner, *above))
    return found


def list_holders(name: str) -> list[str]:
    """Returns the fields that hold a message or an enum, as MESSAGE.FIELD."""
    messages = table("messages")["messages"]
    return [f"{owner}.{row['name']}" for owner, rows in messages.items() for row in rows if row.get("of") == name]


_HEAD = ("part", "type", "")
_CARRY = (SEND, MESSAGE)


def list_parts(code: int) -> list[Sequence[str]]:
    """Returns the parts of a command's frames, in order."""
    frame = table("guide")["frame"]
    entry = frame["entry"] if code == MESSAGE else ()
    return [*frame["simple"], *entry, *(frame["payload"] if code in _CARRY else ())]


def format_frame(code: int) -> list[str]:
    """Returns those parts as lines, with what the payload needs to be read."""
    lines = columns([_HEAD, *list_parts(code)])
    if code in _CARRY:
        lines += ["", "A frame may end behind the command. See frame, MessageMetadata, SingleMessageMetadata, markers."]
    return lines


def make_frame_page() -> Page:
    """Makes the page about everything that a frame may contain."""
    frame = table("guide")["frame"]
    titles = {
        "simple": "Each frame",
        "entry": "Then of a MESSAGE",
        "payload": "Then of a SEND and a MESSAGE",
        "batch": "Of a batch, for each message",
    }
    lines = ["frame"]
    for name, title in titles.items():
        lines += ["", title, *columns([_HEAD, *frame[name]])]
    lines += ["", *frame["says"]]
    data = {name: part_data(frame[name]) for name in titles}
    return Page(lines, {"name": "frame", **data, "says": frame["says"]})


def make_markers_page() -> Page:
    """Makes the page about markers, which brokers write among the messages of a topic."""
    payloads = {number: message.name for number, message in markers().items()}
    kinds = {int(number): name for number, name in table("enums")["MarkerType"].items()}
    rows = [(f"{number}", name, payloads.get(number, "nothing")) for number, name in kinds.items() if number]
    lines = ["markers: what brokers write among the messages of a topic, told by MessageMetadata.marker_type", ""]
    lines += columns([("type", "name", "payload"), *rows])
    for message in payloads.values():
        lines += ["", message, *format_layout(message)]
    found: list[dict[str, Any]] = []
    for number, name in kinds.items():
        payload = (
            {"payload": payloads[number], "fields": make_layout_data(payloads[number])} if number in payloads else {}
        )
        found += [{"type": number, "name": name, **payload}] if number else []
    return Page(lines, {"markers": found})


def make_types_page() -> Page:
    """Makes the page about the encoding of values in Protocol Buffers."""
    rows = table("guide")["types"]
    return Page(columns([("what", "on the wire"), *rows.items()], ""), {"types": rows})


def make_versions_page() -> Page:
    """Makes the page about protocol versions; a connection uses the lower one of both sides."""
    rows = table("guide")["versions"]
    lines = columns([("version", "added"), *rows.items()], "")
    return Page(lines or [NOTHING], {"versions": rows})


_ANY = "ERROR"
"""What may answer any request; the table names it where it is all that tells of a failure."""

_FEW = 4
"""So many of those that use a message or an enum are named; JSON has all."""


@cache
def _make_pages() -> Pages:
    return {
        "frame": make_frame_page,
        "markers": make_markers_page,
        "types": make_types_page,
        "versions": make_versions_page,
        "errors": partial(_make_enum_page, "ServerError"),
        **{each.name: partial(_make_command_page, each) for each in commands().values()},
        **{name: partial(_make_message_page, name) for name in table("messages")["messages"]},
        **{name: partial(_make_enum_page, name) for name in table("enums")},
    }


def _make_command_page(command: Command) -> Page:
    facts, name = dict(_list_facts(command)), command.message.name
    lines = [f"{command.name} (command type {command.code})", *columns(facts.items())]
    lines += ["", f"{name}, in field {command.code} {command.field} of BaseCommand", *format_layout(name)]
    lines += ["", "Frame", *format_frame(command.code)]
    data: dict[str, Any] = {"name": command.name, "code": command.code, **facts, "message": name}
    data["answeredBy"], data["answers"] = _list_answers(command), _list_questions(command)
    data["fields"], data["frame"] = make_layout_data(name), part_data(list_parts(command.code))
    return Page(lines, data)


def _list_facts(command: Command) -> Iterator[tuple[str, str]]:
    guide = table("guide")
    yield "what", guide["commands"][command.name]
    yield "from", command.sender if command.sender != "both" else "client or broker"
    yield "role", _describe_role(command)
    if command.answered_by:
        yield "answered by", _format_alternatives(_list_answers(command))
    questions = _list_questions(command)
    if questions:
        yield "answers", "any command with a request_id" if command.name == _ANY else _format_alternatives(questions)
    if command.counts is not None:
        yield "paired", guide["pairing"][command.counts]
    if command.name in guide["since"]:
        yield "since", f"protocol version {guide['since'][command.name]}"
    yield "payload", "may follow" if command.code in (SEND, MESSAGE) else "none"


def _describe_role(command: Command) -> str:
    """What it is in its conversation, which may depend on the side that sends it, or on a number in it."""
    broker, client = (role.name.lower() for role in command.roles)
    found = client if command.sender == CLIENT or broker == client else f"{client}; the broker's own a {broker}"
    if command.answers:
        found += "; the first one with its number a response"
    return found if command.uncounted is None else f"{found}; {command.uncounted.name.lower()} without request_id"


def _list_answers(command: Command) -> list[str]:
    """The commands that may answer it, a failure last."""
    names = [each.name for each in commands().values() if each.name in command.answered_by]
    return sorted(names, key=_ANY.__eq__)


def _list_questions(command: Command) -> list[str]:
    """The commands that it may answer."""
    return [each.name for each in commands().values() if command.name in each.answered_by]


def _format_alternatives(names: list[str]) -> str:
    return " or ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]


def _make_message_page(name: str) -> Page:
    used = list_holders(name) + [each.name for each in commands().values() if each.message.name == name]
    lines = [name, *_format_users(used), "", *format_layout(name)]
    return Page(lines, {"name": name, "usedBy": used, "fields": make_layout_data(name)})


def _make_enum_page(name: str) -> Page:
    values, used = table("enums")[name], list_holders(name)
    lines = [name, *_format_users(used), "", *columns(values.items())]
    return Page(lines, {"name": name, "usedBy": used, "values": values})


def _format_users(names: list[str]) -> list[str]:
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return [f"{INDENT}used by  {', '.join(names[:_FEW])}{more}"] if names else []


GUIDE = Shelf("Pulsar", _make_pages, lambda: {each.code: each.name for each in commands().values()}, normalize_name)
