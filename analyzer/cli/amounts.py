"""Parses amounts on the command line of a capture: durations, sizes, numbers.

Theory. dumpcap takes a bound NAME:VALUE, a number in a fixed unit. Here several bounds may be joined with commas, and a
value may have a unit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import click

from analyzer.cli.memory import size_of
from analyzer.live.capture_request import CaptureBounds
from analyzer.query.units import DURATIONS

_SECONDS = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?(ns|us|ms|s|m|h|)")
_WHOLE = re.compile(r"\d{1,15}")

KILOBYTE = 1000
"""Bytes of `filesize:1`, as in other programs."""


class Limits(click.ParamType[CaptureBounds]):
    """NAME:VALUE, several with commas: duration:60s, size:100M, filesize:KB, packets:N, files:N."""

    name = "NAME:VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> CaptureBounds:
        """Returns the given bounds."""
        if isinstance(value, CaptureBounds):
            return value
        found = CaptureBounds()
        for part in str(value).split(","):
            name, _, text = part.partition(":")
            limit = _LIMITS.get(name)
            if limit is None:
                known = ", ".join(f"{name}:{each.example}" for name, each in _LIMITS.items())
                self.fail(f"{part!r} is not one of {known}.", param, ctx)
            amount = limit.read(text)
            if not amount:
                self.fail(f"{part!r} does not say how much. Write for example {name}:{limit.example}.", param, ctx)
            changed: dict[str, Any] = {limit.field: amount}
            found = replace(found, **changed)
        return found


class _Limit(NamedTuple):
    """The field of CaptureBounds, the function that reads its value (None or 0: wrong), and an example value."""

    field: str
    read: Callable[[str], float | None]
    example: str


def _seconds(text: str) -> float | None:
    match = _SECONDS.fullmatch(text)
    return None if match is None else float(match[1]) * DURATIONS[match[2] or "s"] / DURATIONS["s"]


def _parse_whole(text: str) -> int | None:
    return int(text) if _WHOLE.fullmatch(text) else None


_LIMITS: Mapping[str, _Limit] = {
    "duration": _Limit("seconds", _seconds, "60s"),
    "size": _Limit("size", size_of, "100M"),
    "filesize": _Limit("size", lambda text: (_parse_whole(text) or 0) * KILOBYTE, "100000 (kilobytes)"),
    "packets": _Limit("packets", _parse_whole, "10000"),
    "files": _Limit("files", _parse_whole, "5"),
}
