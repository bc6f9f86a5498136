"""Which messages stories ask for, by name, and what is read of their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from dissectors.api import Role
from dissectors.lesson import Path
from dissectors.old_report import What
from dissectors.pulsar.commands import commands

PULSAR = "pulsar"

NO_NUMBER = 0xFFFF_FFFF_FFFF_FFFF
"""-1 as an id: of a message that the broker knew already and did not write again, and of no request."""

Place = tuple[int, int]
"""Ledger and entry. Within a topic a greater place is a later one (PositionImpl.compareTo)."""


@cache
def codes() -> Mapping[str, int]:
    """The types of commands by name."""
    return {command.name: code for code, command in commands().items()}


def of(names: Iterable[str], *paths: str | Path) -> dict[What, frozenset[Path]]:
    """Commands, whatever they are in their exchange, and their fields."""
    wanted = frozenset((path,) if isinstance(path, str) else path for path in paths)
    return {(PULSAR, codes()[name], role): wanted for name in names for role in Role}


def number(values: Mapping[str, Any], name: str, missing: int = 0) -> int:
    """An integer field, or what stands for one that is not there."""
    found = values.get(name)
    return found if isinstance(found, int) else missing


def text(values: Mapping[str, Any], name: str) -> str | None:
    """A text, or the name of an enum's value; None where there is none, or one of no letters."""
    found = values.get(name)
    if isinstance(found, str):
        return found or None
    return str(found) if isinstance(found, int) else None


def structs(value: object) -> list[Mapping[str, Any]]:
    """The messages of a repeated field."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def struct(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A message inside of another; one without fields where there is none."""
    found = values.get(name)
    return found if isinstance(found, dict) else {}


def place_of(value: object) -> Place | None:
    """Where a message lies, by its MessageIdData; None for what is none."""
    if not isinstance(value, dict):
        return None
    ledger, entry = value.get("ledgerId"), value.get("entryId")
    return (ledger, entry) if isinstance(ledger, int) and isinstance(entry, int) else None
