"""Where the packets of a timeline come from: a number in the timeline is a file and a number in that file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Self

import numpy as np

from analyzer.capture.records import RecordBlock
from analyzer.capture.store import SHIFT
from analyzer.columns.arrays import Ints, merge_rows
from analyzer.columns.values import TextColumn
from analyzer.decode.rows import RowReader
from analyzer.session import Analysis
from dissectors.api import Role
from dissectors.wire.fast_path import NULL


class PacketOrigins:
    """The file, and the record in it, of each packet of one capture, stored block by block in twelve bytes a packet.

    files: names; they grow by those of earlier batches. today: the places in `files` of the capture's own by name.
    """

    def __init__(self, capture: str, files: Sequence[str], today: Mapping[str, int] = MappingProxyType({})) -> None:
        self.capture, self.files = capture, [*files]
        self._file: list[Ints] = []
        self._record: list[Ints] = []
        self._today, self._earlier = today, dict[str, int]()

    def add(self, file: Ints, record: Ints) -> None:
        """Adds the next packets of the timeline."""
        self._file.append(file.astype(np.int32))
        self._record.append(record)

    def locate(self, numbers: Ints) -> tuple[Ints, Ints]:
        """Returns the files (indexes in `files`) and record numbers there, from 1, of packets by number (n, from 1)."""
        for parts in (self._file, self._record):
            parts[:] = [np.concatenate(parts)] if parts else [np.zeros(0, np.int64)]
        return self._file[0][numbers - 1].astype(np.int64), self._record[0][numbers - 1]

    def number_file(self, name: str, *, today: bool) -> int:
        """Returns the place in `files` of a file that an earlier part of this batch may have read, or an earlier batch.

        One of today with the name of an earlier batch's file is another.
        """
        if today and name in self._today:
            return self._today[name]
        place = self._earlier.setdefault(name, len(self.files))
        if place == len(self.files):
            self.files.append(name)
        return place


class CountingOrigins(PacketOrigins):
    """Origins that are counted while records go by, for Packets(watch=...). One file alone costs nothing."""

    def __init__(self, capture: str, files: Sequence[str]) -> None:
        super().__init__(capture, files)
        self._counts = np.zeros(len(files), np.int64)

    def count_records(self, records: RecordBlock) -> None:
        """Adds the next records of the timeline; a file's number is its place among the inputs."""
        if len(self.files) == 1:
            return
        file = records.at >> SHIFT
        order = np.argsort(file, kind="stable")
        count = np.bincount(file, minlength=len(self._counts))
        rank = np.empty(len(file), np.int64)
        rank[order] = np.arange(len(file)) - np.repeat(np.cumsum(count) - count, count)
        self.add(file, rank + self._counts[file] + 1)
        self._counts += count

    def locate(self, numbers: Ints) -> tuple[Ints, Ints]:
        """Returns the files (indexes in `files`) and record numbers there, from 1, of packets by number (n, from 1)."""
        if len(self.files) == 1:
            return np.zeros(len(numbers), np.int64), numbers
        return super().locate(numbers)


@dataclass(frozen=True, slots=True)
class RowSelection:
    """Numbers of rows and streams, rising.

    messages: rows of the table `messages` (and of what hangs on messages: findings, records). requests: rows whose
    exchange is written. streams: numbers of streams. whole: whether what belongs to no row is told, too. before: by
    column of `streams`, for each stream of the analysis what earlier batches have counted.
    """

    messages: Ints
    requests: Ints
    streams: Ints
    whole: bool
    before: Mapping[str, Ints] | None = None

    @classmethod
    def select_all(cls, session: Analysis) -> Self:
        """Returns all rows and streams."""
        is_request = session.rows.column("role") == Role.REQUEST
        return cls(
            np.arange(len(session.rows)), np.flatnonzero(is_request), np.arange(len(session.engine.streams)), True
        )

    @classmethod
    def select_rows(cls, session: Analysis, rows: Ints) -> Self:
        """Returns these rows, the exchanges of which one half is among them, and their streams."""
        if len(rows) == len(session.rows):
            return cls.select_all(session)
        role, partner = session.rows.column("role"), session.rows.column("partner")
        answered = partner[rows[role[rows] == Role.RESPONSE]].astype(np.int64)
        related = np.concatenate((rows, answered[answered != NULL]))
        requests = merge_rows(len(role), related[role[related] == Role.REQUEST])
        streams = np.unique(session.rows.column("stream")[rows]).astype(np.int64)
        return cls(rows, requests, streams, False)


@dataclass(frozen=True, slots=True)
class RowFilter:
    """What a query wants of messages and exchanges: an exchange counts as its request. None: whatever it is.

    begin, end: the first and the last time (ns).
    """

    protocol: frozenset[str] | None = None
    operation: frozenset[str] | None = None
    begin: int | None = None
    end: int | None = None

    def require_name(self, key: str, names: frozenset[str]) -> Self:
        """Returns the filter that also wants one of these names of a `protocol` or an `operation`."""
        known = self.protocol if key == "protocol" else self.operation
        both = names if known is None else known & names
        return replace(self, protocol=both) if key == "protocol" else replace(self, operation=both)

    def narrow(self, session: Analysis, chosen: RowSelection) -> RowSelection:
        """Returns the selection without the rows that the query does not want; streams stay."""
        if self == RowFilter():
            return chosen
        reader = RowReader(session)
        return replace(
            chosen, messages=self._select(reader, chosen.messages), requests=self._select(reader, chosen.requests)
        )

    def _select(self, reader: RowReader, rows: Ints) -> Ints:
        time = reader.take_cells("time", rows)
        wanted = np.ones(len(rows), bool)
        if self.begin is not None:
            wanted &= time >= self.begin
        if self.end is not None:
            wanted &= time <= self.end
        for key, names in (("protocol", self.protocol), ("operation", self.operation)):
            if names is not None:
                column = reader.read_column(key, rows)
                assert isinstance(column, TextColumn)
                used, places = np.unique(column.numbers, return_inverse=True)
                wanted &= np.array([text in names for text in column.texts.values(used)], bool)[places]
        found: Ints = rows[wanted]
        return found
