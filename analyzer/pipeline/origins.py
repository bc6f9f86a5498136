"""Where the packets of a timeline come from: a number in the timeline is a file and a number in that file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from analyzer.capture.records import RecordBlock
from analyzer.capture.store import SHIFT
from analyzer.columns.arrays import Ints


class Origins(Protocol):
    """Of one capture."""

    @property
    def capture(self) -> str:
        """The capture's name."""

    @property
    def files(self) -> Sequence[str]:
        """The names of its files."""

    def of(self, numbers: Ints) -> tuple[Ints, Ints]:
        """For numbers of the timeline (n, from 1): files (places in `files`), and record numbers there, from 1."""


class Kept:
    """Origins as they were told, block by block: twelve bytes a packet."""

    def __init__(self, capture: str, files: Sequence[str]) -> None:
        self.capture, self.files = capture, files
        self._file: list[Ints] = []
        self._record: list[Ints] = []

    def add(self, file: Ints, record: Ints) -> None:
        """The next packets of the timeline."""
        self._file.append(file.astype(np.int32))
        self._record.append(record)

    def of(self, numbers: Ints) -> tuple[Ints, Ints]:
        """See Origins.of."""
        for parts in (self._file, self._record):
            parts[:] = [np.concatenate(parts)] if parts else [np.zeros(0, np.int64)]
        return self._file[0][numbers - 1].astype(np.int64), self._record[0][numbers - 1]


class Grown(Kept):
    """The same, where packets are spoken of that were read before: `files` grows by those of earlier batches.

    today: the places in `files` of the capture's own by name.
    """

    def __init__(self, capture: str, files: Sequence[str], today: Mapping[str, int]) -> None:
        self._names = [*files]
        super().__init__(capture, self._names)
        self._today, self._earlier = today, dict[str, int]()

    def called(self, name: str, *, today: bool) -> int:
        """The place in `files` of a file that an earlier part of this batch may have read, or an earlier batch.

        One of today with the name of an earlier batch's file is another.
        """
        if today and name in self._today:
            return self._today[name]
        place = self._earlier.setdefault(name, len(self._names))
        if place == len(self._names):
            self._names.append(name)
        return place


class Counted(Kept):
    """Origins that are counted while records go by, for Packets(watch=...). One file alone costs nothing."""

    def __init__(self, capture: str, files: Sequence[str]) -> None:
        super().__init__(capture, files)
        self._counts = np.zeros(len(files), np.int64)

    def see(self, records: RecordBlock) -> None:
        """The next records of the timeline; a file's number is its place among the inputs."""
        if len(self.files) == 1:
            return
        file = records.at >> SHIFT
        order = np.argsort(file, kind="stable")
        count = np.bincount(file, minlength=len(self._counts))
        rank = np.empty(len(file), np.int64)
        rank[order] = np.arange(len(file)) - np.repeat(np.cumsum(count) - count, count)
        self.add(file, rank + self._counts[file] + 1)
        self._counts += count

    def of(self, numbers: Ints) -> tuple[Ints, Ints]:
        """See Origins.of."""
        if len(self.files) == 1:
            return np.zeros(len(numbers), np.int64), numbers
        return super().of(numbers)
