"""The one screen that answers what is going on in a capture, for people.

Theory. Everything that has figures stands in the same columns, under a word that says what its lines are: operations by
protocol, clients, connections. What has none follows in sentences. Long lists end in a line that says what is left
out and how to see it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.insight.figures import Figures
from analyzer.insight.overview import Operation, Overview
from analyzer.insight.percentiles import EDGES
from analyzer.render.amounts import count, rate, size
from analyzer.render.columns_text import aligned
from analyzer.render.durations import duration
from analyzer.render.sparkline import BLOCKS, narrowed, sparkline
from analyzer.session import iso_time
from analyzer.text import safe_text

OPERATIONS, PROTOCOLS, CLIENTS, CONNECTIONS, SUBJECTS, SAID = 12, 6, 4, 4, 8, 5
"""How many of each are shown."""

NAME, WIDTH, DISTRIBUTION = 27, 108, 12
"""Characters of a name, of a sentence, and of the distribution of latencies."""

EMPTY = '""'
"""What an empty name looks like."""

HEAD = ("", "versions", "messages", "bytes", "msg/s", "unansw.", "errors", "p50", "p99", "max")
_ERRORS = HEAD.index("errors")


def overview_lines(found: Overview, source: str, bars: str = BLOCKS) -> Iterator[str]:
    """All lines; `source` names the capture."""
    yield from _head(found, source, bars)
    if found.total.messages:
        yield ""
        yield from _table(found, bars)
        yield ""
    yield from _sentences(found)


def _head(found: Overview, source: str, bars: str) -> Iterator[str]:
    packets = f"{found.packets:,} packets ({found.tcp_packets:,} TCP), {size(found.packet_bytes)}"
    messages = f"{found.streams:,} streams, {found.total.messages:,} messages, {size(found.total.bytes)}"
    yield f"{safe_text(source, WIDTH)}: {packets}; {messages}"
    if found.first is None or found.last is None:
        return
    span = f"{_second(found.first)} to {_second(found.last)} UTC, {duration(found.last - found.first)}"
    yield span + (f", {rate(found.total.rate)} messages/s" if found.total.rate is not None else "")
    each = f"each {duration(found.interval)}"
    yield f"messages |{sparkline(found.over_time, bars)}| {each}, {max(found.over_time):,} at most"
    if found.failures_over_time is not None and any(found.failures_over_time):
        most = max(found.failures_over_time)
        yield f"errors   |{sparkline(found.failures_over_time, bars)}| {each}, {most:,} at most"


def _second(time: int) -> str:
    return iso_time(time)[:19].replace("T", " ")


def _table(found: Overview, bars: str) -> Iterator[str]:
    low, high = _range(found.operations)
    rows: list[Sequence[str]] = [
        (*HEAD, f"{duration(int(EDGES[low]))} to {duration(int(EDGES[high]))}" if high else "")
    ]
    rows += _operations(found, low, high, bars)
    rows += _section("client", ((_name(key[0]), each) for key, each in _clients(found)), len(found.clients.groups))
    if found.failures_over_time is None:
        rows = [[*row[:_ERRORS], *row[_ERRORS + 1 :]] for row in rows]
    yield from aligned(rows, frozenset({0, 1, len(rows[0]) - 1}))


def _clients(found: Overview) -> Iterator[tuple[tuple[str | None, ...], Figures]]:
    for group in found.clients.groups[:CLIENTS]:
        yield group.key, group.figures


def _operations(found: Overview, low: int, high: int, bars: str) -> Iterator[Sequence[str]]:
    """Protocols, and beneath each those of its operations that are among the most frequent of all."""
    chosen = found.operations[:OPERATIONS]
    for protocol in found.protocols[:PROTOCOLS]:
        (name,) = protocol.key
        own = [each for each in found.operations if each.protocol == name]
        shown = [each for each in chosen if each.protocol == name]
        more = f"{name} ({len(own):,} ops)" if len(own) > len(shown) else name
        yield _cells(more, "", protocol.figures, "")
        for each in shown:
            shape = sparkline(_distribution(each, low, high), bars)
            versions = ",".join(map(str, each.versions))
            yield _cells("  " + _named(each), _short(versions), each.figures, shape)


def _section(title: str, lines: Iterator[tuple[str, Figures]], there: int) -> Iterator[Sequence[str]]:
    shown = list(lines)
    yield (f"{title} ({there:,})" if there > len(shown) else title, *("",) * len(HEAD))
    for name, figures in shown:
        yield _cells("  " + name, "", figures, "")


def _cells(name: str, versions: str, figures: Figures, shape: str) -> Sequence[str]:
    return (
        safe_text(name, NAME),
        versions,
        count(figures.messages),
        size(figures.bytes),
        rate(figures.rate),
        count(figures.unanswered),
        count(figures.errors),
        *(duration(each) for each in (figures.p50_ns, figures.p99_ns, figures.max_ns)),
        shape,
    )


def _short(versions: str) -> str:
    return (
        versions if len(versions) <= 9 else f"{versions[: versions.index(',')]}..{versions[versions.rindex(',') + 1 :]}"
    )


def _name(text: str | None) -> str:
    return "-" if text is None else text or EMPTY


def _named(each: Operation) -> str:
    """As `list` names it."""
    if each.operation is None:
        return "raw" if each.figures.raw == each.figures.messages else "?"
    return each.operation


def _range(operations: Sequence[Operation]) -> tuple[int, int]:
    """The first bucket of latencies that has any, and the one behind the last; (0, 0) without any."""
    there = [place for each in operations for place, many in enumerate(each.latencies) if many]
    return (min(there), min(max(there) + 1, len(EDGES) - 1)) if there else (0, 0)


def _distribution(each: Operation, low: int, high: int) -> Sequence[int]:
    counts = [*each.latencies[low:high], *(0,) * (high - max(low, len(each.latencies)))]
    return narrowed(counts, DISTRIBUTION) if any(counts) else ()


def _sentences(found: Overview) -> Iterator[str]:
    top = [f"{each.connection} {each.messages:,}" for each in found.connections[:CONNECTIONS]]
    if top:
        yield _sentence("connections", top, len(found.connections))
    for each in found.subjects:
        names = [f"{name or EMPTY} {many:,}" for name, many in each.counts[:SUBJECTS]]
        looked = f"in {each.looked_at:,} of {each.of:,} requests" if each.of > each.looked_at else "in requests"
        yield _sentence(f"{each.name}s ({looked})", names, len(each.counts))
    failures = [f"{each.operation or '?'} {each.error} {each.messages:,}" for each in found.failures[:SAID]]
    if failures:
        yield _sentence("errors", failures, len(found.failures))
    if found.total.empty:
        yield f"empty answers, which are no errors: {found.total.empty:,}"
    if found.waiting:
        kinds = [f"{operation or '?'} {many:,}" for _, operation, many in found.waiting[:SAID]]
        yield _sentence(f"never answered ({found.total.unanswered:,})", kinds, len(found.waiting))
        oldest = [f"No. {each.row + 1} {duration(each.waited)}" for each in found.oldest]
        yield _sentence("  waited longest, while their connection was seen", oldest, len(oldest))
    if found.findings:
        said = [f"{code} {many:,} ({severity})" for severity, code, many in found.findings[:SAID]]
        yield _sentence("findings (doctor tells all)", said, len(found.findings))


def _sentence(title: str, parts: Sequence[str], there: int) -> str:
    """As many parts as fit on a line, and how many more there are."""
    line, shown = f"{title}:", 0
    for part in parts:
        more = f"{',' if shown else ''} {safe_text(part, WIDTH // 2)}"
        if shown and len(line) + len(more) > WIDTH:
            break
        line += more
        shown += 1
    return line + (f", {there - shown:,} more" if there > shown else "")
