"""The run as Spark sees it: numbers of files, pointers, sorted pointers, rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyzer.capture.errors import CaptureError
from analyzer.pipeline.options import Options
from analyzer.pipeline.sources import CaptureFile, find

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

TASKS_A_CORE = 4
"""Files are read in at most as many tasks; rows are made in half as many, if nobody says otherwise."""


@dataclass(frozen=True, slots=True)
class Tables:
    """DataFrames with the columns of analyzer.pipeline.tables; each is made anew from the captures when it is used.

    `notes` (file, text): what is damaged or was passed over.
    """

    messages: DataFrame
    exchanges: DataFrame
    notes: DataFrame


def read(
    spark: SparkSession, sources: Sequence[str], options: Options | None = None, *, partitions: int | None = None
) -> Tables:
    """The tables of captures, for a notebook.

    sources: files, folders (each is one capture) and patterns. partitions: of the result; more, if memory is short.
    Raises UserError where a source can't be opened, and when a table is used CaptureError (in Spark's words) where a
    file has vanished.
    """
    from analyzer.pipeline.batches import unicode
    from analyzer.pipeline.tables import ddl

    chosen, found = options or Options(), find(sources)
    pointers = sorted_pointers(spark, found.files, partitions)
    messages, exchanges = (
        pointers.mapInArrow(_rows_of(table, found.files, chosen), ddl(table, fields=chosen.fields))
        for table in ("messages", "exchanges")
    )
    texts = [("", unicode(text)) for text in found.passed_over]
    passed_over = spark.createDataFrame(texts, "file STRING, text STRING")
    damaged = scanned(spark, found.files).mapInArrow(_damage, "file STRING, text STRING")
    return Tables(messages, exchanges, passed_over.unionAll(damaged))


def scanned(spark: SparkSession, files: Sequence[CaptureFile]) -> DataFrame:
    """The pointers of files, and a note about each."""
    from analyzer.pipeline.pointers import COLUMNS

    def scan_files(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from analyzer.pipeline.scan import scan

        return scan(batches, files)

    tasks = min(len(files), TASKS_A_CORE * spark.sparkContext.defaultParallelism)
    return spark.range(0, len(files), 1, tasks).mapInArrow(scan_files, COLUMNS)


def sorted_pointers(spark: SparkSession, files: Sequence[CaptureFile], partitions: int | None) -> DataFrame:
    """The same, each connection in one partition and in the order of time."""
    count = partitions or TASKS_A_CORE // 2 * spark.sparkContext.defaultParallelism
    pointers = scanned(spark, files).repartition(count, "connection")
    return pointers.sortWithinPartitions("connection", "place", "origin")


Mapped = Callable[["Iterable[pa.RecordBatch]"], "Iterator[pa.RecordBatch]"]


def _rows_of(table: str, files: Sequence[CaptureFile], options: Options) -> Mapped:
    def rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from analyzer.pipeline.batches import NOTES
        from analyzer.pipeline.partition import rows

        for found in rows(batches, files, options):
            if found.table == table:
                yield found.batch
            elif found.table == NOTES:
                for note in map(json.loads, found.batch.column(0).to_pylist()):
                    if "error" in note:
                        raise CaptureError(note["error"])

    return rows_of


def _damage(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    from analyzer.pipeline.batches import unicode

    for batch in batches:
        for name, note in zip(*(batch.column(place).to_pylist() for place in (0, 3)), strict=True):
            if not name:
                said = json.loads(note)
                texts = [said["error"]] if "error" in said else [each["text"] for each in said["findings"]]
                columns = [pa.array(unicode(column), pa.string()) for column in ([said["file"]] * len(texts), texts)]
                yield pa.record_batch(columns, ["file", "text"])
