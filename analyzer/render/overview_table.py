"""The figures on the one screen: operations by protocol, and clients, in the same columns.

Theory. A terminal that is narrower than the table breaks each of its lines, and nobody can read that. So long names are
shortened, then columns are left out, those first that can best be done without. A column in which nothing stands is
left out always.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.columns.text import safe_text
from analyzer.insight.figures import Figures
from analyzer.insight.overview import Operation, Overview
from analyzer.insight.percentiles import EDGES
from analyzer.render.amounts import count, rate, size
from analyzer.render.columns_text import aligned
from analyzer.render.durations import duration
from analyzer.render.fitting import cut
from analyzer.render.sparkline import BLOCKS, narrowed, sparkline

LINES, FEWEST, CLIENTS = 16, 6, 4
"""Lines for protocols and operations, operations that are shown however many protocols there are, and clients."""

NAMES = (31, 24, 16)
"""Characters of a name, in a wide terminal and in narrower ones."""

DISTRIBUTION = 12
"""Characters of the distribution of latencies."""

EMPTY = '""'
"""What an empty name looks like."""

NAME, VERSIONS, SHAPE = "", "versions", "latencies"
HEAD = (NAME, VERSIONS, "messages", "bytes", "msg/s", "unansw.", "errors", "p50", "p99", "max", SHAPE)
DISPENSABLE = (SHAPE, VERSIONS, "bytes", "msg/s", "p50", "p99")

_LEFT = frozenset({NAME, VERSIONS, SHAPE})


def table_lines(found: Overview, width: int, bars: str = BLOCKS) -> Iterator[str]:
    """A head, protocols with their operations, and clients; no longer than `width` characters where that can be."""
    low, high = _range(found.operations)
    rows = [*_operations(found, low, high, bars), *_clients(found)]
    titles = dict(zip(HEAD, HEAD, strict=True))
    if high:
        titles[SHAPE] = f"{duration(int(EDGES[low]))} to {duration(int(EDGES[high]))}"
    kept = [title for place, title in enumerate(HEAD) if not place or any(row[place] for row in rows)]
    tried: Sequence[str] = ()
    for longest, left_out in _ways():
        tried = _drawn(titles, rows, [title for title in kept if title not in left_out], longest)
        if max(map(len, tried)) <= width:
            break
    yield from tried


def _ways() -> Iterator[tuple[int, Sequence[str]]]:
    """Characters of a name and columns that are left out, the widest table first."""
    wide, usual, short = NAMES
    yield wide, ()
    for many in range(len(DISPENSABLE) + 1):
        yield usual, DISPENSABLE[:many]
    yield short, DISPENSABLE


def _drawn(titles: dict[str, str], rows: Sequence[Sequence[str]], kept: Sequence[str], longest: int) -> list[str]:
    """The kept columns, with names of at most so many characters."""
    places = [HEAD.index(title) for title in kept]
    cells = [[row[place] for place in places] for row in rows]
    for row in cells:
        row[0] = cut(safe_text(row[0]), longest)
    left = frozenset(place for place, title in enumerate(kept) if title in _LEFT)
    return list(aligned([[titles[title] for title in kept], *cells], left))


def _operations(found: Overview, low: int, high: int, bars: str) -> Iterator[Sequence[str]]:
    """Protocols, and beneath each those of its operations that are among the most frequent of all."""
    chosen = found.operations[: max(LINES - len(found.protocols), FEWEST)]
    for protocol in found.protocols:
        (name,) = protocol.key
        own = sum(each.protocol == name for each in found.operations)
        shown = [each for each in chosen if each.protocol == name]
        more = f"{name} ({own:,} {'op' if own == 1 else 'ops'})" if own > len(shown) else name
        yield _cells(more, "", protocol.figures, "")
        for each in shown:
            shape = sparkline(_distribution(each, low, high), bars)
            yield _cells("  " + named(each), _short(each.versions), each.figures, shape)


def _clients(found: Overview) -> Iterator[Sequence[str]]:
    """Those with most messages, where any message says its client."""
    groups = found.clients.groups
    if all(group.key == (None,) for group in groups):
        return
    shown = groups[:CLIENTS]
    title = f"clients ({len(shown)} of {len(groups):,})" if len(groups) > len(shown) else "clients"
    yield (title, *("",) * (len(HEAD) - 1))
    for group in shown:
        (name,) = group.key
        yield _cells("  " + ("-" if name is None else name or EMPTY), "", group.figures, "")


def _cells(name: str, versions: str, figures: Figures, shape: str) -> Sequence[str]:
    """One for each of HEAD; the name is made safe where it is cut."""
    return (
        name,
        versions,
        count(figures.messages),
        size(figures.bytes),
        rate(figures.rate),
        count(figures.unanswered),
        count(figures.errors),
        *(duration(each) for each in (figures.p50_ns, figures.p99_ns, figures.max_ns)),
        shape,
    )


def named(each: Operation) -> str:
    """What stands for an operation, as in `list`."""
    if each.operation is None:
        return "raw" if each.figures.raw == each.figures.messages else "?"
    return each.operation


def _short(versions: Sequence[int]) -> str:
    text = ",".join(map(str, versions))
    return text if len(text) <= 9 else f"{versions[0]}..{versions[-1]}"


def _range(operations: Sequence[Operation]) -> tuple[int, int]:
    """The first bucket of latencies that has any, and the one behind the last; (0, 0) without any."""
    there = [place for each in operations for place, many in enumerate(each.latencies) if many]
    return (min(there), min(max(there) + 1, len(EDGES) - 1)) if there else (0, 0)


def _distribution(each: Operation, low: int, high: int) -> Sequence[int]:
    counts = [*each.latencies[low:high], *(0,) * (high - max(low, len(each.latencies)))]
    return narrowed(counts, DISTRIBUTION) if any(counts) else ()
