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
from analyzer.pipeline.file_notes import DAMAGED, READ, FileNote
from analyzer.pipeline.ledger import OPEN_PREFIX, SETTLE_SECONDS, Ledger, plan_files, record_files
from analyzer.pipeline.sources import CaptureFile, CaptureSources
from analyzer.tables.options import Options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class RingCapture:
    """A ring capture. state: its folder. close: nothing will follow, so what is unfinished becomes rows.

    settle: seconds after which a capture's newest file counts as finished. compact: whether the files of tables of
    Delta are joined behind the batch.
    """

    state: str
    close: bool = False
    settle: float = SETTLE_SECONDS
    compact: bool = False


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
        plan = plan_files(ledger.files, captures, ledger.waiting, settle=ring.settle, close=ring.close)
        if ledger.closed and plan.new:
            raise UserError(
                f"{state} was closed before {min(plan.new)} was written. Give another --state and another folder."
            )
        files = {file.path: file for file in sources.files}
        # As they were when they were found to be finished; Spark has started since their folders were looked through.
        new = [replace(files[path], size=mark.size, changed=mark.changed) for path, mark in plan.new.items()]
        lost = [FileNote.from_missing(_find_file(path, files), reason) for path, reason in plan.lost.items()]
        report = job.RunReport(waiting=plan.waiting)
        if new or lost or (ring.close and ledger.batches and not ledger.closed):
            before = os.path.join(state, ledger.opened) if ledger.batches else None
            ledger.batches += 1
            place = os.path.join(state, ledger.opened)
            batch = job.Batch(new, ledger.batches, place, before, plan.grown, ring.close)
            report = _write_batch(spark, folder, batch, options, lost)
            report.waiting = plan.waiting
            ledger.closed |= ring.close
        taken = {note.path: note.end for note in report.files if note.state in (READ, DAMAGED)}
        ledger.files, ledger.waiting = record_files(ledger.files, plan, taken), plan.waiting
        ledger.save(state)
        _publish_batches(folder, options, ledger.batches)
        _remove_old_states(state, ledger)
        if ring.compact:
            delta_tables.compact_tables(folder)
    return report


def _write_batch(
    spark: SparkSession | None, folder: str, batch: job.Batch, options: Options, lost: Sequence[FileNote]
) -> job.RunReport:
    """Writes a batch to where it waits for the ledger; leaves nothing of one that fails."""
    assert batch.place is not None
    written = commit.create_staging_folder(folder)
    try:
        report = job.write_batch(spark, batch, written, options, lost)
        commit.prepare_batch(folder, written, batch.number)
    except BaseException:
        shutil.rmtree(written, ignore_errors=True)
        shutil.rmtree(batch.place, ignore_errors=True)
        raise
    return report


def _publish_batches(folder: str, options: Options, batches: int) -> None:
    """Gives the files of all batches that the ledger knows their places, and puts them into the logs of Delta."""
    commit.recover_folder(folder, batches)
    if options.delta:
        delta_tables.add_batches(folder, f"{job.PART}-{{:06}}-", batches)


def _describe_settings(options: Options, sources: CaptureSources) -> str:
    """What rows depend on."""
    rules = [f"{where}={protocol}" for where, protocol in options.decode_as]
    fields = options.fields if options.bodies is None else options.bodies.names
    about = {"fields": fields, "window": options.window, "capture": sources.pattern, "decode_as": rules}
    tables = {"format": "delta"} if options.delta else {}
    return json.dumps({**about, **tables, **options.limits._asdict()}, sort_keys=True)


def _remove_old_states(state: str, ledger: Ledger) -> None:
    """Takes away what killed runs and batches of before have left."""
    for name in os.listdir(state):
        if name.startswith(OPEN_PREFIX) and name.removeprefix(OPEN_PREFIX).isdigit() and name != ledger.opened:
            shutil.rmtree(os.path.join(state, name))


def _find_file(path: str, found: Mapping[str, CaptureFile]) -> CaptureFile:
    """A file that is there, or was."""
    folder, name = os.path.split(path)
    return found.get(path) or CaptureFile(path, -1, folder, name, 0, 0)
