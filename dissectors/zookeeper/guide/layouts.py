"""Records as entries, lines and JSON.

Theory. A record's versions are no numbers on the wire: later releases append fields, and a reader sees by the length
whether they are there. So of a record with several its sizes are said, and from which of them on a field is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from dissectors.guide import Page
from dissectors.wire.guide.entry import LayoutEntry, entry_data
from dissectors.wire.guide.text import columns, enum_text, overview
from dissectors.wire.plan import Leaf, resolve
from dissectors.wire.primitive import FixedWidth
from dissectors.zookeeper.forms import MULTIS
from dissectors.zookeeper.labels import load_names
from dissectors.zookeeper.schemas import record, width
from dissectors.zookeeper.tables import table

NOTHING = "nothing"
_SEVERAL = 9
"""Values of an enum that are all named: there are no longer ones but errors and opcodes."""


def fields(name: str) -> tuple[LayoutEntry, ...]:
    """The fields of a record; those of records in it stand below them."""
    always = "0+" if record(name).versions.high else None
    return tuple(_entry(always, *row) for row in table("records")["records"][name])


def _entry(always: str | None, name: str, kind: str, more: Mapping[str, Any] = MappingProxyType({})) -> LayoutEntry:
    single = kind.removeprefix("[]")
    named = single not in table("guide")["types"] and single not in table("records")["records"]
    return LayoutEntry(
        name,
        kind.replace(single, "int") if named else kind,
        more.get("versions", always),
        enum=single if named else more.get("enum"),
        secret=more.get("secret", False) or "secretBy" in more,
        fields=fields(single) if single in table("records")["records"] else None,
    )


def layout_lines(name: str | None) -> list[str]:
    """The lines of a record, of a multi's items, or of nothing."""
    if name is None:
        return [f"  {NOTHING}"]
    if name in MULTIS:
        rows = table("operations")[MULTIS[name]].items()
        items = columns([("type", "record"), *((kind, held or NOTHING) for kind, held in rows)])
        return ["  items of int type, boolean done, int err and a record; the last one is done and has none", *items]
    several = record(name).versions.high > 0
    return [*columns(_sizes(name) if several else ()), *overview(fields(name), _enum, several)]


def layout_data(name: str | None) -> dict[str, Any] | None:
    """The same as JSON knows it."""
    if name is None:
        return None
    if name in MULTIS:
        return {"name": name, "items": table("operations")[MULTIS[name]]}
    found: dict[str, Any] = {"name": name, "fields": [entry_data(each) for each in fields(name)]}
    if record(name).versions.high:
        found["sizes"] = dict(_sizes(name))
    return found


def _sizes(name: str) -> Iterator[tuple[str, str]]:
    """How long a record is in each version, and since which release."""
    schema, since = record(name), table("guide")["sizes"].get(name, ())
    for version in range(schema.versions.high + 1):
        plan = resolve(schema, version)
        size, fixed = width(plan), all(isinstance(step, Leaf) and _is_fixed(step) for step in plan.steps)
        release = f", {since[version]}" if version < len(since) else ""
        yield f"version {version}", f"{size} bytes{'' if fixed else ' and more'}{release}"


def _is_fixed(step: Leaf) -> bool:
    return isinstance(step.primitive, FixedWidth)


def record_page(name: str) -> Page:
    """A record by itself."""
    found = layout_data(name)
    assert found is not None
    return Page([name, *layout_lines(name)], found)


def _enum(name: str) -> str:
    guide = table("guide")["said"]
    values = {} if name in guide else {f"{number}": text for number, text in load_names(name).items()}
    return enum_text(name, guide, values, _SEVERAL)
