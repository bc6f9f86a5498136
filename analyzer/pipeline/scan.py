"""One file to pointers: the first stage of a run.

Theory. The place of a packet in its capture's timeline is the highest time that its file has had so far, of all
packets, TCP or not (analyzer.capture.timeline); so it is known within the file, and any number of files are merged
by sorting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from analyzer.capture.errors import CaptureError
from analyzer.capture.packets import Packets
from analyzer.capture.records import RecordBlock
from analyzer.columns import Ints
from analyzer.pipeline.pointers import Connections, note, packed
from analyzer.pipeline.sources import CaptureFile


def scan(numbers: Iterable[pa.RecordBatch], files: Sequence[CaptureFile]) -> Iterator[pa.RecordBatch]:
    """The pointers of the files that `numbers` (one column) name, and a note about each."""
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            yield from _scan(number, files[number])


def _scan(number: int, file: CaptureFile) -> Iterator[pa.RecordBatch]:
    places = _Places()
    said: dict[str, Any] = {"file": file.path}
    try:
        with Packets([file.path], watch=places.see) as packets:
            connections = Connections(file.capture, packets.flows)
            for block in packets.blocks():
                yield from packed(block, places.of(block.number), number, connections, packets.store)
            said["findings"] = [
                {"severity": finding.severity.name.lower(), "code": finding.code, "text": finding.text}
                for finding in packets.findings
            ]
            said["packets"] = packets.counts.packets
    except CaptureError as error:
        said["error"] = str(error)
    yield note(number, said)


class _Places:
    """The place in time of each record of the block that was read last."""

    def __init__(self) -> None:
        self._latest, self._end = np.iinfo(np.int64).min, 0
        self._places = np.zeros(0, np.int64)

    def see(self, records: RecordBlock) -> None:
        """The next records of the file; at least one."""
        self._places = np.maximum(np.maximum.accumulate(records.time), self._latest)
        self._latest = int(self._places[-1])
        self._end += len(records)

    def of(self, numbers: Ints) -> Ints:
        """The places of records by their numbers."""
        return self._places[numbers - 1 - (self._end - len(self._places))]
