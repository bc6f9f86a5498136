"""views.sql beside exported tables: a view of each for DuckDB, with durations as such."""

from __future__ import annotations

import os

from analyzer.capture.output import create_file
from analyzer.tables.table_schemas import EVERY_TABLE, TABLE_DURATION

NAME = "views.sql"
HEAD = "-- Views of these tables for DuckDB. Run it in this folder: duckdb -init views.sql\n"


def write_views(folder: str) -> None:
    """Writes the views of all tables that are in a folder. Raises UserError."""
    there = [table for table in EVERY_TABLE if os.path.isdir(os.path.join(folder, table))]
    with create_file(os.path.join(folder, NAME), force=True) as output:
        output.write("".join([HEAD, *map(make_view, there)]).encode())


def make_view(table: str) -> str:
    """Returns the statement that makes the view of a table; DuckDB reads durations as numbers of microseconds."""
    names = [column.name for column in EVERY_TABLE[table] if column.type == TABLE_DURATION]
    columns = ", ".join(f'to_microseconds("{name}") AS "{name}"' for name in names)
    source = f"read_parquet('{table}/*/*/*.parquet', hive_partitioning = true, union_by_name = true)"
    chosen = f"* REPLACE ({columns})" if names else "*"
    return f"CREATE OR REPLACE VIEW {table} AS SELECT {chosen} FROM {source};\n"
