"""What a task writes: rows in the folders of their day and protocol, whatever waits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analyzer.tables import parquet_files

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")

import pyarrow.parquet as pq

from analyzer.tables.arrow_columns import TableBatch, build_batch
from analyzer.tables.options import Options
from analyzer.tables.parquet_files import ParquetSink
from analyzer.tables.table_schemas import FINDINGS, VERSION, VERSION_KEY


def findings(numbers: range, protocols: list[str], day: int) -> TableBatch:
    """A row for each number, of the protocols in turn."""
    empty = dict.fromkeys(column.name for column in FINDINGS)
    rows = np.array(numbers)
    columns = {
        "number": rows,
        "capture": "c",
        "date": np.full(len(rows), day, np.int32),
        "protocol": [protocols[number % len(protocols)] for number in numbers],
    }
    return TableBatch("findings", build_batch("findings", {**empty, **columns}, Options()))


@pytest.mark.parametrize(
    ("group", "waiting"), [(parquet_files.ROW_GROUP_BYTES, parquet_files.WAITING_BYTES), (100, 1 << 20), (1 << 20, 500)]
)
def test_rows_come_where_they_belong(group: int, waiting: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "ROW_GROUP_BYTES", group)
    monkeypatch.setattr(parquet_files, "WAITING_BYTES", waiting)
    into = ParquetSink(str(tmp_path), "part-7")
    into.add(findings(range(10), ["kafka"], 0))
    into.add(findings(range(10, 30), ["kafka", "zoo/keeper"], 0))
    into.add(findings(range(30, 33), ["kafka"], 1))
    into.add(findings(range(0), ["kafka"], 1))
    written = {each.path: each.rows for each in into.close()}
    assert written == {
        "findings/date=1970-01-01/protocol=kafka/part-7.parquet": 20,
        "findings/date=1970-01-01/protocol=zoo%2Fkeeper/part-7.parquet": 10,
        "findings/date=1970-01-02/protocol=kafka/part-7.parquet": 3,
    }
    found = {path: pq.ParquetFile(tmp_path / path).read() for path in written}
    numbers = [rows["number"].to_pylist() for rows in found.values()]
    assert sorted(numbers) == [[*range(10), *range(10, 30, 2)], [*range(11, 30, 2)], [30, 31, 32]]
    assert all(rows.schema.metadata[VERSION_KEY] == str(VERSION).encode() for rows in found.values())
    assert all({"date", "protocol"}.isdisjoint(rows.column_names) for rows in found.values())
