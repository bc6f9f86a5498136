"""One run of the command: captures to Parquet files under a folder, all or nothing.

Theory. Whatever can go wrong with a file is known when Spark has done its work, not before: it may vanish while it is
read. So a run works in attempts; a file that cannot be read any more is put aside with its reason, and the others are
read again without it. Then names are given to ids, sums are added up (finish.py), and all takes its place at once
(commit.py). A ring capture is run after run (ring_capture.py): a run reads what is new, with the connections that the
run before has left open.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from analyzer.capture.records import ScanState
from analyzer.errors import UserError
from analyzer.pipeline import commit, delta_tables, file_notes, views
from analyzer.pipeline.file_notes import FileNote, merge_notes
from analyzer.pipeline.finish import RunFolder, add_required_tables, finish_run
from analyzer.pipeline.options import Options
from analyzer.pipeline.parquet_files import ParquetSink, WrittenFile
from analyzer.pipeline.sources import CaptureFile, CaptureSources
from analyzer.pipeline.spark_frames import read_sorted_pointers, split_files
from analyzer.pipeline.state_file import STATE, BatchContext
from analyzer.pipeline.table_schemas import ALL_TABLES, TABLES
from analyzer.pipeline.task import LIST_COLUMNS, TaskWork, decode_note
from analyzer.pipeline.topic_names import NO_NAMES, TopicNames

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, Row, SparkSession

    from analyzer.pipeline.local_run import ListedRow

ATTEMPTS = 16
"""A run is given up when that often more files have vanished while they were read."""

PART = "part"
"""How the names of files begin."""


@dataclass(slots=True)
class RunReport:
    """The result of a run: rows by table, notes about files, and files left for a later run."""

    rows: Counter[str] = field(default_factory=Counter)
    files: list[FileNote] = field(default_factory=list)
    waiting: Sequence[str] = ()
    names: TopicNames = field(default_factory=dict)

    @property
    def packets(self) -> int:
        """The number of packets that were read."""
        return sum(each.packets for each in self.files)


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What a run reads: files, and of a ring capture how it goes on with the batch before.

    opened: the rows of connections that it left open. names: of topics that were told before. begins: where to read on,
    by path, in files of which the beginning was read before. tables: those that are made.
    """

    files: Sequence[CaptureFile]
    part: str = PART
    carry: BatchContext | None = None
    opened: pa.RecordBatch | None = None
    names: TopicNames = field(default_factory=lambda: NO_NAMES)
    begins: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    tables: Collection[str] = tuple(TABLES)


def check_folder(folder: str, *, overwrite: bool, otherwise: str = "or --overwrite to replace them") -> None:
    """Raises UserError if the folder has tables already and they may not be replaced.

    otherwise: what the user may give instead of another folder.
    """
    there = [table for table in ALL_TABLES if os.path.lexists(os.path.join(folder, table))]
    commit.refuse_others(folder, there)
    if there and not overwrite:
        raise UserError(f"{folder} has tables already ({', '.join(there)}). Give another folder, {otherwise}.")


def run(
    spark: SparkSession, sources: CaptureSources, folder: str, options: Options, *, overwrite: bool = True
) -> RunReport:
    """Writes the tables, in the place of those that are there if they may be replaced. Raises UserError."""
    folder = os.path.abspath(folder)
    with commit.lock_folder(folder):
        check_folder(folder, overwrite=overwrite)  # once more: another run may have written them while Spark began
        commit.recover_folder(folder, 0)
        written = commit.create_staging_folder(folder)
        try:
            report = fill_folder(spark, BatchPlan(sources.files), written, options)
            if options.delta:
                delta_tables.write_logs(written)
            commit.replace_tables(folder, written, ALL_TABLES)
            if os.path.exists(os.path.join(folder, views.NAME)):  # an export has written it for the tables of before
                views.write_views(folder)
        finally:
            shutil.rmtree(written, ignore_errors=True)
    return report


def fill_folder(
    spark: SparkSession | None, batch: BatchPlan, folder: str, options: Options, known: Sequence[FileNote] = ()
) -> RunReport:
    """Writes the tables of a batch into an empty folder. Raises UserError.

    spark: None: processes of this machine do the work (local_run.py). known: files that are lost already.
    """
    lost = {each.path: each for each in known}
    for _ in range(ATTEMPTS):
        tried = _Attempt(batch.files, folder)
        tried.take(_run_tasks(spark, batch, folder, options))
        if not tried.missing:
            break
        lost |= {path: FileNote.from_missing(tried.files[path], reason) for path, reason in tried.missing.items()}
        batch = replace(batch, files=[file for file in batch.files if file.path not in lost])
        _clear_folder(folder)
    else:
        raise UserError(
            f"Files were deleted before they were read, the last ones {', '.join(sorted(lost)[-3:])}. Copy them first."
        )
    tried.tidy(None if batch.carry is None else batch.carry.folder)
    report = RunReport(files=[*lost.values(), *tried.notes()])
    place = RunFolder(folder, batch.part, spark is not None and not options.shuffled)
    tables = [each for each in tried.written if each.table != STATE]
    written, report.names = finish_run(spark, place, tables, batch.names)
    sink = ParquetSink(folder, f"{batch.part}-files")
    for found in file_notes.build_file_tables(report.files, options):
        sink.add(found)
    written += sink.close()
    _remove_others(folder, {each.path for each in written})  # finishing may have been tried again as well
    for each in written:
        report.rows[each.table] += each.rows
    return report


def _run_tasks(
    spark: SparkSession | None, batch: BatchPlan, folder: str, options: Options
) -> Iterator[Row | ListedRow]:
    """What tasks say, and where they cannot write, what they have written."""
    if not batch.files and batch.opened is None:
        return
    work = TaskWork(
        batch.files,
        None if options.shuffled else folder,
        batch.part,
        options,
        batch.carry,
        add_required_tables(batch.tables),
    )
    begins = {
        place: ScanState(*batch.begins[file.path])
        for place, file in enumerate(batch.files)
        if file.path in batch.begins
    }
    if spark is None:
        from analyzer.pipeline.local_run import run_tasks

        yield from run_tasks(batch.files, options, begins, batch.opened, work)
        return
    splits = split_files(spark, batch.files, options, begins)
    done = read_sorted_pointers(spark, batch.files, options, splits, batch.opened).mapInArrow(work, LIST_COLUMNS)
    if not options.shuffled:
        yield from done.collect()
        return
    # Files come back one partition after the other; all of them have been made by then, many at a time.
    persisted: DataFrame = done.persist()
    try:
        persisted.count()
        yield from persisted.toLocalIterator()
    finally:
        persisted.unpersist()


class _Attempt:
    """What came of one."""

    def __init__(self, files: Sequence[CaptureFile], folder: str) -> None:
        self.files, self._folder = {file.path: file for file in files}, folder
        self._notes: list[Mapping[str, Any]] = []
        self.written: list[WrittenFile] = []
        self.missing: dict[str, str] = {}

    def take(self, rows: Iterator[Row | ListedRow]) -> None:
        """Raises UserError for what has nothing to do with a file."""
        for row in rows:
            if row.path is None:
                self._note(decode_note(bytes(row.data)))
            elif row.data is None:
                self.written.append(WrittenFile(row.table, row.path, row.rows))
            else:
                _write_piece(os.path.join(self._folder, row.path), row.position, bytes(row.data))

    def _note(self, note: Mapping[str, Any]) -> None:
        if "file" in note:
            self._notes.append(note)
        elif note.get("gone") in self.files:
            self.missing[note["gone"]] = note["error"]
        else:
            raise UserError(note["error"])

    def notes(self) -> list[FileNote]:
        """Of each file that was read."""
        return [FileNote.from_splits(self.files[note["file"]], note) for note in merge_notes(self._notes)]

    def tidy(self, state: str | None) -> None:
        """Takes away what was written by tasks that failed and were tried again."""
        _remove_others(self._folder, {each.path for each in self.written if each.table != STATE})
        if state is not None:
            _remove_others(state, {each.path for each in self.written if each.table == STATE}, ".parquet")


def _remove_others(folder: str, paths: Collection[str], ending: str = "") -> None:
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            if name.endswith(ending) and os.path.relpath(path, folder) not in paths:
                os.unlink(path)


def _write_piece(path: str, position: int, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "r+b" if position else "wb") as file:
        file.seek(position)
        file.write(data)


def _clear_folder(folder: str) -> None:
    shutil.rmtree(folder)
    os.mkdir(folder)
