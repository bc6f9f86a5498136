"""What is wrong with a command line, where, and what to do: click's errors as sentences of this program.

Theory. click raises before a command runs, and its errors say which parameter is meant. Values are refused by our own
types (values.py, options.py), whose messages stay; click's own messages are rewritten here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from difflib import get_close_matches

import click

from analyzer.cli.tshark_options import HINTS
from analyzer.render.bug_report import PROGRAM

ALIKE = 0.7
"""How like a misspelt option must be to the one that is meant, from 0 to 1."""

_EXTRA = re.compile(r"Got unexpected extra arguments? \((.*)\)\.?", re.DOTALL)
_INSTEAD = {
    "sniff": f"It captures on an interface (-i IF). To read a capture, use {PROGRAM} list FILE.",
    "interfaces": f"To capture on an interface, use {PROGRAM} sniff -i NAME.",
}
"""What to do with a word that a command does not take."""


def usage_text(error: click.UsageError) -> str:
    """Returns the sentence for a wrong command line, without the name of the program."""
    if isinstance(error, click.MissingParameter):
        return _missing(error)
    if isinstance(error, click.BadParameter):
        return error.message if error.param is None else f"{_name(error.param)}: {error.message}"
    if isinstance(error, click.NoSuchOption):
        return f"{_command(error)} has no option {error.option_name}{_option_hint(error)}"
    if isinstance(error, click.NoSuchCommand):
        known = _subcommands(error.ctx)
        return f"{_command(error)} has no command {error.command_name}. Its commands are {', '.join(known)}."
    if isinstance(error, click.BadOptionUsage):
        if "does not take" in error.message:
            return f"{error.option_name} takes no value. Leave out = and the text after it."
        return f"{error.option_name} needs a value."
    if extra := _EXTRA.fullmatch(error.message):
        command = _command(error)
        return f"{command} does not take {extra[1]}. {_INSTEAD.get(command, f'Leave it out.{_help(error)}')}"
    return f"{error.message.rstrip('.')}.{_help(error)}"


def _name(param: click.Parameter) -> str:
    """An option as it is written, an argument as help shows it."""
    if isinstance(param, click.Option):
        return "/".join(param.opts)
    return (param.metavar or param.name or "").strip("[]").upper()


def _missing(error: click.MissingParameter) -> str:
    param = error.param
    if not isinstance(param, click.Option):
        choices = f": {', '.join(param.type.choices)}" if param and isinstance(param.type, click.Choice) else ""
        return f"{_command(error)} needs {_name(param) if param else 'an argument'}{choices}.{_help(error)}"
    what = param.help or ""
    return f"{_command(error)} needs {param.opts[0]} {param.metavar or ''}: {what[:1].lower()}{what[1:]}"


def _command(error: click.UsageError) -> str:
    """The command without the name of the program before it."""
    path = "" if error.ctx is None else error.ctx.command_path
    return path.partition(" ")[2] or PROGRAM


def _help(error: click.UsageError) -> str:
    return "" if error.ctx is None else f" See {error.ctx.command_path} --help."


def _subcommands(ctx: click.Context | None) -> Collection[str]:
    if ctx is None or not isinstance(ctx.command, click.Group):
        return ()
    return ctx.command.list_commands(ctx)


def _option_hint(error: click.NoSuchOption) -> str:
    """What to write instead of an option that a command does not have."""
    option, ctx = error.option_name, error.ctx
    if option in HINTS:
        return f". {HINTS[option]}"
    if ctx is not None:
        if option in _options(ctx.find_root().command):
            return f". Write it before the command: {PROGRAM} {option} ... {_command(error)}"
        if near := get_close_matches(option, _options(ctx.command), 2, ALIKE):
            return f". Did you mean {' or '.join(near)}?"
        if owners := list(_owners(option, ctx.find_root())):
            return f". It is an option of {', '.join(owners)}."
    return f".{_help(error)}"


def _options(command: click.Command) -> list[str]:
    return [name for each in command.params for name in (*each.opts, *each.secondary_opts) if name.startswith("-")]


def _owners(option: str, root: click.Context) -> Iterator[str]:
    """The commands that have an option; imports all of them."""
    for name in _subcommands(root):
        assert isinstance(root.command, click.Group)
        command = root.command.get_command(root, name)
        if command is not None and option.startswith("--") and option in _options(command):
            yield name
