"""Prints findings that belong to no message on stderr: one sentence for each code and port, or all with -v."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click
import numpy as np

from analyzer.cli.errors import sentence
from analyzer.cli.settings import is_verbose
from analyzer.decode.endpoints import find_server_ports
from analyzer.session import Analysis, Session
from dissectors.finding import Finding

MOST = 10
"""Number of sentences, unless all findings are printed."""


def tell_findings(session: Session) -> None:
    """Prints the findings of files and connections."""
    sys.stdout.flush()
    for text in (_format_note(each, each.text) for each in session.findings) if is_verbose() else _fewer(session):
        click.echo(sentence(text), err=True)


def streams_to(session: Analysis, some: int, port: int) -> str:
    """Formats how many of the connections to a port are meant: `3 of 400 streams to port 9092`."""
    every = int(np.count_nonzero(find_server_ports(session) == port))
    return f"{some:,} of {every:,} stream{'' if every == 1 else 's'} to port {port}"


def _fewer(session: Session) -> Iterator[str]:
    """Yields one sentence for each kind of finding."""
    located = session.located
    if not located:
        return
    from analyzer.insight.diagnosis import LocatedFinding  # most captures have no such findings
    from analyzer.insight.problems import ProblemTable

    table = ProblemTable(session, 1)
    for each in located:
        table.add(LocatedFinding(None, *each))
    problems = table.sort_by_severity()
    for problem in problems[:MOST]:
        (first,) = problem.examples
        if problem.count == 1:
            yield _format_note(first.finding, first.finding.text)
            continue
        where = f" in {streams_to(session, len(problem.streams), problem.port)}" if problem.streams else ""
        text = f"{problem.count:,} times{where}, first: {first.finding.text}"
        yield _format_note(first.finding, text, "; -v prints each")
    if len(problems) > MOST:
        yield f"{len(problems) - MOST:,} more kinds of findings; -v prints each"


def _format_note(finding: Finding, text: str, more: str = "") -> str:
    return f"{finding.severity.name.lower()}: {text} ({finding.code}{more})"
