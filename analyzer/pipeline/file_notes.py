"""What a run says of its files: the table `files`, and findings that belong to a file rather than to a message.

Theory. Nothing that was named or found may be missing without a word. So each file that looks like a capture has a row:
it was read, it was read as far as its damage, it was passed over because it is no capture after all, or it is in
quarantine; with the reason. Tasks tell of their part of a file in notes among their rows. What does not begin like a
capture is told by those who look for sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from analyzer.capture.range_reader import RangeReader
from analyzer.decode.rows import make_finding
from analyzer.pipeline.sources import CaptureFile
from analyzer.tables.arrow_columns import ColumnValues, TableBatch, build_batch, count_days
from analyzer.tables.options import Options

READ, DAMAGED, PASSED_OVER, QUARANTINED = "read", "damaged", "passed over", "quarantined"


@dataclass(frozen=True, slots=True)
class FileNote:
    """What is said of a capture file, or of a split of it.

    begin: records before the split. packets: in it, TCP or not; first, last: the lowest and highest of their times (ns)
    or None. bytes: of the file; None: it could not be read at all. early: whether packets end before the file does.
    end: where reading has come to, if it can be gone on with (analyzer.capture.records.ScanState). findings: severity,
    code and text of each. error: why the file could not be read, or not to its end. passed_over: the same of a file of
    a folder that is no capture.
    """

    path: str
    capture: str
    name: str
    bytes: int | None = None
    begin: int = 0
    packets: int = 0
    first: int | None = None
    last: int | None = None
    format: str | None = None
    compression: str | None = None
    early: bool = False
    end: Sequence[Any] | None = None
    findings: Sequence[Mapping[str, str]] = ()
    error: str | None = None
    passed_over: str | None = None

    @classmethod
    def from_file(cls, file: CaptureFile) -> Self:
        """Returns the note of a file before it is read."""
        return cls(file.path, file.capture_name, file.name, file.size)

    @classmethod
    def from_missing(cls, file: CaptureFile, reason: str) -> Self:
        """Returns the note of a file that could not be read at all."""
        return cls(file.path, file.capture_name, file.name, error=reason)

    @property
    def is_missing(self) -> bool:
        """Whether the file could not be read at all."""
        return self.bytes is None

    def complete(self, packets: RangeReader) -> Self:
        """Returns the note after the split was read, or a part of it."""
        info = packets.info
        return replace(
            self,
            begin=packets.before,
            packets=info.packets,
            first=info.first,
            last=info.last,
            format=info.format,
            compression=info.compression,
            early=packets.is_damaged,
            end=None if info.compression else packets.scan_state,
            findings=[*map(make_finding, packets.findings)],
        )

    def _add(self, other: FileNote) -> FileNote:
        """The note of this split and of one behind it."""
        return replace(
            self,
            packets=self.packets + other.packets,
            first=min((each for each in (self.first, other.first) if each is not None), default=None),
            last=max((each for each in (self.last, other.last) if each is not None), default=None),
            format=self.format or other.format,
            compression=self.compression or other.compression,
            early=self.early or other.early,
            end=other.end,
            findings=[*self.findings, *(each for each in other.findings if each not in self.findings)],
            error=self.error or other.error,
            passed_over=self.passed_over or other.passed_over,
        )

    @property
    def reason(self) -> str | None:
        """Why the file is not whole in the tables; None if it is."""
        worst = next((each["text"] for each in self.findings if each["severity"] == "error"), None)
        return self.passed_over or self.error or worst or ("its packets end before it does" if self.early else None)

    @property
    def state(self) -> str:
        """READ, DAMAGED, PASSED_OVER or QUARANTINED."""
        if self.passed_over:
            return PASSED_OVER
        return READ if self.reason is None else DAMAGED if self.packets else QUARANTINED


def merge_notes(notes: Iterable[Mapping[str, Any]]) -> list[FileNote]:
    """Merges the notes of splits (asdict() of each, in any order) to one for each file, by path."""
    files: dict[str, FileNote] = {}
    for each in sorted((FileNote(**note) for note in notes), key=lambda note: (note.path, note.begin)):
        files[each.path] = files[each.path]._add(each) if each.path in files else each
    return list(files.values())


OVERLAP = 10**9
"""Nanoseconds by which a file may begin before another one ends: writers of rings hold packets back for a moment."""


def describe_overlaps(notes: Iterable[FileNote]) -> Iterator[str]:
    """Yields a sentence for each capture that has files of the same time, which are no ring then."""
    pairs: dict[str, list[tuple[str, str]]] = {}
    latest: dict[str, tuple[int, int, str]] = {}
    spans = [(note.first, note.last, note) for note in notes if note.first is not None and note.last is not None]
    for first, last, note in sorted(spans, key=lambda each: each[:2]):
        before = latest.get(note.capture)
        if before is not None:
            shared = min(last, before[1]) - first
            if shared > min(OVERLAP, (last - first) // 2, (before[1] - before[0]) // 2):
                pairs.setdefault(note.capture, []).append((before[2], note.name))
        if before is None or last > before[1]:
            latest[note.capture] = (first, last, note.name)
    for capture, found in pairs.items():
        one, other = found[0]
        more = f" (and {len(found) - 1:,} more such pairs)" if len(found) > 1 else ""
        yield (
            f"{one} and {other}{more} are files of one capture, {capture}, but were captured at the same time. Their "
            "connections with the same ends were merged. If the files are copies, or from networks with the same "
            "addresses, put them into different folders, or name captures with --capture."
        )


def build_file_tables(notes: Iterable[FileNote], options: Options) -> Iterator[TableBatch]:
    """Yields the rows of `files`, and of `findings` those that belong to a file."""
    every = sorted(notes, key=lambda note: note.path)
    if every:
        names = ("path", "capture", "state", "reason", "bytes", "format", "compression", "packets")
        columns: ColumnValues = {name: [getattr(note, name) for note in every] for name in names}
        columns |= {"file": [note.name for note in every], "first_time_ns": [note.first for note in every]}
        columns |= {"last_time_ns": [note.last for note in every], **_describe_days(every)}
        yield TableBatch("files", build_batch("files", columns, options))
    pairs = [(note, finding) for note in every for finding in note.findings]
    if pairs:
        columns = dict.fromkeys(("number", "id", "stream_id", "operation", "time_ns"))
        columns |= {name: [finding[name] for _, finding in pairs] for name in ("severity", "code", "text")}
        columns |= {"capture": [note.capture for note, _ in pairs], **_describe_days([note for note, _ in pairs])}
        yield TableBatch("findings", build_batch("findings", columns, options))


def _describe_days(notes: Sequence[FileNote]) -> ColumnValues:
    """The columns that are folders: a file may have several protocols."""
    days = [0 if note.first is None else int(count_days(np.array([note.first]))[0]) for note in notes]
    return {"date": np.array(days, np.int32), "protocol": "unknown"}
