"""Runs over a ring capture: each reads what is new since the last one, and goes on with what that has left open.

Theory. The state of a ring is a folder with a ledger (ledger.py) and what is known of connections that go on
(state_file.py). Writing the ledger is the step that makes a batch done: tables wait beside the others until then, under
the batch's number, and take their place afterwards; so a run that is killed at any moment has done its batch or has
not, and the next one finds out which. A row is written when nothing that comes later can change it.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from analyzer.errors import UserError
from analyzer.pipeline import commit, delta_tables, job
from analyzer.pipeline import ledger as ledgers
from analyzer.pipeline.file_notes import DAMAGED, PASSED_OVER, QUARANTINED, FileNote
from analyzer.pipeline.ledger import OPEN_PREFIX, SETTLE_SECONDS, FileMark, FilePlan, Ledger
from analyzer.pipeline.options import Options
from analyzer.pipeline.sources import CaptureFile, CaptureSources

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class RingCapture:
    """A ring capture. state: its folder. close: nothing will follow, so what is unfinished becomes rows.

    settle: seconds after which a capture's newest file counts as finished.
    """

    state: str
    close: bool = False
    settle: float = SETTLE_SECONDS


def run(
    spark: SparkSession | None, sources: CaptureSources, folder: str, options: Options, ring: RingCapture
) -> job.RunReport:
    """Adds a batch to the tables; without Spark, processes of this machine do the work. Raises UserError."""
    folder, state = os.path.abspath(folder), os.path.abspath(ring.state)
    if remote := [file.path for file in sources.files if file.remote]:
        raise UserError(
            f"{remote[0]} is read through Spark, which cannot tell whether a file is finished. Mount the file system."
        )
    if os.path.realpath(folder) == os.path.realpath(state):
        raise UserError(f"{state} cannot hold both the tables and the state. Give another folder with --state.")
    with commit.lock_folder(state), commit.lock_folder(folder):
        ledger = Ledger.load(state, folder, _describe_settings(options, sources))
        if not ledger.batches:  # before anything is taken away: a batch that waits there may be another state's
            job.check_folder(folder, overwrite=False, otherwise="or the --state that belongs to them")
        _publish_batches(folder, options, ledger.batches)
        _remove_old_states(state, ledger)
        captures = {file.path: file.capture_name for file in sources.files}
        todo = ledgers.plan_files(ledger, captures, settle=ring.settle, close=ring.close)
        if ledger.closed and todo.new:
            raise UserError(
                f"{state} was closed before {min(todo.new)} was written. Give another --state and another folder."
            )
        return _Run(spark, folder, state, options, ring, ledger).do(todo, sources.files)


def _publish_batches(folder: str, options: Options, batches: int) -> None:
    """Gives the files of all batches that the ledger knows their places, and puts them into the logs of Delta."""
    commit.recover_folder(folder, batches)
    if options.delta:
        delta_tables.add_batches(folder, f"{job.PART}-{{:06}}-", batches)


def _describe_settings(options: Options, sources: CaptureSources) -> str:
    """What rows depend on."""
    rules = [f"{where}={protocol}" for where, protocol in options.decode_as]
    about = {"fields": options.fields, "window": options.window, "capture": sources.pattern, "decode_as": rules}
    tables = {"format": "delta"} if options.delta else {}
    return json.dumps({**about, **tables, **options.limits._asdict()}, sort_keys=True)


def _remove_old_states(state: str, ledger: Ledger) -> None:
    """Takes away what killed runs and batches of before have left."""
    for name in os.listdir(state):
        if name.startswith(OPEN_PREFIX) and name.removeprefix(OPEN_PREFIX).isdigit() and name != ledger.opened:
            shutil.rmtree(os.path.join(state, name))


@dataclass(slots=True)
class _Run:
    """One run, with the locks held."""

    spark: SparkSession | None
    folder: str
    state: str
    options: Options
    ring: RingCapture
    ledger: Ledger

    def do(self, todo: FilePlan, found: Sequence[CaptureFile]) -> job.RunReport:
        """The batch, or what is to be said where there is nothing to read."""
        by_path = {file.path: file for file in found}
        lost = [FileNote.from_missing(_build_file(path, by_path), reason) for path, reason in todo.lost.items()]
        new = [self._as_planned(by_path[path], mark) for path, mark in todo.new.items()]
        if not new and not lost and (self.ledger.closed or not (self.ring.close and self.ledger.opened)):
            ledgers.record_batch(self.ledger, {}, {}, {}, {}, self.ledger.batches)
            self.ledger.waiting = list(todo.waiting)
            self.ledger.save(self.state)
            return job.RunReport(waiting=todo.waiting)
        report = self._batch(new, lost, todo)
        report.waiting = todo.waiting
        return report

    def _as_planned(self, file: CaptureFile, mark: FileMark) -> CaptureFile:
        """A file as it was when it was found to be finished; Spark has started since its folder was looked through."""
        return replace(
            file, capture=self.ledger.number_capture(file.capture_name), size=mark.size, changed=mark.changed
        )

    def _batch(self, new: list[CaptureFile], lost: list[FileNote], todo: FilePlan) -> job.RunReport:
        number = self.ledger.batches + 1
        opened = f"{OPEN_PREFIX}{number}"
        place = os.path.join(self.state, opened)
        before = os.path.join(self.state, self.ledger.opened) if self.ledger.opened else None
        written = commit.create_staging_folder(self.folder)
        try:
            batch = job.Batch(new, number, place, before, todo.grown, self.ring.close)
            report = job.write_batch(self.spark, batch, written, self.options, lost)
            commit.prepare_batch(self.folder, written, number)
        except BaseException:
            shutil.rmtree(written, ignore_errors=True)
            shutil.rmtree(place, ignore_errors=True)
            raise
        self._note(report, todo, number)
        self.ledger.opened = opened
        self.ledger.save(self.state)
        _publish_batches(self.folder, self.options, number)
        _remove_old_states(self.state, self.ledger)
        return report

    def _note(self, report: job.RunReport, todo: FilePlan, number: int) -> None:
        """What was done, into the ledger."""
        outside = QUARANTINED, PASSED_OVER
        read = {note.path: todo.new[note.path] for note in report.files if note.state not in outside}
        troubles = {note.path: note.reason or "" for note in report.files if note.state in (DAMAGED, *outside)}
        ends = {note.path: note.end for note in report.files if note.path in read and note.end is not None}
        ledgers.record_batch(self.ledger, todo.new, read, ends, troubles, number)
        self.ledger.waiting = list(todo.waiting)
        self.ledger.closed |= self.ring.close


def _build_file(path: str, found: Mapping[str, CaptureFile]) -> CaptureFile:
    """A file that is there, or was."""
    folder, name = os.path.split(path)
    return found.get(path) or CaptureFile(path, -1, folder, name, 0, 0)
