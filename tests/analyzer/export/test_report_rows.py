"""The table of reports says what `report` prints, of all protocols, and the notebook's cell reads it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")

import pyarrow.dataset as ds

from analyzer.decode.rows import RowReader
from analyzer.export.tables import write_tables
from analyzer.insight.reports import ReportReading, list_reports
from analyzer.render.reports_text import make_entry_object
from analyzer.session import Session
from analyzer.tables.options import Options
from analyzer.tables.table_schemas import REPORTS

ROOT = Path(__file__).parents[3]


def write(name: str, out: Path, chosen: list[int] | None = None) -> list[dict[str, Any]]:
    with Session([ROOT / "captures" / name]).load() as session:
        rows = None if chosen is None else np.array(chosen, np.int64)
        counts = write_tables(session, str(out), rows, Options(), [REPORTS])
    if not counts[REPORTS]:
        return []
    found: list[dict[str, Any]] = ds.dataset(out / REPORTS, partitioning="hive").to_table().to_pylist()
    assert len(found) == counts[REPORTS]
    return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "name", ["kafka-4.4.pcap.zst", "mixed.pcapng", "pulsar.pcap.zst", "rocketmq.pcap.zst", "zookeeper.pcap.zst"]
)
def test_each_row_is_that_of_report(name: str, tmp_path: Path) -> None:
    found = write(name, tmp_path)
    expected = []
    with Session([ROOT / "captures" / name]).load() as session:
        known, _ = list_reports(session)
        ids = RowReader(session).read_column("id", np.arange(len(session.rows))).values()
        for table in ReportReading(session, list(known.values())).run():
            for entry in table.entries:
                text = json.loads(json.dumps(make_entry_object(table.report, entry)))
                parts = [(each["as"], ids[each["number"] - 1]) for each in text.pop("messages")]
                del text["first"], text["last"]
                about = (table.report.needs, table.report.name, entry.first, entry.last)
                expected.append((*about, parts, json.dumps(text)))
    assert expected
    reported = [
        (
            *(row[key] for key in ("protocol", "report", "first_time_ns", "last_time_ns")),
            [(each["part"], each["id"]) for each in row["messages"]],
            json.dumps(json.loads(row["values"])),
        )
        for row in found
    ]
    assert sorted(reported, key=repr) == sorted(expected, key=repr)


def test_a_choice_of_messages_has_the_rows_that_name_one(tmp_path: Path) -> None:
    every = write("kafka-4.4.pcap.zst", tmp_path / "every")
    with Session([ROOT / "captures" / "kafka-4.4.pcap.zst"]).load() as session:
        chosen = np.flatnonzero(session.rows.column("stream") == session.rows.cell("stream", 263)).tolist()
        ids = set(RowReader(session).read_column("id", np.array(chosen)).values())
    some = write("kafka-4.4.pcap.zst", tmp_path / "some", chosen)
    assert some == [row for row in every if ids.intersection(each["id"] for each in row["messages"])]
    assert 0 < len(some) < len(every)
    assert write("kafka-4.4.pcap.zst", tmp_path / "none", []) == []


def test_the_cell_of_the_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas", reason="the extra wireanalyze[pipeline] is not installed")
    write("kafka-4.4.pcap.zst", tmp_path / "tables")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "how-to" / "notebooks.md").read_text()
    (cell,) = (text for text in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "tables/reports" in text)
    place: dict[str, Any] = {}
    exec(cell, place)  # it is ours
    assert place["stood_still"].max() > 0
    assert place["messages"]
