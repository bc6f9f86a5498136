"""The rows of one table of one capture, from its files, in one process: what a task of Spark's data source does.

Theory. A data source cannot shuffle. So a process reads the pointers of all files of a capture, once for all shares of
the connections that it makes rows of; what it sorts and makes rows of is the same as in the pipeline. Names of topics
are those that any message of the capture tells, so a table with topics needs the messages that tell some first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analyzer.errors import CaptureError
from analyzer.pipeline.file_notes import build_file_tables, merge_notes
from analyzer.pipeline.finish import add_required_tables, finish_tables
from analyzer.pipeline.local_run import BATCH_ROWS, EVERY, SORT_KEYS, number_tasks
from analyzer.pipeline.partition import build_rows
from analyzer.pipeline.pointers import POINTER_SCHEMA
from analyzer.pipeline.scan import build_splits, scan_splits
from analyzer.pipeline.sources import CaptureFile
from analyzer.tables.arrow_columns import NOTES, TableBatch
from analyzer.tables.options import Options
from analyzer.tables.origins import RowFilter
from analyzer.tables.summaries import SUMMARIES
from analyzer.tables.topic_names import NAMES

LARGEST_SCAN = 4 << 30
"""Bytes of a capture whose pointers a process keeps until it reads another one: a fiftieth of them."""

WHOLE_TABLES = (SUMMARIES, NAMES, "files")
"""Tables whose rows need all connections of a capture."""


class Share(NamedTuple):
    """One of `of` shares of the connections of a capture. Notes belong to the first one."""

    number: int
    of: int


WHOLE = Share(0, 1)


def build_capture_rows(
    files: Sequence[CaptureFile], options: Options, table: str, share: Share = WHOLE, wanted: RowFilter | None = None
) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a table of one capture.

    files: all files of the capture. wanted: the rows that are enough; there may be more. Raises CaptureError for a file
    that has vanished.
    """
    every = tuple(files)
    if table in ("files", "findings") and share.number == 0:
        yield from _build_file_rows(every, options, table)
    if table == "files":
        return
    names = _learn_names(every, options, share.of) if table != NAMES and NAMES in add_required_tables([table]) else []
    rows = _build_rows(every, options, table, share, wanted)
    yield from (found.batch for found in finish_tables(chain(names, rows), [table]))


@lru_cache(maxsize=1)
def _learn_names(files: tuple[CaptureFile, ...], options: Options, shares: int) -> Sequence[TableBatch]:
    """The names that any message of a capture tells; a process that makes rows of several shares reads them once."""
    every = (Share(number, shares) for number in range(shares))
    return [found for share in every for found in _build_rows(files, options, NAMES, share)]


@lru_cache(maxsize=1)
def _cache_pointers(files: tuple[CaptureFile, ...], options: Options) -> Sequence[pa.RecordBatch]:
    return [*scan_splits(build_splits(files), files, options)]


def _read_pointers(files: tuple[CaptureFile, ...], options: Options) -> Iterable[pa.RecordBatch]:
    """The pointers of a capture and the notes about it, in the order of files."""
    if sum(file.size for file in files) > LARGEST_SCAN:
        return scan_splits(build_splits(files), files, options)
    return _cache_pointers(files, replace(options, fields=True, bodies=None))


def _build_rows(
    files: tuple[CaptureFile, ...], options: Options, table: str, share: Share, wanted: RowFilter | None = None
) -> Iterator[TableBatch]:
    """Rows of a table, or what they are summed up from. Raises CaptureError for a file that has vanished."""
    every = _read_pointers(files, options)
    tasks = ((batch, number_tasks(batch.column(0), share.of)) for batch in every)
    mine = [batch.filter(pa.array(np.isin(numbers, (share.number, EVERY)))) for batch, numbers in tasks]
    pointers = pa.Table.from_batches(mine, POINTER_SCHEMA).sort_by(SORT_KEYS)
    batches = pointers.to_batches(max_chunksize=BATCH_ROWS)
    for found in build_rows(batches, files, options, None, (table,), wanted):
        if found.table != NOTES:
            yield found
            continue
        for note in map(json.loads, found.batch.column(0).to_pylist()):
            if note.get("error"):
                raise CaptureError(note["error"])


def _build_file_rows(files: tuple[CaptureFile, ...], options: Options, table: str) -> Iterator[pa.RecordBatch]:
    """What is said of files, in the tables `files` and `findings`: notes about them are among pointers."""
    noted = (batch.filter(pc.equal(pc.binary_length(batch.column(0)), 0)) for batch in _read_pointers(files, options))
    notes = merge_notes(json.loads(note) for batch in noted for note in batch.column(3).to_pylist())
    for found in build_file_tables(notes, options):
        if found.table == table:
            yield found.batch
