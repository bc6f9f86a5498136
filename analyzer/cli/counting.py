"""`wireanalyze stats --counts`: numbers of messages by kind, from the index alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

from analyzer.cli.terminal import line_width, print_fitted
from analyzer.columns.arrays import Ints
from analyzer.columns.text import safe_text
from analyzer.decode.jsonable import JsonWriter
from analyzer.insight.counts import Count, MessageCounts, count_messages, count_streams
from analyzer.render.columns_text import format_columns
from analyzer.render.metrics_text import LEAST
from analyzer.render.objects import write_objects
from analyzer.session import Session

NAMES = tuple(Count.__annotations__)
COUNTS = NAMES[2:]
_LESS = tuple(
    NAMES[1:].index(name) for name in ("raw", "push", "oneway", "orphans", "answers", "requests", "unanswered")
)
"""Columns in the order in which they are left out in a narrow terminal."""


def print_counts(session: Session, form: str, rows: Ints | None) -> None:
    """Counts rows (None: all) and prints them in one of formats.ROWS."""
    found = count_messages(session, rows)
    if form == "json":
        sys.stdout.buffer.write(JsonWriter().format_line(_object(session, found, rows)))
    elif form != "table":
        write_objects(sys.stdout.buffer, form, NAMES, map(asdict, found.operations))
    else:
        print_fitted(_lines(session, found, rows, line_width()))


def _object(session: Session, found: MessageCounts, rows: Ints | None) -> dict[str, object]:
    packets = session.packets.counts
    protocols = [asdict(each) for each in found.protocols]
    for each in protocols:
        del each["operation"]
    return {
        "packets": packets.packets,
        "tcp_packets": packets.tcp,
        "packet_bytes": packets.bytes,
        "streams": count_streams(session, rows),
        "messages": len(session.rows) if rows is None else len(rows),
        "message_bytes": sum(each.bytes for each in found.protocols),
        "protocols": protocols,
        "operations": [asdict(each) for each in found.operations],
    }


def _lines(session: Session, found: MessageCounts, rows: Ints | None, width: int | None) -> Iterator[str]:
    """Yields operations below their protocol, columns aligned, numbers to the right."""
    if found.protocols:
        cells = [("protocol, operation", *COUNTS)]
        for protocol in found.protocols:
            cells.append(_cells(protocol.protocol, protocol))
            own = [each for each in found.operations if each.protocol == protocol.protocol]
            cells += [_cells(f"  {_name(each)}", each) for each in own]
        if len(found.protocols) > 1:
            cells.append(_cells("all", _sum(found.protocols)))
        yield from format_columns(cells, frozenset({0}), width, {0: LEAST}, _LESS)
    packets = session.packets.counts
    yield (
        f"{packets.packets:,} packets ({packets.tcp:,} TCP), {packets.bytes:,} bytes; "
        f"{count_streams(session, rows):,} streams, {len(session.rows) if rows is None else len(rows):,} messages"
    )


def _name(count: Count) -> str:
    """Returns the name as in `list`."""
    if count.operation is None:
        return "raw" if count.raw == count.messages else "?"
    return count.operation


def _cells(name: str, count: Count) -> tuple[str, ...]:
    values = (getattr(count, metric) for metric in COUNTS)
    return safe_text(name), *(f"{value:,}" if value else "-" for value in values)


def _sum(found: Sequence[Count]) -> Count:
    return replace(found[0], **{name: sum(getattr(each, name) for each in found) for name in COUNTS})
