"""The guide's pages: an API in all its versions or in one, structures, records, primitive types, errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any

from dissectors.guide import Guide, Page
from dissectors.kafka.guide.entries import (
    GuideLayout,
    Row,
    format_versions,
    guide_lines,
    layout_data,
    make_layout,
    overview_lines,
)
from dissectors.kafka.schemas import header_version
from dissectors.kafka.tables import table
from dissectors.wire.guide import columns, suggest_names
from dissectors.wire.schema import NONE, Versions

_DIRECTIONS = ("request", "response")


class KafkaGuide(Guide):
    """Names are those of APIs (also older ones, and keys), of structures, and of the pages in _PAGES."""

    def names(self) -> Sequence[str]:
        """Returns the names of all pages: fixed pages, APIs and structures."""
        return (*_PAGES, *(row["name"] for row in table("messages")["messages"]), *_structures())

    def versions(self, name: str) -> Sequence[int]:
        """Returns the versions of an API or a structure; none for an unknown name."""
        row = _apis().get(name.lower())
        found = _find_structure(name) if row is None else row["request"]
        if found is None:
            return ()
        versions = Versions.parse(found["versions"])
        return range(versions.low, versions.high + 1)

    def page(self, name: str, version: int | None) -> Page:
        """Returns the page of a name, in one version or in all."""
        known = name.lower()
        if known in _PAGES:
            if version is not None:
                raise KeyError(f"{known} has no versions")
            return _PAGES[known]()
        api, structure = _apis().get(known), _find_structure(name)
        if api is None and structure is None:
            raise KeyError(f"Kafka has no API, structure or page called {name!r}{suggest_names(known, self.names())}")
        row = structure if api is None else api["request"]
        assert row is not None
        if version is not None and version not in Versions.parse(row["versions"]):
            proper = row["name"] if api is None else api["name"]
            raise KeyError(
                f"{proper} has no version {version}. It has {format_versions(Versions.parse(row['versions']))}"
            )
        if api is None:
            assert structure is not None
            return _structure(structure, version)
        return _api(api) if version is None else _api_version(api, version)


@cache
def _apis() -> Mapping[str, Row]:
    """APIs by all that people call them, in lower case."""
    found: dict[str, Row] = {}
    for row in table("messages")["messages"]:
        for name in (row["name"], *row.get("aliases", ())):
            found |= dict.fromkeys((name.lower(), f"{name}Request".lower(), f"{name}Response".lower()), row)
        found[str(row["key"])] = row
    return found


@cache
def _structures() -> Mapping[str, Row]:
    """Headers, structures within bytes fields, and records of internal topics."""
    messages = table("messages")
    tables = (messages["headers"], messages["data"], table("groups")["structures"], table("records")["records"])
    return {row["name"]: row for rows in tables for row in rows}


def _find_structure(name: str) -> Row | None:
    return next((row for each, row in _structures().items() if each.lower() == name.lower()), None)


# ---- an API


def _api(row: Row) -> Page:
    facts = list(_facts(row))
    lines = [f"{row['name']} (API key {row['key']})", *columns(facts)]
    data: dict[str, Any] = {"name": row["name"], "key": row["key"], **dict(_data_facts(row))}
    for direction in _DIRECTIONS:
        whole = make_layout(row["name"] + direction.capitalize(), row[direction])
        lines += ["", direction.capitalize(), *overview_lines(whole)]
        data[direction] = layout_data(whole)
    return Page(lines, data)


def _facts(row: Row) -> Iterator[tuple[str, str]]:
    request = row["request"]
    versions, current = Versions.parse(request["versions"]), Versions.parse(request.get("current", "none"))
    if "aliases" in row:
        yield "once", ", ".join(row["aliases"])
    yield "versions", f"{format_versions(versions)}{_format_removed(versions, current, row.get('unstable', ()))}"
    if "unstable" in row:
        yield "unstable", f"{', '.join(map(str, row['unstable']))}: only ever in early access"
    yield "flexible", _format_flexible_since(Versions.parse(request.get("flexible", "none")), versions)
    yield "headers", "; ".join(f"{direction} {_headers(row, direction)}" for direction in _DIRECTIONS)
    yield "listeners", ", ".join(row.get("listeners", ())) or "none any more"


def _format_removed(versions: Versions, current: Versions, unstable: Sequence[int]) -> str:
    if current == NONE or current.low > current.high:
        return "; none since Kafka 4.0, which has no ZooKeeper mode"
    if current.low > versions.low:
        removed = format_versions(Versions(versions.low, current.low - 1))
        why = "" if versions.low in unstable else " (KIP-896)"
        verb = "are" if "-" in removed else "is"
        return f"; the newest release takes {format_versions(current)}, {removed} {verb} gone{why}"
    return ""


def _format_flexible_since(flexible: Versions, versions: Versions) -> str:
    if flexible.low > min(flexible.high, versions.high):
        return "never"
    return "always" if flexible.low <= versions.low else f"from version {flexible.low} on"


def _headers(row: Row, direction: str) -> str:
    """Which header goes before which versions: `v1 (0-11), v2 (12-18)`."""
    versions = Versions.parse(row["request"]["versions"])
    kinds = [
        (header_version(row["key"], version, direction == "response"), version)
        for version in range(versions.low, versions.high + 1)
    ]
    runs = [(kind, [version for _, version in run]) for kind, run in groupby(kinds, key=lambda each: each[0])]
    if len(runs) == 1:
        return f"v{runs[0][0]}"
    return ", ".join(f"v{kind} ({format_versions(Versions(run[0], run[-1]))})" for kind, run in runs)


def _data_facts(row: Row) -> Iterator[tuple[str, object]]:
    request = row["request"]
    for name in ("aliases", "listeners", "unstable"):
        if name in row:
            yield name, row[name]
    for name in ("versions", "flexible", "current"):
        if name in request:
            yield name, request[name]
    yield "headers", {direction: _headers(row, direction) for direction in _DIRECTIONS}


def _api_version(row: Row, version: int) -> Page:
    lines: list[str] = []
    data: dict[str, Any] = {"name": row["name"], "key": row["key"], "version": version}
    for direction in _DIRECTIONS:
        header = header_version(row["key"], version, direction == "response")
        one = make_layout(row["name"] + direction.capitalize(), row[direction], version)
        title = f"{row['name']} {direction.capitalize()} (Version: {version})"
        lines += [*([""] if lines else []), *guide_lines(title, one), *_other_layouts(one.name, version)]
        data[direction] = {"header": header, **layout_data(one)}
    return Page(lines, data)


def _other_layouts(name: str, version: int) -> Iterator[str]:
    """What early releases wrote under the same number."""
    for row in table("variants")["variants"]:
        if row["name"] == name and version in Versions.parse(row["versions"]):
            yield ""
            yield from guide_lines(
                f"{name} (Version: {version}), as {row['releases']} wrote it", make_layout(name, row, version)
            )


# ---- structures and records


def _structure(row: Row, version: int | None) -> Page:
    found: GuideLayout = make_layout(row["name"], row, version)
    if version is not None:
        lines = [*guide_lines(f"{row['name']} (Version: {version})", found), *_other_layouts(row["name"], version)]
        return Page(lines, layout_data(found))
    facts = [
        ("versions", format_versions(found.versions)),
        ("flexible", _format_flexible_since(found.flexible, found.versions)),
    ]
    if "module" in row:
        facts.insert(0, ("written by", row["module"]))
    if "key" in row:
        facts.append(("record type", str(row["key"])))
    return Page([row["name"], *columns(facts), "", *overview_lines(found)], layout_data(found))


def _list_of_structures() -> Page:
    rows = [(name, row["versions"], row.get("module", "")) for name, row in _structures().items()]
    data = [{"name": name, "versions": versions} for name, versions, _ in rows]
    return Page(columns([("structure", "versions", "written by"), *rows], ""), {"structures": data})


def _records() -> Page:
    lines: list[str] = []
    data = []
    for row in table("record_formats")["formats"]:
        version = Versions.parse(row["versions"]).low
        one = make_layout(row["name"], row, version)
        lines += [*([""] if lines else []), *guide_lines(f"{row['name']} ({row['when']})", one)]
        data.append(layout_data(one))
    return Page(lines, {"records": data})


def _types() -> Page:
    rows = table("guide")["types"]
    lines = columns([("type", "on the wire"), *((name.upper(), text) for name, text in rows.items())], "")
    return Page(lines, {"types": rows})


def _errors() -> Page:
    rows = sorted((int(number), name) for number, name in table("errors").items())
    data = [{"code": number, "name": name} for number, name in rows]
    return Page([f"{number}\t{name}" for number, name in rows], {"errors": data})


_PAGES: Mapping[str, Callable[[], Page]] = {
    "types": _types,
    "errors": _errors,
    "records": _records,
    "structures": _list_of_structures,
}

GUIDE = KafkaGuide()
