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
    for name, is_moment in list_times(table).items():
        call = f'make_timestamp_ns("{name}")' if is_moment else f'to_microseconds("{name}" // 1000)'
        yield f'{call} AS "{name.removesuffix("_ns")}"'


def list_times(table: str) -> dict[str, bool]:
    """Returns the columns with nanoseconds that are also there as times (true) and durations: `time` for `time_ns`."""
    names = {column.name for column in EVERY_TABLE[table]} - set(PARTITIONED_BY)
    return {
        name: name.endswith(_MOMENTS)
        for name in sorted(names)
        if name.endswith(_MOMENTS) or (name in _DURATIONS and name.removesuffix("_ns") not in names)
    }
