"""views.sql beside exported tables: a view of each for DuckDB, with times and durations as such."""

from __future__ import annotations

import os
from collections.abc import Iterator

from analyzer.capture.output import create_file
from analyzer.pipeline.table_schemas import EVERY_TABLE, PARTITIONED_BY

NAME = "views.sql"
HEAD = "-- Views of these tables for DuckDB. Run it in this folder: duckdb -init views.sql\n"

_MOMENTS = ("time_ns", "window_ns")
_DURATIONS = ("latency_ns", "latency_sum_ns", "latency_max_ns")


def write_views(folder: str) -> None:
    """Writes the views of all tables that are in a folder. Raises UserError."""
    there = [table for table in EVERY_TABLE if os.path.isdir(os.path.join(folder, table))]
    with create_file(os.path.join(folder, NAME), force=True) as output:
        output.write("".join([HEAD, *map(make_view, there)]).encode())


def make_view(table: str) -> str:
    """Returns the statement that makes the view of a table."""
    more = ", ".join(_convert_columns(table))
    source = f"read_parquet('{table}/*/*/*.parquet', hive_partitioning = true, union_by_name = true)"
    return f"CREATE OR REPLACE VIEW {table} AS SELECT *{f', {more}' if more else ''} FROM {source};\n"


def _convert_columns(table: str) -> Iterator[str]:
    """What a view has beside the columns: `time` for `time_ns`, `latency` for `latency_ns`."""
    names = {column.name for column in EVERY_TABLE[table]} - set(PARTITIONED_BY)
    for name in sorted(names):
        short = name.removesuffix("_ns")
        if name.endswith(_MOMENTS):
            yield f'make_timestamp_ns("{name}") AS "{short}"'
        elif name in _DURATIONS and short not in names:
            yield f'to_microseconds("{name}" // 1000) AS "{short}"'
