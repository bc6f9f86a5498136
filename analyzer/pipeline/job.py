"""One run of the command: captures to Parquet files under a folder, all or nothing."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from analyzer.errors import UserError
from analyzer.pipeline.batches import NOTES
from analyzer.pipeline.frames import sorted_pointers
from analyzer.pipeline.options import Options
from analyzer.pipeline.sources import CaptureFile
from analyzer.pipeline.tables import TABLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STAGING = "_staging-"
"""Begins with a character that readers of Parquet folders pass over."""

DONE = "table STRING, path STRING, rows BIGINT, note BINARY"


@dataclass(slots=True)
class Report:
    """What a run has done: rows by table, packets read, and what is to be said of files."""

    rows: Counter[str] = field(default_factory=Counter)
    packets: int = 0
    findings: list[dict[str, str]] = field(default_factory=list)


def check(folder: str, *, overwrite: bool) -> None:
    """Raises UserError if the folder has tables already and they may not be replaced."""
    there = [table for table in TABLES if os.path.exists(os.path.join(folder, table))]
    if there and not overwrite:
        raise UserError(f"{folder} has tables already ({', '.join(there)}): name another folder, or give --overwrite")


def run(
    spark: SparkSession, files: Sequence[CaptureFile], folder: str, options: Options, partitions: int | None = None
) -> Report:
    """Writes the tables, in place of those that are there. Raises UserError if a file can't be read any more."""
    folder = os.path.abspath(folder)
    staging = os.path.join(folder, f"{STAGING}{uuid.uuid4().hex}")
    os.makedirs(staging)
    try:
        pointers = sorted_pointers(spark, files, partitions)

        def write_part(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return write(batches, files, staging, options)

        done = pointers.mapInArrow(write_part, DONE).collect()
        report = _report([json.loads(bytes(each.note)) for each in done if each.note is not None])
        for table in TABLES:
            shutil.rmtree(os.path.join(folder, table), ignore_errors=True)
        for each in done:
            if each.path is not None:
                report.rows[each.table] += each.rows
                os.makedirs(os.path.dirname(os.path.join(folder, each.path)), exist_ok=True)
                os.rename(os.path.join(staging, each.path), os.path.join(folder, each.path))
        return report
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def write(
    batches: Iterable[pa.RecordBatch], files: Sequence[CaptureFile], folder: str, options: Options
) -> Iterator[pa.RecordBatch]:
    """A task: writes the rows of its partition; gives a row for each file that it wrote, and one for each note."""
    from pyspark import TaskContext

    from analyzer.pipeline.partition import rows
    from analyzer.pipeline.sink import Sink

    task = TaskContext.get()
    assert task is not None
    sink = Sink(folder, f"part-{task.partitionId():05}-{task.taskAttemptId()}")
    notes: list[bytes] = []
    for found in rows(batches, files, options):
        if found.table == NOTES:
            notes += found.batch.column(0).to_pylist()
        else:
            sink.add(found)
    done = [{**written._asdict(), "note": None} for written in sink.close()]
    done += [{"table": None, "path": None, "rows": None, "note": note} for note in notes]
    if done:
        kinds = [("table", pa.string()), ("path", pa.string()), ("rows", pa.int64()), ("note", pa.binary())]
        yield pa.RecordBatch.from_pylist(done, pa.schema(kinds))


def _report(notes: Iterable[dict[str, Any]]) -> Report:
    report = Report()
    for note in sorted(notes, key=lambda note: note.get("file") or ""):
        if note.get("error"):
            raise UserError(note["error"])
        report.packets += note.get("packets") or 0
        report.findings += note.get("findings") or []
    return report
