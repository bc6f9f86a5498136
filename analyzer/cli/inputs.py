"""Opens captures for commands, and shows a progress bar while they are read."""

from __future__ import annotations

import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any, Protocol, TypeVar

import click

from analyzer.capture.packets import ReaderName
from analyzer.cli.errors import sentence
from analyzer.cli.keys import keys_options, make_key_ring
from analyzer.cli.nothing import tell_findings, tell_unread
from analyzer.cli.options import share_work
from analyzer.cli.parameters import OneOf
from analyzer.cli.settings import settings, tell_no_names, tell_verbose, with_names
from analyzer.decode.endpoints import name_stream
from analyzer.errors import UserError
from analyzer.messages.decode_as import DecodeAsTarget, StreamEnds, StreamNumber, merge_rules
from analyzer.session import Session
from dissectors import registry

_Command = TypeVar("_Command", bound=Callable[..., Any])

PATIENCE = 1.0
"""Seconds after which a progress bar appears."""


def names_option(command: _Command) -> _Command:
    """Adds -n, which applies to the whole program."""
    text = "Print addresses instead of host names."
    return click.option("-n", is_flag=True, expose_value=False, callback=tell_no_names, help=text)(command)


def verbose_option(command: _Command) -> _Command:
    """Adds -v, which applies to the whole program."""
    text = "Print every finding, not only one example of similar findings."
    return click.option("-v", "--verbose", is_flag=True, expose_value=False, callback=tell_verbose, help=text)(command)


def files_options(command: _Command) -> Callable[..., Any]:
    """Adds FILE..., -r FILE, -n, -v, --keylog, --key and --reader; the command gets `files` and `reader`."""

    @click.argument("files", nargs=-1, metavar="[FILE | -]...", type=click.Path(allow_dash=True))
    @click.option(
        "-r",
        "--read",
        "more",
        multiple=True,
        metavar="FILE",
        help="Read this capture. The same as FILE, for users of tshark.",
    )
    @names_option
    @verbose_option
    @keys_options
    @click.option(
        "--reader",
        type=OneOf(["native", "scapy"]),
        default="native",
        help="Read the files with this program (native) or with scapy.",
    )
    @wraps(command)
    def with_files(*args: Any, files: tuple[str, ...], more: tuple[str, ...], **rest: Any) -> Any:
        return command(*args, files=(*more, *files), **rest)

    return with_files


def merge_decode_as(decode_as: Sequence[tuple[DecodeAsTarget, str]]) -> Mapping[DecodeAsTarget, str]:
    """Merges rules of the command line (-d) with those of the configuration. Raises UserError."""
    return merge_rules((*settings().ports.items(), *decode_as))


def open_session(
    files: Sequence[str],
    decode_as: Sequence[tuple[DecodeAsTarget, str]],
    reader: ReaderName,
    block: int = 32_768,
    *,
    follow: bool = False,
) -> Session:
    """Returns a session on the files; its first block has `block` packets.

    follow: continues while the one file is being written. Raises UserError if there is no file, one cannot be opened,
    or the input cannot be followed.
    """
    if not files:
        raise UserError("No capture was given. Give FILE, or - for standard input.")
    if follow and (len(files) > 1 or reader != "native"):
        raise UserError("--follow reads one file, with the native reader. Give one FILE and leave out --reader.")
    check_names(files)
    session = Session(
        files,
        decode_as=merge_decode_as(decode_as),
        reader=reader,
        block=block,
        names=with_names(),
        follow=follow,
        secrets=make_key_ring(grows=follow),
    )
    for problem in registry.problems():
        click.echo(sentence(problem), err=True)
    return session


@contextmanager
def load_session(
    files: Sequence[str], decode_as: Sequence[tuple[DecodeAsTarget, str]], reader: ReaderName, jobs: int | None = 1
) -> Iterator[Session]:
    """Yields a session that has read its inputs completely; prints findings that belong to no row on stderr.

    jobs: see share_work().
    """
    with open_session(files, decode_as, reader) as session:
        for _ in progress(session):
            pass
        share_work(session, jobs)
        _say_unmet(session, decode_as)
        yield session
        tell_findings(session)
        tell_unread(session)


def is_pipe(name: str) -> bool:
    """Returns whether an input is a stream: standard input, a named pipe, or a shell's process substitution."""
    try:
        return name == "-" or stat.S_ISFIFO(os.stat(name).st_mode)
    except (OSError, ValueError):
        return False


def _say_unmet(session: Session, decode_as: Sequence[tuple[DecodeAsTarget, str]]) -> None:
    """Prints rules for single streams that the input does not have; these are usually typing mistakes."""
    count = len(session.engine.streams)
    numbers = [where.number for where, _ in decode_as if isinstance(where, StreamNumber) and where.number >= count]
    ends = [where for where, _ in decode_as if isinstance(where, StreamEnds)]
    known = {name_stream(session, stream) for stream in range(count)} if ends else set()
    unmet = [*map(str, numbers), *(where.name for where in ends if not known & {where.name, where.reverse.name})]
    for name in unmet:
        click.echo(
            sentence(f"-d: There is no stream {name}. The input has {count:,} streams, counted from 0."), err=True
        )


def progress(session: Session, tell: Callable[[], str] = str) -> Iterator[range]:
    """Yields the results of session.grow(); shows a bar on a terminal if that takes longer than PATIENCE.

    tell: returns a text to append to the numbers.
    """
    with patiently() as bar:
        for rows in session.grow():
            text = f"{session.packets.counts.packets:,} packets, {len(session.rows):,} messages{tell()}"
            bar(text, session.packets.position, lambda: session.packets.size, True)
            yield rows


class Bar(Protocol):
    """Shows progress."""

    def __call__(self, text: str, done: int, total: Callable[[], int | None], in_bytes: bool = False) -> None:
        """Shows a text, and `done` of `total`; None if the total is unknown."""


@contextmanager
def patiently() -> Iterator[Bar]:
    """Shows a progress bar on stderr after PATIENCE seconds, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield lambda text, done, total, in_bytes=False: None
        return
    began, shown = time.monotonic(), ExitStack()
    show: list[Callable[[str, int], None]] = []

    def bar(text: str, done: int, total: Callable[[], int | None], in_bytes: bool = False) -> None:
        if not show and time.monotonic() - began > PATIENCE:
            show.append(_show_progress(shown, total(), in_bytes))
        for each in show:
            each(text, done)

    with shown:
        yield bar


def _show_progress(until: ExitStack, total: int | None, in_bytes: bool) -> Callable[[str, int], None]:
    """Shows a bar until the stack is closed; returns the function that updates it."""
    from rich.console import Console  # only needed for long runs on a terminal
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn

    amount = DownloadColumn() if in_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), amount)
    shown = until.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
    task = shown.add_task("reading", total=total)
    return lambda text, done: shown.update(task, completed=done, description=text)


MOST_NAMES = 10_000
"""Number of files in a folder that are searched for a misspelt name."""

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_OF_SCHEMES = {
    "file": "Give the path after file://.",
    **dict.fromkeys(("s3", "s3a", "gs", "hdfs", "abfs"), "Use wireanalyze pipeline, or download it first."),
}
_DASHES = "\u2013\u2014\u2212"
_IN_FILTERS = frozenset({"==", "!=", "=", "&&", "||", "and", "or", "not", "contains", "matches", "in", "eq", "ne", "~"})


def check_names(files: Sequence[str]) -> None:
    """Raises UserError for the first file that does not exist; - is standard input."""
    for name in files:
        if name != "-" and not os.path.lexists(name):
            raise UserError(_why_missing(name, files))


def _why_missing(name: str, files: Sequence[str]) -> str:
    if not name:
        return "The name of a file is empty. Check that the shell variable is set."
    if name[0] in _DASHES:
        return f"{name} begins with a long dash, as word processors write it. Type -{name.lstrip(_DASHES)} instead."
    if url := _URL.match(name):
        remedy = _OF_SCHEMES.get(url[1].lower(), "Download it first.")
        return f"Cannot open {name}: this command reads files, not URLs. {remedy}"
    if any(each in _IN_FILTERS and not os.path.lexists(each) for each in files):
        return f"Cannot open {name}. If it belongs to a filter, put the filter in quotes: -Y 'operation == Fetch'."
    if any(each in name for each in "*?["):
        return f"No file matches {name}. Check the folder and the pattern."
    if name.isdecimal():
        return (
            f"There is no file {name}. To stop after {name} messages, give -c {name};"
            f" to print message {name}, use wireanalyze show FILE {name}."
        )
    return f"Cannot open {name}: No such file or directory. {_alike(name)}"


def _alike(name: str) -> str:
    from difflib import get_close_matches  # only needed for a misspelt name

    folder, base = os.path.split(name)
    try:
        with os.scandir(folder or os.curdir) as entries:
            names = [entry.name for _, entry in zip(range(MOST_NAMES), entries, strict=False)]
    except OSError:
        return f"There is no folder {folder}." if folder else "Check the name."
    near = get_close_matches(base, names, 1, 0.8)
    return f"Did you mean {os.path.join(folder, near[0])}?" if near else "Check the name."
