"""Which messages stories ask for, by name, and what is read of their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from dissectors.api import Role
from dissectors.lesson import Path
from dissectors.old_report import What
from dissectors.rocketmq.codes import operations

ROCKETMQ = "rocketmq"

ASKS = (Role.REQUEST, Role.ONEWAY)
ANSWERS = (Role.RESPONSE,)


@cache
def codes() -> Mapping[str, int]:
    """Request codes by name; HEART_BEAT and PULL are the clients', not those of the controllers' raft (DLedger)."""
    found: dict[str, int] = {}
    for code, operation in operations().items():
        found.setdefault(operation.name, code)
    return found


def of(names: Iterable[str], roles: Iterable[Role], *paths: str | Path) -> dict[What, frozenset[Path]]:
    """Commands in these roles, and their fields: a text is a member of the header, a path is one from the top."""
    wanted = frozenset(("header", path) if isinstance(path, str) else path for path in paths)
    return {(ROCKETMQ, codes()[name], role): wanted for name in names for role in roles}


def header(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the header's class says; without fields where there is none."""
    return struct(values, "header")


def number(values: Mapping[str, Any], name: str, missing: int = 0) -> int:
    """An integer field, or what stands for one that is not there."""
    found = values.get(name)
    return found if isinstance(found, int) else missing


def text(values: Mapping[str, Any], name: str) -> str | None:
    """A text; None where there is none, or one of no letters."""
    found = values.get(name)
    return found or None if isinstance(found, str) else None


def struct(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """An object inside of another; one without members where there is none."""
    found = values.get(name)
    return found if isinstance(found, dict) else {}


def structs(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
