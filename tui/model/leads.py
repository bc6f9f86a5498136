"""Where a line of a page leads to, and the filters that express it.

Theory. A number on a page counts messages, so there is a filter that keeps exactly these. It is written as a person
would write it: names without quotes where they need none, durations in the largest unit in which they are whole.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from analyzer.columns.arrays import list_distinct
from analyzer.columns.values import format_iso_time
from analyzer.decode.rows import RowReader
from analyzer.query.filter import Filter, compile_filter
from analyzer.query.filter.literals import quote
from analyzer.query.response_errors import load_nothing_new
from analyzer.query.units import DURATIONS

if TYPE_CHECKING:
    from analyzer.session import Session
    from dissectors.field import Tree
    from tui.model.detail import ByteRange

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[.-][A-Za-z0-9_]+)*")
_CHOICE = re.compile(r"\bx?or\b|[|^$]")
"""Operators that bind less tightly than `and`, and names that may stand for them."""


class FilterLead(NamedTuple):
    """Leads to the messages that fulfil a filter.

    rows: rows that must be among them; add_rows() adds those that the filter leaves out.
    """

    condition: str
    rows: tuple[int, ...] = ()


class MessageLead(NamedTuple):
    """A target that Enter follows: the message with this row."""

    row: int


class PlaceLead(NamedTuple):
    """Leads to a message, and to the bytes that `where` finds in its tree."""

    row: int
    where: Callable[[Tree], ByteRange | None]


class ViewLead(NamedTuple):
    """Leads to another view of the same page."""

    view: str


class PairLead(NamedTuple):
    """Leads to the comparison of two messages, on the same page."""

    rows: tuple[int, int]


Lead = FilterLead | MessageLead | PlaceLead | ViewLead | PairLead


def write_literal(text: str) -> str:
    """Writes a text as a filter has it behind an operator, safe for terminals."""
    return text if _WORD.fullmatch(text) else quote(text)


def write_duration(nanoseconds: int) -> str:
    """Writes a duration exactly, in the largest unit up to seconds in which it is whole: `2ms`."""
    for unit in ("s", "ms", "us"):
        if nanoseconds and nanoseconds % DURATIONS[unit] == 0:
            return f"{nanoseconds // DURATIONS[unit]}{unit}"
    return f"{nanoseconds}ns"


def write_latency_range(low: int, high: int) -> str:
    """Writes the filter of latencies from `low` to below `high` (ns); with `low` 0 also of lower ones."""
    below = f"latency < {write_duration(high)}"
    return below if not low else f"latency >= {write_duration(low)} and {below}"


def write_time_range(first: int, end: int) -> str:
    """Writes the filter of messages from one time to before another (ns since 1970)."""
    return f'time >= "{_write_time(first)}" and time < "{_write_time(end)}"'


def _write_time(time: int) -> str:
    """Writes a time in UTC without trailing zeros."""
    return format_iso_time(time).replace("T", " ").rstrip("Z").rstrip("0").rstrip(".")


def write_comparison(field: str, value: str | None) -> str:
    """Writes the filter of messages with a value in a field; None: of messages without the field."""
    return f"not {field}" if value is None else f"{field} == {write_literal(value)}"


def combine_filters(first: str, second: str) -> str:
    """Combines two filters by `and`; the second one needs no parentheses."""
    if not first or first == second or first.endswith(f" and {second}"):
        return first or second
    return f"{f'({first})' if _CHOICE.search(first) else first} and {second}"


def write_address(addresses: Sequence[str]) -> str:
    """Writes the filter of messages from or to one of some addresses, each with or without a port; empty for names."""
    parts = [f"ip == {each}" for each in addresses if _is_address(each)]
    with_port = [
        each for each in addresses if _is_address(each.rpartition(":")[0].strip("[]")) and not _is_address(each)
    ]
    for side in ("source", "destination") if with_port else ():
        listed = ", ".join(map(quote, with_port))
        parts.append(f"{side} == {listed}" if len(with_port) == 1 else f"{side} in {{{listed}}}")
    return f"({' or '.join(parts)})" if len(parts) > 1 else "".join(parts)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def write_rows(rows: Iterable[int]) -> str:
    """Writes the filter of some rows, runs of them as ranges."""
    runs: list[list[int]] = []
    for row in sorted(set(rows)):
        if runs and runs[-1][1] == row - 1:
            runs[-1][1] = row
        else:
            runs.append([row, row])
    texts = [
        f"{first + 1}..{last + 1}" if last > first + 1 else ", ".join(str(row + 1) for row in range(first, last + 1))
        for first, last in runs
    ]
    return f"number in {{{', '.join(texts)}}}"


def add_rows(lead: FilterLead, session: Session, named: Mapping[str, str]) -> Filter:
    """Compiles the filter of a lead; the rows that it leaves out are added by their numbers."""
    found = compile_filter(lead.condition, named)
    if not lead.rows:
        return found
    rows = np.array(lead.rows, np.int64)
    missing = np.setdiff1d(rows, found.select_rows(RowReader(session), list_distinct(rows)))
    return compile_filter(f"{lead.condition} or {write_rows(missing.tolist())}", named) if len(missing) else found


Label = tuple[str, str | None]
"""A protocol and one of its operations; None for messages without an operation."""


def _write_nothing_now() -> str:
    by_codes: dict[Sequence[int], list[str]] = {}
    for (_, operation), codes in load_nothing_new().items():
        by_codes.setdefault(codes, []).append(operation)
    parts = [
        f"operation in {{{', '.join(operations)}}} and error.code in {{{', '.join(map(str, codes))}}}"
        for codes, operations in by_codes.items()
    ]
    return f"({' or '.join(parts)})"


NOTHING_NOW = _write_nothing_now()
"""The filter of answers whose error code only says that there is nothing now."""


def make_label_filters(labels: Iterable[Label]) -> Callable[[Label], str]:
    """Returns a function that writes the filter of an operation.

    The filter names the protocol only if several protocols have an operation of this name.
    """
    known = Counter(operation for _, operation in labels)

    def condition(label: Label) -> str:
        protocol, operation = label
        comparison = write_comparison("operation", operation)
        return (
            comparison
            if operation is not None and known[operation] == 1
            else f"{write_comparison('protocol', protocol)} and {comparison}"
        )

    return condition
