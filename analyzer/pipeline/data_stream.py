"""A ring capture as a stream of Spark: `spark.readStream.format("wireanalyze").option("state", DIR).load("ring/")`.

Theory. An offset is the number of a batch, and a batch is a list of finished files (ledger.py tells which are), written
down before Spark hears of it; so a batch that Spark asks for again has the same files. A task makes the batch as a run
with a state does (job.py), into a folder that gets its name when all is there; what Spark is given are the rows in
that folder, as often as it asks. Each capture is a chain of its own, and a task.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from analyzer.errors import CaptureError, UserError
from analyzer.pipeline.commit import write_atomically
from analyzer.pipeline.job import Batch, write_batch
from analyzer.pipeline.ledger import OPEN_PREFIX, SETTLE_SECONDS, KnownFile, plan_files, record_files
from analyzer.pipeline.source_options import ColumnMaker, SourceOptions
from analyzer.pipeline.sources import CaptureFile
from analyzer.tables.parquet_files import read_table
from analyzer.tables.table_schemas import build_schema

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

PLAN = "plan-{}.json"
UNFINISHED = "_batch-"
"""How folders of batches begin that a task writes at the moment."""

TABLES_FOLDER = "tables"


class BatchPartition(InputPartition):
    """One task: batches of one capture, each with its number and its files."""

    def __init__(self, capture: str, batches: Sequence[tuple[int, Sequence[CaptureFile]]]) -> None:
        super().__init__((capture, batches))


class CaptureStreamReader(DataSourceStreamReader):
    """Reads the files that a ring has finished since the last batch."""

    def __init__(self, query: SourceOptions, schema: StructType) -> None:
        if query.state is None:
            raise UserError('A stream needs a folder that remembers what was read. Give .option("state", DIR).')
        self._query, self._columns, self._state = query, ColumnMaker(query.table, schema), os.path.abspath(query.state)

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Returns the offset before the first batch. Raises UserError if another query has used the state."""
        os.makedirs(self._state, exist_ok=True)
        first = os.path.basename(self._find_plan(1))
        others = any(name.endswith(".json") and name != first for name in os.listdir(self._state))
        if others or (os.path.exists(self._find_plan(1)) and self._load(1).get("table") != self._query.table):
            raise UserError(
                f'{self._state} is the state of another query. Give a new folder with .option("state", DIR).'
            )
        return {"batch": 0}

    def latestOffset(self, start: Mapping[str, int], limit: object = None) -> dict[str, int]:  # noqa: N802
        """Plans the batch that follows `start`, if files are finished that no batch has."""
        number = start["batch"] + 1
        if not os.path.exists(self._find_plan(number)):
            settle = SETTLE_SECONDS if self._query.settle is None else self._query.settle
            known = {path: KnownFile.load(**each) for path, each in self._load(number - 1)["seen"].items()}
            files = {file.path: file for file in self._query.find_files(needed=False)}
            captures = {path: file.capture_name for path, file in files.items()}
            plan = plan_files(known, captures, settle=settle)
            if not plan.new:
                return dict(start)
            chosen = [replace(files[path], size=mark.size, changed=mark.changed) for path, mark in plan.new.items()]
            seen = record_files(known, plan, dict.fromkeys(plan.new))
            made = {
                "table": self._query.table,
                "files": [asdict(file) for file in chosen],
                "seen": {path: asdict(each) for path, each in seen.items()},
            }
            write_atomically(self._find_plan(number), json.dumps(made).encode())
        return {"batch": number}

    def partitions(self, start: Mapping[str, int], end: Mapping[str, int]) -> Sequence[InputPartition]:
        """Returns a partition for each capture that has new files."""
        captures: dict[str, list[tuple[int, list[CaptureFile]]]] = {}
        for number in range(start["batch"] + 1, end["batch"] + 1):
            files = [CaptureFile(**each) for each in self._load(number)["files"]]
            for capture, group in groupby(files, key=lambda file: file.capture_name):
                captures.setdefault(capture, []).append((number, list(group)))
        return [BatchPartition(capture, batches) for capture, batches in captures.items()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yields the rows of batches that nothing which comes later can change."""
        capture, batches = partition.value
        chain = os.path.join(self._state, f"{zlib.crc32(os.fsencode(capture)):08x}")
        options = self._query.options
        columns = build_schema(self._query.table, fields=options.fields, bodies=options.bodies)
        for number, files in batches:
            folder = os.path.join(self._make_batch(chain, number, files), TABLES_FOLDER)
            yield from map(self._columns.convert, read_table(folder, self._query.table, columns))

    def commit(self, end: Mapping[str, int]) -> None:
        """Removes what only batches before `end` needed, and what killed tasks have left."""
        for name in os.listdir(self._state):
            path = os.path.join(self._state, name)
            if os.path.isdir(path):
                done = [each for each in _list_batches(path) if each <= end["batch"]][:-1]
                unfinished = [each for each in os.listdir(path) if each.startswith(UNFINISHED)]
                for old in (*(f"{OPEN_PREFIX}{number}" for number in done), *unfinished):
                    shutil.rmtree(os.path.join(path, old), ignore_errors=True)
        for number in range(end["batch"] - 1, 0, -1):
            try:
                os.unlink(self._find_plan(number))
            except FileNotFoundError:
                break

    def _make_batch(self, chain: str, number: int, files: Sequence[CaptureFile]) -> str:
        """Returns the folder of a batch, which is made if it is not there; its tables are in a folder in it."""
        done = os.path.join(chain, f"{OPEN_PREFIX}{number}")
        if os.path.isdir(done):
            return done
        os.makedirs(chain, exist_ok=True)
        before = max((each for each in _list_batches(chain) if each < number), default=0)
        with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=chain) as folder:
            place = os.path.join(folder, "made")
            written = os.path.join(folder, TABLES_FOLDER)
            os.mkdir(written)
            earlier = os.path.join(chain, f"{OPEN_PREFIX}{before}") if before else None
            batch = Batch(files, number, place, earlier, tables=[self._query.table])
            report = write_batch(None, batch, written, self._query.options)
            if missing := [note for note in report.files if note.is_missing]:
                raise CaptureError(f"{missing[0].path} is gone before its batch was made: {missing[0].reason}")
            os.rename(written, os.path.join(place, TABLES_FOLDER))
            with suppress(OSError):  # another task may have made it
                os.rename(place, done)
        return done

    def _find_plan(self, number: int) -> str:
        return os.path.join(self._state, PLAN.format(number))

    def _load(self, number: int) -> dict[str, Any]:
        """The plan of a batch. Raises UserError where it is gone."""
        if not number:
            return {"files": [], "seen": {}}
        try:
            with open(self._find_plan(number), "rb") as file:
                plan: dict[str, Any] = json.load(file)
        except OSError as error:
            raise UserError(
                f"Cannot read {self._find_plan(number)}: {error.strerror}. The state and the checkpoint of the query "
                "belong together: begin again with new folders for both."
            ) from error
        return plan


def _list_batches(chain: str) -> list[int]:
    """The numbers of the batches that are done, rising."""
    names = (name.removeprefix(OPEN_PREFIX) for name in os.listdir(chain) if name.startswith(OPEN_PREFIX))
    return sorted(int(name) for name in names if name.isdigit())
