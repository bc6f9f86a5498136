"""How a frame carries a command, and what may stand behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dissectors.guide import Page
from dissectors.pulsar.commands import MESSAGE, SEND, markers
from dissectors.pulsar.guide.layouts import NOTHING, format_layout, make_layout_data
from dissectors.pulsar.tables import table
from dissectors.wire.guide.text import columns

_HEAD = ("part", "type", "")
_CARRY = (SEND, MESSAGE)


def list_parts(code: int) -> list[Sequence[str]]:
    """The parts of a command's frames, in order."""
    frame = table("guide")["frame"]
    entry = frame["entry"] if code == MESSAGE else ()
    return [*frame["simple"], *entry, *(frame["payload"] if code in _CARRY else ())]


def format_frame(code: int) -> list[str]:
    """Those parts as lines, with what the payload needs to be read."""
    lines = columns([_HEAD, *list_parts(code)])
    if code in _CARRY:
        lines += ["", "A frame may end behind the command. See frame, MessageMetadata, SingleMessageMetadata, markers."]
    return lines


def make_frame_data(parts: Sequence[Sequence[str]]) -> list[dict[str, str]]:
    """The same as JSON knows it."""
    return [{"part": name, "type": kind} | ({"about": about} if about else {}) for name, kind, about in parts]


def make_frame_page() -> Page:
    """All there can be in a frame."""
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
    data = {name: make_frame_data(frame[name]) for name in titles}
    return Page(lines, {"name": "frame", **data, "says": frame["says"]})


def make_markers_page() -> Page:
    """What brokers write among the messages of a topic: marker_type tells, and what the payload then is."""
    held = {number: message.name for number, message in markers().items()}
    kinds = {int(number): name for number, name in table("enums")["MarkerType"].items()}
    rows = [(f"{number}", name, held.get(number, "nothing")) for number, name in kinds.items() if number]
    lines = ["markers: what brokers write among the messages of a topic, told by MessageMetadata.marker_type", ""]
    lines += columns([("type", "name", "payload"), *rows])
    for message in held.values():
        lines += ["", message, *format_layout(message)]
    found: list[dict[str, Any]] = []
    for number, name in kinds.items():
        payload = {"payload": held[number], "fields": make_layout_data(held[number])} if number in held else {}
        found += [{"type": number, "name": name, **payload}] if number else []
    return Page(lines, {"markers": found})


def make_types_page() -> Page:
    """How Protocol Buffers writes values."""
    rows = table("guide")["types"]
    return Page(columns([("what", "on the wire"), *rows.items()], ""), {"types": rows})


def make_versions_page() -> Page:
    """What each protocol version added; the lower one of CONNECT's and CONNECTED's is spoken."""
    rows = table("guide")["versions"]
    lines = columns([("version", "added"), *rows.items()], "")
    return Page(lines or [NOTHING], {"versions": rows})
