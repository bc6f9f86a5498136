"""Turns click's errors into messages: what is wrong with a command line, where, and what to do.

Theory. click raises before a command runs, and its errors name the parameter. Messages of our own types (parameters.py,
options.py) are kept; click's own messages are rewritten here. For options of other programs, the message names the
corresponding option here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches

import click

from analyzer.render.bug_report import PROGRAM

ALIKE = 0.7
"""Least similarity of a misspelt option to the one that is suggested, from 0 to 1."""

_EXTRA = re.compile(r"Got unexpected extra arguments? \((.*)\)\.?", re.DOTALL)
_INSTEAD = {
    "sniff": f"It captures on an interface (-i IF). To read a capture, use {PROGRAM} list FILE.",
    "interfaces": f"To capture on an interface, use {PROGRAM} sniff -i NAME.",
}
"""Advice for a word that a command does not take, by command."""


def usage_text(error: click.UsageError) -> str:
    """Returns the message for a wrong command line, without the name of the program."""
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
    """Returns an option as it is written, or an argument as the help shows it."""
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
    """Returns the command without the name of the program."""
    path = "" if error.ctx is None else error.ctx.command_path
    return path.partition(" ")[2] or PROGRAM


def _help(error: click.UsageError) -> str:
    return "" if error.ctx is None else f" See {error.ctx.command_path} --help."


def _subcommands(ctx: click.Context | None) -> Collection[str]:
    if ctx is None or not isinstance(ctx.command, click.Group):
        return ()
    return ctx.command.list_commands(ctx)


def _option_hint(error: click.NoSuchOption) -> str:
    """Returns advice for an option that a command does not have."""
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
    """Yields the commands that have an option; imports all of them."""
    for name in _subcommands(root):
        assert isinstance(root.command, click.Group)
        command = root.command.get_command(root, name)
        if command is not None and option.startswith("--") and option in _options(command):
            yield name


_BODIES = (
    "wireanalyze show FILE NUMBER prints one message field by field; list --format ndjson --fields prints every body."
)
_BYTES = (
    "wireanalyze show FILE NUMBER prints the bytes of a message; wireanalyze follow FILE STREAM --as hex prints"
    " those of a connection."
)
_TIME = "--time-format iso, relative, delta or epoch chooses how times are printed."
_FIELDS = "-e FIELD chooses the columns; --fields adds the decoded bodies."
_FILTER = "-Y FILTER is the display filter, and one pass is enough for it."
_WRITE = (
    "wireanalyze export FILE -o OUT.pcapng writes packets to a file; wireanalyze sniff -w OUT.pcapng captures to one."
)
_CAPTURE = "wireanalyze sniff captures on an interface."
_SEPARATOR = "--format csv and --format tsv separate fields and print a header."
_LIVE = "Leave it out: rows from a pipe are printed as they come."
_CONFIGURED = "wireanalyze config path prints where settings are."
_STATISTICS = (
    "Instead of -z io,stat use wireanalyze stats FILE --by time --interval 1s; for conv and endpoints stats"
    " --conversations and --endpoints; for follow wireanalyze follow FILE STREAM; for expert wireanalyze doctor FILE."
)
_NAMES = "Host names are shown if the capture has them; -n leaves them out."
_HEAD = "--head N prints the first N rows; -c N stops reading after N messages."
_BROKER = "This program reads captures and never connects to a broker. wireanalyze sniff captures the traffic of one."

HINTS: Mapping[str, str] = {
    "-V": _BODIES,
    "-O": f"{_BODIES} -Y PROTOCOL selects the messages of a protocol.",
    "-x": _BYTES,
    "-X": _BYTES,
    "--hexdump": _BYTES,
    "-A": "wireanalyze follow FILE STREAM --as raw prints the bytes of a connection.",
    "-P": "Leave it out: list always prints a line for each message.",
    "-z": _STATISTICS,
    "-q": "Leave it out: list prints only rows; stats, doctor and report print none.",
    "--quiet": "Leave it out: list prints only rows; stats, doctor and report print none.",
    "-w": _WRITE,
    "-F": "wireanalyze export chooses the format by --as or by the name of the file.",
    "-E": _SEPARATOR,
    "-S": _SEPARATOR,
    "-o": f"{_WRITE} {_CONFIGURED}",
    "--output": "wireanalyze export FILE -o OUT writes to a file, and so does > OUT in the shell.",
    "-C": _CONFIGURED,
    "-R": _FILTER,
    "-2": _FILTER,
    "--read-filter": _FILTER,
    "--display-filter": _FILTER,
    "--where": _FILTER,
    "--query": _FILTER,
    "--grep": "-Y 'info contains WORD' selects messages by their line; -Y can compare any field.",
    "-t": _TIME,
    "-u": _TIME,
    "-D": "wireanalyze interfaces lists the interfaces.",
    "--list-interfaces": "wireanalyze interfaces lists the interfaces.",
    "-L": "wireanalyze interfaces lists the link types.",
    "-G": "wireanalyze fields lists the fields; wireanalyze protocols lists the protocols.",
    "-j": _FIELDS,
    "-J": _FIELDS,
    "-i": _CAPTURE,
    "-r": "wireanalyze list FILE and wireanalyze open FILE read a capture.",
    "--read": "wireanalyze list FILE and wireanalyze open FILE read a capture.",
    "-f": "-f is the capture filter of wireanalyze sniff. For a file, -Y FILTER selects messages.",
    "-a": _CAPTURE,
    "-b": _CAPTURE,
    "-B": _CAPTURE,
    "-p": _CAPTURE,
    "-s": _CAPTURE,
    "-I": "Monitor mode of wireless interfaces is not supported.",
    "-l": _LIVE,
    "-U": _LIVE,
    "-N": _NAMES,
    "-H": _NAMES,
    "-K": "Kerberos is not decrypted. --keylog FILE decrypts TLS.",
    "--keylog-file": "--keylog FILE decrypts TLS.",
    "-W": "Leave it out: comments and names of a pcapng file are always read.",
    "-g": "Leave it out: your umask decides the permissions of a file.",
    "-y": "Leave it out: the interface decides the link type.",
    "-v": "wireanalyze --version prints the version.",
    "--export-objects": "wireanalyze export FILE -o FOLDER --as objects writes the payloads of messages.",
    "--limit": _HEAD,
    "--max-messages": _HEAD,
    "--first": _HEAD,
    "--last": "--tail N prints the last N rows.",
    "--skip": "-Y 'number > N' leaves out the first N messages.",
    "--topic": "-Y 'topic == NAME' selects the messages of a topic.",
    "--group": "-Y 'group == NAME' selects the messages of a group.",
    "--host": "-Y 'ip.addr == ADDRESS' selects the messages of a host.",
    "--port": "-Y 'tcp.port == PORT' selects the messages of a port; -d PORT=PROTOCOL says how to decode it.",
    "--bootstrap-server": _BROKER,
    "--bootstrap-servers": _BROKER,
    "--zookeeper": _BROKER,
    "--from-beginning": "Leave it out: a capture is always read from its beginning.",
}
"""By option. Only options that a command does not have are looked up, so another command may have one of these."""
