"""What a task of a run does with its partition: it makes the rows and writes them; only a list of files comes back.

Theory. Rows do not travel through Spark: a task writes its files into the folder of the run, and whoever started the
run gives them their place when all tasks are done. A task that is tried again writes files of other names, and those
that nobody lists are taken away. Where executors cannot reach that folder, the files themselves come back, in pieces.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

import pyarrow as pa

from analyzer.pipeline.partition import build_rows
from analyzer.pipeline.progress import add_counts
from analyzer.pipeline.sources import CaptureFile
from analyzer.pipeline.state_file import STATE, BatchContext, write_states
from analyzer.tables.arrow_columns import NOTES
from analyzer.tables.options import Options
from analyzer.tables.parquet_files import ParquetSink, WrittenFile
from analyzer.tables.table_schemas import TABLES

PIECE = 4 << 20
"""Bytes of a file that come back at one time."""


class FilePiece(NamedTuple):
    """Bytes of a file of the run from `position` on. path: within the folder of the run."""

    path: str
    position: int
    data: bytes


TaskResult = WrittenFile | FilePiece | Mapping[str, Any]
"""What a task says: a file that it has written, a piece of one, or a note."""


@dataclass(frozen=True, slots=True)
class TaskWork:
    """The settings that all tasks of a run share.

    folder: of the run, where tables are written; None where executors cannot reach it. part: how the names of their
    files begin. carry: for a batch of a ring capture. tables: those that are made.
    """

    files: Sequence[CaptureFile]
    folder: str | None
    part: str
    options: Options
    carry: BatchContext | None = None
    tables: Collection[str] = tuple(TABLES)

    def run_task(self, batches: Iterable[pa.RecordBatch], number: str) -> Iterator[TaskResult]:
        """Makes files of pointers that are sorted by connection. number: what tells it from other tasks and tries."""
        own = tempfile.TemporaryDirectory(prefix="wireanalyze-") if self.folder is None else nullcontext(self.folder)
        with own as folder:
            for found in self._write(batches, folder, f"{self.part}-{number}"):
                yield found
                if self.folder is None and isinstance(found, WrittenFile) and found.table != STATE:
                    yield from _read_pieces(folder, found.path)

    def _write(self, batches: Iterable[pa.RecordBatch], folder: str, part: str) -> Iterator[TaskResult]:
        sink, parts = ParquetSink(folder, part), count()
        for found in build_rows(batches, self.files, self.options, self.carry, self.tables):
            if found.table == NOTES:
                yield from map(json.loads, found.batch.column(0).to_pylist())
            elif found.table == STATE:
                if self.carry is not None and len(found.batch):
                    name = f"{part}-{next(parts)}.parquet"
                    write_states(self.carry.folder, name, pa.Table.from_batches([found.batch]))
                    yield WrittenFile(STATE, name, len(found.batch))
            else:
                sink.add(found)
                if found.table == "messages":
                    add_counts(self.options.counts, messages=len(found.batch))
        yield from sink.close()


def _read_pieces(folder: str, path: str) -> Iterator[FilePiece]:
    with open(os.path.join(folder, path), "rb") as file:
        while data := file.read(PIECE):
            yield FilePiece(path, file.tell() - len(data), data)


def encode_result(result: TaskResult) -> tuple[str, bytes | None]:
    """Returns a result as JSON, and the bytes of a piece."""
    return (json.dumps(result[:2]), result.data) if isinstance(result, FilePiece) else (json.dumps(result), None)


def decode_result(text: str, data: bytes | None) -> TaskResult:
    """Returns what encode_result() was given."""
    found: Any = json.loads(text)
    if isinstance(found, dict):
        return found
    if data is None:
        return WrittenFile(*found)
    path, position = found
    return FilePiece(path, position, bytes(data))
