"""What a run says of its files: the table `files`, and findings that belong to a file rather than to a message.

Theory. Nothing that was named or found may be missing without a word. So each file that looks like a capture has a row:
it was read, it was read as far as its damage, it was passed over because it is no capture after all, or it is in
quarantine; with the reason. Tasks tell of their part of a file in notes among their rows (notes.py). What does not
begin like a capture is told by those who look for sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from analyzer.pipeline.found import Columns, Found, batch_of, days
from analyzer.pipeline.options import Options
from analyzer.pipeline.sources import CaptureFile

READ, DAMAGED, PASSED_OVER, QUARANTINED = "read", "damaged", "passed over", "quarantined"

NO_DAY = 0
"""The `date` of files of which no packet is known: 1970-01-01."""


@dataclass(frozen=True, slots=True)
class FileNote:
    """What is known of one file. first, last: the lowest and highest time of its packets, ns; None where there is none.

    reason: why it is not whole in the tables. findings: severity, code and text of each. end: see notes.SplitNote.
    """

    path: str
    capture: str
    name: str
    state: str = READ
    reason: str | None = None
    bytes: int | None = None
    format: str | None = None
    compression: str | None = None
    packets: int = 0
    first: int | None = None
    last: int | None = None
    findings: Sequence[Mapping[str, str]] = ()
    end: Sequence[Any] | None = None

    @classmethod
    def of(cls, file: CaptureFile, said: Mapping[str, Any]) -> Self:
        """From what tasks have said of a file (notes.merged)."""
        early = "its packets end before it does" if said["early"] else None
        worst = next((each["text"] for each in said["findings"] if each["severity"] == "error"), None)
        reason = said["passed_over"] or said["error"] or worst or early
        state = READ if reason is None else DAMAGED if said["packets"] else QUARANTINED
        return cls(
            file.path,
            file.capture_name,
            file.name,
            PASSED_OVER if said["passed_over"] else state,
            reason,
            said["bytes"],
            said["format"],
            said["compression"],
            said["packets"],
            said["first"],
            said["last"],
            said["findings"],
            said["end"],
        )

    @classmethod
    def lost(cls, file: CaptureFile, reason: str) -> Self:
        """Of a file that could not be read at all."""
        return cls(file.path, file.capture_name, file.name, QUARANTINED, reason)

    @property
    def day(self) -> int:
        """Of its first packet, since 1970."""
        return NO_DAY if self.first is None else int(days(np.array([self.first]))[0])


def tables(notes: Iterable[FileNote], options: Options) -> Iterator[Found]:
    """The rows of `files`, and of `findings` those that belong to a file."""
    every = sorted(notes, key=lambda note: note.path)
    if every:
        yield Found("files", batch_of("files", _columns(every), options))
    told = [(note, finding) for note in every for finding in note.findings]
    if told:
        alike = dict.fromkeys(("number", "id", "stream_id", "operation", "time_ns"))
        said = {name: [finding[name] for _, finding in told] for name in ("severity", "code", "text")}
        about = {"capture": [note.capture for note, _ in told], "protocol": "unknown", "date": _days(told)}
        yield Found("findings", batch_of("findings", {**alike, **said, **about}, options))


def _columns(notes: Sequence[FileNote]) -> Columns:
    names = ("path", "capture", "state", "reason", "bytes", "format", "compression", "packets")
    columns: Columns = {name: [getattr(note, name) for note in notes] for name in names}
    columns |= {"file": [note.name for note in notes], "first_time_ns": [note.first for note in notes]}
    columns |= {"last_time_ns": [note.last for note in notes], "protocol": "unknown"}
    return columns | {"date": np.array([note.day for note in notes], np.int32)}


def _days(told: Sequence[tuple[FileNote, Any]]) -> Any:
    return np.array([note.day for note, _ in told], np.int32)
