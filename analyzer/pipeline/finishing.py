"""What can only be said when all tasks are done: names for ids, and sums of sums.

Theory. Names of topics were learned wherever a message told them (names.py), and rows were made before that; files that
have ids with names are written once more (enrich.py). Parts of summaries are added up. Both are little where a run is
small, and are done here then; where there is much, Spark deals it out to tasks.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from analyzer.pipeline.enrich import COLUMNS, rewrite
from analyzer.pipeline.found import Found
from analyzer.pipeline.names import NAMES, Names, first_told, names_of, together
from analyzer.pipeline.sink import Sink, Written
from analyzer.pipeline.summaries import KEY, PART_SCHEMA, PARTS, SUMMARIES, merged
from analyzer.pipeline.tables import PARTITIONED_BY, schema, sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = 32 << 20
"""Bytes of files that one process deals with."""

A_TASK = 256 << 20

LIST = "table STRING, path STRING, rows BIGINT"


class Place(NamedTuple):
    """Where a run writes: its folder, how the names of its files begin, and whether executors can reach it."""

    folder: str
    part: str
    shared: bool


def finish(spark: SparkSession, place: Place, written: Iterable[Written], known: Names) -> tuple[list[Written], Names]:
    """Brings the tables of a run to their end. known: names that were told before.

    Returns the files as they are now, and all names.
    """
    by_table: dict[str, list[Written]] = {}
    for each in written:
        by_table.setdefault(each.table, []).append(each)
    told, parts = by_table.pop(NAMES, []), by_table.pop(PARTS, [])
    new = list(first_told(_batches(place, told, schema(NAMES)), known))
    names = together(known, names_of(new))
    files = [each for table in by_table.values() for each in table]
    if names:
        _rename(spark, place, [each for each in files if each.table in COLUMNS], names)
    files += _remade(place, NAMES, told, new)
    if parts:
        files += _added_up(spark, place, parts, names)
    return files, names


def _batches(place: Place, written: Iterable[Written], columns: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of files with all their columns, of which folders have some."""
    for each in written:
        folders = dict(part.split("=", 1) for part in os.path.dirname(each.path).split(os.sep)[1:])
        for batch in pq.ParquetFile(os.path.join(place.folder, each.path)).iter_batches():
            arrays = [
                pa.repeat(pa.scalar(unquote(folders[field.name])).cast(field.type), len(batch))
                if field.name in PARTITIONED_BY
                else batch.column(field.name)
                for field in columns
            ]
            yield pa.record_batch(arrays, schema=columns)


def _remade(
    place: Place, table: str, old: Iterable[Written], batches: Iterable[pa.RecordBatch], part: str = ""
) -> list[Written]:
    """A table written anew from batches, in the place of its old files."""
    sink = Sink(place.folder, f"{place.part}-{part or 'all'}")
    for batch in batches:
        sink.add(Found(table, batch))
    for each in old:
        os.unlink(os.path.join(place.folder, each.path))
    return sink.close()


def _size(place: Place, written: Iterable[Written]) -> int:
    return sum(os.path.getsize(os.path.join(place.folder, each.path)) for each in written)


def _rename(spark: SparkSession, place: Place, files: Sequence[Written], names: Names) -> None:
    """Puts names into files that have ids of them."""
    size = _size(place, files)
    if size <= SMALL or not place.shared:
        for each in files:
            rewrite(os.path.join(place.folder, each.path), each.table, names)
        return

    def rewrite_some(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                rewrite(os.path.join(place.folder, files[number].path), files[number].table, names)
            yield pa.record_batch([pa.array([], pa.int64())], ["done"])

    spark.range(0, len(files), 1, len(files)).mapInArrow(rewrite_some, "done BIGINT").collect()


def _added_up(spark: SparkSession, place: Place, parts: Sequence[Written], names: Names) -> list[Written]:
    """The table of summaries, made of its parts."""
    size = _size(place, parts)
    if size <= SMALL or not place.shared:
        found = _remade(place, SUMMARIES, parts, merged(_batches(place, parts, PART_SCHEMA), names))
    else:

        def add_up(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from pyspark import TaskContext

            task = TaskContext.get()
            assert task is not None
            rows = _remade(place, SUMMARIES, (), merged(batches, names), f"{task.partitionId()}-{task.taskAttemptId()}")
            if rows:
                yield pa.RecordBatch.from_pylist([each._asdict() for each in rows])

        frame = spark.read.schema(sql(PART_SCHEMA)).parquet(_literal(os.path.join(place.folder, PARTS)))
        dealt = frame.select(*PART_SCHEMA.names).repartition(-(-size // A_TASK), *KEY)
        found = [Written(*row) for row in dealt.mapInArrow(add_up, LIST).collect()]
    shutil.rmtree(os.path.join(place.folder, PARTS))
    return found


def _literal(path: str) -> str:
    """A path as Spark takes it: of files, whatever its usual file system is, and with no letter that is a pattern."""
    return "file:" + re.sub(r"[\\{}\[\]*?]", r"\\\g<0>", path)
