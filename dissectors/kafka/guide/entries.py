"""Layouts of the protocol guide: their entries, and how they are written as lines and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dissectors.kafka.tables import table
from dissectors.kafka.types import KAFKA
from dissectors.slotted import make_slotted
from dissectors.wire.guide import INDENT, LayoutEntry, columns, entry_data, enum_text, notes, overview
from dissectors.wire.schema import NONE, Versions

Row = Mapping[str, Any]


@make_slotted
class GuideLayout:
    """The fields of a message or structure, in one version or (None) in all versions."""

    name: str
    version: int | None
    versions: Versions
    flexible: Versions
    entries: tuple[LayoutEntry, ...]

    @property
    def is_flexible(self) -> bool:
        """Whether its structs end in tagged fields."""
        return self.version is not None and self.version in self.flexible


def make_layout(name: str, row: Row, version: int | None = None) -> GuideLayout:
    """Returns the layout that a row of a table describes."""
    versions, flexible = Versions.parse(row["versions"]), Versions.parse(row.get("flexible", "none"))
    entries = _entries(row["fields"], versions, versions, flexible, version)
    return GuideLayout(name, version, versions, flexible, entries)


def _entries(
    rows: Sequence[Row], parent: Versions, whole: Versions, flexible: Versions, version: int | None
) -> tuple[LayoutEntry, ...]:
    found = []
    for row in rows:
        own = Versions.parse(row["versions"]) if "versions" in row else parent
        own = Versions(max(own.low, parent.low), min(own.high, parent.high))
        if version is None or version in own:
            found.append(_entry(row, own, whole, flexible, version))
    return tuple(found)


def _entry(row: Row, own: Versions, whole: Versions, flexible: Versions, version: int | None) -> LayoutEntry:
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
    return LayoutEntry(
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
    """Formats a primitive type as the protocol guide does. Names that are no primitive type stay as they are."""
    try:
        return KAFKA.primitive(name, flexible, nullable).type
    except KeyError:
        return name


def format_span(versions: Versions, whole: Versions) -> str:
    """Returns a range as text: `4`, `0-12`, and `13+` for one that the newest version belongs to."""
    open_ended = versions.low <= versions.high >= whole.high and whole.low != whole.high
    return f"{versions.low}+" if open_ended else format_versions(versions)


def format_versions(versions: Versions) -> str:
    """Formats a range of versions with both ends: `3`, `0-12`, `none`."""
    if versions.low > versions.high:
        return "none"
    return str(versions.low) if versions.low == versions.high else f"{versions.low}-{versions.high}"


def layout_data(layout: GuideLayout) -> dict[str, Any]:
    """Returns a layout with its versions and fields."""
    version = {} if layout.version is None else {"version": layout.version}
    return {
        "name": layout.name,
        **version,
        "versions": format_versions(layout.versions),
        "flexible": format_versions(layout.flexible) if layout.version is None else layout.is_flexible,
        "fields": [entry_data(entry) for entry in layout.entries],
    }


_PHRASES = {
    "error": "error code",
    "api": "API key",
    "timestamp": "milliseconds since 1970",
    "milliseconds": "milliseconds",
}


def overview_lines(layout: GuideLayout) -> list[str]:
    """Formats all versions of a layout as a table: field, type, versions, notes."""
    return overview(layout.entries, _enum)


def guide_lines(title: str, layout: GuideLayout) -> list[str]:
    """Formats one version of a layout as Kafka's protocol guide does."""
    head = f"{title} => {_right(layout.entries, layout.is_flexible)}".rstrip()
    return [head, *columns(_productions(layout.entries, 1, layout.is_flexible), "")]


def _productions(entries: Sequence[LayoutEntry], depth: int, flexible: bool) -> Iterator[tuple[str, str]]:
    for entry in entries:
        name = entry.name if entry.tag is None else f"{entry.name}<tag: {entry.tag}>"
        right = entry.type.upper() if entry.fields is None else _right(entry.fields, flexible)
        yield f"{INDENT * depth}{name} => {right}".rstrip(), notes(entry, _enum)
        yield from _productions(entry.fields or (), depth + 1, flexible)


def _right(entries: Sequence[LayoutEntry], flexible: bool) -> str:
    names = [f"[{entry.name}]" if entry.array is not None else entry.name for entry in entries if entry.tag is None]
    return " ".join([*names, "_tagged_fields"] if flexible else names)


def _enum(name: str) -> str:
    return enum_text(name, _PHRASES, table("enums").get(name, {}))
