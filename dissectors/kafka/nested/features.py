"""Levels of features by their names: what `metadata.version` 22 is called.

Facts. A feature's levels are numbers that mean something else for each feature, so what a level is called depends on
the name beside it. Where that is so is a table (`features` in quirks.json); labels of one value cannot tell it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

from dissectors.field import Field, FieldSpec
from dissectors.kafka.labels import labels
from dissectors.kafka.tables import table


class Nodes(Protocol):
    """How to find the members of a struct's node."""

    def find(self, struct: Field, name: str) -> Field | None:
        """The member of that name."""

    def list_structs(self, struct: Field, name: str) -> Sequence[Field]:
        """The structs of an array."""


class _LevelPlace(NamedTuple):
    """An array of features in a message or a structure, or none where it is a feature itself; its members."""

    array: str | None
    name: str
    levels: Sequence[str]


@lru_cache(maxsize=256)
def _find_level_places(schema: str) -> tuple[_LevelPlace, ...]:
    found = []
    for row in table("quirks")["features"]["levels"]:
        message, _, array = row["at"].partition(".")
        if message == schema:
            found.append(_LevelPlace(array or None, row["name"], row["levels"]))
    return tuple(found)


def name_levels(nodes: Nodes, struct: Field, schema: str) -> None:
    """Gives the levels in a message or structure, which the schema of that name describes, the names of theirs."""
    for place in _find_level_places(schema):
        for feature in (struct,) if place.array is None else nodes.list_structs(struct, place.array):
            _name_feature(nodes, feature, place)


def _name_feature(nodes: Nodes, feature: Field, place: _LevelPlace) -> None:
    called: Mapping[str, str] = table("quirks")["features"]["names"]
    name = nodes.find(feature, place.name)
    enum = called.get(name.value) if name is not None and isinstance(name.value, str) else None
    if enum is not None:
        for level in _iterate_members(nodes, feature, place.levels):
            level.spec = _spec(level.spec.name, level.spec.type, enum)


def _iterate_members(nodes: Nodes, struct: Field, names: Sequence[str]) -> Iterator[Field]:
    for name in names:
        node = nodes.find(struct, name)
        if node is not None:
            yield node


@lru_cache(maxsize=64)
def _spec(name: str, kind: str, enum: str) -> FieldSpec:
    return FieldSpec(name, kind, labels(enum))
