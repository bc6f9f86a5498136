"""Comments on packets: where they lie, and which packet of the timeline they belong to.

Theory. A comment stays in the capture, as payload does. The table has its location and length, some thirty bytes for
each, and the text is read on demand. The reader of a file identifies a packet by its place in the file. Its number in
the timeline is known only when several files have been merged, which keeps the order of each file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from analyzer.capture import pcapng_format
from analyzer.capture.records import CaptureInfo, RecordBlock
from analyzer.capture.store import SHIFT, Store
from analyzer.columns.arrays import list_distinct
from analyzer.columns.tables import ColumnTable
from dissectors.slotted import make_slotted


class PacketComments(ColumnTable):
    """Holds the comments on packets in order of the timeline: packet number, location and length of the text."""

    TYPES: ClassVar[Mapping[str, type[np.generic]]] = {"packet": np.int64, "at": np.int64, "length": np.int32}
    NARROW: ClassVar[frozenset[str]] = frozenset({"packet"})

    def __init__(self, store: Store, files: Sequence[CaptureInfo]) -> None:
        super().__init__()
        self._store = store
        self._files = {info.file: _FileProgress(info) for info in files}

    def restrict_to(self, info: CaptureInfo) -> None:
        """Makes the next records those of one more file alone."""
        self._files = {info.file: _FileProgress(info)}

    def number_comments(self, records: RecordBlock, before: int) -> None:
        """Adds the comments on the next records of the timeline, which follow `before` others."""
        files = self._files if len(self._files) == 1 else list_distinct(records.at >> SHIFT).tolist()
        read = (self._files[file] for file in files)
        parts = [_of_file(each, records) for each in read if each.placed < len(each.info.comments)]
        if not parts:
            return
        rows, at, length = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(rows, kind="stable")
        values = {"packet": rows[order] + (before + 1), "at": at[order], "length": length[order]}
        self.append(len(rows), values)

    def read_text(self, index: int) -> str:
        """Returns one comment, as the file has it."""
        return pcapng_format.decode_text(self._store.read_bytes(self.cell("at", index), self.cell("length", index)))

    def read_texts(self, indexes: NDArray[np.int64]) -> list[str]:
        """Reads the comments with these indexes (int64, n) from the store, and returns n texts."""
        read = self._store.read_many(self.column("at")[indexes], self.column("length")[indexes].astype(np.int64))
        return list(map(pcapng_format.decode_text, read))


@make_slotted(frozen=False)
class _FileProgress:
    """Counts the comments of one file that have been placed."""

    info: CaptureInfo
    placed: int = 0


def _of_file(progress: _FileProgress, records: RecordBlock) -> tuple[NDArray[np.int64], ...]:
    """Returns the row in `records`, the location and the length of the comments that are placed now."""
    comments, first = progress.info.comments, progress.placed
    record = comments.column("record")
    mine = np.flatnonzero(records.at >> SHIFT == record[first] >> SHIFT)
    last = records.at[mine[-1]] if len(mine) else -1
    stop = progress.placed = int(np.searchsorted(record, last, "right")) if len(mine) else first
    rows = mine[np.searchsorted(records.at[mine], record[first:stop])]
    return rows, comments.column("at")[first:stop], comments.column("length")[first:stop]
