"""Which pages there are: commands, the messages in them, enums, and how frames, markers, types and versions look."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

from dissectors.guide import Page
from dissectors.pulsar.commands import CLIENT, MESSAGE, SEND, Command, commands
from dissectors.pulsar.guide.frames import (
    format_frame,
    list_parts,
    make_frame_data,
    make_frame_page,
    make_markers_page,
    make_types_page,
    make_versions_page,
)
from dissectors.pulsar.guide.layouts import format_layout, list_holders, make_layout_data
from dissectors.pulsar.tables import table
from dissectors.wire.guide.shelf import Pages, Shelf
from dissectors.wire.guide.text import INDENT, columns

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
    data["fields"], data["frame"] = make_layout_data(name), make_frame_data(list_parts(command.code))
    return Page(lines, data)


def _list_facts(command: Command) -> Iterator[tuple[str, str]]:
    guide = table("guide")
    yield "what", guide["commands"][command.name]
    yield "from", command.sender if command.sender != "both" else "client or broker"
    yield "role", _describe_role(command)
    if command.answered_by:
        yield "answered by", _format_alternatives(_list_answers(command))
    asked = _list_questions(command)
    if asked:
        yield "answers", "any command with a request_id" if command.name == _ANY else _format_alternatives(asked)
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


def _normalize_name(name: str) -> str:
    """Names are found in any case, and with a hyphen for an underscore."""
    return name.lower().replace("-", "_")


GUIDE = Shelf("Pulsar", _make_pages, lambda: {each.code: each.name for each in commands().values()}, _normalize_name)
