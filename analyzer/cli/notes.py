"""Findings that belong to no message, as sentences on stderr: one for those of the same code and port; with -v all."""

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
"""Sentences, unless all findings are printed."""


def tell_findings(session: Session) -> None:
    """Says the findings of files and connections."""
    sys.stdout.flush()
    for text in _list_notes(session) if is_verbose() else _fewer(session):
        click.echo(sentence(text), err=True)


def streams_to(session: Analysis, some: int, port: int) -> str:
    """Describes how many of the connections to a port these are: `3 of 400 streams to port 9092`."""
    every = int(np.count_nonzero(find_server_ports(session) == port))
    return f"{some:,} of {every:,} stream{'' if every == 1 else 's'} to port {port}"


def _list_notes(session: Session) -> Iterator[str]:
    return (_format_note(each, each.text) for each in session.findings)


def _fewer(session: Session) -> Iterator[str]:
    """One sentence for each kind of finding."""
    located = session.located
    if not located:
        return
    from analyzer.insight.diagnosis import LocatedFinding  # most captures have nothing to say
    from analyzer.insight.kinds import group_findings

    groups = group_findings(session, (LocatedFinding(None, *each) for each in located), 0, 1)
    for kind, group in list(groups.items())[:MOST]:
        (first,) = group.examples
        if group.count == 1:
            yield _format_note(first.finding, first.finding.text)
            continue
        where = f" in {streams_to(session, len(group.streams), kind.port)}" if group.streams else ""
        yield _format_note(
            first.finding, f"{group.count:,} times{where}, first: {first.finding.text}", "; -v tells each"
        )
    if len(groups) > MOST:
        yield f"{len(groups) - MOST:,} more kinds of findings: -v tells each"


def _format_note(finding: Finding, text: str, more: str = "") -> str:
    return f"{finding.severity.name.lower()}: {text} ({finding.code}{more})"
