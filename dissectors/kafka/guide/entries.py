"""The fields of a layout, as they are to be described."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dissectors.kafka.types import KAFKA
from dissectors.slotted import slotted
from dissectors.wire.guide.entry import Entry
from dissectors.wire.schema import NONE, Versions

Row = Mapping[str, Any]


@slotted
class GuideLayout:
    """The fields of a message or structure, in one version or (None) in all of them."""

    name: str
    version: int | None
    versions: Versions
    flexible: Versions
    entries: tuple[Entry, ...]

    @property
    def is_flexible(self) -> bool:
        """Whether its structs end in tagged fields."""
        return self.version is not None and self.version in self.flexible


def make_layout(name: str, row: Row, version: int | None = None) -> GuideLayout:
    """The layout that a row of a table describes."""
    versions, flexible = Versions.parse(row["versions"]), Versions.parse(row.get("flexible", "none"))
    entries = _entries(row["fields"], versions, versions, flexible, version)
    return GuideLayout(name, version, versions, flexible, entries)


def _entries(
    rows: Sequence[Row], parent: Versions, whole: Versions, flexible: Versions, version: int | None
) -> tuple[Entry, ...]:
    found = []
    for row in rows:
        own = Versions.parse(row["versions"]) if "versions" in row else parent
        own = Versions(max(own.low, parent.low), min(own.high, parent.high))
        if version is None or version in own:
            found.append(_entry(row, own, whole, flexible, version))
    return tuple(found)


def _entry(row: Row, own: Versions, whole: Versions, flexible: Versions, version: int | None) -> Entry:
    kind: str = row["type"]
    single = kind.removeprefix("[]")
    members = row.get("fields")
    null = Versions.parse(row.get("nullable", "none"))
    null = Versions(max(null.low, own.low), min(null.high, own.high)) if null != NONE else NONE
    array = nullable = None
    if version is None:
        shown, nullable = kind, None if null == NONE else format_span(null, whole)
    else:
        compact = version in (flexible if "flexible" not in row else Versions.parse(row["flexible"]))
        is_null, is_array = version in null, kind.startswith("[]")
        array = KAFKA.array(compact, is_null) if is_array else None
        shown = "struct" if members is not None else format_type(single, compact, is_null and not is_array)
        nullable = "" if is_null and (is_array or members is not None or "nullable" not in shown) else None
    tagged = Versions.parse(row["tagged"]) if "tagged" in row else own
    return Entry(
        name=row["name"],
        type=shown,
        versions=None if version is not None else format_span(own, whole),
        array=array,
        nullable=nullable,
        tag=row.get("tag") if version is None or version in tagged else None,
        enum=row.get("enum"),
        entity=row.get("entity"),
        default=row.get("default"),
        key=row.get("mapKey", False),
        secret=row.get("secret", False) or "secretBy" in row,
        about=row.get("about"),
        fields=None if members is None else _entries(members, own, whole, flexible, version),
    )


def format_type(name: str, flexible: bool, nullable: bool) -> str:
    """How a type is written. What only record batches have (varints) is written in one way."""
    try:
        return KAFKA.primitive(name, flexible, nullable).type
    except KeyError:
        return name


def format_span(versions: Versions, whole: Versions) -> str:
    """A range as text: `4`, `0-12`, and `13+` for one that the newest version belongs to."""
    open_ended = versions.low <= versions.high >= whole.high and whole.low != whole.high
    return f"{versions.low}+" if open_ended else format_versions(versions)


def format_versions(versions: Versions) -> str:
    """A range with both ends."""
    if versions.low > versions.high:
        return "none"
    return str(versions.low) if versions.low == versions.high else f"{versions.low}-{versions.high}"
