"""Identity of clients on their connections: software by ApiVersions (KIP-511), users by SASL.

Facts. From version 3 on ApiVersions carries the name and version of the client's library. Clients repeat it on each
connection, most before anything else, and SASL follows on the same connection. tables/releases.json says
which versions of an API the brokers of each release take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dissectors.correlator import BoundedTable, MessageEvent
from dissectors.kafka.reports.fields import REQUESTS, subscribe_to
from dissectors.kafka.tables import table
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


class VersionRange(NamedTuple):
    """The versions of an API that a broker takes, from the least to the greatest."""

    least: int
    most: int

    def __str__(self) -> str:
        return str(self.least) if self.least == self.most else f"{self.least}-{self.most}"


def list_releases() -> Sequence[str]:
    """Returns all releases in the table, the oldest first."""
    found: list[str] = table("releases")["releases"]
    return found


def find_versions(release: str) -> Mapping[str, VersionRange | None]:
    """By API name what a release's brokers take; None for an API that earlier releases had. KeyError for no release."""
    releases = list(list_releases())
    if release not in releases:
        raise KeyError(release)
    there = set(releases[: releases.index(release) + 1])
    found: dict[str, VersionRange | None] = {}
    for name, rows in table("releases")["apis"].items():
        last = next((row for row in reversed(rows) if row[0] in there), None)
        if last is not None:
            found[name] = None if last[1] < 0 else VersionRange(last[1], last[2])
    return found
