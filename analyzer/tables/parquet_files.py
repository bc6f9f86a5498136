"""Rows to Parquet files, in folders by date and protocol.

Theory. A worker writes its own files, all tables in one pass, into a folder beside the tables; what it gives back is
the list of them. Who started the run moves them into place when all workers are done, so a run that fails leaves
nothing, and a task that is tried again leaves no row twice. Rows wait until they make a row group worth its while; all
that wait together are bounded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analyzer.tables.arrow_columns import TableBatch
from analyzer.tables.table_schemas import PARTITIONED_BY, TABLE_DURATION, TABLE_TIME

ROW_GROUP_BYTES = 16 << 20
WAITING_BYTES = 64 << 20
"""Bytes of a row group, and of all that waits, in memory."""

UNIQUE_COLUMNS = {
    *("id", "partner_id", "request_id", "response_id", "correlation", "info", "fields"),
    *("time_ns", "request_time_ns", "response_time_ns", "latency_ns", "offset", "first_record", "last_record"),
}
"""Columns whose values hardly repeat: no dictionary is tried on them; numbers are written as differences."""

Key = tuple[str, str]


class WrittenFile(NamedTuple):
    """A finished file: its table, its path within the folder of the run, and its number of rows."""

    table: str
    path: str
    rows: int


class ParquetSink:
    """Writes the Parquet files of one task, which are called `part`. Close it."""

    def __init__(self, folder: str, part: str) -> None:
        self._folder, self._part = folder, part
        self._open: dict[Key, _ParquetFile] = {}

    def add(self, found: TableBatch) -> None:
        """Takes rows of a table."""
        keys = pa.table([found.batch.column(name) for name in PARTITIONED_BY], PARTITIONED_BY)
        different = keys.group_by(list(PARTITIONED_BY)).aggregate([]).to_pylist()
        for key in different:
            batch = found.batch
            if len(different) > 1:
                mine = [pc.equal(batch.column(name), pa.scalar(key[name], batch.column(name).type)) for name in key]
                batch = batch.filter(pc.and_(*mine))
            self._file(found.table, key).add(batch.drop_columns(list(PARTITIONED_BY)))
        while sum(file.waiting for file in self._open.values()) > WAITING_BYTES:
            max(self._open.values(), key=lambda file: file.waiting).flush()

    def _file(self, table: str, key: dict[str, Any]) -> _ParquetFile:
        folder = os.path.join(table, *(f"{name}={quote(str(value), safe='')}" for name, value in key.items()))
        if (table, folder) not in self._open:
            self._open[table, folder] = _ParquetFile(self._folder, os.path.join(folder, f"{self._part}.parquet"))
        return self._open[table, folder]

    def close(self) -> list[WrittenFile]:
        """Writes what is left, closes all Parquet files, and returns one WrittenFile for each, ordered by table."""
        return [WrittenFile(table, file.path, file.close()) for (table, _), file in sorted(self._open.items())]


def create_writer(path: str, columns: pa.Schema) -> pq.ParquetWriter:
    """Opens a Parquet file for a table; the caller closes it. Raises OSError."""
    times = {each.name for each in columns if each.type in (TABLE_TIME, TABLE_DURATION)}
    numbers = {each.name for each in columns if each.name in UNIQUE_COLUMNS and each.type == pa.int64()}
    alike = [name for name in columns.names if name not in UNIQUE_COLUMNS | times]
    near = dict.fromkeys(times | numbers, "DELTA_BINARY_PACKED")
    return pq.ParquetWriter(path, columns, compression="zstd", use_dictionary=alike, column_encoding=near)


def read_file(folder: str, path: str, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a file with all their columns, of which its folders have some. path: within `folder`."""
    names = dict(part.split("=", 1) for part in os.path.dirname(path).split(os.sep)[1:])
    for batch in pq.ParquetFile(os.path.join(folder, path)).iter_batches():
        arrays = [
            pa.repeat(pa.scalar(unquote(names[each.name])).cast(each.type), len(batch))
            if each.name in PARTITIONED_BY
            else batch.column(each.name)
            for each in columns
        ]
        yield pa.record_batch(arrays, schema=columns)


def read_table(folder: str, table: str, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yields the rows of all files of a table in a folder, in the order of their paths; none if it has no folder."""
    paths = [
        os.path.relpath(os.path.join(place, name), folder)
        for place, _, names in os.walk(os.path.join(folder, table))
        for name in names
    ]
    for path in sorted(paths):
        yield from read_file(folder, path, columns)


class _ParquetFile:
    """One file, opened with its first row group."""

    def __init__(self, folder: str, path: str) -> None:
        self._folder, self.path = folder, path
        self._batches: list[pa.RecordBatch] = []
        self._writer: pq.ParquetWriter | None = None
        self._rows = self.waiting = 0

    def add(self, batch: pa.RecordBatch) -> None:
        self._batches.append(batch)
        self._rows += len(batch)
        self.waiting += int(batch.nbytes)
        if self.waiting > ROW_GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        if self._batches:
            table = pa.Table.from_batches(self._batches)
            if self._writer is None:
                path = os.path.join(self._folder, self.path)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                self._writer = create_writer(path, table.schema)
            self._writer.write_table(table, row_group_size=max(len(table), 1))
        self._batches, self.waiting = [], 0

    def close(self) -> int:
        self.flush()
        if self._writer is not None:
            self._writer.close()
        return self._rows
