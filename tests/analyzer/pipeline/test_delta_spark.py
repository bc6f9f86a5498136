"""Spark's own Delta Lake reads the tables, at once and as a stream, in a Spark of its own.

delta-spark is built for one release of Spark, mostly an older one than ours. WIREANALYZE_DELTA_PYTHON names a Python
whose PySpark has the jars delta-spark and delta-storage, and what they need, among its own.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("deltalake", reason="the extra wireanalyze[delta] is not installed")

from analyzer.pipeline.delta_tables import add_batches, compact_tables, write_logs
from tests.analyzer.pipeline.house import GOLDEN, ROOT
from tests.analyzer.pipeline.test_delta_tables import PART, count, write
from tests.analyzer.pipeline.test_questions import QUESTIONS, ask_duckdb

PYTHON = os.environ.get("WIREANALYZE_DELTA_PYTHON", "")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("spark"),
    pytest.mark.skipif(not PYTHON, reason="WIREANALYZE_DELTA_PYTHON names no Python with delta-spark"),
]

_ASK = """
import json, sys
from pyspark.sql import SparkSession
tables, work, questions = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
conf = {
    "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2", "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
spark = SparkSession.builder.master("local[2]").config(map=conf).getOrCreate()
names = {name: f"delta.`{tables}/{name}`" for name in ("exchanges", "messages", "summaries")}
answers = [[list(row) for row in spark.sql(text.format_map(names)).collect()] for text in questions]
stream = spark.readStream.format("delta").option("ignoreChanges", "true").load(f"{tables}/messages").writeStream
stream = stream.option("checkpointLocation", f"{work}/checkpoint").trigger(availableNow=True)
stream.start(f"{work}/streamed", format="parquet").awaitTermination()
streamed = spark.read.parquet(f"{work}/streamed")
print(json.dumps([answers, streamed.count(), streamed.distinct().count()]))
"""


def ask(tables: Path, work: Path) -> tuple[list[list[tuple[object, ...]]], int, int]:
    """The five answers; rows that a stream from the messages has written, and how many of them differ."""
    alone = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK", "PYSPARK", "PYTHON"))}
    command = [PYTHON, "-c", _ASK, str(tables), str(work), json.dumps(QUESTIONS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=alone)
    assert done.returncode == 0, done.stderr[-3000:]
    answers, rows, different = json.loads(done.stdout.splitlines()[-1])
    return [[tuple(row) for row in answer] for answer in answers], rows, different


def test_tables_that_are_written_once(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    tables = tmp_path / "tables"
    write(tables, "part-00000", ROOT / "captures" / "kafka.pcap")
    write_logs(str(tables))
    assert ask(tables, tmp_path) == (ask_duckdb(tables, request), 648, 648)


def test_batches_that_are_compacted(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    tables = tmp_path / "tables"
    write(tables, PART.format(1) + "0", ROOT / "captures" / "kafka.pcap")
    write(tables, PART.format(2) + "0", GOLDEN / "k24_sasl_v0.pcap.zst")
    add_batches(str(tables), PART, 2)
    expected, rows = ask_duckdb(tables, request), count(tables, "messages")
    compact_tables(str(tables))
    assert ask(tables, tmp_path) == (expected, rows, rows)
