"""What is said on stderr where a command has nothing to print: no packets, no known protocol, nothing that passes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from analyzer.cli.errors import sentence
from analyzer.render.counted import counted

if TYPE_CHECKING:
    from analyzer.insight.unread import Spoken
    from analyzer.session import Session

SHOWN = 6
"""Kinds of connections and of other packets that are named."""

ADVICE = {
    "tls": "TLS cannot be read without its keys: capture where TLS ends, or on a listener without it",
    None: "if one of these ports speaks a known protocol, say so: -d {port}=kafka",
}


def tell_nothing_passes(passing: int, count: int, what: str = "the filter") -> None:
    """Says how many messages there were where none passes a filter."""
    if not passing and count:
        click.echo(sentence(f"0 of {counted(count, 'message')} pass {what}"), err=True)


def tell_unread(session: Session) -> None:
    """Says what a capture holds that has no message of a known protocol, and what to try."""
    from analyzer.insight.unread import has_known

    if not has_known(session):
        for text in _unread(session):
            click.echo(sentence(text), err=True)


def _unread(session: Session) -> Iterator[str]:
    from analyzer.insight.unread import others, spoken

    counts = session.packets.counts
    if not counts.packets:
        yield "the input has no packets"
        return
    yield f"no message of a known protocol is in {counted(counts.packets, 'packet')}"
    connections = spoken(session)
    parts = [_connections(each) for each in connections[:SHOWN]]
    rest = others(session) if counts.tcp < counts.packets else []
    if rest:
        parts.append(f"packets that are not TCP: {', '.join(f'{each.packets:,} {each.what}' for each in rest[:SHOWN])}")
    more = max(len(connections) - SHOWN, 0) + max(len(rest) - SHOWN, 0)
    yield f"the capture has {'; '.join(parts)}{f'; {more:,} more kinds' if more else ''}"
    if any(each.name == "tls" for each in connections):
        yield ADVICE["tls"]
    unnamed = next((each for each in connections if each.name is None and each.bytes), None)
    if unnamed is not None:
        yield ADVICE[None].format(port=unnamed.port)


def _connections(each: Spoken) -> str:
    from analyzer.render.amounts import size

    what = [] if each.name is None else [each.name.upper()]
    what.append(size(each.bytes) if each.bytes else "no data")
    return f"{counted(each.connections, 'connection')} to port {each.port} ({', '.join(what)})"
