"""Reports that are not declared yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from dissectors.correlator import ConnectionEnd, Ends, MessageEvent, MessageKind, Subscription
from dissectors.lesson import Path
from dissectors.report import REPORTED, Column, Report, ReportRow, Row

__all__ = ["REPORTED", "Column", "ConnectionEnd", "Ends", "MessageEvent", "OldReport", "ReportRow", "What", "said_of"]

What = MessageKind


class OldReport(Report[Any]):
    """See the module."""

    wants: ClassVar[Mapping[MessageKind, frozenset[Path]]]
    row = Row

    def __init_subclass__(cls) -> None:
        super(Report, cls).__init_subclass__()
        if "wants" in cls.__dict__:
            cls.on = {what: Subscription(paths, OldReport._receive) for what, paths in cls.wants.items()}

    def __init__(self, ends: Ends, emit: Callable[[ReportRow], object] = lambda row: None) -> None:
        super().__init__(ends, emit)

    def _receive(self, event: MessageEvent) -> None:
        for row in self.see(event):
            self.emit(row)

    def see(self, told: MessageEvent) -> Iterable[ReportRow]:
        """A message."""
        raise NotImplementedError

    def ended(self, ending: ConnectionEnd) -> Iterable[ReportRow]:
        """A connection ended."""
        return ()

    def end_connection(self, end: ConnectionEnd) -> None:
        """See Correlator."""
        for row in self.ended(end):
            self.emit(row)

    def finish(self) -> Any:
        """The end."""
        return ()

    @classmethod
    def describe(cls, entry: ReportRow, row: int) -> str:
        """See Report."""
        return cls.says(entry, row)

    @classmethod
    def says(cls, entry: ReportRow, row: int) -> str:
        """See Report."""
        return super().describe(entry, row)


def said_of(cls: type[Report[Any]], entry: ReportRow) -> dict[str, Any]:
    """The cells."""
    return cls.cells(entry)
