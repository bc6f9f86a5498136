"""One batch of a ring capture: the rows of some files, and what the next batch needs.

Theory. A batch depends on its files, on the folder that the batch before has left, and on nothing else; so a batch that
is made again is the same. Its own folder has what is known of the connections that go on (task.py, state_file.py), the
names of topics and how far each capture was read. Runs with a state (ring_capture.py) and streams of Spark
(data_stream.py) are chains of batches, and differ in who remembers how far they have come.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from analyzer.pipeline import commit, job
from analyzer.pipeline.arrow_columns import escape_surrogates
from analyzer.pipeline.file_notes import FileNote
from analyzer.pipeline.options import Options
from analyzer.pipeline.sources import CaptureFile
from analyzer.pipeline.state_file import BatchContext, build_pointer_rows
from analyzer.pipeline.table_schemas import TABLES
from analyzer.pipeline.task import STATE_ROWS_FOLDER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KNOWN = "known.json"


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch to be made. place: its folder, which is made. before: that of the batch before, or nothing.

    number: from 1. begins: where to read on, by path, in files of which the beginning was read before. close: no batch
    follows. tables: those that are made.
    """

    files: Sequence[CaptureFile]
    number: int
    place: str
    before: str | None = None
    begins: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    close: bool = False
    tables: Collection[str] = tuple(TABLES)


def write_batch(
    spark: SparkSession | None, batch: Batch, written: str, options: Options, lost: Sequence[FileNote] = ()
) -> job.RunReport:
    """Writes the tables of a batch into the empty folder `written`, and its own folder. Raises UserError.

    spark: None: processes of this machine do the work. lost: files that cannot be read any more.
    """
    os.mkdir(batch.place)
    known: dict[str, Any] = {"names": {}, "latest": {}}
    opened = None
    if batch.before is not None:
        with open(os.path.join(batch.before, KNOWN), "rb") as file:
            known = json.load(file)
        rows = os.path.join(batch.before, STATE_ROWS_FOLDER)
        opened = build_pointer_rows(pq.read_table(rows), batch.before, batch.files) if os.path.isdir(rows) else None
    latest: dict[str, int] = known["latest"]
    carry = BatchContext(batch.place, batch.number, batch.close, latest)
    part = f"{job.PART}-{batch.number:06}"
    plan = job.BatchPlan(batch.files, part, carry, opened, known["names"], batch.begins, batch.tables)
    report = job.fill_folder(spark, plan, written, options, lost)
    for note in report.files:
        if note.last is not None:
            capture = escape_surrogates(note.capture)  # as states have it
            latest[capture] = max(note.last, latest.get(capture, note.last))
    text = json.dumps({"names": report.names, "latest": latest})
    commit.write_atomically(os.path.join(batch.place, KNOWN), text.encode())
    commit.sync_tree(batch.place)
    return report
