"""The processes at the ends of connections, if they are known; for a capture file they are not."""

from __future__ import annotations

from typing import NamedTuple


class SocketOwner(NamedTuple):
    """A process that has a socket. name: as the system reports it, at most 15 bytes on Linux."""

    name: str
    pid: int


class SocketOwners:
    """Finds processes by stream and side of its flow. This implementation finds none."""

    def find(self, stream: int, side: int) -> SocketOwner | None:
        """Returns the process at one end of a connection, or None."""
        return None

    def look(self) -> None:
        """Searches for the processes of new connections; called after each block."""
