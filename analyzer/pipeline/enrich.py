"""Names in the place of topics' ids, in tables: a join of what messages say with what others have told.

Theory. Which name an id has is known when all of a capture has been read (names.py), by whatever processes; rows are
made before that. So they are written with ids, and those files of a run that have ids with a name are written once more
before anybody sees them. One process does the same to its rows, so it does not matter who has read what.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analyzer.columns.arrays import Ints
from analyzer.pipeline.found import Found
from analyzer.pipeline.names import NAMES, Names, first_told, names_of
from analyzer.pipeline.sink import writer
from analyzer.pipeline.summaries import PARTS, SUMMARIES, merged

COLUMNS: Mapping[str, str] = {"messages": "topics", "exchanges": "topics", "records": "topic"}
"""By table: the column that may have ids, a text or a list of them."""

_NEW = ".named"
"""Behind the name of a file that is being written anew, within the folder of the run."""


def whole(rows: Iterable[Found], wanted: Collection[str]) -> Iterator[Found]:
    """What was made of whole captures, all `names` first: with names for ids, summaries added up.

    wanted: tables; nothing is given of those that are needed() for others alone.
    """
    told: list[pa.RecordBatch] = []
    parts: list[pa.RecordBatch] = []
    names: Names = {}
    for found in rows:
        if found.table == NAMES:
            told.append(found.batch)
            names = names_of(told)
        elif found.table == PARTS:
            parts.append(found.batch)
        elif found.table in wanted:
            yield Found(found.table, named(found.table, found.batch, names))
    yield from (Found(SUMMARIES, batch) for batch in merged(parts, names))
    if NAMES in wanted:
        yield from (Found(NAMES, batch) for batch in first_told(told))


def needed(tables: Collection[str]) -> Collection[str]:
    """The tables that are to be made if these are wanted."""
    return {*tables, NAMES} if {*COLUMNS, SUMMARIES}.intersection(tables) else tables


def named(table: str, batch: pa.RecordBatch, names: Names) -> pa.RecordBatch:
    """A batch with names for ids, each thing once in a list; the same batch where it has no id with a name."""
    column = COLUMNS.get(table)
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
    said = pa.array(list(different), pa.string())
    if is_list:
        rows, numbers = _once(rows, numbers, len(different))
        offsets = np.searchsorted(rows, np.arange(len(batch) + 1)).astype(np.int32)
        new = pa.ListArray.from_arrays(pa.array(offsets), said.take(pa.array(numbers)), type=values.type)
    else:
        new = said.take(pa.array(numbers, mask=~there))
    return batch.set_column(place, batch.schema.field(place), new)


def _once(rows: Ints, numbers: Ints, size: int) -> tuple[Ints, Ints]:
    """Numbers (below `size`) of rows, which rise, each once in a row, where it comes first."""
    _, first = np.unique(rows * size + numbers, return_index=True)
    first.sort()
    return rows[first], numbers[first]


def rewrite(path: str, table: str, names: Names) -> bool:
    """Puts names into a Parquet file that sink.Sink has written, if it has ids with names; whether it has.

    The file is replaced in one step, a row group is in memory at a time. Raises OSError.
    """
    column = COLUMNS.get(table)
    if column is None:
        return False
    with pq.ParquetFile(path) as file:
        if not any(_has_ids(file, group, table, names) for group in range(file.num_row_groups)):
            return False
        new = f"{path}{_NEW}"
        with writer(new, file.schema_arrow) as written:
            for group in range(file.num_row_groups):
                rows = file.read_row_group(group).combine_chunks()
                batches = [named(table, batch, names) for batch in rows.to_batches()]
                written.write_table(pa.Table.from_batches(batches), row_group_size=max(len(rows), 1))
    os.replace(new, path)
    return True


def _has_ids(file: pq.ParquetFile, group: int, table: str, names: Names) -> bool:
    """Whether a row group has some that have a name."""
    rows = file.read_row_group(group, ["capture", COLUMNS[table]]).combine_chunks()
    return any(named(table, batch, names) is not batch for batch in rows.to_batches())
