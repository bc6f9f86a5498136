"""views.sql beside exported tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import program
from tests.documents import ROOT

pytest.importorskip("pyarrow")
from analyzer.tables.table_schemas import EVERY_TABLE
from analyzer.tables.views import make_view


def test_a_view_has_durations() -> None:
    view = make_view("exchanges")
    assert 'SELECT * REPLACE (to_microseconds("latency") AS "latency") FROM' in view
    assert 'AS "latency",' not in make_view("summaries")  # that column has buckets


def test_all_tables_are_views(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "tables"
    command = ("export", str(ROOT / "captures" / "kafka.pcap"), "--as", "parquet", "-o", str(folder))
    done = program.run(*command, "--table", "all")
    assert (done.returncode, b" reports written to " in done.stderr) == (0, True)
    there = {path.name for path in folder.iterdir() if path.is_dir()}
    text = (folder / "views.sql").read_text()
    assert {"messages", "exchanges", "reports"} <= there <= set(EVERY_TABLE)
    assert all((f"VIEW {table} AS" in text) == (table in there) for table in EVERY_TABLE)
    duckdb = pytest.importorskip("duckdb", reason="needs the extra duckdb")
    monkeypatch.chdir(folder)
    connection = duckdb.connect()
    connection.execute(text)
    assert connection.sql(
        "select count(*), min(time) < max(time), protocol from messages group by protocol"
    ).fetchall() == [(648, True, "kafka")]
    assert connection.sql("select max(latency) > interval 500 millisecond from exchanges").fetchall() == [(True,)]
    for table in there:
        assert connection.sql(f"select * from {table} limit 1").fetchall()


def test_a_ring_has_views(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    state = ("--state", str(tmp_path / "state"), "--settle", "0")
    done = program.run("export", str(ROOT / "captures" / "kafka.pcap"), "--as", "parquet", "-o", str(folder), *state)
    assert done.returncode == 0, done.stderr
    assert make_view("messages") in (folder / "views.sql").read_text()
