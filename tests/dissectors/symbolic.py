"""What tests of templates share: the plain values that symbolic ones stand for, and how many there are."""

from __future__ import annotations

from typing import Any

from dissectors.symbolic_values import SymbolicValue, plain
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.secret import Secret


def filled(value: Any) -> Any:
    """A value with what its holes stand for; of a secret its length."""
    value = plain(value)
    if isinstance(value, dict):
        return {name: filled(each) for name, each in value.items()}
    if type(value) is list:
        return [filled(each) for each in value]
    if type(value) is EmbeddedValue:
        return filled([value.data, value.value, value.name])
    return ("secret", len(value)) if isinstance(value, Secret) else value


def find_symbolic_values(value: Any) -> int:
    """How many there are in a value."""
    if isinstance(value, dict):
        return sum(map(find_symbolic_values, value.values()))
    if type(value) is EmbeddedValue:
        return find_symbolic_values([value.data, value.value])
    return sum(map(find_symbolic_values, value)) if type(value) is list else issubclass(type(value), SymbolicValue)
