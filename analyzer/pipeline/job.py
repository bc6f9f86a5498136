"""Captures to Parquet files under a folder, all or nothing: the command's one run, or a batch of a ring capture.

Theory. Whatever can go wrong with a file is known when the work is done, not before: it may vanish while it is read. So
a batch is made in attempts; a file that cannot be read any more is put aside with its reason, and the others are read
again without it. Then names are given to ids, sums are added up (finish.py), and all takes its place at once
(commit.py). A batch depends on its files, on the folder that the batch before has left, and on nothing else; so a batch
that is made again is the same. Its own folder has the connections that go on (state_file.py), the names of topics and
how far each capture was read. Runs with a state (ring_capture.py) and streams of Spark (data_stream.py) are chains of
batches, and differ in who remembers how far they have come.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from analyzer.capture.records import ScanState
from analyzer.errors import UserError
from analyzer.pipeline import commit, delta_tables, local_run, spark_frames
from analyzer.pipeline.file_notes import FileNote, build_file_tables, merge_notes
from analyzer.pipeline.finish import RunFolder, add_required_tables, finish_run
from analyzer.pipeline.ledger import make_read_error
from analyzer.pipeline.sources import CaptureFile, CaptureSources
from analyzer.pipeline.state_file import NO_STATES, STATE, BatchContext, OpenStates
from analyzer.pipeline.task import FilePiece, TaskResult, TaskWork
from analyzer.tables import views
from analyzer.tables.arrow_columns import escape_surrogates
from analyzer.tables.options import Options
from analyzer.tables.parquet_files import ParquetSink, WrittenFile
from analyzer.tables.table_schemas import ALL_TABLES, TABLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ATTEMPTS = 16
"""A batch is given up when that often more files have vanished while they were read."""

PART = "part"
"""How the names of files begin."""

KNOWN = "known.json"
"""What the next batch is told besides the states: the names of topics, how far each capture was read, files of states.
"""


@dataclass(slots=True)
class RunReport:
    """The result of a run: rows by table, notes about files, and files left for a later run."""

    rows: Counter[str] = field(default_factory=Counter)
    files: list[FileNote] = field(default_factory=list)
    waiting: Sequence[str] = ()

    @property
    def packets(self) -> int:
        """The number of packets that were read."""
        return sum(each.packets for each in self.files)


@dataclass(frozen=True, slots=True)
class Batch:
    """What is read. number: from 1, or 0 where nothing precedes and nothing follows.

    place: the folder for what the next batch needs, which is made. before: that of the batch before, or nothing.
    begins: where to read on, by path, in files of which the beginning was read before. close: no batch follows. tables:
    those that are made.
    """

    files: Sequence[CaptureFile]
    number: int = 0
    place: str | None = None
    before: str | None = None
    begins: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    close: bool = False
    tables: Collection[str] = tuple(TABLES)

    @property
    def part(self) -> str:
        """How the names of its files begin."""
        return f"{PART}-{self.number:06}" if self.number else PART


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
            report = write_batch(spark, Batch(sources.files), written, options)
            if options.delta:
                delta_tables.write_logs(written)
            commit.replace_tables(folder, written, ALL_TABLES)
            if os.path.exists(os.path.join(folder, views.NAME)):  # an export has written it for the tables of before
                views.write_views(folder)
        finally:
            shutil.rmtree(written, ignore_errors=True)
    return report


def write_batch(
    spark: SparkSession | None, batch: Batch, folder: str, options: Options, lost: Sequence[FileNote] = ()
) -> RunReport:
    """Writes the tables of a batch into an empty folder, and its own folder. Raises UserError.

    spark: None: processes of this machine do the work (local_run.py). lost: files that are lost already.
    """
    known: dict[str, Any] = {"names": {}, "latest": {}}
    states = NO_STATES
    if batch.before is not None:
        known = _load_known(batch.before)
        states = OpenStates.find(batch.before, known["states"], known["latest"], batch.files)
    carry = None
    if batch.place is not None:
        os.mkdir(batch.place)
        carry = BatchContext(batch.place, batch.close, known["latest"])
    tried, missing = _try(spark, batch, folder, options, states, carry)
    report = RunReport(files=[*lost, *missing, *merge_notes(tried.notes)])
    place = RunFolder(folder, batch.part, spark is not None and not options.shuffled)
    written, names = finish_run(spark, place, [each for each in tried.written if each.table != STATE], known["names"])
    sink = ParquetSink(folder, f"{batch.part}-files")
    for found in build_file_tables(report.files, options):
        sink.add(found)
    written += sink.close()
    _remove_others(folder, {each.path for each in written})  # what failed tasks have written, also of finishing
    for each in written:
        report.rows[each.table] += each.rows
    if batch.place is not None:
        state_paths = {each.path for each in tried.written if each.table == STATE}
        _remove_others(batch.place, state_paths)
        _save_known(
            batch.place, {"names": names, "latest": known["latest"], "states": sorted(state_paths)}, report.files
        )
    return report


def _load_known(place: str) -> dict[str, Any]:
    """Raises UserError if it cannot be read."""
    path = os.path.join(place, KNOWN)
    try:
        with open(path, "rb") as file:
            known = json.load(file)
        return {name: known[name] for name in ("names", "latest", "states")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise make_read_error(path, error) from error


def _save_known(place: str, known: dict[str, Any], notes: Iterable[FileNote]) -> None:
    latest = known["latest"]
    for note in notes:
        if note.last is not None:
            capture = escape_surrogates(note.capture)  # as states have it
            latest[capture] = max(note.last, latest.get(capture, note.last))
    commit.write_atomically(os.path.join(place, KNOWN), json.dumps(known).encode())
    commit.sync_tree(place)


def _try(
    spark: SparkSession | None,
    batch: Batch,
    folder: str,
    options: Options,
    states: OpenStates,
    carry: BatchContext | None,
) -> tuple[_Attempt, list[FileNote]]:
    """The attempt that has come to its end, and the files that had to be left out for that."""
    files, lost = list(batch.files), list[FileNote]()
    run_tasks = local_run.run_tasks if spark is None else partial(spark_frames.run_tasks, spark)
    for _ in range(ATTEMPTS):
        tried = _Attempt(folder)
        if files or states.paths:
            where = None if options.shuffled else folder
            work = TaskWork(files, where, batch.part, options, carry, add_required_tables(batch.tables))
            begins = {
                place: ScanState(*batch.begins[file.path])
                for place, file in enumerate(files)
                if file.path in batch.begins
            }
            tried.take(run_tasks(begins, states, work))
        if not tried.missing:
            return tried, lost
        lost += [FileNote.from_missing(each, tried.missing[each.path]) for each in files if each.path in tried.missing]
        files = [each for each in files if each.path not in tried.missing]
        shutil.rmtree(folder)
        os.mkdir(folder)
    last = ", ".join(sorted(each.path for each in lost)[-3:])
    raise UserError(f"Files were deleted before they were read, the last ones {last}. Copy them first.")


class _Attempt:
    """What came of one: notes of splits, files that were written, and why files are missing by path."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.notes: list[Mapping[str, Any]] = []
        self.written: list[WrittenFile] = []
        self.missing: dict[str, str] = {}

    def take(self, results: Iterable[TaskResult]) -> None:
        """Takes what tasks say. Raises UserError for what has nothing to do with a file."""
        for each in results:
            if isinstance(each, WrittenFile):
                self.written.append(each)
            elif isinstance(each, FilePiece):
                _write_piece(os.path.join(self._folder, each.path), each)
            elif "path" in each:
                self.notes.append(each)
            elif "gone" in each:
                self.missing[each["gone"]] = each["error"]
            else:
                raise UserError(each["error"])


def _remove_others(folder: str, paths: Collection[str]) -> None:
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            if os.path.relpath(path, folder) not in paths:
                os.unlink(path)


def _write_piece(path: str, piece: FilePiece) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "r+b" if piece.position else "wb") as file:
        file.seek(piece.position)
        file.write(piece.data)
