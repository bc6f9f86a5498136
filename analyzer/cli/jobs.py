"""The option --jobs: the number of processes that share the work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from analyzer.cli.values import Whole
from analyzer.processes.jobs import choose_jobs
from analyzer.session import Session

_Command = TypeVar("_Command", bound=Callable[..., Any])


def jobs_option(default: int | None = None) -> Callable[[_Command], _Command]:
    """Adds --jobs; the command gets `jobs`, None to choose by the size of the input. default: without the option."""
    usual = "the number of processors, 1 for a small capture" if default is None else str(default)
    return click.option(
        "--jobs",
        type=Whole(min=1, max=256),
        default=default,
        metavar="N",
        help=f"Share the work among N processes.  [default: {usual}]",
    )


def share_work(session: Session, jobs: int | None) -> None:
    """Sets how many processes share the work on a session; None: chosen by the size of the input."""
    session.jobs = choose_jobs(session.packets.counts.bytes) if jobs is None else jobs
