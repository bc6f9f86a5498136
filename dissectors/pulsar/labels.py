"""What people read beside Pulsar's numbers by themselves: times, names; and the numbers of its errors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from dissectors.field import Label
from dissectors.pulsar.tables import table
from dissectors.wire.times import milliseconds, timestamp

_TIMES: Mapping[str, Label] = {"timestamp": timestamp, "milliseconds": milliseconds}


def find_label(shown: str) -> Label:
    """The label function that a field's row asks for: timestamp, milliseconds, or the names of an enum."""
    if shown in _TIMES:
        return _TIMES[shown]
    names = {int(number): name for number, name in table("enums")[shown].items()}
    return names.get


@cache
def error_codes() -> Mapping[str, int]:
    """The numbers of errors by name."""
    return {name: int(number) for number, name in table("enums")["ServerError"].items()}


def make_error(value: str | int) -> tuple[int, str]:
    """Number and name of an error as a message reports it; one that no release knows keeps its number."""
    if isinstance(value, int):
        return value, f"UNKNOWN_{value}"
    return error_codes()[value], value
