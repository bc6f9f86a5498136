"""A report that is made message by message, by hand: a clock of milliseconds, rows that count up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissectors.correlator import ConnectionEnd, Ends, MessageEvent
from dissectors.message import Context, Role
from dissectors.report import ReportRow, ReportType

MS = 1_000_000


class Telling:
    """What the books of all protocols have: the report, its rows so far, the next message's row and the time."""

    def __init__(self, report: ReportType, ends: Ends) -> None:
        self.entries: list[ReportRow] = []
        self.report, self.sides = report(ends, self.entries.append), ends
        self.row, self.time, self.losses, self.size = 0, 0, 0, 100
        self._times: dict[int | None, int] = {}

    def receive(
        self, protocol: str, context: Context, values: Mapping[str, Any], operation: str | None, *, stream: int = 1,
        after: int = 1, from_client: bool = True, correlation: int | None = None, client: str | None = None,
        partner: int | None = None, error: tuple[int, str] | None = None,
    ) -> int:  # fmt: skip
        """The next message, some ms behind the one before; its row."""
        row = self.row
        self.row, self.time = row + 1, self.time + after * MS
        self._times[row] = self.time
        requested = self._times.get(partner)
        event = MessageEvent(
            *(row, protocol, context, values, stream, self.time, from_client, operation, correlation, client, partner),
            *(self.size, self.losses, error),
            elapsed=None if requested is None else self.time - requested,
            ends=self.sides,
        )
        if (protocol, context.code, context.role) in self.report.on:
            self.report.receive(event)
        return row

    def end(self, stream: int = 1, *, by_client: bool = True, after: int = 1) -> None:
        """A connection ends."""
        self.time += after * MS
        self.report.end_connection(ConnectionEnd(stream, self.time, by_client))

    def finish(self) -> list[dict[str, Any]]:
        """All rows, by the names of the columns."""
        self.report.finish()
        return [self.report.cells(entry) for entry in self.entries]

    def only(self, *columns: str) -> list[tuple[Any, ...]]:
        """The same, of some columns."""
        return [tuple(each[name] for name in columns) for each in self.finish()]

    def now(self, column: str) -> list[Any]:
        """That column of the rows that would be there if the capture ended now."""
        before = len(self.entries)
        found = [each[column] for each in self.finish()[before:]]
        del self.entries[before:]
        return found

    def said(self, row: int) -> list[str]:
        """What the rows say of a message."""
        return [
            self.report.describe(entry, row) for entry in self.entries if any(each == row for _, each in entry.rows)
        ]


def feed(report: ReportType, ends: Ends, events: list[tuple[MessageEvent, bool]]) -> list[ReportRow]:
    """What a report makes of hostile messages, each with whether its connection ends then. Raises for what is none."""
    found: list[ReportRow] = []
    reading = report(ends, found.append)
    for event, is_last in events:
        assert isinstance(report.concerns(event.operation, event.context.role, event.values), bool)
        reading.receive(event._replace(ends=ends))
        if is_last:
            reading.end_connection(ConnectionEnd(event.stream, event.time, event.from_client))
    reading.finish()
    for entry in found:
        assert len(entry.values) == len(report.columns)
        assert entry.first <= entry.last
        for _, row in entry.rows:
            assert report.describe(entry, row)
    return found


def wanted_names(reports: list[ReportType]) -> set[str]:
    """The names of all fields that some reports look at."""
    return {name for each in reports for wanted in each.on.values() for path in wanted.paths for name in path}


def kinds_of(report: ReportType) -> list[tuple[str, int | None, Role]]:
    """The kinds of messages that a report gets, in an order."""
    return sorted(report.on, key=str)
