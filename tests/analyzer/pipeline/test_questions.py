"""The same five questions to the same Parquet files in DuckDB, polars, pandas and Spark SQL: each gives one answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[parquet] is not installed")

from analyzer.pipeline.local_export import build_all_tables
from analyzer.pipeline.options import Options
from analyzer.pipeline.parquet_files import ParquetSink
from analyzer.pipeline.sources import find_captures
from tests.analyzer.pipeline.house import ROOT

pytestmark = pytest.mark.xdist_group("spark")

Answer = list[tuple[Any, ...]]

SLOW = "SELECT operation, count(*) n, max(latency_ns) ns FROM {exchanges} GROUP BY operation ORDER BY operation"
OLD = "SELECT client, min(version) v FROM {messages} WHERE client IS NOT NULL GROUP BY client ORDER BY client"
ERRORS = "SELECT topic, sum(errors) n FROM {summaries} WHERE topic != '' GROUP BY topic HAVING n > 0 ORDER BY topic"
BYTES = "SELECT role, sum(length) n FROM {messages} GROUP BY role ORDER BY role"
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
        messages.group_by("role").agg(pl.col("length").sum()),
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
        messages.groupby("role").length.sum(),
        named,
    )
    rows = [answer.reset_index().itertuples(index=False, name=None) for answer in answers]
    return [sorted(tuple(map(to_python, row)) for row in answer) for answer in rows]


def to_python(value: Any) -> Any:
    """A number of pandas as one of Python."""
    import pandas as pd

    return None if pd.isna(value) else value if isinstance(value, str) else int(value)


ENGINES: Mapping[str, Callable[[Path, pytest.FixtureRequest], list[Answer]]] = {
    "polars": ask_polars,
    "pandas": ask_pandas,
    "spark": ask_spark,
}


@pytest.mark.parametrize("engine", ["polars", "pandas", pytest.param("spark", marks=pytest.mark.slow)])
def test_five_questions(engine: str, tables: Path, request: pytest.FixtureRequest) -> None:
    expected = ask_duckdb(tables, request)
    assert all(expected)
    assert ENGINES[engine](tables, request) == expected
