"""Tables of Parquet files as tables of Delta Lake: a log beside the files says which of them belong to the table.

Theory. The files are those of the pipeline; only the log is new, and delta-rs (the package deltalake) writes it. For
tables that are written once the log is made with the tables, in the staging folder, and appears with them. A batch of a
ring capture is one transaction for each table, after the files have their places; it has the number of the batch, which
the log remembers, so a batch that is recovered after a crash is added once. The files of a batch are known by their
names.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from analyzer.tables.table_schemas import ALL_TABLES, PARTITIONED_BY, PORT, TABLE_DURATION, build_schema

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable
    from deltalake.transaction import AddAction

LOG = "_delta_log"
_DELTA_TYPES = {TABLE_DURATION: pa.int64(), PORT: pa.int32()}
"""Types that Delta Lake does not have, and as what it reads them."""

APPLICATION = "wireanalyze pipeline"
"""Who counts batches in the log."""


def write_logs(folder: str) -> None:
    """Makes tables of Delta of the tables in a folder."""
    for table in ALL_TABLES:
        path = os.path.join(folder, table)
        _add_files(path, table, None, [*_list_files(path)], None)


def add_batches(folder: str, part: str, batches: int) -> None:
    """Adds the files of all batches up to `batches` that the logs of the tables do not have.

    part: how the names of the files begin, with a place for the number of the batch.
    """
    from deltalake import CommitProperties, DeltaTable, Transaction

    for table in ALL_TABLES:
        path = os.path.join(folder, table)
        log = DeltaTable(path) if os.path.isdir(os.path.join(path, LOG)) else None
        done = 0 if log is None else log.transaction_version(APPLICATION) or 0
        names = [*_list_files(path)] if done < batches else []
        for number in range(done + 1, batches + 1):
            properties = CommitProperties(app_transactions=[Transaction(APPLICATION, number)])
            added = [name for name in names if os.path.basename(name).startswith(part.format(number))]
            log = _add_files(path, table, log, added, properties)


def compact_tables(folder: str) -> None:
    """Joins small files of each partition into larger ones; those of before stay for readers, until Delta's VACUUM."""
    from deltalake import DeltaTable

    for table in ALL_TABLES:
        path = os.path.join(folder, table)
        if os.path.isdir(os.path.join(path, LOG)):
            DeltaTable(path).optimize.compact()


def _add_files(
    path: str, table: str, log: DeltaTable | None, names: Sequence[str], properties: CommitProperties | None
) -> DeltaTable | None:
    """Adds files in one transaction; returns the table, made now if there was none (None) and files are there."""
    from deltalake import DeltaTable, Schema
    from deltalake.transaction import create_table_with_add_actions

    if not names:
        return log
    added, partitions = [_describe_file(path, name) for name in names], list(PARTITIONED_BY)
    if log is None:
        columns = Schema.from_arrow(_read_fields(path, names[0], table))
        create_table_with_add_actions(path, columns, added, partition_by=partitions, commit_properties=properties)
        return DeltaTable(path)
    log.create_write_transaction([*added], "append", log.schema(), partitions, commit_properties=properties)
    log.update_incremental()
    return log


def _list_files(path: str) -> Iterator[str]:
    """The Parquet files of a table, within its folder, in order."""
    for place, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if name != LOG)
        found = (name for name in sorted(names) if name.endswith(".parquet"))
        yield from (os.path.relpath(os.path.join(place, name), path) for name in found)


def _describe_file(path: str, name: str) -> AddAction:
    from deltalake.transaction import AddAction

    status = os.stat(os.path.join(path, name))
    values = dict(part.split("=", 1) for part in os.path.dirname(name).split(os.sep))
    rows = pq.read_metadata(os.path.join(path, name)).num_rows
    return AddAction(
        path=name,
        size=status.st_size,
        partition_values={key: unquote(value) for key, value in values.items()},
        modification_time=status.st_mtime_ns // 10**6,
        data_change=True,
        stats=json.dumps({"numRecords": rows}),
    )


def _read_fields(path: str, name: str, table: str) -> pa.Schema:
    """The columns of a file, and those that are folders."""
    columns = pa.schema(
        [(each.name, _DELTA_TYPES.get(each.type, each.type)) for each in pq.read_schema(os.path.join(path, name))]
    )
    for partition in PARTITIONED_BY:
        columns = columns.append(build_schema(table).field(partition))
    return columns
