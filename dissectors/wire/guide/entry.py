"""One field of a layout, as it is to be described, and the same as JSON knows it."""

from __future__ import annotations

from typing import Any

from dissectors.slotted import make_slotted


@make_slotted
class LayoutEntry:
    """One field. `versions` and `nullable` are ranges as text, within those of the layout; None in a single version.

    type: in a single version what stands on the wire, else the name in the schema. array: the type of the array that
    holds it, if one does.
    """

    name: str
    type: str
    versions: str | None = None
    array: str | None = None
    nullable: str | None = None
    tag: int | None = None
    enum: str | None = None
    entity: str | None = None
    default: str | None = None
    key: bool = False
    secret: bool = False
    about: str | None = None
    fields: tuple[LayoutEntry, ...] | None = None


def entry_data(entry: LayoutEntry) -> dict[str, Any]:
    """Returns an entry as JSON values, without empty members."""
    found: dict[str, Any] = {"name": entry.name, "type": entry.type}
    for name in ("versions", "array", "tag", "enum", "entity", "default", "about"):
        value = getattr(entry, name)
        if value is not None:
            found[name] = value
    if entry.nullable is not None:
        found["nullable"] = entry.nullable or True
    for name in ("key", "secret"):
        if getattr(entry, name):
            found[name] = True
    if entry.fields is not None:
        found["fields"] = [entry_data(each) for each in entry.fields]
    return found
