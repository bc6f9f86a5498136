"""FieldAliases and aliases from a table: common questions about messages, with the fields that answer them.

Theory. A protocol that has few names for the same things only lists these names. A row's `fields` are ends of paths
(`path`, `stat.version`), which are searched among the members of each operation. Its `paths` are whole paths by
operation, for messages without a layout (JSON). A row with a `key` is one of the list's own columns. `kind` and
`nothing` are those of a FieldAlias.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from dissectors.api import Context, Role
from dissectors.catalog import Alias, FieldAlias, Member
from dissectors.message import Path

Row: TypeAlias = Mapping[str, Any]
MembersOf: TypeAlias = "Callable[[Role, int | None], tuple[str | None, Sequence[Member]]]"
"""The operation of such messages, and what they may have."""


def load_field_aliases(rows: Sequence[Row], members_of: MembersOf) -> tuple[FieldAlias, ...]:
    """Returns the field aliases of the table that have places in bodies."""
    return tuple(_short(row, members_of) for row in rows if "key" not in row)


def aliases_of(protocol: str, rows: Sequence[Row]) -> dict[str, Alias]:
    """Returns the rows that are keys of the list's rows, by whole name."""
    named = ((f"{protocol}.{row['name']}", row) for row in rows if "key" in row)
    return {name: Alias(name, row["type"], row["key"], about=row["about"]) for name, row in named}


def _short(row: Row, members_of: MembersOf) -> FieldAlias:
    ends = [tuple(each.split(".")) for each in row.get("fields", ())]

    @lru_cache(maxsize=1024)
    def find_paths(role: Role, code: int | None) -> tuple[Path, ...]:
        operation, members = members_of(role, code)
        more = (tuple(each.split(".")) for each in row.get("paths", {}).get(operation, ()))
        named = (path for path in leaf_paths(members) if any(path[-len(end) :] == end for end in ends))
        return (*named, *(path for path in more if leads(path, members)))

    def paths(context: Context) -> Sequence[Path]:
        return find_paths(context.role, context.code)

    return FieldAlias(
        row["name"],
        row["type"],
        paths,
        row.get("kind"),
        row.get("inherited", False),
        None,
        row["about"],
        nothing=frozenset(row.get("nothing", ())),
    )


def leaf_paths(members: Sequence[Member], around: Path = ()) -> Iterator[Path]:
    """Yields the paths of all members that are no structs."""
    for member in members:
        path = (*around, member.name)
        if member.type != "struct":
            yield path
        if member.members is not None:
            yield from leaf_paths(member.members(), path)


def leads(path: Path, members: Sequence[Member]) -> bool:
    """Returns whether a path may lead to a value, as far as members tell."""
    is_open = False
    for name in path:
        member = next((each for each in members if each.name == name), None)
        if member is None:
            return is_open
        members, is_open = () if member.members is None else member.members(), member.open
    return True
