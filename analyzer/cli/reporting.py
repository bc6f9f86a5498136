"""Prints the views of `wireanalyze stats`: as a table, one JSON object, or one line for each row."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from analyzer.cli.inputs import patiently
from analyzer.cli.terminal import is_wide, line_width, print_fitted
from analyzer.columns.arrays import Ints
from analyzer.decode.jsonable import JsonWriter
from analyzer.decode.rows import RowReader
from analyzer.insight.metrics import METRIC_NAMES
from analyzer.render.objects import write_objects
from analyzer.render.sparkline import choose_bars
from analyzer.session import Session

if TYPE_CHECKING:
    from analyzer.insight.statistics import GroupStatistics, Statistics

SHOWN = 20
"""Number of groups in a table, unless --top is given; other formats print all."""

WIDTH = 120
"""Characters of a line if output is no terminal and COLUMNS is not set."""

UNBOUNDED = 1 << 16
"""A width that no line reaches."""


class PrintedReport:
    """Prints views of a loaded session, or of some of its rows. form: one of formats.ROWS; top: groups to print."""

    def __init__(self, session: Session, rows: Ints | None, form: str, top: int | None) -> None:
        self._session, self._rows, self._form, self._top = session, rows, form, top
        self._bars = choose_bars(sys.stdout.encoding)

    def counts(self) -> None:
        """Prints the numbers of messages by kind."""
        from analyzer.cli.counting import print_counts

        print_counts(self._session, self._form, self._rows)

    def overview(self, files: Sequence[str], *, with_errors: bool) -> None:
        """Prints the overview of the capture on one screen."""
        from analyzer.insight.overview import overview

        with _looking() as looked:
            found = overview(self._session, self._rows, with_errors=with_errors, looked=looked)
        if self._form == "json":
            from analyzer.render.overview_json import make_overview_object

            _write_json(make_overview_object(found, RowReader(self._session)))
        elif self._form != "table":
            named = ((each.protocol, each.operation, asdict(each.metrics)) for each in found.operations)
            rows = ({"protocol": protocol, "operation": name, **metrics} for protocol, name, metrics in named)
            write_objects(sys.stdout.buffer, self._form, ["protocol", "operation", *METRIC_NAMES], rows)
        else:
            from analyzer.render.overview_text import format_overview

            name = "standard input" if files[0] == "-" else os.path.basename(files[0])
            source = name if len(files) == 1 else f"{name} and {len(files) - 1} more"
            width = UNBOUNDED if is_wide() else shutil.get_terminal_size((WIDTH, 0)).columns
            print_fitted(format_overview(found, source, self._bars, width))

    def groups(self, by: Sequence[str], interval: int | None, sort: str | None, *, with_errors: bool) -> None:
        """Prints the groups of --by. Raises UserError."""
        from analyzer.insight.statistics import statistics
        from analyzer.render.overview_json import make_group_object, make_statistics_object

        with _looking() as looked:
            reader = RowReader(self._session)
            found = statistics(reader, by, self._rows, with_errors=with_errors, interval=interval, looked=looked)
        groups = _sort_rows(found, by, sort)[: self._top if by == ["time"] else self._most]
        if self._form == "json":
            _write_json(make_statistics_object(found, groups))
        elif self._form != "table":
            rows = (make_group_object(by, group) for group in groups)
            write_objects(sys.stdout.buffer, self._form, [*by, *METRIC_NAMES], rows)
        else:
            from analyzer.render.metrics_text import format_groups

            print_fitted(format_groups(found, groups, self._bars, line_width()))

    def traffic(self, view: str) -> None:
        """Prints the conversations or endpoints; view: which of them."""
        from analyzer.insight.traffic import Conversation, Endpoint, conversations, endpoints
        from analyzer.render.metrics_text import format_conversations, format_endpoints
        from analyzer.render.overview_json import make_conversation_object

        reader = RowReader(self._session)
        rows = np.arange(len(self._session.rows)) if self._rows is None else self._rows
        if view == "conversations":
            talks = conversations(reader, rows)
            lines, objects = (
                format_conversations(talks, self._most, line_width()),
                [make_conversation_object(each) for each in talks],
            )
            names = list(Conversation.__annotations__)
        else:
            ends = endpoints(reader, rows)
            lines, objects = format_endpoints(ends, self._most, line_width()), [asdict(each) for each in ends]
            names = list(Endpoint.__annotations__)
        if self._form == "table":
            print_fitted(lines)
        elif self._form == "json":
            _write_json({view: objects[: self._most], f"{view}_in_all": len(objects)})
        else:
            write_objects(sys.stdout.buffer, self._form, names, objects[: self._most])

    @property
    def _most(self) -> int | None:
        return SHOWN if self._top is None and self._form == "table" else self._top


@contextmanager
def _looking() -> Iterator[Callable[[int, int], None]]:
    """Shows how many messages have been decoded, if that takes long."""
    with patiently() as bar:
        yield lambda done, total: bar("messages examined", done, lambda: total)


def order_of(sort: str, by: Sequence[str]) -> tuple[str, bool] | None:
    """Returns the key or metric that --sort names, and whether the largest come first; None if it is neither."""
    name = sort.removeprefix("-")
    if name in by:
        return name, sort != name
    return next(((each, True) for each in METRIC_NAMES if name in (each, each.removesuffix("_ns"))), None)


def _sort_rows(found: Statistics, by: Sequence[str], sort: str | None) -> Sequence[GroupStatistics]:
    """Returns the groups sorted by a metric or a key, those without it last."""
    order = None if sort is None else order_of(sort, by)
    if order is None:
        return found.groups
    name, descending = order

    def value(group: GroupStatistics) -> Any:
        return group.key[by.index(name)] if name in by else getattr(group.metrics, name)

    known = [group for group in found.groups if value(group) is not None]
    if name in by:  # values may be of several kinds
        known.sort(key=lambda group: (str(type(value(group))), value(group)), reverse=descending)
    else:
        known.sort(key=lambda group: -value(group))
    return [*known, *(group for group in found.groups if value(group) is None)]


def _write_json(found: dict[str, Any]) -> None:
    sys.stdout.buffer.write(JsonWriter().format_line(found))
