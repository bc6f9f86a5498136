"""The tables of a run as another program reads them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds

from analyzer.tables.table_schemas import PARTITIONED_BY, TABLES, build_schema
from tests.analyzer.pipeline.house import Rows, in_order


def table(folder: Path, name: str) -> pa.Table:
    """One table; without rows where there is no folder."""
    columns = build_schema(name)
    if not (folder / name).is_dir():
        return columns.empty_table()
    kinds = pa.schema([(each, columns.field(each).type) for each in PARTITIONED_BY])
    files = ds.dataset(folder / name, format="parquet", partitioning=ds.partitioning(kinds, flavor="hive"))
    return files.to_table().select(columns.names)


def written(folder: Path) -> Rows:
    """All that packets become."""
    return {name: in_order(name, table(folder, name)) for name in TABLES}
