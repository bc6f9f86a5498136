"""`wireanalyze web`: shows what `open` shows, in a browser on this computer.

Theory. Each page is `wireanalyze open` in a process of its own, started with the arguments of this command line. They
are taken from the parser's input, not from its results, so that the other process parses them again, and new options of
`open` need no change here.
"""

from __future__ import annotations

import os
import stat
import sys
import webbrowser
from collections.abc import Sequence
from threading import Thread

import click

from analyzer.capture.packets import ReaderName
from analyzer.cli import open as opening
from analyzer.cli.errors import sentence
from analyzer.cli.inputs import open_session
from analyzer.cli.parameters import SectionedCommand, Whole
from analyzer.cli.settings import config_path
from analyzer.config.plugin_files import list_plugin_files
from analyzer.errors import UserError
from analyzer.messages.decode_as import DecodeAsRules

WORDS = f"{__name__}.words"
BROWSABLE = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
"""One of these variables says that a browser has its own window, or which browser the user wants."""


class Repeating(SectionedCommand):
    """Keeps the arguments that belong to `open`, for another process."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses the arguments, and keeps them for the process that runs `open`."""
        if not ctx.resilient_parsing:
            values = self.make_parser(ctx).parse_args(args=list(args))[0]
            options = [
                each for each in opening.command.params if isinstance(each, click.Option) and each.name in values
            ]
            files = values["files"] if isinstance(values["files"], tuple) else ()
            # After --, any word is a file.
            ctx.meta[WORDS] = [*(word for each in options for word in _words(each, values[each.name])), "--", *files]
        return super().parse_args(ctx, args)


def _words(option: click.Option, value: object) -> list[str]:
    """Returns an option as it is written."""
    if option.is_flag:
        return [(option.opts if value else option.secondary_opts)[0]]
    values = value if isinstance(value, list) else [value]
    return [word for each in values for word in (option.opts[0], str(each))]


@click.command("web", cls=Repeating)
@opening.open_options
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="The address to listen on: 127.0.0.1 or ::1.",
)
@click.option(
    "--port", type=Whole(0, 65535), default=0, metavar="N", help="The port to listen on.  [default: a free one]"
)
@click.option("--open", "browse", is_flag=True, help="Open the page in a browser.")
@click.pass_context
def command(
    context: click.Context,
    /,
    files: tuple[str, ...],
    decode_as: DecodeAsRules,
    reader: ReaderName,
    follow: bool,
    host: str,
    port: int,
    browse: bool,
    **_: object,
) -> None:
    """Open captures in the terminal UI, in a browser.

    Examples:

    \b
      wireanalyze web captures/mixed.pcapng
      wireanalyze web captures/kafka.pcap --open

    The command prints an address with a token. Everybody who has the address can see the capture. The command serves
    this computer only. From another computer, use a tunnel: ssh -L PORT:127.0.0.1:PORT HOST. Press Ctrl-C to stop. The
    command needs the extra wireanalyze[web].
    """
    from tui import web

    if host not in web.HOSTS:
        raise UserError(f"web serves this computer only. Give --host {' or '.join(web.HOSTS)}, not {host}.")
    _check_files(files)
    open_session(files, decode_as, reader, follow=follow).close()  # errors of open are reported before there is a page
    pages = web.serve_pages(
        _command(context), opening.title_of(files), host, port, lambda line: click.echo(line, err=True)
    )
    click.echo(sentence(f"{opening.title_of(files)} at {pages.gate.address}"), err=True)
    click.echo(sentence("Press Ctrl-C to stop it and its pages."), err=True)
    if browse:
        _browse(pages.gate.create_ticket())
    pages.run()


def _command(context: click.Context) -> list[str]:
    """Returns the command that starts `open`. With -P, a user's folder called analyzer is not imported."""
    path, is_named = config_path()
    config = ["--config", path] if is_named else []
    plugins = [word for path in list_plugin_files() for word in ("--plugin", path)]
    return [sys.executable, "-P", "-m", "analyzer.cli", *config, *plugins, "open", *context.meta[WORDS]]


def _check_files(files: Sequence[str]) -> None:
    """Raises UserError for input that can be read only once, because each page reads it again."""
    for name in files:
        if name == "-" or (os.path.exists(name) and stat.S_ISFIFO(os.stat(name).st_mode)):
            raise UserError(
                f"{name} is a pipe, which can be read only once, but each page reads the capture again. Give a file."
            )


def _browse(address: str) -> None:
    """Opens a browser in its own window, or not at all, because a browser in this terminal would take it over."""
    if sys.platform == "darwin" or any(map(os.environ.get, BROWSABLE)):
        Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    else:
        click.echo(sentence("There is no display to open a browser on. Open the address yourself."), err=True)
