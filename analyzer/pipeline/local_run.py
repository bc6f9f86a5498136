"""A run without Spark: the same tasks, in this process or in several that it forks.

Theory. What Spark does between the two stages of a run is little: it brings the pointers of a connection together, in
order. Without payload they take some fifty bytes a packet, so one process holds those of a batch, divides them by
connection, and the tasks are the pipeline's own (task.py). So a state that one kind of run has begun, the other goes on
with.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from analyzer.capture.records import ScanState
from analyzer.columns.arrays import Ints
from analyzer.pipeline.pointers import flag_secrets_notes
from analyzer.pipeline.scan import build_splits, scan_splits
from analyzer.pipeline.state_file import OpenStates
from analyzer.pipeline.task import TaskResult, TaskWork
from analyzer.processes.jobs import map_in_order

SORT_KEYS = [("connection", "ascending"), ("place", "ascending"), ("origin", "ascending")]
MOST_BYTES = 512 << 20
"""Bytes of pointers in one task; the offsets of an array end at 2 GiB."""

BATCH_ROWS = 1 << 10

EVERY = -1
"""In place of the number of a task: all tasks."""


def run_tasks(begins: Mapping[int, ScanState], states: OpenStates, work: TaskWork) -> Iterator[TaskResult]:
    """Runs both stages, and yields what tasks say; options.partitions processes share the work.

    begins: where to read on, by number of a file. states: of connections that go on.
    """
    files, options = work.files, work.options
    jobs = options.partitions or 1
    splits = build_splits(files, begins)
    scanned = map_in_order(lambda split: list(scan_splits([split], files, options)), splits, jobs)
    batches = [*(batch for found in scanned for batch in found), *states.read_rows()]
    count = max(jobs, -(-sum(batch.nbytes for batch in batches) // MOST_BYTES))
    parts = _divide_by_connection(batches, count)
    for listed in map_in_order(partial(_run_task, work), list(enumerate(parts)), jobs):
        yield from listed


def _run_task(work: TaskWork, numbered: tuple[int, list[pa.RecordBatch]]) -> list[TaskResult]:
    number, batches = numbered
    if not batches:
        return []
    rows = pa.Table.from_batches(batches).sort_by(SORT_KEYS)
    return list(work.run_task(rows.to_batches(max_chunksize=BATCH_ROWS), f"{number:05}"))


def _divide_by_connection(batches: Sequence[pa.RecordBatch], count: int) -> list[list[pa.RecordBatch]]:
    """The rows of each of `count` tasks; those of a connection stay together."""
    if count == 1:
        return [list(batches)]
    parts: list[list[pa.RecordBatch]] = [[] for _ in range(count)]
    for batch in batches:
        numbers = number_tasks(batch.column(0), count)
        for number, part in enumerate(parts):
            if len(mine := np.flatnonzero(np.isin(numbers, (number, EVERY)))):
                part.append(batch.take(pa.array(mine)))
    return parts


def number_tasks(connections: pa.Array, count: int) -> Ints:
    """Returns the task of each row, the same in all processes: EVERY for a note that all of them need."""
    encoded = connections.dictionary_encode()
    numbers = np.array([zlib.crc32(name) % count for name in encoded.dictionary.to_pylist()], np.int64)
    return np.where(flag_secrets_notes(connections), EVERY, numbers[encoded.indices.to_numpy()])
