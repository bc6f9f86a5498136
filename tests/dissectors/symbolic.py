"""What tests of templates share: the plain values that symbolic ones stand for, and how many there are."""

from __future__ import annotations

from typing import Any

from dissectors.symbolic_values import SymbolicValue, plain
from dissectors.wire.secret import Secret


def filled(value: Any) -> Any:
    """A value with what its holes stand for; of a secret its length."""
    if isinstance(value, dict):
        return {name: filled(each) for name, each in value.items()}
    if type(value) is list:
        return [filled(each) for each in value]
    return ("secret", len(value)) if isinstance(value, Secret) else plain(value)


def find_symbolic_values(value: Any) -> int:
    """How many there are in a value."""
    if isinstance(value, dict):
        return sum(map(find_symbolic_values, value.values()))
    return sum(map(find_symbolic_values, value)) if type(value) is list else issubclass(type(value), SymbolicValue)
