"""Facts about TLS connections on which keys were tried, by stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.messages.connection import Connection

if TYPE_CHECKING:
    from analyzer.tls.facts import TlsFacts

MOST = 1 << 17
"""Number of streams whose facts are kept; the oldest are dropped first."""


class TlsTable:
    """Holds the facts of TLS connections while keys are in use."""

    def __init__(self) -> None:
        self._facts: dict[int, TlsFacts] = {}

    def __len__(self) -> int:
        return len(self._facts)

    @property
    def streams(self) -> list[int]:
        """The numbers of the streams about which something is known."""
        return list(self._facts)

    def note(self, connection: Connection) -> None:
        """Stores the facts of a connection; they change while the connection lasts."""
        facts = connection.tls.facts if connection.tls is not None else connection.tls_facts
        if facts is not None:
            self._facts[connection.number] = facts
            if len(self._facts) > MOST:
                del self._facts[next(iter(self._facts))]

    def find(self, stream: int) -> TlsFacts | None:
        """Returns the facts of a stream, or None if no key was tried on it."""
        return self._facts.get(stream)
