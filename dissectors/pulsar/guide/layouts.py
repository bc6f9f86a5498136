"""Messages and enums as lines and JSON.

Theory. Protocol Buffers has no versions: fields are told apart by their numbers, and a reader passes over those that it
does not know. So a field's number stands first. A message within a message is shown below its field, but not within
itself (a MessageIdData may hold another).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dissectors.pulsar.tables import table
from dissectors.wire.guide.text import INDENT, columns, enum_text

Row = Mapping[str, Any]

NOTHING = f"{INDENT}nothing"
_SEVERAL = 5
"""Values of an enum that are all named where it is used; one with more has a page of its own to look at."""


def format_layout(name: str) -> list[str]:
    """The fields of a message below each other."""
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
        found.append(guide["said"][row["shown"]])
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
    """The same as JSON knows it: what is so is there, what is not so is left out."""
    return [_make_field_data(name, row, above) for row in table("messages")["messages"][name]]


def _make_field_data(owner: str, row: Row, above: tuple[str, ...]) -> dict[str, Any]:
    found = {"number": row["number"], "name": row["name"], "type": row["type"], "label": row["label"]}
    found |= {name: row[name] for name in ("of", "oneof", "default", "former") if name in row}
    if row.get("secret"):
        found["secret"] = True
    about = [table("guide")["said"].get(row.get("shown")), table("guide")["fields"].get(f"{owner}.{row['name']}")]
    if any(about):
        found["about"] = "; ".join(each for each in about if each)
    if row["type"] == "enum":
        found["values"] = table("enums")[row["of"]]
    if row["type"] == "message" and row["of"] not in (owner, *above):
        found["fields"] = make_layout_data(row["of"], (owner, *above))
    return found


def list_holders(name: str) -> list[str]:
    """The fields that hold a message or an enum, as MESSAGE.FIELD."""
    messages = table("messages")["messages"]
    return [f"{owner}.{row['name']}" for owner, rows in messages.items() for row in rows if row.get("of") == name]
