"""What a task writes: rows in the folders of their day and protocol, whatever waits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")

import pyarrow.parquet as pq

from analyzer.pipeline import sink
from analyzer.pipeline.found import Found, batch_of
from analyzer.pipeline.options import Options
from analyzer.pipeline.sink import Sink
from analyzer.pipeline.tables import FINDINGS, VERSION, VERSION_KEY


def findings(numbers: range, protocols: list[str], day: int) -> Found:
    """A row for each number, of the protocols in turn."""
    empty = dict.fromkeys(column.name for column in FINDINGS)
    rows = np.array(numbers)
    columns = {
        "number": rows,
        "capture": "c",
        "date": np.full(len(rows), day, np.int32),
        "protocol": [protocols[number % len(protocols)] for number in numbers],
    }
    return Found("findings", batch_of("findings", {**empty, **columns}, Options()))


@pytest.mark.parametrize(("group", "waiting"), [(sink.GROUP, sink.WAITING), (100, 1 << 20), (1 << 20, 500)])
def test_rows_come_where_they_belong(group: int, waiting: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink, "GROUP", group)
    monkeypatch.setattr(sink, "WAITING", waiting)
    into = Sink(str(tmp_path), "part-7")
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
