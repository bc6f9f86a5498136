"""The tables of captures as DataFrames, for a notebook: `read(spark, paths)`.

Theory. A DataFrame is a recipe. Each of these reads the captures anew when it is used, and makes one table of them;
what is used twice is to be cached, or written by the command `pipeline` and read from there. Names of topics are the
one thing that must be known beforehand: who asks for a table with topics waits until all messages that tell some have
been read, once for all tables.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from analyzer.errors import CaptureError
from analyzer.pipeline.frames import cores, scanned, sorted_pointers, split_up
from analyzer.pipeline.options import Options
from analyzer.pipeline.sources import CaptureFile, Sources, find

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from analyzer.pipeline.names import Names
    from analyzer.pipeline.splits import Split

_Made = Callable[["Iterable[pa.RecordBatch]"], "Iterator[pa.RecordBatch]"]


def read(
    spark: SparkSession, sources: Sequence[str], options: Options | None = None, *, partitions: int | None = None
) -> Tables:
    """The tables of captures, for a notebook.

        tables = read(spark, ["captures/"])
        tables.exchanges.groupBy("operation").count().show()

    sources: files, folders (each is one capture) and patterns. partitions: of the result; more, if memory is short.
    Works with a session of Spark Connect as well. Raises UserError where a source can't be opened, and when a table is
    used CaptureError (in Spark's words) where a file has vanished.
    """
    from analyzer.pipeline.remote import listed

    chosen = options or Options()
    if partitions is not None:
        chosen = replace(chosen, partitions=partitions)
    return Tables(spark, listed(spark, find(sources)), chosen)


class Tables:
    """DataFrames with the columns of analyzer.pipeline.tables; each is made anew from the captures when it is used."""

    def __init__(self, spark: SparkSession, sources: Sources, options: Options) -> None:
        self._spark, self._sources, self._options = spark, sources, options

    @cached_property
    def messages(self) -> DataFrame:
        """A row for each message."""
        return self._table("messages", self._names)

    @cached_property
    def exchanges(self) -> DataFrame:
        """A row for each request."""
        return self._table("exchanges", self._names)

    @cached_property
    def streams(self) -> DataFrame:
        """A row for each connection."""
        return self._table("streams")

    @cached_property
    def findings(self) -> DataFrame:
        """What is to be said of messages, connections and files."""
        return self._table("findings").unionAll(self._of_files("findings"))

    @cached_property
    def records(self) -> DataFrame:
        """A row for each record of a log that is sent or delivered."""
        return self._table("records", self._names)

    @cached_property
    def summaries(self) -> DataFrame:
        """Counts and latencies by window of time, protocol, operation, version, client and topic."""
        from analyzer.pipeline.summaries import KEY, PARTS, merged
        from analyzer.pipeline.tables import ddl

        names = self._names

        def add_up(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return merged(batches, names)

        parts = self._table("summaries", made=PARTS)
        return parts.repartition(self._few, *KEY).mapInArrow(add_up, ddl("summaries"))

    @cached_property
    def names(self) -> DataFrame:
        """The names of topics that messages told, each the first of its id."""
        from analyzer.pipeline.names import KEY, first_told
        from analyzer.pipeline.tables import ddl

        def of_all(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return first_told(batches)

        return self._table("names").repartition(self._few, *KEY).mapInArrow(of_all, ddl("names"))

    @cached_property
    def files(self) -> DataFrame:
        """A row for each file: whether it was read, and why not."""
        return self._of_files("files")

    @cached_property
    def notes(self) -> DataFrame:
        """What is damaged or was passed over: `file`, `text`."""
        from analyzer.pipeline.found import unicode

        told = self.files.where("reason IS NOT NULL").selectExpr("path AS file", "reason AS text")
        texts = [("", unicode(text)) for text in self._sources.passed_over]
        return self._spark.createDataFrame(texts, told.schema).unionAll(told) if texts else told

    @property
    def _few(self) -> int:
        """Partitions of what has few rows."""
        return self._options.partitions or cores(self._spark)

    @cached_property
    def _splits(self) -> Sequence[Split]:
        return split_up(self._spark, self._sources.files, self._options)

    @cached_property
    def _names(self) -> Names:
        """Names of topics: read now, for they are needed before the first row."""
        from analyzer.pipeline.names import names_of

        return names_of(self.names.toArrow().to_batches())

    def _of_files(self, table: str) -> DataFrame:
        """What is said of files: a note about each of its splits is among the pointers, without a connection."""
        from analyzer.pipeline.tables import ddl

        files, options = self._sources.files, self._options
        notes = scanned(self._spark, files, options, self._splits).where("length(connection) = 0")
        return notes.repartition(self._few, "origin").mapInArrow(_files_of(table, files, options), ddl(table))

    def _table(self, table: str, names: Names | None = None, made: str = "") -> DataFrame:
        """A table; made: the name of what is made on the way to it, if that is wanted."""
        from analyzer.pipeline.summaries import PART_SCHEMA
        from analyzer.pipeline.tables import schema, sql

        files, options = self._sources.files, self._options
        columns = PART_SCHEMA if made else schema(table, fields=options.fields)
        pointers = sorted_pointers(self._spark, files, options, self._splits)
        return pointers.mapInArrow(_rows_of(table, made or table, files, options, names or {}), sql(columns))


def _rows_of(table: str, made: str, files: Sequence[CaptureFile], options: Options, names: Names) -> _Made:
    def rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from analyzer.pipeline.enrich import named
        from analyzer.pipeline.found import NOTES
        from analyzer.pipeline.partition import rows

        for found in rows(batches, files, options, named=(table,)):
            if found.table == made:
                yield named(table, found.batch, names)
            elif found.table == NOTES:
                for note in map(json.loads, found.batch.column(0).to_pylist()):
                    if note.get("error"):
                        raise CaptureError(note["error"])

    return rows_of


def _files_of(table: str, files: Sequence[CaptureFile], options: Options) -> _Made:
    by_path = {file.path: file for file in files}

    def tell(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from analyzer.pipeline.files import FileNote, tables
        from analyzer.pipeline.notes import merged

        notes = merged(json.loads(note) for batch in batches for note in batch.column(3).to_pylist())
        for found in tables([FileNote.of(by_path[note["file"]], note) for note in notes], options):
            if found.table == table:
                yield found.batch

    return tell
