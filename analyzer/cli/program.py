"""The program around the commands: finds and runs a command, and handles all ways in which it can end.

Theory. The exit status is decided here: a command returns it or raises. A message for the user (UserError, wrong usage,
a file that cannot be opened) is status 2, Ctrl-C is 130. If the reader of our output goes away (`| head`), this is no
error. Anything else is a defect of the program and is reported as one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from analyzer.cli.errors import sentence, usage_sentence
from analyzer.errors import UserError
from analyzer.render.bug_report import PROGRAM, find_version, format_defect

COMMANDS: dict[str, str] = {
    "open": "Open captures in the terminal UI.",
    "web": "Open captures in the terminal UI, in a browser.",
    "list": "List the messages of captures, one line each.",
    "follow": "Print the messages of one TCP connection.",
    "sniff": "Capture live traffic and show its messages.",
    "show": "Show one message: its fields, its bytes, its partner.",
    "decode": "Decode messages that are given as hex.",
    "stats": "Count messages and errors, and measure latencies.",
    "diff": "Compare two captures and print the largest changes first.",
    "export": "Export messages as lines, tables, packets, bytes or files.",
    "report": "Report what happened across messages, such as sessions.",
    "diagram": "Draw who sent what to whom, as a sequence diagram.",
    "doctor": "Find out what is wrong in captures.",
    "info": "Print the properties of captures and their protocols.",
    "pipeline": "Turn many captures into Parquet tables with Spark.",
    "serve": "Answer questions of assistants and programs (MCP).",
    "interfaces": "List the network interfaces of this machine.",
    "protocols": "List protocols, their operations and their layouts.",
    "fields": "List the fields for filters and columns.",
    "config": "Print the configuration or the path of its file.",
    "completion": "Print a script that completes commands in your shell.",
}
"""Commands and the first sentence of their help; the command `name` is the object `command` of analyzer.cli.name."""

OK, INTERRUPTED = 0, 130
COMPLETE_VARIABLE = "_WIREANALYZE_COMPLETE"


class Commands(click.Group):
    """The group of COMMANDS; it lists them without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports the requested command only."""
        if cmd_name not in COMMANDS:
            return None
        found = import_module(f"analyzer.cli.{cmd_name}").command
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Returns the command that the first word names. Raises UserError for an unknown word."""
        if args[0] not in COMMANDS:
            from analyzer.cli.front import unknown_command

            raise UserError(unknown_command(args[0], COMMANDS))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the table of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the names of the protocols at the end of the help."""
        from dissectors import registry  # only needed for help

        formatter.write_paragraph()
        formatter.write_text(f"Protocols: {', '.join(registry.BUILT_IN)}.")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Returns names that begin like `incomplete`, without importing the commands."""
        from click.shell_completion import CompletionItem

        found = [CompletionItem(name, help=text) for name, text in COMMANDS.items() if name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(f"{PROGRAM} {find_version()}")
        ctx.exit()


def _debug(_: click.Context, __: click.Parameter, wanted: bool) -> None:
    if wanted:
        os.environ["WIREANALYZE_DEBUG"] = "1"


def _config(ctx: click.Context, parameter: click.Parameter, path: str | None) -> None:
    if path is not None:
        from analyzer.cli.settings import tell_path  # rarely used

        tell_path(ctx, parameter, path)


def _plugin(ctx: click.Context, _: click.Parameter, files: tuple[str, ...]) -> None:
    if files and not ctx.resilient_parsing:
        from analyzer.config.plugin_files import load_plugin_file  # rarely used

        for file in files:
            load_plugin_file(file)


@click.group(
    cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)  # fmt: skip
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version and exit.",
)
@click.option(
    "--config", type=click.Path(), expose_value=False, callback=_config, help="Read the configuration from this file."
)
@click.option(
    "--plugin",
    multiple=True,
    type=click.Path(),
    metavar="FILE",
    expose_value=False,
    callback=_plugin,
    help="Load the dissectors of a Python file. Repeat it for more.",
)
@click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    callback=_debug,
    help="Print a traceback if the program fails because of a defect.",
)
@click.pass_context
def program(ctx: click.Context) -> None:
    """Decode the traffic of message brokers, from captures or live: requests, responses, fields and bytes.

    Examples:

    \b
      wireanalyze captures/mixed.pcapng
      wireanalyze list captures/kafka.pcap -Y 'latency > 400ms'
      wireanalyze doctor captures/rocketmq.pcap.zst

    `wireanalyze FILE` opens a capture in the terminal UI. `wireanalyze COMMAND --help` explains a command.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(arguments: Sequence[str]) -> int:
    """Runs the program and gives its exit status; never raises."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr] # a limited encoding must not end it
    try:
        status = _complete() if COMPLETE_VARIABLE in os.environ else _status(list(arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has gone. Python flushes once more at exit; discard that.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt:
        return INTERRUPTED
    return status


def _complete() -> int:
    from click.shell_completion import shell_complete

    return shell_complete(program, {}, PROGRAM, COMPLETE_VARIABLE, os.environ[COMPLETE_VARIABLE])


def _status(arguments: list[str]) -> int:
    try:
        if arguments and arguments[0] not in COMMANDS:
            from analyzer.cli.front import with_command  # not needed if a command is named

            arguments = with_command(arguments, COMMANDS)
        with program.make_context(PROGRAM, arguments) as context:
            returned = program.invoke(context)
        return returned if isinstance(returned, int) else OK
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        return _say(usage_sentence(error), error.exit_code if isinstance(error, click.UsageError) else 2)
    except UserError as error:
        return _say(sentence(str(error)), error.exit_code)
    except BrokenPipeError:
        raise
    except ImportError as error:
        from analyzer.render.extras import explain_missing_extra  # only needed for a broken installation

        missing = explain_missing_extra(error)
        if missing is None:
            return _defect(error)
        return _say(sentence(missing), 2)
    except OSError as error:
        if error.filename is None:
            return _defect(error)
        return _say(sentence(f"{os.fsdecode(error.filename)}: {error.strerror}."), 2)
    except Exception as error:  # the only place that handles defects
        return _defect(error)


def _defect(error: Exception) -> int:
    """Reports a defect; with --debug, raises it again."""
    if os.environ.get("WIREANALYZE_DEBUG"):
        raise error
    return _say(format_defect(error), os.EX_SOFTWARE)


def _say(text: str, status: int) -> int:
    sys.stdout.flush()
    click.echo(text, err=True)
    return status
