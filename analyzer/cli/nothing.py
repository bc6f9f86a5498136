"""Notes on stderr: findings of files and connections, and why there is nothing to show."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click
import numpy as np

from analyzer.cli.errors import sentence
from analyzer.cli.settings import is_verbose
from analyzer.decode.endpoints import find_server_ports
from analyzer.render.amounts import format_counted
from analyzer.session import Analysis, Session
from dissectors.finding import Finding
from dissectors.foreign import advice
from dissectors.registry import BUILT_IN

if TYPE_CHECKING:
    from analyzer.insight.unknown_streams import PortProtocol
    from analyzer.session import Session


SHOWN = 6
"""Number of kinds of connections, and of other packets, that are named."""

HTTPS = 443
"""The port on which TLS is expected."""

ADVICE = "If one of these ports uses a known protocol, give it with -d, such as -d {port}={protocol}."
KEYS = "It is not decrypted. Give its key log with --keylog FILE, or capture on a listener without TLS."


def tell_nothing_passes(passing: int, count: int) -> None:
    """Prints how many messages there are if none passes the filter."""
    if not passing and count:
        click.echo(sentence(f"0 of {format_counted(count, 'message')} pass the filter."), err=True)


def tell_unread(session: Session) -> None:
    """Prints what a capture contains that is not decoded, and what to try."""
    from analyzer.insight.unknown_streams import has_known, has_unknown, list_port_protocols

    if len(session.rows) and not has_unknown(session):
        return
    connections = list_port_protocols(session)
    strangers = [each for each in connections if _is_stranger(session, each)]
    if not has_known(session):
        for text in _unread(session, [each for each in connections if each not in strangers]):
            click.echo(sentence(text), err=True)
    for each in strangers[:SHOWN]:
        click.echo(sentence(_stranger(session, each)), err=True)


def _is_stranger(session: Session, each: PortProtocol) -> bool:
    """Returns whether connections deserve a note: TLS, or a foreign protocol on a port of ours."""
    if each.name == "tls":
        return each.port != HTTPS
    return each.name is not None and session.engine.known.by_port(each.port) is not None


def _stranger(session: Session, each: PortProtocol) -> str:
    assert each.name is not None
    verb = "is" if each.connections == 1 else "are"
    remedy = advice(each.name)
    why = KEYS if each.name == "tls" else f"{remedy[:1].upper()}{remedy[1:]}."
    return f"{streams_to(session, each.connections, each.port)} {verb} {each.name.upper()}. {why}"


def _unread(session: Session, connections: Sequence[PortProtocol]) -> Iterator[str]:
    """Yields what a capture without a known protocol contains; connections: those without a note of their own."""
    from analyzer.insight.unknown_streams import list_other_ports

    counts = session.packets.counts
    if not counts.packets:
        yield "The input has no packets."
        return
    yield f"No message of a known protocol is in the {format_counted(counts.packets, 'packet')} of the input."
    parts = [_connections(each) for each in connections[:SHOWN]]
    rest = list_other_ports(session) if counts.tcp < counts.packets else []
    if rest:
        parts.append(f"packets that are not TCP: {', '.join(f'{each.packets:,} {each.what}' for each in rest[:SHOWN])}")
    more = max(len(connections) - SHOWN, 0) + max(len(rest) - SHOWN, 0)
    if parts:
        yield f"The capture has {'; '.join(parts)}{f'; {more:,} more kinds' if more else ''}."
    unnamed = next((each for each in connections if each.name is None and each.bytes), None)
    if unnamed is not None:
        yield ADVICE.format(port=unnamed.port, protocol=next(iter(BUILT_IN)))


def _connections(each: PortProtocol) -> str:
    from analyzer.render.amounts import format_size

    what = [] if each.name is None else [each.name.upper()]
    what.append(format_size(each.bytes) if each.bytes else "no data")
    return f"{format_counted(each.connections, 'connection')} to port {each.port} ({', '.join(what)})"


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
