"""The processes at the ends of connections, where somebody knows them: nobody does for a file."""

from __future__ import annotations

from typing import NamedTuple


class SocketOwner(NamedTuple):
    """A process that has a socket. name: as the system shows it, at most 15 bytes on Linux."""

    name: str
    pid: int


class SocketOwners:
    """Finds processes by stream and side of its flow. This one knows none."""

    def find(self, stream: int, side: int) -> SocketOwner | None:
        """Returns the process at one end of a connection, or None."""
        return None

    def look(self) -> None:
        """Looks for the processes of new connections; called after each block."""
