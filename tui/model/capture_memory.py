"""What is remembered of captures: which were opened lately, and the filter, marks, columns, order and place of each.

Theory. An entry is one JSON text in the state file (tui.saved_state), the newest first. Numbers of messages mean
something only while the files are the same, so an entry of files of another size gives back its filter, its columns
and its order alone. Pipes and live captures are not remembered.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from tui.saved_state import SavedState

if TYPE_CHECKING:
    from analyzer.session import Session

CAPTURES_KEY = "captures"
"""The key of the saved entries."""

MOST_CAPTURES, MOST_ROWS = 50, 200
"""The captures that are remembered, and the marked and ignored messages of each."""


class CaptureEntry(NamedTuple):
    """The state in which a capture was left.

    paths: of its files, absolute. size: of all together, in bytes. row: that was selected; marked, ignored: rows.
    columns: the chosen ones, none if the list chose them. order: a sort key, such as `latency:desc`; empty: time.
    """

    paths: tuple[str, ...]
    size: int
    filter: str = ""
    row: int | None = None
    marked: tuple[int, ...] = ()
    ignored: tuple[int, ...] = ()
    columns: tuple[str, ...] = ()
    order: str = ""

    @property
    def summary(self) -> str:
        """What there is to restore, for people; empty if the list is as usual."""
        parts = [f"filter {self.filter}" if self.filter else ""]
        parts += [
            f"{len(rows)} {word}" if rows else "" for word, rows in (("marked", self.marked), ("ignored", self.ignored))
        ]
        parts.append(f"sorted by {self.order.partition(':')[0]}" if self.order else "")
        return ", ".join(filter(None, parts))


def list_entries(saved_state: SavedState) -> list[CaptureEntry]:
    """Returns what is remembered, the newest first; leaves out what is damaged."""
    found = []
    for text in saved_state.get(CAPTURES_KEY, []):
        with suppress(AttributeError, KeyError, RecursionError, TypeError, ValueError):
            found.append(_read_entry(json.loads(text)))
    return found


def _read_entry(content: dict[str, Any]) -> CaptureEntry:
    """Reads an entry. Raises KeyError, TypeError or ValueError for a damaged one."""
    row, text = content.get("row"), content.get("filter", "")
    paths, size, columns = map(str, content["paths"]), int(content["size"]), map(str, content.get("columns", ()))
    listed = (map(int, content.get(name, ())) for name in ("marked", "ignored"))
    marked, ignored = ({each for each in rows if each >= 0} for rows in listed)
    place = (None if row is None else max(int(row), 0), tuple(sorted(marked)), tuple(sorted(ignored)))
    return CaptureEntry(tuple(paths), size, str(text), *place, tuple(columns), str(content.get("order", "")))


def find_entry(saved_state: SavedState, paths: Sequence[str]) -> CaptureEntry | None:
    """Returns what is remembered of some files; of files of another size only filter, columns and order."""
    found = next((each for each in list_entries(saved_state) if paths and each.paths == tuple(paths)), None)
    if found is None or found.size == measure_size(paths):
        return found
    return found._replace(row=None, marked=(), ignored=())


def add_entry(saved_state: SavedState, entry: CaptureEntry) -> None:
    """Remembers a capture as the newest one."""
    others = [each for each in list_entries(saved_state) if each.paths != entry.paths]
    bounded = entry._replace(marked=entry.marked[:MOST_ROWS], ignored=entry.ignored[:MOST_ROWS])
    texts = [json.dumps(each._asdict()) for each in (bounded, *others)]
    saved_state.set(CAPTURES_KEY, texts[:MOST_CAPTURES])


def list_paths(session: Session) -> tuple[str, ...]:
    """Returns the absolute paths of a session's files; none for pipes and live captures."""
    packets = session.packets
    names = [info.path for info in packets.files]
    if packets.succession is not None or packets.follows or not all(map(os.path.isfile, names)):
        return ()
    return tuple(map(os.path.abspath, names))


def measure_size(paths: Sequence[str]) -> int:
    """Returns the bytes of some files together; -1 if one is gone."""
    try:
        return sum(os.path.getsize(path) for path in paths)
    except OSError:
        return -1
