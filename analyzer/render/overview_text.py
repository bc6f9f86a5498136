"""Formats the overview of a capture on one screen, for people.

Theory. An engineer on call asks in this order: what is this and when was it; is anything wrong; which operations, how
many and how fast; about what. So after the head come errors and unanswered requests, also if there are none; then one
table with all metrics; then connections, topics and paths. A long list ends with the number of items that are left out.

A terminal that is narrower than the table would wrap each of its lines, which is unreadable. So long names are
shortened first, then columns are left out, the least important first. An empty column is always left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.columns.text import safe_text
from analyzer.columns.values import format_iso_time
from analyzer.insight.counts import UNKNOWN
from analyzer.insight.metrics import Metrics
from analyzer.insight.overview import OperationMetrics, Overview
from analyzer.insight.percentiles import EDGES
from analyzer.render.amounts import format_count, format_counted, format_rate, format_size
from analyzer.render.columns_text import align_rows
from analyzer.render.durations import format_duration
from analyzer.render.fitting import cut_end
from analyzer.render.sparkline import BLOCKS, draw_sparkline, narrow_counts

LINES, FEWEST, CLIENTS = 16, 6, 4
"""Lines for protocols and operations; operations that are shown however many protocols there are; clients."""

NAMES = (31, 24, 16)
"""Length of a name in characters, in a wide terminal and in narrower ones."""

DISTRIBUTION = 12
"""Width of the distribution of latencies in characters."""

EMPTY = '""'
"""Stands for an empty name."""

NAME, VERSIONS, HISTOGRAM = "", "versions", "latencies"
HEAD = (NAME, VERSIONS, "messages", "bytes", "msg/s", "unansw.", "errors", "p50", "p99", "max", HISTOGRAM)
DISPENSABLE = (HISTOGRAM, VERSIONS, "bytes", "msg/s", "p50", "p99")

_LEFT = frozenset({NAME, VERSIONS, HISTOGRAM})


def format_overview_table(found: Overview, width: int, bars: str = BLOCKS) -> Iterator[str]:
    """Yields a table of protocols, operations and clients, at most `width` wide if possible."""
    low, high = _find_range(found.operations)
    rows = [*_list_operations(found, low, high, bars), *_list_clients(found)]
    titles = dict(zip(HEAD, HEAD, strict=True))
    if high:
        titles[HISTOGRAM] = f"{format_duration(int(EDGES[low]))} to {format_duration(int(EDGES[high]))}"
    shown_titles = [title for place, title in enumerate(HEAD) if not place or any(row[place] for row in rows)]
    tried: Sequence[str] = ()
    for longest, left_out in _iterate_layouts():
        tried = _draw_table(titles, rows, [title for title in shown_titles if title not in left_out], longest)
        if max(map(len, tried)) <= width:
            break
    yield from tried


def _iterate_layouts() -> Iterator[tuple[int, Sequence[str]]]:
    """Yields the length of names and the columns that are left out, the widest table first."""
    wide, usual, short = NAMES
    yield wide, ()
    for many in range(len(DISPENSABLE) + 1):
        yield usual, DISPENSABLE[:many]
    yield short, DISPENSABLE


def _draw_table(
    titles: dict[str, str], rows: Sequence[Sequence[str]], shown_titles: Sequence[str], longest: int
) -> list[str]:
    """Returns the table with some columns, and names of at most `longest` characters."""
    places = [HEAD.index(title) for title in shown_titles]
    cells = [[row[place] for place in places] for row in rows]
    for row in cells:
        row[0] = cut_end(safe_text(row[0]), longest)
    left = frozenset(place for place, title in enumerate(shown_titles) if title in _LEFT)
    return list(align_rows([[titles[title] for title in shown_titles], *cells], left))


def _list_operations(found: Overview, low: int, high: int, bars: str) -> Iterator[Sequence[str]]:
    """Yields protocols, each followed by those of its operations that are among the most frequent of all."""
    chosen = found.operations[: max(LINES - len(found.protocols), FEWEST)]
    for protocol in found.protocols:
        (name,) = protocol.key
        own = sum(each.protocol == name for each in found.operations)
        shown = [each for each in chosen if each.protocol == name]
        more = f"{name} ({own:,} {'op' if own == 1 else 'ops'})" if own > len(shown) else name
        yield _make_cells(more, "", protocol.metrics, "")
        for each in shown:
            shape = draw_sparkline(_draw_distribution(each, low, high), bars)
            yield _make_cells("  " + name_operation(each), _shorten_versions(each.versions), each.metrics, shape)


def _list_clients(found: Overview) -> Iterator[Sequence[str]]:
    """Yields the clients with the most messages, if any message has a client."""
    groups = found.clients.groups
    if all(group.key == (None,) for group in groups):
        return
    shown = groups[:CLIENTS]
    title = f"clients ({len(shown)} of {len(groups):,})" if len(groups) > len(shown) else "clients"
    yield (title, *("",) * (len(HEAD) - 1))
    for group in shown:
        (name,) = group.key
        yield _make_cells("  " + ("-" if name is None else name or EMPTY), "", group.metrics, "")


def _make_cells(name: str, versions: str, metrics: Metrics, shape: str) -> Sequence[str]:
    """Returns one cell for each of HEAD; the name is escaped where it is cut."""
    return (
        name,
        versions,
        format_count(metrics.messages),
        format_size(metrics.bytes),
        format_rate(metrics.rate),
        format_count(metrics.unanswered),
        format_count(metrics.errors),
        *(format_duration(each) for each in (metrics.p50_ns, metrics.p99_ns, metrics.max_ns)),
        shape,
    )


def name_operation(each: OperationMetrics) -> str:
    """Returns the name of an operation, as `list` prints it."""
    if each.operation is None:
        return "raw" if each.metrics.raw == each.metrics.messages else "?"
    return each.operation


def _shorten_versions(versions: Sequence[int]) -> str:
    text = ",".join(map(str, versions))
    return text if len(text) <= 9 else f"{versions[0]}..{versions[-1]}"


def _find_range(operations: Sequence[OperationMetrics]) -> tuple[int, int]:
    """Returns the first bucket of latencies that is not empty, and the one after the last; (0, 0) if all are empty."""
    there = [place for each in operations for place, many in enumerate(each.latencies) if many]
    return (min(there), min(max(there) + 1, len(EDGES) - 1)) if there else (0, 0)


def _draw_distribution(each: OperationMetrics, low: int, high: int) -> Sequence[int]:
    counts = [*each.latencies[low:high], *(0,) * (high - max(low, len(each.latencies)))]
    return narrow_counts(counts, DISTRIBUTION) if any(counts) else ()


WIDTH, NARROWEST = 120, 40
"""Characters of a line if the width is unknown, and the smallest width that is used."""

CONNECTIONS, SUBJECTS, KINDS = 4, 8, 20
"""Largest number of each that is named."""

LABEL_WIDTH = 46
"""Characters of a line beside the sparkline over time."""

LONGEST, LEAST, BEHIND, ERROR_LINES = 50, 10, 14, 2
"""Characters of a part of a sentence, and of the first one after a long title; characters for the count of the rest;
lines for errors.
"""

INDENT = "  "


def format_overview(found: Overview, source: str, bars: str = BLOCKS, width: int = WIDTH) -> Iterator[str]:
    """Yields all lines of an overview, at most `width` wide if possible; `source` names the capture."""
    width = max(width, NARROWEST)
    yield from _format_head(found, source, bars, width)
    if not found.total.messages:
        yield _explain_nothing(found)
        yield from _format_findings(found, width)
        return
    yield ""
    yield from _format_troubles(found, width)
    yield ""
    yield from format_overview_table(found, width, bars)
    yield ""
    yield from _format_topics(found, width)


def _format_head(found: Overview, source: str, bars: str, width: int) -> Iterator[str]:
    there, chosen = found.messages_in_all, found.total.messages
    messages = f"{chosen:,} messages" if chosen == there else f"{chosen:,} of {there:,} messages"
    packets = f"{found.packets:,} packets ({found.tcp_packets:,} TCP)"
    parts = [packets, format_size(found.packet_bytes), _format_streams(found), messages, format_size(found.total.bytes)]
    yield from _wrap_parts(f"{safe_text(source, width // 2)}:", parts, width)
    if found.first is None or found.last is None:
        return
    first, last = (format_iso_time(time)[:19].replace("T", " ") for time in (found.first, found.last))
    last = last[11:] if last[:11] == first[:11] else last
    span = [f"{first} to {last} UTC", format_duration(found.last - found.first)]
    if found.total.rate is not None:
        span.append(f"{format_rate(found.total.rate)} messages/s")
    yield from _wrap_parts("", span, width)
    yield _format_over_time("messages", found.over_time, found.interval, bars, width)
    if found.failures_over_time is not None and any(found.failures_over_time):
        yield _format_over_time("errors  ", found.failures_over_time, found.interval, bars, width)


def _format_streams(found: Overview) -> str:
    """Formats the number of streams, and of silent ones; these were often refused."""
    silent = found.streams - len(found.connections)
    text = format_counted(found.streams, "stream")
    return text + (f" ({silent:,} silent)" if 0 < silent < found.streams else "")


def _format_over_time(title: str, counts: Sequence[int], interval: int, bars: str, width: int) -> str:
    shown_counts = narrow_counts(counts, width - LABEL_WIDTH) if width - LABEL_WIDTH > 0 else counts
    each = interval * -(-len(counts) // len(shown_counts))
    return f"{title} |{draw_sparkline(shown_counts, bars)}| each {format_duration(each)}, {max(shown_counts):,} at most"


def _explain_nothing(found: Overview) -> str:
    if found.messages_in_all:
        return "no message fulfils the filter"
    return "no messages of a protocol that is known here: wireanalyze info says what there is"


def _format_troubles(found: Overview, width: int) -> Iterator[str]:
    """Yields errors, unanswered requests and findings; says so if there are none."""
    total = found.total
    if found.failures:
        kinds = [f"{each.operation or '?'} {each.error} {each.messages:,}" for each in found.failures[:KINDS]]
        title = f"errors ({total.errors:,}; list -Y error):"
        yield from _wrap_parts(title, kinds, width, ERROR_LINES, len(found.failures))
    elif total.errors is not None:
        unread = any(group.key == (UNKNOWN,) for group in found.protocols)
        yield f"errors: none{' in what can be read' if unread else ''}"
    if total.empty:
        yield f"answers that there is nothing yet (no errors): {total.empty:,}"
    if found.waiting:
        kinds = [f"{operation or '?'} {many:,}" for _, operation, many in found.waiting[:KINDS]]
        title = f"never answered ({total.unanswered:,}):"
        yield from _wrap_parts(title, kinds, width, 1, len(found.waiting))
        oldest = [f"No. {each.row + 1} {format_duration(each.waited)}" for each in found.oldest]
        yield from _wrap_parts("  waited to their connection's end:", oldest, width, 1, total.unanswered)
    else:
        yield "never answered: none"
    yield from _format_findings(found, width)
    yield from _format_network(found, width)


def _format_network(found: Overview, width: int) -> Iterator[str]:
    """Yields the cost of the network, if there is any."""
    network = found.network
    parts = [
        f"{format_counted(count, what)}{did}{f' cost {format_duration(cost)}' if cost else ''}"
        for what, did, count, cost in (
            ("retransmission", "", network.retransmissions, network.retransmission_time_ns),
            ("closed window", "", network.zero_windows, network.zero_window_time_ns),
            ("connection", " refused", network.refused, 0),
            ("handshake", " unanswered", network.unanswered, 0),
        )
        if count
    ]
    if parts:
        trip = [] if network.rtt_ns is None else [f"round trip {format_duration(network.rtt_ns)}"]
        yield from _wrap_parts("network (report delays tells more):", [*parts, *trip], width, 2, len(parts) + len(trip))


def _format_findings(found: Overview, width: int) -> Iterator[str]:
    if found.findings:
        phrases = [f"{code} {many:,} ({severity})" for severity, code, many in found.findings]
        yield from _wrap_parts("findings (doctor tells all):", phrases, width, 1, len(found.findings))


def _format_topics(found: Overview, width: int) -> Iterator[str]:
    """Yields the connections with the most messages, and topics and paths."""
    top = [f"{each.connection} {each.messages:,}" for each in found.connections[:CONNECTIONS]]
    yield from _wrap_parts("connections:", top, width, 1, len(found.connections))
    for each in found.subjects:
        names = [f"{name or EMPTY} {many:,}" for name, many in each.counts[:SUBJECTS]]
        looked = "requests"
        if each.of > each.looked_at:
            looked = f"a sample: {each.looked_at:,} of {each.of:,} requests"
        yield from _wrap_parts(f"{each.name}s (in {looked}):", names, width, 1, len(each.counts))


def _wrap_parts(title: str, parts: Sequence[str], width: int, lines: int = 2, there: int = 0) -> Iterator[str]:
    """Yields a title and comma-separated parts in at most `lines` lines, and how many of `there` parts are left out."""
    line, shown = title, 0
    for part in parts:
        available = width - len(_format_left_out(there - shown - 1)) - (shown + 1 < len(parts))
        most = min(max(width // 2, LONGEST), width - BEHIND) if shown else max(available - len(line) - 1, LEAST)
        text = cut_end(safe_text(part), most)
        more = f"{',' if shown else ''}{' ' if line else ''}{text}"
        if shown and len(line) + len(more) > available:
            if lines == 1:
                break
            yield line + ","
            line, more, lines = INDENT, text, lines - 1
        line += more
        shown += 1
    yield line + _format_left_out(there - shown)


def _format_left_out(many: int) -> str:
    return f", {many:,} more" if many > 0 else ""
