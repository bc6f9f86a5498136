"""The tables of captures as DataFrames, for a notebook: `read(spark, paths)`.

Theory. A DataFrame is a recipe. Each of these reads the captures anew when it is used, and makes one table of them;
what is used twice is to be cached, or written by the command `pipeline` and read from there. Names of topics are the
one thing that must be known beforehand: who asks for a table with topics waits until all messages that tell some have
been read, once for all tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from analyzer.pipeline.options import Options
from analyzer.pipeline.sources import CaptureFile, CaptureSources, find_captures
from analyzer.pipeline.spark_frames import count_cores, read_pointers, read_sorted_pointers, split_files

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from analyzer.pipeline.scan import FileSplit
    from analyzer.pipeline.topic_names import TopicNames

_Made = Callable[["Iterable[pa.RecordBatch]"], "Iterator[pa.RecordBatch]"]


def read(
    spark: SparkSession, sources: Sequence[str], options: Options | None = None, *, partitions: int | None = None
) -> Tables:
    """Returns the tables of captures, for a notebook.

        tables = read(spark, ["captures/"])
        tables.exchanges.groupBy("operation").count().show()

    sources: files, folders (each is one capture) and patterns. partitions: of the result; more, if memory is short.
    Works with a session of Spark Connect as well. Raises UserError where a source can't be opened, and when a table is
    used CaptureError (in Spark's words) where a file has vanished.
    """
    from analyzer.pipeline.spark_frames import list_remote_files

    chosen = options or Options()
    if partitions is not None:
        chosen = replace(chosen, partitions=partitions)
    return Tables(spark, list_remote_files(spark, find_captures(sources)), chosen)


class Tables:
    """DataFrames with the columns of table_schemas; each is computed anew from the captures when it is used."""

    def __init__(self, spark: SparkSession, sources: CaptureSources, options: Options) -> None:
        self._spark, self._sources, self._options = spark, sources, options

    @cached_property
    def messages(self) -> DataFrame:
        """The table `messages`: a row for each message."""
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
        """The findings of messages, connections and files."""
        return self._table("findings").unionAll(self._of_files("findings"))

    @cached_property
    def records(self) -> DataFrame:
        """A row for each record of a log that is sent or delivered."""
        return self._table("records", self._names)

    @cached_property
    def summaries(self) -> DataFrame:
        """Counts and latencies by window of time, protocol, operation, version, client and topic."""
        from analyzer.pipeline.summaries import PARTS, SUMMARY_KEY, merge_summaries
        from analyzer.pipeline.table_schemas import build_ddl

        names = self._names

        def add_up(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return merge_summaries(batches, names)

        parts = self._table("summaries", made=PARTS)
        return parts.repartition(self._few, *SUMMARY_KEY).mapInArrow(add_up, build_ddl("summaries"))

    @cached_property
    def names(self) -> DataFrame:
        """The names of topic ids, the first of each id."""
        from analyzer.pipeline.table_schemas import build_ddl
        from analyzer.pipeline.topic_names import NAME_KEY, select_first_names

        def of_all(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return select_first_names(batches)

        return self._table("names").repartition(self._few, *NAME_KEY).mapInArrow(of_all, build_ddl("names"))

    @cached_property
    def files(self) -> DataFrame:
        """A row for each file: whether it was read, and why not."""
        return self._of_files("files")

    @cached_property
    def notes(self) -> DataFrame:
        """Files that are damaged or were not read: `file`, `text`."""
        from analyzer.pipeline.arrow_columns import escape_surrogates

        problems = self.files.where("reason IS NOT NULL").selectExpr("path AS file", "reason AS text")
        texts = [("", escape_surrogates(text)) for text in self._sources.passed_over]
        return self._spark.createDataFrame(texts, problems.schema).unionAll(problems) if texts else problems

    @property
    def _few(self) -> int:
        """Partitions of what has few rows."""
        return self._options.partitions or count_cores(self._spark)

    @cached_property
    def _splits(self) -> Sequence[FileSplit]:
        return split_files(self._spark, self._sources.files, self._options)

    @cached_property
    def _names(self) -> TopicNames:
        """Names of topics: read now, for they are needed before the first row."""
        from analyzer.pipeline.topic_names import index_names

        return index_names(self.names.toArrow().to_batches())

    def _of_files(self, table: str) -> DataFrame:
        """What is said of files: a note about each of its splits is among the pointers, without a connection."""
        from analyzer.pipeline.table_schemas import build_ddl

        files, options = self._sources.files, self._options
        notes = read_pointers(self._spark, files, options, self._splits).where("length(connection) = 0")
        return notes.repartition(self._few, "origin").mapInArrow(
            _read_file_notes(table, files, options), build_ddl(table)
        )

    def _table(self, table: str, names: TopicNames | None = None, made: str = "") -> DataFrame:
        """A table; made: the name of what is made on the way to it, if that is wanted."""
        from analyzer.pipeline.summaries import PART_SCHEMA
        from analyzer.pipeline.table_schemas import build_schema, format_columns

        files, options = self._sources.files, self._options
        columns = PART_SCHEMA if made else build_schema(table, fields=options.fields)
        pointers = read_sorted_pointers(self._spark, files, options, self._splits)
        return pointers.mapInArrow(_read_rows(table, files, options, names or {}), format_columns(columns))


def _read_rows(table: str, files: Sequence[CaptureFile], options: Options, names: TopicNames) -> _Made:
    def rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from analyzer.pipeline.capture_rows import select_rows
        from analyzer.pipeline.finish import replace_ids

        for _, batch in select_rows(batches, files, options, table):
            yield replace_ids(table, batch, names)

    return rows_of


def _read_file_notes(table: str, files: Sequence[CaptureFile], options: Options) -> _Made:
    def tell(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from analyzer.pipeline.capture_rows import build_file_rows

        return build_file_rows(batches, files, options, table)

    return tell
