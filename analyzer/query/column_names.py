"""Resolves names of columns: keys of a row, sets of them, and fields by their paths.

Theory. A key of a row has a fast path, also under its other names (`latency`, `tcp.stream`). So a name is looked up
among the keys first. Only a name that is not a key is a field that must be read from messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from analyzer.decode.rows import ALIASES, ROW_KEYS, list_keys
from analyzer.errors import UserError
from analyzer.query.presets import load_presets
from dissectors.slotted import make_slotted

if TYPE_CHECKING:
    from analyzer.query.fields import FieldPath

_OWN = frozenset(list_keys())


@make_slotted
class ColumnKeys:
    """Holds the columns of lines: `titles` as the user wrote them, `names` for the reader, the paths among these."""

    titles: Sequence[str]
    names: Sequence[str]
    paths: Mapping[str, FieldPath]

    def add_fields(self) -> ColumnKeys:
        """Returns the same columns with the decoded body as the last one."""
        if "fields" in self.names:
            return self
        return ColumnKeys([*self.titles, "fields"], [*self.names, "fields"], self.paths)


def find_number_keys(keys: ColumnKeys) -> frozenset[str]:
    """Returns the paths whose values are numbers without names."""
    return frozenset(name for name, path in keys.paths.items() if path.kind.value == "number" and path.label is None)


def resolve_keys(titles: Iterable[str], option: str) -> ColumnKeys:
    """Resolves the column names of an option to keys. Raises UserError for an unknown name."""
    wanted, names = list(titles), list[str]()
    paths: dict[str, FieldPath] = {}
    for title in wanted:
        key = resolve_key(title, option)
        if isinstance(key, str):
            names.append(key)
        else:
            names.append(title)
            paths[title] = key
    return ColumnKeys(wanted, names, paths)


def resolve_key(name: str, option: str) -> str | FieldPath:
    """Resolves a name to a key of rows or a field. Raises UserError, which names the option."""
    if name in _OWN:
        return ALIASES.get(name, name)
    from analyzer.query.fields import (  # not needed for keys of rows
        FieldKind,
        UnknownField,
        find_field,
    )
    from analyzer.query.fields.path import BodyField, RowKey

    try:
        path = find_field(name)
    except UnknownField as error:
        raise UserError(f"{option} {name}: {error}") from None
    if isinstance(path.origin, RowKey) and path.origin.name in ROW_KEYS:
        return path.origin.name
    if path.kind is FieldKind.PRESENCE and isinstance(path.origin, BodyField) and path.origin.operation is None:
        raise UserError(
            f"{option} {name}: This is a protocol. Give one of its fields; wireanalyze fields {name} lists them."
        )
    return path


def find_preset(name: str, own: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Returns the keys of a set of columns; `own`: the configured sets. Raises UserError for an unknown set."""
    known = {**load_presets(), **own}
    if name not in known:
        near = get_close_matches(name, known, 3)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"Give one of {', '.join(known)}."
        raise UserError(f"--columns {name}: There is no such set of columns. {hint}")
    return known[name]
