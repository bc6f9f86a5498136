"""Open connections as rows: what a batch leaves for the next one, and how it comes back.

Theory. A batch of a ring capture ends anywhere. Each connection that may go on leaves one row; its bulk lies in a file
(statefile.py), which does not travel through Spark. In the next batch the row comes among the pointers of its
connection, in front of them all, so whoever reads these has the state first. A connection of which only the number of
its streams is known (it was silent for an hour) has no file and stays for ever, for a later stream is `#n`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa

from analyzer.pipeline.found import unicode
from analyzer.pipeline.pointers import SCHEMA
from analyzer.pipeline.sources import CaptureFile
from analyzer.pipeline.statefile import Place

STATE = "state"
"""The table of these rows."""

ROW = pa.schema(
    [
        ("connection", pa.binary()),
        ("capture", pa.string()),
        ("stream_id", pa.string()),
        ("begin_ns", pa.int64()),
        ("end_ns", pa.int64()),
        ("packets", pa.int64()),
        ("waiting", pa.int32()),
        ("uses", pa.int32()),
        ("lower", pa.bool_()),
        ("path", pa.string()),
        ("position", pa.int64()),
        ("length", pa.int64()),
    ]
)
"""stream_id, begin_ns, end_ns, packets: of the open stream. waiting: its requests without answer. uses: streams that
the connection has had. lower: its side a is the lower end. path: the name of a file in the state's folder.

Of a connection without open stream `stream_id` and all that speaks of one, path, position and length are null.
"""

BEFORE_ALL = int(np.iinfo(np.int64).min)
"""The place of such a row among pointers; its origin is negative."""


@dataclass(frozen=True, slots=True)
class Carry:
    """How a batch goes on with the one before. `folder`: where its tasks write their states, on a shared file system.

    number: of the batch, from 1. close: no more will come, so all connections end here. latest: by capture a time (ns)
    up to which its packets have been read, in this batch or before; what was silent for an hour by then has ended.
    """

    folder: str
    number: int
    close: bool = False
    latest: Mapping[str, int] = field(default_factory=dict)


class Left(NamedTuple):
    """A row of the state as it comes back, but for its connection; the path leads to the file."""

    capture: str
    stream_id: str | None
    begin_ns: int | None
    end_ns: int | None
    packets: int | None
    waiting: int | None
    uses: int
    lower: bool
    path: str | None
    position: int | None
    length: int | None

    @classmethod
    def of(cls, packet: bytes) -> Self:
        """What incoming() put into the column `packet`."""
        return cls(*json.loads(packet))

    @property
    def place(self) -> Place | None:
        """Where its state lies."""
        if self.path is None or self.position is None or self.length is None:
            return None
        return Place(self.path, self.position, self.length)


def incoming(states: pa.Table | pa.RecordBatch, folder: str, files: Sequence[CaptureFile]) -> pa.RecordBatch:
    """The rows of the batch before, to be put among the pointers of a batch that reads `files` (there may be none).

    folder: where the state's files lie now. Captures are known by name, for their numbers are those of one run.
    """
    rows = states.select(ROW.names).to_pylist()
    numbers = _captures({row["capture"] for row in rows}, files)
    names, packets = [], []
    for row in rows:
        names.append(numbers[row["capture"]].to_bytes(4) + row.pop("connection")[4:])
        path = None if row["path"] is None else os.path.join(folder, row["path"])
        packets.append(json.dumps(Left(**{**row, "path": path})).encode())
    count = len(rows)
    places, origins = np.full(count, BEFORE_ALL), np.full(count, -1)
    columns = [pa.array(names, pa.binary()), places, origins, pa.array(packets, pa.binary())]
    return pa.record_batch(columns, schema=SCHEMA)


def _captures(known: set[str], files: Sequence[CaptureFile]) -> Mapping[str, int]:
    """The numbers of captures by name: those of the files, behind them those that are known from states alone."""
    numbers: dict[str, int] = {unicode(file.capture_name): file.capture for file in files}
    for name in sorted(known - numbers.keys()):
        numbers[name] = max(numbers.values(), default=-1) + 1
    return numbers


def outgoing(rows: Iterable[tuple[bytes, Left]]) -> pa.RecordBatch:
    """Rows of the state, by connection."""
    columns: dict[str, list[Any]] = {name: [] for name in ROW.names}
    for connection, left in rows:
        columns["connection"].append(connection)
        for name, value in left._asdict().items():
            columns[name].append(value)
    return pa.record_batch([pa.array(columns[each.name], each.type) for each in ROW], schema=ROW)
