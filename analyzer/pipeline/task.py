"""What a task of a run does with its partition: it makes the rows and writes them; only a list of files comes back.

Theory. Rows do not travel through Spark: a task writes its files into the folder of the run, and whoever started the
run gives them their place when all tasks are done. A task that is tried again writes files of other names, and those
that nobody lists are taken away. Where executors cannot reach that folder, the files themselves come back, in pieces.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from analyzer.pipeline.arrow_columns import NOTES
from analyzer.pipeline.options import Options
from analyzer.pipeline.parquet_files import ParquetSink, WrittenFile
from analyzer.pipeline.partition import build_rows
from analyzer.pipeline.progress import add_counts
from analyzer.pipeline.sources import CaptureFile
from analyzer.pipeline.state_file import STATE, BatchContext, write_states
from analyzer.pipeline.table_schemas import TABLES

LIST_COLUMNS = "table STRING, path STRING, rows BIGINT, position BIGINT, data BINARY"
"""`path`: within the folder of the run, null on a note. `data`: of the file from `position` on, or a note (JSON)."""

LIST_SCHEMA = pa.schema(
    [
        *(("table", pa.string()), ("path", pa.string()), ("rows", pa.int64())),
        *(("position", pa.int64()), ("data", pa.binary())),
    ]
)

PIECE = 4 << 20
"""Bytes of a file that come back at one time."""


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

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A task: pointers, sorted by connection, to what is said of the files that it has written."""
        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None
        part = f"{self.part}-{task.partitionId():05}-{task.taskAttemptId()}"
        yield from self.write_part(batches, part)

    def write_part(self, batches: Iterable[pa.RecordBatch], part: str) -> Iterator[pa.RecordBatch]:
        """Writes the files of a task, whose names begin with `part`, and yields the list of them (LIST_SCHEMA)."""
        with _open_output_folder(self.folder) as folder:
            yield from self._write(batches, folder, part)

    def _write(self, batches: Iterable[pa.RecordBatch], folder: str, part: str) -> Iterator[pa.RecordBatch]:
        sink, notes, opened = ParquetSink(folder, part), list[bytes](), list[pa.RecordBatch]()
        for found in build_rows(batches, self.files, self.options, self.carry, self.tables):
            if found.table == NOTES:
                notes += found.batch.column(0).to_pylist()
            elif found.table == STATE:
                opened.append(found.batch)
            else:
                sink.add(found)
                if found.table == "messages":
                    add_counts(self.options.counts, messages=len(found.batch))
        listed = [_build_list_row(written) for written in sink.close()]
        if opened and self.carry is not None:
            name = f"{part}.parquet"
            listed.append(_build_list_row(WrittenFile(STATE, name, write_states(self.carry.folder, name, opened))))
        listed += [_build_list_row(None, 0, note) for note in notes]
        if listed:
            yield pa.RecordBatch.from_pylist(listed, LIST_SCHEMA)
        if self.folder is None:
            for each in listed:
                if each["path"] is not None and each["table"] != STATE:
                    yield from _read_pieces(folder, each)


@contextmanager
def _open_output_folder(folder: str | None) -> Iterator[str]:
    if folder is not None:
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="wireanalyze-") as own:
        yield own


def _build_list_row(written: WrittenFile | None, position: int = 0, data: bytes | None = None) -> dict[str, Any]:
    table, path, rows = (None, None, None) if written is None else written
    return {"table": table, "path": path, "rows": rows, "position": position, "data": data}


def _read_pieces(folder: str, row: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    with open(os.path.join(folder, row["path"]), "rb") as file:
        while data := file.read(PIECE):
            piece = {**row, "rows": None, "position": file.tell() - len(data), "data": data}
            yield pa.RecordBatch.from_pylist([piece], LIST_SCHEMA)
