"""DataFrames of captures: the rows of one process, in a session of any kind, asked as the documents show."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")
pytest.importorskip("pyspark", reason="the extra wireanalyze[pipeline] is not installed")

from analyzer.pipeline import Options, Tables, job, read
from analyzer.pipeline.finish import add_required_tables, finish_tables
from analyzer.pipeline.origins import CountingOrigins
from analyzer.pipeline.sources import find_captures
from analyzer.pipeline.table_builder import build_tables
from analyzer.pipeline.table_schemas import ALL_TABLES, TABLES, build_schema
from analyzer.session import Session
from tests.analyzer.pipeline.house import GOLDEN, ROOT, cut, frames_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")

PLACES = ("capture", "file", "first_record", "last_record", "number")


def alike(rows: list[dict[str, Any]]) -> list[Any]:
    """Rows in an order of their own, without what tells where they were read and how many were before."""
    return sorted(({name: row[name] for name in row if name not in PLACES} for row in rows), key=repr)


@pytest.mark.slow
def test_every_table(spark: SparkSession, tmp_path: Path) -> None:
    """Of a capture in two files, which names topics in one connection and uses their ids in others."""
    packets = frames_of(GOLDEN / "k4_java_share.pcap.zst")
    cut(tmp_path / "one", packets, ["1.pcap"])
    cut(tmp_path / "two", packets, ["1.pcap", "2.pcap"])
    expected: dict[str, list[Any]] = defaultdict(list)
    with Session([tmp_path / "one" / "1.pcap"]).load() as session:
        for found in finish_tables(
            build_tables(session, CountingOrigins("c", ["f"]), Options(), named=add_required_tables(TABLES)), TABLES
        ):
            expected[found.table] += found.batch.to_pylist()
    read_from = read(spark, [str(tmp_path / "two")], partitions=3)
    for table in TABLES:
        frame = getattr(read_from, table)
        assert frame.columns == build_schema(table).names, table
        assert alike(frame.toArrow().to_pylist()) == alike(expected[table]), table
    assert any("js" in row["topics"] for row in expected["messages"])
    files = [(row.file, row.state, row.packets) for row in read_from.files.orderBy("file").collect()]
    assert files == [("1.pcap", "read", len(packets) // 2), ("2.pcap", "read", len(packets) - len(packets) // 2)]
    assert read_from.files.columns == build_schema("files").names
    assert read_from.notes.collect() == []


@pytest.mark.slow
def test_damage_is_reported(spark: SparkSession, house: Path, tmp_path: Path) -> None:
    shutil.copytree(house / "damaged", tmp_path / "in")
    (tmp_path / "in" / "text").write_text("no capture")
    found = read(spark, [str(tmp_path / "in")])
    assert [row.state for row in found.files.orderBy("file").collect()] == ["damaged"]
    reported = {os.path.basename(row.file): row.text for row in found.notes.collect()}
    assert set(reported) == {"1.pcap", ""}
    assert "text" in reported[""]
    assert "skipped" in reported[""]
    assert [row.code for row in found.findings.where("id IS NULL").collect()] == ["damaged-capture"]
    assert set(ALL_TABLES) <= {name for name in dir(found) if not name.startswith("_")}


def blocks(document: str, kind: str) -> list[str]:
    """The examples of a kind in a document."""
    return re.findall(rf"^```{kind}\n(.*?)^```", (ROOT / document).read_text(), re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def asked(spark: SparkSession) -> Tables:
    """A capture with errors; its tables are views, as docs/reference/tables.md has it."""
    found = read(spark, [str(GOLDEN / "k4_errors.pcap.zst")], Options(fields=False), partitions=1)
    for name in ("exchanges", "summaries"):
        getattr(found, name).cache().createOrReplaceTempView(name)
    return found


@pytest.mark.slow
def test_questions_in_sql(spark: SparkSession, asked: Tables) -> None:
    protocol, other = blocks("docs/reference/tables.md", "sql")[:3], blocks("docs/reference/tables.md", "sql")[3:]
    slow, old, errors = (spark.sql(text).collect() for text in protocol)
    rows = spark.table("exchanges").collect()
    assert len(other) == 3

    waited: dict[Any, list[int]] = defaultdict(list)
    for row in rows:
        if row.latency_ns is not None:
            waited[row.request_time_ns // (60 * 10**9), row.operation].append(row.latency_ns)
    answers = {(int(row.minute.timestamp()) // 60, row.operation): row for row in slow}
    assert {key: row.answers for key, row in answers.items()} == {key: len(found) for key, found in waited.items()}
    for key, row in answers.items():
        found = sorted(waited[key])
        assert row.least * 1e6 <= found[-(-len(found) * 99 // 100) - 1] <= row.most * 1e6, row

    numbered = [row for row in rows if row.version is not None]
    newest = {
        row.operation: max(each.version for each in numbered if each.operation == row.operation) for row in numbered
    }
    behind = Counter(
        (row.client, row.operation, row.version) for row in numbered if row.version < newest[row.operation]
    )
    assert {(row.client, row.operation, row.version): row.requests for row in old} == behind
    assert behind

    failed = Counter((topic, row.operation, row.error.name) for row in rows if row.error for topic in row.topics)
    assert {(row.topic, row.operation, row.error): row.answers for row in errors} == failed
    assert failed


def test_the_notebook(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    place: dict[str, Any] = {}
    for text in blocks("docs/how-to/notebooks.md", "python"):
        exec(text, place)  # it is ours
    assert place["spark"] is spark or place["spark"].sparkContext is spark.sparkContext
    assert [row.topic for row in place["topics"].collect()] == ["jg"]
    with Session(["captures/kafka.pcap"]).load() as session:
        made = build_tables(
            session, CountingOrigins("c", ["f"]), Options(fields=False), named=("exchanges", "findings")
        )
        rows = [(table, row) for table, batch in made for row in batch.to_pylist()]
    slow = Counter(row["operation"] for table, row in rows if table == "exchanges" and (row["latency_ns"] or 0) > 20e6)
    assert {row.operation: row["count"] for row in place["slow"].collect()} == slow
    assert slow
    assert place["late"] == sum(row["code"] == "unanswered" for table, row in rows if table == "findings")


@pytest.mark.slow
def test_questions_of_the_how_to(spark: SparkSession, tmp_path: Path) -> None:
    job.run(spark, find_captures([str(ROOT / "captures" / "kafka.pcap")]), str(tmp_path), Options(fields=False))
    protocol, other = ([line for line in block.splitlines() if line] for block in blocks("docs/how-to/spark.md", "sql"))
    assert [re.sub(r"'tables/(\w+)/\*/\*/\*\.parquet'", r"parquet.`tables/\1`", line) for line in other] == protocol
    slow, versions, topics = (spark.sql(line.replace("`tables/", f"`{tmp_path}/")).collect() for line in protocol)
    assert slow[0].ms == max(row.ms for row in slow if row.ms is not None) > 0
    assert {row.operation for row in slow} >= {"Fetch", "Produce", "Metadata"}
    assert all(row.oldest <= row.newest for row in versions if row.oldest is not None)
    assert topics
    assert all(row.topic and row.requests >= row.errors for row in topics)
