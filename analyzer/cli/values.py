"""Types of values on the command line, for click. Error messages say what to give instead."""

from __future__ import annotations

from typing import Any

import click


class OneOf(click.Choice[str]):
    """A parameter with a fixed set of words."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Returns the word itself; for an unknown word, fails and suggests a similar one."""
        if value not in self.choices:
            self.fail(self.refusal(str(value)), param, ctx)
        return super().convert(value, param, ctx)

    def refusal(self, value: str) -> str:
        """Returns the error message for an unknown word."""
        from difflib import get_close_matches  # only needed for a misspelt word

        near = get_close_matches(value.lower(), self.choices, 1, 0.6)
        hint = f" Did you mean {near[0]}?" if near else ""
        return f"{value!r} is not one of {', '.join(self.choices)}.{hint}"


class Whole(click.IntRange):
    """A whole number within bounds."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Converts a text to a whole number. Fails (click) unless it is one within the bounds."""
        try:
            return int(super().convert(value, param, ctx))
        except click.BadParameter:
            self.fail(f"Give a whole number{_bounds(self.min, self.max)}, not {str(value)!r}.", param, ctx)


class Seconds(click.FloatRange):
    """A number of seconds within bounds."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Converts a text to seconds. Fails (click) unless it is a number within the bounds."""
        try:
            return float(super().convert(value, param, ctx))
        except click.BadParameter:
            self.fail(f"Give seconds{_bounds(self.min, self.max)}, such as 2.5, not {str(value)!r}.", param, ctx)


def _bounds(low: float | None, high: float | None) -> str:
    if low is None:
        return "" if high is None else f", {high} or less"
    return f", {low} or more" if high is None else f" from {low} to {high}"
