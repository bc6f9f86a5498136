"""What the scans of a file's splits have to say of it, brought together.

Theory. Several tasks read one file, and each knows of its part alone. Packets add up, times span, and what is wrong
with the file as such is said by whoever meets it: each thing once, in the order of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from analyzer.capture.range_reader import RangeReader
from analyzer.decode.rows import said_finding


@dataclass(frozen=True, slots=True)
class SplitNote:
    """One split's, or with merged() a whole file's.

    file: path. begin: records before it. packets: in it, TCP or not; first, last: the lowest and highest of their times
    (ns). bytes: of the file. early: whether packets end before the file does. end: where reading has come to, if it can
    be gone on with (records.Standing). findings: severity, code and text of each. error: why the file could not be
    read, or not to its end. passed_over: the same of a file of a folder that is no capture.
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

    def after(self, packets: RangeReader) -> Self:
        """The same when a stretch was read, or as far as it was."""
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
            findings=[*map(said_finding, packets.findings)],
        )

    def as_json(self) -> dict[str, Any]:
        """What travels; merged() takes it back."""
        return asdict(self)


def merged(notes: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One note a file, by path, from those of its splits in any order."""
    files: dict[str, SplitNote] = {}
    for each in sorted((SplitNote(**note) for note in notes), key=lambda note: (note.file, note.begin)):
        files[each.file] = _both(files[each.file], each) if each.file in files else each
    return [note.as_json() for note in files.values()]


def _both(one: SplitNote, other: SplitNote) -> SplitNote:
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
