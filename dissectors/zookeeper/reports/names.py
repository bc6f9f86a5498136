"""Names of an ensemble's servers for diagrams, on both sides of their connections."""

from __future__ import annotations

from collections.abc import Iterator

from dissectors.report import ReportRow, column
from dissectors.slotted import make_slotted
from dissectors.zookeeper.reports.elections import Elections
from dissectors.zookeeper.reports.polls import Learner, Poll


@make_slotted(frozen=False, eq=False)
class NameRow(Poll):
    """The server on one side of a connection."""

    stream: int = column("number", "the connection", 0)
    by_client: int = column("number", "1 for its client, 0 for its server", 0)
    name: str = column("text", "the name of the server", "")


class ServerNames(Elections):
    """Names the servers of elections; it reads the same messages as the report of elections."""

    name = "names"
    row = NameRow
    diagnosed = has_events = False

    def finish(self) -> None:
        """Makes a row for each side of each connection whose server is known."""
        known: dict[tuple[int, bool], int] = {}
        for event in self.events:
            if isinstance(event.what, Learner):
                known[event.stream, True] = event.what.sid
                continue
            for side in (True, False):
                sid = self.ensembles.find(event.stream).find_side(event.stream, from_client=side)
                if sid is not None:
                    known[event.stream, side] = sid
        for (stream, by_client), sid in known.items():
            row = NameRow(0, 0)
            row.stream, row.by_client, row.name = stream, int(by_client), f"server {sid}"
            self.close(row)

    @classmethod
    def list_names(cls, entry: ReportRow) -> Iterator[tuple[str | tuple[int, bool], str]]:
        """Yields the side of the connection, and the name of its server."""
        cells = cls.cells(entry)
        yield (cells["stream"], bool(cells["by_client"])), cells["name"]
