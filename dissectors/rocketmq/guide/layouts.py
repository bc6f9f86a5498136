"""Header classes and the parts of layouts, as lines and JSON.

Theory. A header class is a table of names, and the classes above it add theirs. On the wire all values are texts; a
type is what Java makes of one. A name on the wire may be a letter, so what it stands for is beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from dissectors.guide import Page
from dissectors.rocketmq.secrets import SECRETS
from dissectors.rocketmq.tables import table
from dissectors.wire.guide.text import INDENT, columns

NOTHING = f"{INDENT}nothing"
_PULLS = frozenset({"PullMessageRequestHeader"})
_PARTS = ("part", "type", "")


class _Row(NamedTuple):
    """A field of a class: its name on the wire, what it is called, its type, and the class it comes from."""

    wire: str
    name: str
    type: str
    owner: str
    required: bool


def list_superclasses(name: str) -> list[str]:
    """The classes that a class extends, the nearest first."""
    row = table("headers")["headers"][name]
    return [row["extends"], *list_superclasses(row["extends"])] if "extends" in row else []


def has_fast_codec(name: str) -> bool:
    """Whether a class has code of its own for the binary header."""
    return bool(table("headers")["headers"][name].get("fast"))


def _iterate_rows(name: str) -> Iterator[_Row]:
    """A class's own fields, then those of the classes above that it has not itself."""
    told: set[str] = set()
    for owner in (name, *list_superclasses(name)):
        row = table("headers")["headers"][owner]
        for wire, kind in row["fields"].items():
            if wire not in told:
                told.add(wire)
                plain = row.get("names", {}).get(wire, wire)
                yield _Row(wire, plain, kind, owner, wire in row.get("required", ()))


def format_class(name: str) -> list[str]:
    """The fields of a class below each other."""
    rows = list(_iterate_rows(name))
    if not rows:
        return [NOTHING]
    if all(row.name == row.wire for row in rows):
        return columns([("field", "type", ""), *((row.wire, row.type, _format_notes(name, row)) for row in rows)])
    head = ("field", "name", "type", "")
    return columns([head, *((row.wire, row.name, row.type, _format_notes(name, row)) for row in rows)])


def _format_notes(name: str, row: _Row) -> str:
    found = ["required"] if row.required else []
    if row.owner != name:
        found.append(f"of {row.owner}")
    found += _list_notes(row)
    if row.wire in SECRETS:
        found.append("masked")
    return "; ".join(found)


def _list_notes(row: _Row) -> list[str]:
    """What there is to know of a field beside its type."""
    guide = table("guide")
    found = []
    if row.wire in guide["newerFields"].get(row.owner, ()):
        found.append("later than 5.3")
    if f"{row.owner}.{row.wire}" in guide["formerFields"]:
        found.append(guide["formerFields"][f"{row.owner}.{row.wire}"])
    label = "pullSysFlag" if row.name == "sysFlag" and row.owner in _PULLS else row.name
    if label in guide["fields"]:
        found.append(guide["fields"][label])
    return found


def make_class_data(name: str) -> list[dict[str, Any]]:
    """The same as JSON knows it: what is so is there, what is not so is left out."""
    return [_make_row_data(name, row) for row in _iterate_rows(name)]


def _make_row_data(name: str, row: _Row) -> dict[str, Any]:
    found: dict[str, Any] = {"field": row.wire, "type": row.type}
    if row.name != row.wire:
        found["name"] = row.name
    if row.required:
        found["required"] = True
    if row.owner != name:
        found["of"] = row.owner
    if row.wire in SECRETS:
        found["secret"] = True
    if _list_notes(row):
        found["about"] = "; ".join(_list_notes(row))
    return found


def make_part_data(parts: Sequence[Sequence[str]]) -> list[dict[str, str]]:
    """Parts of a layout, as JSON."""
    return [{"part": name, "type": kind} | ({"about": about} if about else {}) for name, kind, about in parts]


def make_parts_page(name: str) -> Page:
    """A layout of guide.json: its parts in order, and what they do not say."""
    layout: Mapping[str, Any] = table("guide")["pages"][name]
    lines = [name, *columns([_PARTS, *layout["parts"]]), "", *layout["says"]]
    return Page(lines, {"name": name, "parts": make_part_data(layout["parts"]), "says": layout["says"]})
