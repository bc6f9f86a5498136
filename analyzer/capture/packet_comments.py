"""Comments on packets: where they lie, and on which packet of the timeline.

Theory. A comment is text of the capture, as a payload is, and stays in it as payload does: what is kept is where it
lies, some thirty bytes for each, and it is read when somebody looks. A reader knows a packet by its place in the file;
its number in the timeline is known when several files have been merged, which keeps each file's order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from analyzer.capture import pcapng_format
from analyzer.capture.records import CaptureInfo, RecordBlock
from analyzer.capture.store import SHIFT, Store
from analyzer.columns.tables import ColumnTable
from dissectors.slotted import slotted


class PacketComments(ColumnTable):
    """Of the packets of a timeline, in their order: `packet`, its number, and the location and bytes of the text."""

    TYPES: ClassVar[Mapping[str, type[np.generic]]] = {"packet": np.int64, "at": np.int64, "length": np.int32}
    NARROW: ClassVar[frozenset[str]] = frozenset({"packet"})

    def __init__(self, store: Store, files: Sequence[CaptureInfo]) -> None:
        super().__init__()
        self._store = store
        self._telling = [_Telling(info) for info in files]

    def restrict_to(self, info: CaptureInfo) -> None:
        """From now on the records are those of one more file alone."""
        self._telling = [_Telling(info)]

    def number_comments(self, records: RecordBlock, before: int) -> None:
        """Takes the comments on the next records of the timeline, which come behind `before` others."""
        parts = [_of_file(each, records) for each in self._telling if each.placed < len(each.info.comments)]
        if not parts:
            return
        rows, at, length = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(rows, kind="stable")
        values = {"packet": rows[order] + (before + 1), "at": at[order], "length": length[order]}
        self.append(len(rows), values)

    def read_text(self, index: int) -> str:
        """One comment, as the file has it."""
        return pcapng_format.decode_text(self._store.read_bytes(self.cell("at", index), self.cell("length", index)))

    def read_texts(self, indexes: NDArray[np.int64]) -> list[str]:
        """Many of them."""
        read = self._store.read_many(self.column("at")[indexes], self.column("length")[indexes].astype(np.int64))
        return list(map(pcapng_format.decode_text, read))


@slotted(frozen=False)
class _Telling:
    """A file, and how many of its comments have been placed."""

    info: CaptureInfo
    placed: int = 0


def _of_file(telling: _Telling, records: RecordBlock) -> tuple[NDArray[np.int64], ...]:
    """Row in `records`, location and length of the comments of a file that are placed now."""
    told, first = telling.info.comments, telling.placed
    record = told.column("record")
    mine = np.flatnonzero(records.at >> SHIFT == record[first] >> SHIFT)
    last = records.at[mine[-1]] if len(mine) else -1
    stop = telling.placed = int(np.searchsorted(record, last, "right")) if len(mine) else first
    rows = mine[np.searchsorted(records.at[mine], record[first:stop])]
    return rows, told.column("at")[first:stop], told.column("length")[first:stop]
