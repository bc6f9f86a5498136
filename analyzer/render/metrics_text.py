"""Formats metrics of groups for people: the tables of `stats --by`, `--conversations` and `--endpoints`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from analyzer.columns.text import safe_text
from analyzer.columns.values import format_iso_time
from analyzer.insight.grouping import TIME, field_of
from analyzer.insight.metrics import Metrics
from analyzer.insight.statistics import GroupStatistics, Statistics
from analyzer.insight.traffic import Conversation, Endpoint
from analyzer.query.fields.path import FieldKind, Label
from analyzer.render.amounts import format_count, format_rate, format_share, format_size
from analyzer.render.columns_text import format_columns
from analyzer.render.durations import format_duration
from analyzer.render.fitting import wrap_text
from analyzer.render.sparkline import BLOCKS, draw_sparkline

LONGEST = 60
"""Length of a name in characters."""

LEAST = 16
"""Characters of a name that remain in a narrow terminal."""

INDENT = "  "
"""Precedes the second line of a long foot."""

Show = Callable[[Any], str]

SHOWN: Mapping[str, tuple[str, Show]] = {
    "messages": ("messages", format_count),
    "bytes": ("bytes", format_size),
    "rate": ("msg/s", format_rate),
    "unanswered": ("unanswered", format_count),
    "errors": ("errors", format_count),
    "empty": ("empty", format_count),
    "error_rate": ("error rate", format_share),
    "min_ns": ("min", format_duration),
    "p50_ns": ("p50", format_duration),
    "p90_ns": ("p90", format_duration),
    "p99_ns": ("p99", format_duration),
    "p999_ns": ("p99.9", format_duration),
    "max_ns": ("max", format_duration),
}
"""The metrics of a group: column title and format function."""

_LESS_OF_CONVERSATIONS = (8, 1, 9, 7, 5, 6, 4)
"""Columns of conversations in the order in which they are left out: beginning, protocol, duration and so on."""


def _format_time(time: int | None) -> str:
    return format_duration(time) if time else "-"


_NETWORK: Sequence[tuple[str, str, Show]] = (
    ("rtt", "rtt_ns", _format_time),
    ("resent", "retransmissions", format_count),
    ("lost time", "retransmission_time_ns", _format_time),
    ("zero windows", "zero_windows", format_count),
    ("closed", "zero_window_time_ns", _format_time),
    ("reset by", "reset", lambda side: side or "-"),
)
"""Columns of conversations with network metrics, shown if any row has a value."""

_OPTIONAL = frozenset({"unanswered", "errors", "empty", "error_rate"})


def select_metrics(groups: Sequence[GroupStatistics]) -> list[str]:
    """Returns the metrics that have a value in any group."""
    return [name for name in SHOWN if any(_has_values(name, group.metrics) for group in groups)]


def _has_values(name: str, metrics: Metrics) -> bool:
    value = getattr(metrics, name)
    return bool(value) if name in _OPTIONAL else value is not None


def format_groups(
    found: Statistics, groups: Sequence[GroupStatistics], bars: str = BLOCKS, width: int | None = None
) -> Iterator[str]:
    """Yields a title line and a line for each group, with its share of all messages.

    width: cells of a line; metrics that do not fit are left out, from the right.
    """
    names = select_metrics(groups)
    in_time = found.by == (TIME,)
    head = [*found.by, *(SHOWN[name][0] for name in names), *(("",) if in_time else ())]
    rows = [head]
    shape = draw_sparkline([group.metrics.messages for group in groups], bars)
    shows = [_choose_format(key) for key in found.by]
    for place, group in enumerate(groups):
        cells = [show(value) for show, value in zip(shows, group.key, strict=True)]
        cells += [SHOWN[name][1](getattr(group.metrics, name)) for name in names]
        rows.append([*cells, shape[place]] if in_time else cells)
    keys = range(len(found.by))
    # A time is a number, which must not be cut.
    least = {place: LEAST for place, key in enumerate(found.by) if key != TIME}
    dropped = range(len(head) - 1, len(found.by), -1)
    yield from format_columns(rows, frozenset(keys), width, least, dropped)
    foot = _format_foot(found, len(groups))
    yield from [foot] if width is None else wrap_text(foot, width, indent=INDENT)


def _format_foot(found: Statistics, shown: int) -> str:
    messages, members = found.total.messages, sum(group.metrics.messages for group in found.groups)
    there = "group" if len(found.groups) == 1 else "groups"
    text = f"{shown:,} of {len(found.groups):,} {there}; {messages:,} messages"
    if found.first is not None and found.last is not None:
        text += f" in {format_duration(found.last - found.first)}"
    if found.interval is not None:
        text += f"; intervals of {format_duration(found.interval)}, rates over each"
    return text + (f"; those in several groups are counted in each ({members:,})" if members > messages else "")


def _choose_format(key: str) -> Show:
    """Returns how the values of a key are formatted; numbers with names are shown by name."""
    if key == TIME:
        return lambda value: format_value(value, format_iso_time)
    field = field_of(key)
    if field.kind is FieldKind.DURATION:
        return lambda value: format_value(value, format_duration)
    return lambda value: format_value(value, field.label)


def format_value(value: Any, label: Label | None = None) -> str:
    """Formats a value of a group key as a cell; `-` for None."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return (label and label(value)) or str(value)
    text = value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
    return safe_text(text, LONGEST)


def format_conversations(found: Sequence[Conversation], most: int | None, width: int | None = None) -> Iterator[str]:
    """Yields a title line and a line for each connection."""
    head = ("connection", "protocol", "messages", "bytes", ">", "bytes", "<", "bytes", "began", "duration")
    shown = [column for column in _NETWORK if any(getattr(each, column[1]) for each in found[:most])]
    rows = [
        (
            each.connection,
            each.protocol,
            *_make_amounts(each.messages, each.bytes, each.to_server, each.bytes_to_server),
            *_make_amounts(each.to_client, each.bytes_to_client),
            format_iso_time(each.began),
            format_duration(each.duration_ns),
            *(show(getattr(each, name)) for _, name, show in shown),
        )
        for each in found[:most]
    ]
    titles = *head, *(title for title, _, _ in shown)
    before, behind = _LESS_OF_CONVERSATIONS[:3], _LESS_OF_CONVERSATIONS[3:]
    dropped = (*before, *range(len(titles) - 1, len(head) - 1, -1), *behind)
    yield from format_columns([titles, *rows], frozenset({0, 1}), width, {}, dropped)
    yield f"{len(rows):,} of {len(found):,} conversations; > to the server, < to the client"


def format_endpoints(found: Sequence[Endpoint], most: int | None, width: int | None = None) -> Iterator[str]:
    """Yields a title line and a line for each endpoint."""
    head = ("endpoint", "connections", "messages", "bytes", "sent", "bytes", "received", "bytes")
    rows = [
        (
            each.endpoint,
            format_count(each.connections),
            *_make_amounts(each.messages, each.bytes, each.sent, each.bytes_sent),
            *_make_amounts(each.received, each.bytes_received),
        )
        for each in found[:most]
    ]
    yield from format_columns([head, *rows], frozenset({0}), width, {}, range(len(head) - 1, 2, -1))
    yield f"{len(rows):,} of {len(found):,} endpoints"


def _make_amounts(*numbers: int) -> list[str]:
    return [show(number) for number, show in zip(numbers, (format_count, format_size) * 2, strict=False)]
