"""What clients say of themselves on their connections: software by ApiVersions (KIP-511), users by SASL.

Facts. From version 3 on ApiVersions carries the name and version of the client's library. Clients repeat it on each
connection, most before anything else, and SASL follows on the same connection.
"""

from __future__ import annotations

from dissectors.correlator import BoundedTable, MessageEvent
from dissectors.kafka.reports.fields import REQUESTS, subscribe_to
from dissectors.values import text


class ClientSoftware:
    """By connection the name and version of the client's library; bounded."""

    def __init__(self) -> None:
        self._names: BoundedTable[int, str] = BoundedTable()

    def learn(self, event: MessageEvent) -> None:
        """Notes what an ApiVersions request says."""
        name, version = text(event.values, "clientSoftwareName"), text(event.values, "clientSoftwareVersion")
        if name is not None:
            self._names[event.stream] = f"{name} {version}" if version else name

    def find(self, stream: int) -> str | None:
        """Returns the software of the client on a connection; None if it is unknown."""
        return self._names.get(stream)


SOFTWARE = subscribe_to(
    "ApiVersions", REQUESTS, lambda report, event: report.software.learn(event), "clientSoftwareName",
    "clientSoftwareVersion",
)  # fmt: skip
"""What a report with a member `software` adds to its subscriptions."""
