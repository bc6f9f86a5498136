"""Opening captures for a command: the files however they are named, and a progress bar while they are read."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

import click

from analyzer.capture.packets import Reader
from analyzer.cli.errors import sentence
from analyzer.errors import UserError
from analyzer.session import Session
from dissectors import registry
from dissectors.finding import Finding

_Command = TypeVar("_Command", bound=Callable[..., Any])

PATIENCE = 1.0
"""Seconds before a progress bar appears."""


def files_options(command: _Command) -> Callable[..., Any]:
    """Adds FILE..., -r FILE, -n, -d and --reader; the command gets `files`, `decode_as` and `reader`."""

    @click.argument("files", nargs=-1, metavar="[FILE | -]...", type=click.Path(allow_dash=True))
    @click.option("-r", "--read", "more", multiple=True, metavar="FILE", help="A capture, as tshark's users name it.")
    @click.option("-n", "no_names", is_flag=True, help="Accepted and without effect: addresses are never resolved.")
    @click.option("--reader", type=click.Choice(["native", "scapy"]), default="native", help="Who reads the file.")
    @wraps(command)
    def with_files(*args: Any, files: tuple[str, ...], more: tuple[str, ...], no_names: bool, **rest: Any) -> Any:
        del no_names
        return command(*args, files=(*more, *files), **rest)

    return with_files


def open_session(
    files: Sequence[str], decode_as: Sequence[tuple[int, str]], reader: Reader, block: int = 32_768
) -> Session:
    """A session on the files; its first block has `block` packets. Raises UserError for none, or one it can't open."""
    if not files:
        raise UserError("no capture was named: give FILE, or - for standard input")
    told: Mapping[int, str] = dict(decode_as)
    session = Session(files, decode_as=told, reader=reader, block=block)
    for problem in registry.problems():
        click.echo(sentence(problem), err=True)
    return session


@contextmanager
def loaded(files: Sequence[str], decode_as: Sequence[tuple[int, str]], reader: Reader) -> Iterator[Session]:
    """A session that has read its inputs to their end; what belongs to no row is said on stderr."""
    with open_session(files, decode_as, reader) as session:
        for _ in progress(session):
            pass
        yield session
        say(session.findings)


def say(findings: Sequence[Finding]) -> None:
    """Findings without a row, once, on stderr."""
    sys.stdout.flush()
    for finding in findings:
        click.echo(sentence(f"{finding.severity.name.lower()}: {finding.text} ({finding.code})"), err=True)


def progress(session: Session) -> Iterator[range]:
    """session.grow(), with a bar on stderr where that is a terminal and it takes longer than PATIENCE."""
    if not sys.stderr.isatty():
        yield from session.grow()
        return
    began, bar = time.monotonic(), None
    try:
        for rows in session.grow():
            if bar is None and time.monotonic() - began > PATIENCE:
                bar = _bar(_total(session))
            if bar is not None:
                bar(session)
            yield rows
    finally:
        if bar is not None:
            bar(None)


def _bar(total: int | None) -> Callable[[Session | None], None]:
    """A function that shows how far a session has got; with None it takes the bar away."""
    from rich.console import Console  # only a long read on a terminal pays for it
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    shown = Progress(
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), console=Console(stderr=True), transient=True
    )
    shown.start()
    task = shown.add_task("reading", total=total)

    def update(session: Session | None) -> None:
        if session is None:
            shown.stop()
            return
        text = f"{session.packets.counts.packets:,} packets, {len(session.rows):,} messages"
        shown.update(task, completed=session.packets.counts.bytes, description=text)

    return update


def _total(session: Session) -> int | None:
    """Bytes to read; None where nobody knows: pipes, and what is compressed."""
    if any(info.compression is not None or not os.path.isfile(info.path) for info in session.packets.files):
        return None
    return sum(os.path.getsize(info.path) for info in session.packets.files)
