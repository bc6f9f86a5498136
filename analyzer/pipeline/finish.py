"""Names in the place of topics' ids, in tables: a join of what messages say with what others have told.

Theory. Which name an id has is known when all of a capture has been read (analyzer.tables.topic_names), by whatever
processes; rows are made before that. So they are written with ids, and those files of a run that have ids with a name
are written once more before anybody sees them. One process does the same to its rows, so it does not matter who has
read what.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analyzer.columns.arrays import Ints
from analyzer.pipeline.spark_frames import map_numbers
from analyzer.tables.arrow_columns import TableBatch
from analyzer.tables.parquet_files import ParquetSink, WrittenFile, create_writer, read_file
from analyzer.tables.summaries import PART_SCHEMA, PARTS, SUMMARIES, SUMMARY_KEY, merge_summaries
from analyzer.tables.table_schemas import build_schema
from analyzer.tables.topic_names import NAMES, TopicNames, index_names, merge_names, select_first_names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


TOPIC_COLUMNS: Mapping[str, str] = {"messages": "topics", "exchanges": "topics", "records": "topic"}
"""By table: the column that may have ids, a text or a list of them."""

_REWRITE_SUFFIX = ".named"
"""Behind the name of a file that is being written anew, within the folder of the run."""


def finish_tables(rows: Iterable[TableBatch], wanted: Collection[str]) -> Iterator[TableBatch]:
    """What was made of whole captures, all `names` first: with names for ids, summaries added up.

    wanted: tables; nothing is given of those that add_required_tables() has added.
    """
    name_batches: list[pa.RecordBatch] = []
    parts: list[pa.RecordBatch] = []
    names: TopicNames | None = None
    for found in rows:
        if found.table == NAMES:
            name_batches.append(found.batch)
            names = None
        elif found.table == PARTS:
            parts.append(found.batch)
        elif found.table in wanted:
            names = index_names(name_batches) if names is None else names
            yield TableBatch(found.table, replace_ids(found.table, found.batch, names))
    yield from (TableBatch(SUMMARIES, batch) for batch in merge_summaries(parts, index_names(name_batches)))
    if NAMES in wanted:
        yield from (TableBatch(NAMES, batch) for batch in select_first_names(name_batches))


def add_required_tables(tables: Collection[str]) -> Collection[str]:
    """Returns the tables that are to be made if these are wanted."""
    return {*tables, NAMES} if {*TOPIC_COLUMNS, SUMMARIES}.intersection(tables) else tables


def replace_ids(table: str, batch: pa.RecordBatch, names: TopicNames) -> pa.RecordBatch:
    """Replaces ids in a batch by names, without duplicates in a list."""
    column = TOPIC_COLUMNS.get(table)
    if column is None or not len(batch):
        return batch
    place, values = batch.schema.get_field_index(column), batch.column(column)
    is_list = pa.types.is_list(values.type)
    texts = (values.flatten() if is_list else values).dictionary_encode()
    captures = batch.column("capture").dictionary_encode()
    words = texts.dictionary.to_pylist()
    known = [names.get(capture, {}) for capture in captures.dictionary.to_pylist()]
    if not any(word in mine for mine in known for word in words):
        return batch
    count = pc.list_value_length(values).to_numpy() if is_list else np.ones(len(batch), np.int64)
    rows = np.repeat(np.arange(len(batch)), count)
    places = captures.indices.to_numpy()[rows], texts.indices.fill_null(0).to_numpy()
    there = texts.indices.is_valid().to_numpy(zero_copy_only=False)
    if not np.array([[word in mine for word in words] for mine in known])[places][there].any():
        return batch
    different: dict[str, int] = {}
    renamed = [[different.setdefault(mine.get(word, word), len(different)) for word in words] for mine in known]
    numbers = np.array(renamed)[places]
    distinct = pa.array(list(different), pa.string())
    if is_list:
        rows, numbers = _drop_duplicates(rows, numbers, len(different))
        offsets = np.searchsorted(rows, np.arange(len(batch) + 1)).astype(np.int32)
        new = pa.ListArray.from_arrays(pa.array(offsets), distinct.take(pa.array(numbers)), type=values.type)
    else:
        new = distinct.take(pa.array(numbers, mask=~there))
    return batch.set_column(place, batch.schema.field(place), new)


def _drop_duplicates(rows: Ints, numbers: Ints, size: int) -> tuple[Ints, Ints]:
    """Numbers (below `size`) of rows, which rise, each once in a row, where it comes first."""
    _, first = np.unique(rows * size + numbers, return_index=True)
    first.sort()
    return rows[first], numbers[first]


def rewrite_file(path: str, table: str, names: TopicNames) -> bool:
    """Replaces ids by names in a Parquet file, if it has ids with names; returns whether it does.

    The file is replaced in one step, a row group is in memory at a time. Raises OSError.
    """
    column = TOPIC_COLUMNS.get(table)
    if column is None:
        return False
    with pq.ParquetFile(path) as file:
        if not any(_has_ids(file, group, table, names) for group in range(file.num_row_groups)):
            return False
        new = f"{path}{_REWRITE_SUFFIX}"
        with create_writer(new, file.schema_arrow) as written:
            for group in range(file.num_row_groups):
                rows = file.read_row_group(group).combine_chunks()
                batches = [replace_ids(table, batch, names) for batch in rows.to_batches()]
                written.write_table(pa.Table.from_batches(batches), row_group_size=max(len(rows), 1))
    os.replace(new, path)
    return True


def _has_ids(file: pq.ParquetFile, group: int, table: str, names: TopicNames) -> bool:
    """Whether a row group has some that have a name."""
    rows = file.read_row_group(group, ["capture", TOPIC_COLUMNS[table]]).combine_chunks()
    return any(replace_ids(table, batch, names) is not batch for batch in rows.to_batches())


SMALL_BYTES = 32 << 20
"""Bytes of files that one process deals with."""

TASK_BYTES = 256 << 20

FILE_LIST = "table STRING, path STRING, rows BIGINT"


class RunFolder(NamedTuple):
    """The folder of a run: its path, the prefix of its files, and whether executors can reach it."""

    folder: str
    part: str
    shared: bool


def finish_run(
    spark: SparkSession | None, place: RunFolder, written: Iterable[WrittenFile], known: TopicNames
) -> tuple[list[WrittenFile], TopicNames]:
    """Brings the tables of a run to their end. known: names that were told before.

    Returns the files as they are now, and all names.
    """
    by_table: dict[str, list[WrittenFile]] = {}
    for each in written:
        by_table.setdefault(each.table, []).append(each)
    name_batches, parts = by_table.pop(NAMES, []), by_table.pop(PARTS, [])
    new = list(select_first_names(_read_batches(place, name_batches, build_schema(NAMES)), known))
    names = merge_names(known, index_names(new))
    files = [each for table in by_table.values() for each in table]
    if names:
        _rewrite_files(spark, place, [each for each in files if each.table in TOPIC_COLUMNS], names)
    files += _rewrite_table(place, NAMES, name_batches, new)
    if parts:
        files += _merge_summaries(spark, place, parts, names)
    return files, names


def _read_batches(place: RunFolder, written: Iterable[WrittenFile], columns: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of files with all their columns."""
    for each in written:
        yield from read_file(place.folder, each.path, columns)


def _rewrite_table(
    place: RunFolder, table: str, old: Iterable[WrittenFile], batches: Iterable[pa.RecordBatch], part: str = ""
) -> list[WrittenFile]:
    """A table written anew from batches, in the place of its old files."""
    sink = ParquetSink(place.folder, f"{place.part}-{part or 'all'}")
    for batch in batches:
        sink.add(TableBatch(table, batch))
    for each in old:
        os.unlink(os.path.join(place.folder, each.path))
    return sink.close()


def _measure_files(place: RunFolder, written: Iterable[WrittenFile]) -> int:
    return sum(os.path.getsize(os.path.join(place.folder, each.path)) for each in written)


def _rewrite_files(
    spark: SparkSession | None, place: RunFolder, files: Sequence[WrittenFile], names: TopicNames
) -> None:
    """Puts names into files that have ids of them."""
    size = _measure_files(place, files)
    if spark is None or size <= SMALL_BYTES or not place.shared:
        for each in files:
            rewrite_file(os.path.join(place.folder, each.path), each.table, names)
        return

    def rewrite_one(number: int) -> Iterator[pa.RecordBatch]:
        rewrite_file(os.path.join(place.folder, files[number].path), files[number].table, names)
        yield pa.record_batch([pa.array([], pa.int64())], ["done"])

    map_numbers(spark, len(files), rewrite_one, "done BIGINT").collect()


def _merge_summaries(
    spark: SparkSession | None, place: RunFolder, parts: Sequence[WrittenFile], names: TopicNames
) -> list[WrittenFile]:
    """The table of summaries, made of its parts."""
    size = _measure_files(place, parts)
    if spark is None or size <= SMALL_BYTES or not place.shared:
        found = _rewrite_table(
            place, SUMMARIES, parts, merge_summaries(_read_batches(place, parts, PART_SCHEMA), names)
        )
    else:
        from pyspark.sql.pandas.types import from_arrow_schema

        def add_up(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from pyspark import TaskContext

            task = TaskContext.get()
            assert task is not None
            rows = _rewrite_table(
                place, SUMMARIES, (), merge_summaries(batches, names), f"{task.partitionId()}-{task.taskAttemptId()}"
            )
            if rows:
                yield pa.RecordBatch.from_pylist([each._asdict() for each in rows])

        frame = spark.read.schema(from_arrow_schema(PART_SCHEMA)).parquet(
            _quote_path(os.path.join(place.folder, PARTS))
        )
        dealt = frame.select(*PART_SCHEMA.names).repartition(-(-size // TASK_BYTES), *SUMMARY_KEY)
        found = [WrittenFile(*row) for row in dealt.mapInArrow(add_up, FILE_LIST).collect()]
    shutil.rmtree(os.path.join(place.folder, PARTS))
    return found


def _quote_path(path: str) -> str:
    """A path as Spark takes it: of files, whatever its usual file system is, and with no letter that is a pattern."""
    return "file:" + re.sub(r"[\\{}\[\]*?]", r"\\\g<0>", path)
