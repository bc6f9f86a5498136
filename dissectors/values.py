"""Reads fields of a message's values safely: any may be missing, and anything may be in any place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def number(values: Mapping[str, Any], name: str, missing: int = 0) -> int:
    """Returns an integer field, or the default if it is missing."""
    found = values.get(name)
    return found if isinstance(found, int) else missing


def text(values: Mapping[str, Any], name: str) -> str | None:
    """Returns a text field; None if it is missing or empty."""
    found = values.get(name)
    return found or None if isinstance(found, str) else None


def shorten(text: str, longest: int = 200) -> str:
    """Returns a text, or its beginning and "..." if it has more characters than that."""
    return text if len(text) <= longest else f"{text[:longest].rstrip()}..."


def struct(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Returns a struct field; an empty one if it is missing."""
    found = values.get(name)
    return found if isinstance(found, dict) else {}


def structs(value: object) -> list[Mapping[str, Any]]:
    """Returns the structs of an array; nothing of what is none, or was not read."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def measure_elapsed(first: int | None, then: int | None) -> int | None:
    """ns from one time to another, of clocks that may differ; None where one of them is unknown."""
    return None if first is None or then is None else max(then - first, 0)


def host_of(endpoint: str) -> str:
    """Returns the address of an endpoint without its port."""
    return endpoint.rpartition(":")[0]
