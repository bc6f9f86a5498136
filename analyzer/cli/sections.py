"""Groups a command's options into sections with headings, in help, man page and reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

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
