"""File names for what a capture names, which may be anything.

Theory. A name keeps ASCII letters, digits, dot, dash and underscore; whatever else there is becomes an underscore, so
that none is a path, hides, moves a terminal's cursor or means a device. What has the same name as one before gets a
number, also where only upper and lower case differ, for file systems that do not tell them apart.
"""

from __future__ import annotations

import re

LONGEST = 120
"""Characters before the suffix; file systems take 255 bytes."""

_OTHER = re.compile(r"[^A-Za-z0-9._-]+")
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def safe_name(text: str) -> str:
    """A name that says `text` as far as it can: never empty, never with a dot or a dash in front."""
    name = _OTHER.sub("_", text[: LONGEST * 4])[:LONGEST].rstrip(".")
    if not name or name[0] in ".-" or _DEVICES.fullmatch(name):
        name = f"_{name[: LONGEST - 1]}"
    return name


class Names:
    """Names in one folder, before their suffixes, each given once."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}

    def new(self, text: str) -> str:
        """`safe_name(text)`, numbered from the second of a name on: `name~2`."""
        stem = safe_name(text)
        key = stem.casefold()
        count = self._used[key] = self._used.get(key, 0) + 1
        # A tilde is in no safe name, so what is numbered meets no other.
        return stem if count == 1 else f"{stem}~{count}"
