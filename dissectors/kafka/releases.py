"""Which versions of an API the brokers of each release take, by tables/releases.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dissectors.kafka.tables import table


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
