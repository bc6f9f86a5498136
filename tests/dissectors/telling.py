"""A story that is told message by message, made by hand: a clock of milliseconds, rows that count up."""

from __future__ import annotations

from typing import Any

from dissectors.report import ConnectionEnd, Ends, Report, ReportRow, said_of

MS = 1_000_000


class Telling:
    """What the books of all protocols have: the story, its lines so far, the next row and the time."""

    def __init__(self, story: type[Report], ends: Ends) -> None:
        self.story = story(ends)
        self.entries: list[ReportRow] = []
        self.row, self.time = 0, 0

    def end(self, stream: int = 1, *, by_client: bool = True, after: int = 1) -> None:
        """A connection ends."""
        self.time += after * MS
        self.entries += self.story.ended(ConnectionEnd(stream, self.time, by_client))

    def finish(self) -> list[dict[str, Any]]:
        """All lines, by the names of the columns."""
        self.entries += self.story.finish()
        return [said_of(type(self.story), entry) for entry in self.entries]

    def only(self, *columns: str) -> list[tuple[Any, ...]]:
        """The same, of some columns."""
        return [tuple(each[name] for name in columns) for each in self.finish()]
