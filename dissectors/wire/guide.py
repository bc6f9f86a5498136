"""Parts that all guides share: fields as entries, their lines and JSON, pages by name, names that are meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeAlias

from dissectors.guide import Guide, Page
from dissectors.slotted import make_slotted

INDENT = "  "
_FEW = 6
"""Values of an enum that are all named; of one with more its name is."""

_WIDEST = 60
"""What is longer than this does not move the next column; it only stands too far left."""

_CLOSE, _MEANT = 0.6, 3

EnumText: TypeAlias = Callable[[str], str]
"""What is said of an enum by its name: a protocol knows the values."""


def columns(rows: Iterable[Sequence[str]], indent: str = INDENT) -> list[str]:
    """Returns rows of cells as aligned lines."""
    found = [tuple(row) for row in rows]
    count = max(map(len, found), default=0)
    widths = [max((len(row[at]) for row in found if at < len(row) and len(row[at]) <= _WIDEST), default=0)
              for at in range(count)]  # fmt: skip
    lines = []
    for row in found:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append((indent + INDENT.join(cells)).rstrip())
    return lines


def overview(entries: Sequence[LayoutEntry], enum: EnumText, versions: bool = True) -> list[str]:
    """Returns fields below each other: name, type, versions where there are any, notes."""
    middle = ("versions",) if versions else ()
    rows: list[tuple[str, ...]] = [("field", "type", *middle, "")]
    for depth, entry in _walk_entries(entries, 0):
        since = (entry.versions or "",) if versions else ()
        rows.append((INDENT * depth + entry.name, entry.type, *since, notes(entry, enum)))
    return columns(rows) if len(rows) > 1 else [INDENT + "nothing"]


def _walk_entries(entries: Sequence[LayoutEntry], depth: int) -> Iterator[tuple[int, LayoutEntry]]:
    for entry in entries:
        yield depth, entry
        yield from _walk_entries(entry.fields or (), depth + 1)


def notes(entry: LayoutEntry, enum: EnumText) -> str:
    """Returns the remaining notes about a field, in a fixed order."""
    found = [entry.array.replace("_", " ")] if entry.array is not None else []
    if entry.nullable is not None and not (entry.array or "").count("nullable"):
        found.append(f"nullable {entry.nullable}".rstrip())
    if entry.tag is not None and entry.versions is not None:
        found.append(f"tag {entry.tag}")
    if entry.key:
        found.append("key")
    if entry.entity is not None:
        found.append(re.sub(r"([A-Z])", lambda found: f" {found[1].lower()}", entry.entity))
    if entry.enum is not None:
        found.append(enum(entry.enum))
    if entry.secret:
        found.append("masked")
    if entry.default is not None:
        found.append(f"default {entry.default or 'empty'}")
    if entry.about is not None:
        found.append(entry.about)
    return "; ".join(found)


def enum_text(name: str, phrases: Mapping[str, str], values: Mapping[str, str], few: int = _FEW) -> str:
    """Formats a few values with their names, or else the name of the enum."""
    if name in phrases:
        return phrases[name]
    if not 0 < len(values) <= few:
        return name
    return ", ".join(f"{number} {label}" for number, label in values.items())


def suggest_names(name: str, names: Sequence[str]) -> str:
    """Returns the names that are nearly this one, or have it in them, as the end of a sentence."""
    lower = {each.lower(): each for each in names}
    close = [lower[each] for each in get_close_matches(name, lower, _MEANT, _CLOSE)]
    if len(name) > _MEANT:
        close += [each for known, each in lower.items() if name in known and each not in close]
    return f". Did you mean {' or '.join(close[:_MEANT])}?" if close else ""


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


Pages = Mapping[str, Callable[[], Page]]


class Shelf(Guide):
    """Pages of a protocol called `title`, made when they are asked for.

    numbers: names by what stands on the wire. normalize: what is the same of a name however it is written.
    """

    def __init__(
        self,
        title: str,
        pages: Callable[[], Pages],
        numbers: Callable[[], Mapping[int, str]],
        normalize: Callable[[str], str] = str.lower,
    ) -> None:
        self._title, self._pages, self._numbers, self._normalize = title, pages, numbers, normalize

    def names(self) -> Sequence[str]:
        """Returns the names of all pages."""
        return tuple(self._pages())

    def versions(self, name: str) -> Sequence[int]:
        """Returns nothing: messages of such protocols have no versions."""
        return ()

    def page(self, name: str, version: int | None) -> Page:
        """Returns the page of a name or a number."""
        numbers = {f"{number}": each for number, each in self._numbers().items()}
        wanted = numbers.get(name, name)
        alike = [each for each in self._pages() if self._normalize(each) == self._normalize(wanted)]
        if not alike:
            raise KeyError(
                f"{self._title} has no page called {name!r}{suggest_names(self._normalize(wanted), self.names())}"
            )
        found = wanted if wanted in alike else alike[0]
        if version is not None:
            raise KeyError(f"{found} has no versions")
        return self._pages()[found]()


def list_page(head: Sequence[str], rows: Sequence[Sequence[str]], key: str) -> Page:
    """Makes a page from a table; as JSON a list of objects under a key, without empty members."""
    data = [{name: cell for name, cell in zip(head, row, strict=True) if cell} for row in rows]
    return Page(columns([head, *rows], ""), {key: data})


def part_data(parts: Iterable[Sequence[str]]) -> list[dict[str, str]]:
    """Returns the parts of a layout as JSON values: a name, a type, and perhaps what it is about."""
    return [{"part": name, "type": kind} | ({"about": about} if about else {}) for name, kind, about in parts]


def normalize_name(name: str) -> str:
    """Normalizes a name that may be in any case, and have a hyphen for an underscore."""
    return name.lower().replace("-", "_")
