"""Types of values on the command line, with errors that say what to give; the options of a help in sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


LONGEST = 12
"""Number of options up to which no sections are used."""

OWN, LAST = "Options", "Other"

SECTIONS: Mapping[str, Sequence[str]] = {
    "Capture": (
        *("interfaces", "expression", "write", "ring", "most", "until", "snaplen", "buffer", "no_promiscuous"),
        *("user", "via"),
    ),
    OWN: (),
    "Selection": ("text", "count", "order", "head", "tail", "stream", "only", "partners"),
    "Output": (
        *("out", "page", "force", "form", "as_json", "like_tshark", "chosen", "sets", "fields", "with_fields", "time"),
        *("tables", "handshakes", "embed_keys", "split", "headless", "wide", "color", "theme", "show_secrets"),
        *("n", "verbose"),
    ),
    "Input": ("more", "decode_as", "reader", "follow", "keylog", "key", "key_password_file"),
    "Limits": ("bytes_limit", "max_items", "max_decompressed", "max_files", "memory", "jobs"),
    LAST: ("n", "verbose"),
}
"""Names of parameters by section, in the order of the help. Other parameters belong to the command itself."""

_SECTION = {name: section for section, names in SECTIONS.items() for name in names}


class SectionedCommand(click.Command):
    """A command that prints its options in sections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options, like click but in sections."""
        for title, records in list_sections(self, ctx):
            with formatter.section(title):
                formatter.write_dl(records)


def list_sections(command: click.Command, context: click.Context) -> list[tuple[str, list[tuple[str, str]]]]:
    """Returns each section with the name and the help of its options; one section if there are few options."""
    options = [each for each in command.get_params(context) if isinstance(each, click.Option)]
    sections: dict[str, list[tuple[str, str]]] = {title: [] for title in SECTIONS}
    for option in options:
        record = option.get_help_record(context)
        if record is not None:
            title = LAST if "--help" in option.opts else _SECTION.get(option.name or "", OWN)
            sections[OWN if len(options) <= LONGEST else title].append(record)
    return [(title, records) for title, records in sections.items() if records]
