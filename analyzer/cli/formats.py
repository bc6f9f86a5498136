"""The output formats that commands share, with the same names everywhere, and tshark's names for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from analyzer.cli.parameters import OneOf
from analyzer.errors import UserError

_Command = TypeVar("_Command", bound=Callable[..., Any])

ROWS = ("table", "ndjson", "json", "csv", "tsv")
"""The formats of a command that prints rows."""

ALSO = {
    **dict.fromkeys(("jsonl", "jsonlines", "json-lines", "ek"), "ndjson"),
    **dict.fromkeys(("text", "txt", "plain", "human", "pretty"), "table"),
    **dict.fromkeys(("tab", "tabs", "fields"), "tsv"),
}
"""Other names of formats that users try."""

TSHARK = {"fields": "tsv", "tabs": "tsv", "ek": "ndjson", "json": "json", "text": "table"}
"""Values of tshark's -T, and the corresponding formats."""

WITH_BODIES = ("ek", "json")
"""Values of tshark's -T that print decoded bodies unless fields are chosen."""

PARQUET = "Parquet is a folder of tables. Use wireanalyze export FILE --as parquet -o FOLDER."
_BODIES = "--format ndjson --fields prints decoded bodies. wireanalyze show FILE NUMBER prints one message as a tree."


class OutputFormat(OneOf):
    """An option type of click: the name of one of a command's output formats."""

    def refusal(self, value: str) -> str:
        """Returns the error for an unknown format; for names of tshark, with the name to use here."""
        if value == "parquet":
            return PARQUET
        if ALSO.get(value) in self.choices:
            return f"{value!r} is not one of {', '.join(self.choices)}. Did you mean {ALSO[value]}?"
        return super().refusal(value)


class TsharkForm(click.ParamType["tuple[str, bool]"]):
    """A value of tshark's -T."""

    name = "-T"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Returns the possible values."""
        return f"[{'|'.join(TSHARK)}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, bool]:
        """Returns the corresponding format, and whether it prints decoded bodies."""
        if isinstance(value, tuple):
            return value
        if value in TSHARK:
            return TSHARK[value], value in WITH_BODIES
        if value not in ROWS:
            self.fail(f"{value!r} is not one of {', '.join(TSHARK)}. {_BODIES}", param, ctx)
        return str(value), False


def format_options(*forms: str, short: str = "ndjson") -> Callable[[_Command], Callable[..., Any]]:
    """Adds --format and --json; the command gets `form`, by default the first of `forms`.

    short: the format of --json.
    """

    def add(command: _Command) -> Callable[..., Any]:
        @click.option(
            "--format", "form", type=OutputFormat(forms), default=forms[0], show_default=True, help="Output format."
        )
        @click.option("--json", "as_json", is_flag=True, help=f"The same as --format {short}.")
        @wraps(command)
        def with_form(*args: Any, form: str, as_json: bool, **rest: Any) -> Any:
            if as_json:
                is_explicit = click.get_current_context().get_parameter_source("form") is not ParameterSource.DEFAULT
                if is_explicit and form != short:
                    raise UserError(
                        f"--json means --format {short}, but --format {form} is given too. Leave one of them out."
                    )
                form = short
            return command(*args, form=form, **rest)

        return with_form

    return add
