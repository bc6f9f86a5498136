"""The same five questions in DuckDB, polars, pandas, Spark SQL and over Delta Lake: each gives one answer."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[parquet] is not installed")

import wireanalyze.spark
from analyzer.pipeline import delta_tables, job
from analyzer.pipeline.sources import find_captures
from analyzer.tables.options import Options
from analyzer.tables.parquet_files import ParquetSink
from analyzer.tables.typed_bodies import parse_bodies
from tests.analyzer.pipeline.house import GOLDEN, ROOT, build_all_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")

Answer = list[tuple[Any, ...]]

SLOW = "SELECT operation, count(*) n, max(latency_ns) ns FROM {exchanges} GROUP BY operation ORDER BY operation"
OLD = "SELECT client, min(version) v FROM {messages} WHERE client IS NOT NULL GROUP BY client ORDER BY client"
ERRORS = "SELECT topic, sum(errors) n FROM {summaries} WHERE topic != '' GROUP BY topic HAVING n > 0 ORDER BY topic"
BYTES = "SELECT source_port, sum(length) n FROM {messages} GROUP BY source_port ORDER BY source_port"
NAMED = "SELECT error.name name, count(*) n FROM {exchanges} WHERE error IS NOT NULL GROUP BY error.name ORDER BY name"
QUESTIONS = (SLOW, OLD, ERRORS, BYTES, NAMED)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    sink = ParquetSink(str(folder), "part-00000")
    for found in build_all_tables(find_captures([str(ROOT / "captures" / "kafka.pcap")]).files, Options(fields=False)):
        sink.add(found)
    sink.close()
    return folder


def ask_duckdb(tables: Path, _: pytest.FixtureRequest) -> list[Answer]:
    duckdb = pytest.importorskip("duckdb")
    names = {table: f"'{tables}/{table}/*/*/*.parquet'" for table in ("exchanges", "messages", "summaries")}
    return [duckdb.sql(question.format_map(names)).fetchall() for question in QUESTIONS]


def ask_spark(tables: Path, request: pytest.FixtureRequest) -> list[Answer]:
    spark = request.getfixturevalue("spark")
    names = {table: f"parquet.`{tables}/{table}`" for table in ("exchanges", "messages", "summaries")}
    return [[tuple(row) for row in spark.sql(question.format_map(names)).collect()] for question in QUESTIONS]


def ask_polars(tables: Path, _: pytest.FixtureRequest) -> list[Answer]:
    pl = pytest.importorskip("polars")
    exchanges, messages, summaries = (
        pl.scan_parquet(tables / name, hive_partitioning=True) for name in ("exchanges", "messages", "summaries")
    )
    failed = exchanges.filter(pl.col("error").is_not_null()).with_columns(name=pl.col("error").struct.field("name"))
    errors = summaries.filter(pl.col("topic").is_not_null()).group_by("topic").agg(pl.col("errors").sum())
    answers = (
        exchanges.group_by("operation").agg(pl.len(), pl.col("latency_ns").max()),
        messages.filter(pl.col("client").is_not_null()).group_by("client").agg(pl.col("version").min()),
        errors.filter(pl.col("errors") > 0),
        messages.group_by("source_port").agg(pl.col("length").sum()),
        failed.group_by("name").agg(pl.len()),
    )
    return [sorted(answer.collect().rows()) for answer in answers]


def ask_pandas(tables: Path, _: pytest.FixtureRequest) -> list[Answer]:
    pd = pytest.importorskip("pandas")
    exchanges, messages, summaries = (pd.read_parquet(tables / name) for name in ("exchanges", "messages", "summaries"))
    slow = exchanges.groupby("operation").agg(n=("operation", "size"), ns=("latency_ns", "max"))
    errors = summaries.groupby("topic").errors.sum()
    named = exchanges.error.dropna().map(lambda error: error["name"]).value_counts()
    answers: tuple[Any, ...] = (
        slow.astype({"ns": "Int64"}),
        messages.groupby("client").version.min(),
        errors[errors > 0],
        messages.groupby("source_port").length.sum(),
        named,
    )
    rows = [answer.reset_index().itertuples(index=False, name=None) for answer in answers]
    return [sorted(tuple(map(to_python, row)) for row in answer) for answer in rows]


def to_python(value: Any) -> Any:
    """A number of pandas as one of Python."""
    import pandas as pd

    return None if pd.isna(value) else value if isinstance(value, str) else int(value)


def ask_delta(tables: Path, _: pytest.FixtureRequest) -> list[Answer]:
    """The same files with a log of Delta Lake. Spark needs jars of delta-spark to read it, which pip does not bring."""
    deltalake = pytest.importorskip("deltalake", reason="needs the extra delta")
    duckdb = pytest.importorskip("duckdb", reason="needs the extra duckdb")
    delta_tables.write_logs(str(tables))
    connection, names = duckdb.connect(), {name: name for name in ("exchanges", "messages", "summaries")}
    for name in names:
        connection.register(name, deltalake.DeltaTable(tables / name).to_pyarrow_dataset())
    return [connection.sql(question.format_map(names)).fetchall() for question in QUESTIONS]


ENGINES: Mapping[str, Callable[[Path, pytest.FixtureRequest], list[Answer]]] = {
    "polars": ask_polars,
    "pandas": ask_pandas,
    "spark": ask_spark,
    "delta": ask_delta,
}


@pytest.mark.parametrize("engine", ENGINES)
def test_five_questions(engine: str, tables: Path, request: pytest.FixtureRequest) -> None:
    expected = ask_duckdb(tables, request)
    assert all(expected)
    assert ENGINES[engine](tables, request) == expected


def blocks(document: str, kind: str) -> list[str]:
    """The examples of a kind in a document."""
    return re.findall(rf"^```{kind}\n(.*?)^```", (ROOT / document).read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_questions_in_sql(spark: SparkSession) -> None:
    wireanalyze.spark.register(spark)
    for name in ("exchanges", "summaries"):
        frame = spark.read.format("wireanalyze").option("table", name).load(str(GOLDEN / "k4_errors.pcap.zst"))
        frame.cache().createOrReplaceTempView(name)
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


@pytest.mark.slow
def test_questions_of_the_how_to(spark: SparkSession, tmp_path: Path) -> None:
    options = Options(bodies=parse_bodies(["kafka.Fetch.request"]))
    job.run(spark, find_captures([str(ROOT / "captures" / "kafka.pcap")]), str(tmp_path), options)
    asked = ([line for line in block.splitlines() if line] for block in blocks("docs/how-to/spark.md", "sql"))
    protocol, other, (typed,) = asked
    assert [re.sub(r"'tables/(\w+)/\*/\*/\*\.parquet'", r"parquet.`tables/\1`", line) for line in other] == protocol
    slow, versions, topics = (spark.sql(line.replace("`tables/", f"`{tmp_path}/")).collect() for line in protocol)
    assert slow[0].ms == max(row.ms for row in slow if row.ms is not None) > 0
    assert {row.operation for row in slow} >= {"Fetch", "Produce", "Metadata"}
    assert all(row.oldest <= row.newest for row in versions if row.oldest is not None)
    assert topics
    waits = spark.sql(typed.replace("`tables/", f"`{tmp_path}/")).collect()
    assert {wait for _, wait in waits} == {500}
    assert all(row.topic and row.requests >= row.errors for row in topics)
