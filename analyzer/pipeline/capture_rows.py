"""The rows of one table of one capture, from its files, in one process: what a task of Spark's data source does.

Theory. A data source cannot shuffle. So a task reads the pointers of all files of its capture, which costs little, and
keeps those of its share of the connections; what it sorts and makes rows of is the same as in the pipeline. Names of
topics are those that any message of the capture tells, so a table with topics needs the messages that tell some first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from analyzer.errors import CaptureError
from analyzer.pipeline.arrow_columns import NOTES
from analyzer.pipeline.file_notes import FileNote, build_file_tables, merge_notes
from analyzer.pipeline.finish import TOPIC_COLUMNS, replace_ids
from analyzer.pipeline.local_run import BATCH_ROWS, SORT_KEYS, number_tasks
from analyzer.pipeline.options import Options
from analyzer.pipeline.origins import RowFilter
from analyzer.pipeline.partition import build_rows
from analyzer.pipeline.pointers import POINTER_SCHEMA
from analyzer.pipeline.scan import scan_splits, split_whole_files
from analyzer.pipeline.sources import CaptureFile
from analyzer.pipeline.state_file import STATE, BatchContext
from analyzer.pipeline.summaries import PARTS, SUMMARIES, merge_summaries
from analyzer.pipeline.topic_names import NAMES, NO_NAMES, TopicNames, index_names, select_first_names

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
    if table == "files":
        yield from build_file_rows(_scan(files, options), files, options, table)
        return
    pointers = sort_pointers(files, options, share)
    names: TopicNames = NO_NAMES
    if table in TOPIC_COLUMNS or table == SUMMARIES:
        shares = [Share(number, share.of) for number in range(share.of)]
        every = (pointers if each == share else sort_pointers(files, options, each) for each in shares)
        names = index_names(batch for part in every for batch in _build(part, files, options, NAMES))
    if table == "findings" and share.number == 0:
        yield from build_file_rows(split_rows(pointers), files, options, table)
    rows = _build(pointers, files, options, table, wanted)
    yield from finish_rows(rows, table, names)


def finish_rows(rows: Iterable[pa.RecordBatch], table: str, names: TopicNames) -> Iterator[pa.RecordBatch]:
    """Yields rows as they are published: names in the place of ids, sums of sums, each name once."""
    if table == SUMMARIES:
        yield from merge_summaries(rows, names)
    elif table == NAMES:
        yield from select_first_names(rows, names)
    else:
        yield from (replace_ids(table, batch, names) for batch in rows)


def sort_pointers(files: Sequence[CaptureFile], options: Options, share: Share = WHOLE) -> pa.Table:
    """Returns the pointers of files, those of a share of the connections, as Spark sorts them, and the notes."""
    every = _scan(files, options)
    found = [batch.filter(pa.array(number_tasks(batch.column(0), share.of) == share.number)) for batch in every]
    return sort_rows(pa.Table.from_batches(found, POINTER_SCHEMA))


def _scan(files: Sequence[CaptureFile], options: Options) -> Iterator[pa.RecordBatch]:
    return scan_splits(split_whole_files(files), files, options)


def sort_rows(pointers: pa.Table) -> pa.Table:
    """Returns pointers, notes and states in the order in which rows are made of them."""
    return pointers.sort_by(SORT_KEYS)


def select_rows(
    pointers: Iterable[pa.RecordBatch],
    files: Sequence[CaptureFile],
    options: Options,
    table: str,
    wanted: RowFilter | None = None,
    carry: BatchContext | None = None,
) -> Iterator[tuple[bool, pa.RecordBatch]]:
    """Yields rows of a table, or what they are summed up from, and (True, ...) of a batch the states that it leaves.

    pointers: sorted. Raises CaptureError for a file that has vanished.
    """
    made = PARTS if table == SUMMARIES else table
    for found in build_rows(pointers, files, options, carry, (table,), wanted):
        if found.table in (made, STATE):
            yield found.table == STATE, found.batch
        elif found.table == NOTES:
            for note in map(json.loads, found.batch.column(0).to_pylist()):
                if note.get("error"):
                    raise CaptureError(note["error"])


def _build(
    pointers: pa.Table, files: Sequence[CaptureFile], options: Options, table: str, wanted: RowFilter | None = None
) -> Iterator[pa.RecordBatch]:
    return (batch for _, batch in select_rows(split_rows(pointers), files, options, table, wanted))


def split_rows(pointers: pa.Table) -> list[pa.RecordBatch]:
    """Returns pointers as batches, as Spark hands them to a task."""
    found: list[pa.RecordBatch] = pointers.to_batches(max_chunksize=BATCH_ROWS)
    return found


def build_file_rows(
    pointers: Iterable[pa.RecordBatch], files: Sequence[CaptureFile], options: Options, table: str
) -> Iterator[pa.RecordBatch]:
    """Yields what is said of files, in the tables `files` and `findings`: notes about them are among pointers."""
    by_path = {file.path: file for file in files}
    noted = (batch.filter(pc.equal(pc.binary_length(batch.column(0)), 0)) for batch in pointers)
    notes = merge_notes(json.loads(note) for batch in noted for note in batch.column(3).to_pylist())
    for found in build_file_tables([FileNote.from_splits(by_path[each["file"]], each) for each in notes], options):
        if found.table == table:
            yield found.batch
