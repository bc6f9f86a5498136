"""What a run says of its files: the table `files`, and findings that belong to a file rather than to a message.

Theory. Nothing that was named or found may be missing without a word. So each file that looks like a capture has a row:
it was read, it was read as far as its damage, it was passed over because it is no capture after all, or it is in
quarantine; with the reason. Tasks tell of their part of a file in notes among their rows (file_notes.py). What does not
begin like a capture is told by those who look for sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np

from analyzer.capture.range_reader import RangeReader
from analyzer.decode.rows import make_finding
from analyzer.pipeline.arrow_columns import ColumnValues, TableBatch, build_batch, count_days
from analyzer.pipeline.options import Options
from analyzer.pipeline.sources import CaptureFile

READ, DAMAGED, PASSED_OVER, QUARANTINED = "read", "damaged", "passed over", "quarantined"

NO_DAY = 0
"""The `date` of files of which no packet is known: 1970-01-01."""


@dataclass(frozen=True, slots=True)
class FileNote:
    """The state of one capture file. first, last: lowest and highest time of its packets in ns, or None.

    reason: why it is not whole in the tables. findings: severity, code and text of each. end: see SplitNote.
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
    def from_splits(cls, file: CaptureFile, note_values: Mapping[str, Any]) -> Self:
        """Makes the note of a file from the merged notes of its splits."""
        early = "its packets end before it does" if note_values["early"] else None
        worst = next((each["text"] for each in note_values["findings"] if each["severity"] == "error"), None)
        reason = note_values["passed_over"] or note_values["error"] or worst or early
        state = READ if reason is None else DAMAGED if note_values["packets"] else QUARANTINED
        return cls(
            file.path,
            file.capture_name,
            file.name,
            PASSED_OVER if note_values["passed_over"] else state,
            reason,
            note_values["bytes"],
            note_values["format"],
            note_values["compression"],
            note_values["packets"],
            note_values["first"],
            note_values["last"],
            note_values["findings"],
            note_values["end"],
        )

    @classmethod
    def from_missing(cls, file: CaptureFile, reason: str) -> Self:
        """Makes the note of a file that could not be read at all."""
        return cls(file.path, file.capture_name, file.name, QUARANTINED, reason)

    @property
    def is_missing(self) -> bool:
        """Whether the file could not be read at all."""
        return self.bytes is None

    @property
    def day(self) -> int:
        """The day of its first packet, in days since 1970-01-01."""
        return NO_DAY if self.first is None else int(count_days(np.array([self.first]))[0])


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
        yield TableBatch("files", build_batch("files", _build_file_columns(every), options))
    note_findings = [(note, finding) for note in every for finding in note.findings]
    if note_findings:
        alike = dict.fromkeys(("number", "id", "stream_id", "operation", "time_ns"))
        note_values = {name: [finding[name] for _, finding in note_findings] for name in ("severity", "code", "text")}
        about = {
            "capture": [note.capture for note, _ in note_findings],
            "protocol": "unknown",
            "date": _list_days(note_findings),
        }
        yield TableBatch("findings", build_batch("findings", {**alike, **note_values, **about}, options))


def _build_file_columns(notes: Sequence[FileNote]) -> ColumnValues:
    names = ("path", "capture", "state", "reason", "bytes", "format", "compression", "packets")
    columns: ColumnValues = {name: [getattr(note, name) for note in notes] for name in names}
    columns |= {"file": [note.name for note in notes], "first_time_ns": [note.first for note in notes]}
    columns |= {"last_time_ns": [note.last for note in notes], "protocol": "unknown"}
    return columns | {"date": np.array([note.day for note in notes], np.int32)}


def _list_days(note_findings: Sequence[tuple[FileNote, Any]]) -> Any:
    return np.array([note.day for note, _ in note_findings], np.int32)


@dataclass(frozen=True, slots=True)
class SplitNote:
    """One split's, or with merged() a whole file's.

    file: path. begin: records before it. packets: in it, TCP or not; first, last: the lowest and highest of their times
    (ns). bytes: of the file. early: whether packets end before the file does. end: where reading has come to, if it can
    be gone on with (analyzer.capture.records.ScanState). findings: severity, code and text of each. error: why the file
    could not be read, or not to its end. passed_over: the same of a file of a folder that is no capture.
    """

    file: str
    begin: int = 0
    packets: int = 0
    first: int | None = None
    last: int | None = None
    bytes: int = 0
    format: str | None = None
    compression: str | None = None
    early: bool = False
    end: Sequence[Any] | None = None
    findings: Sequence[Mapping[str, str]] = ()
    error: str | None = None
    passed_over: str | None = None

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

    def as_json(self) -> dict[str, Any]:
        """Returns the note as JSON; merge_notes() reads it."""
        return asdict(self)


def merge_notes(notes: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Merges the notes of splits, in any order, to one note for each file, by path."""
    files: dict[str, SplitNote] = {}
    for each in sorted((SplitNote(**note) for note in notes), key=lambda note: (note.file, note.begin)):
        files[each.file] = _merge_pair(files[each.file], each) if each.file in files else each
    return [note.as_json() for note in files.values()]


def _merge_pair(one: SplitNote, other: SplitNote) -> SplitNote:
    return replace(
        one,
        packets=one.packets + other.packets,
        first=min((each for each in (one.first, other.first) if each is not None), default=None),
        last=max((each for each in (one.last, other.last) if each is not None), default=None),
        format=one.format or other.format,
        compression=one.compression or other.compression,
        early=one.early or other.early,
        end=other.end,
        findings=[*one.findings, *(each for each in other.findings if each not in one.findings)],
        error=one.error or other.error,
        passed_over=one.passed_over or other.passed_over,
    )
