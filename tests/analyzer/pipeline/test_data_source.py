"""Spark's data source: the rows of one process, with less work where a query wants less, and a ring as a stream."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")
pytest.importorskip("pyspark", reason="the extra wireanalyze[pipeline] is not installed")

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.datasource import EqualTo, GreaterThanOrEqual, In, InputPartition
from pyspark.sql.types import StructType

from analyzer.decode.jsonable import Limits
from analyzer.errors import UserError
from analyzer.messages.decode_as import DecodeAsRules
from analyzer.pipeline.capture_rows import WHOLE, WHOLE_TABLES, Share, build_capture_rows
from analyzer.pipeline.data_source import CaptureReader, CaptureSource
from analyzer.pipeline.data_stream import CaptureStreamReader
from analyzer.pipeline.source_options import SourceOptions
from analyzer.pipeline.sources import find_captures
from analyzer.session import Session
from analyzer.tables.options import Options
from analyzer.tables.origins import CountingOrigins
from analyzer.tables.table_builder import build_tables
from analyzer.tables.table_schemas import TABLES, build_schema
from tests.analyzer.pipeline.house import (
    GOLDEN,
    ROOT,
    build_all_tables,
    cut,
    frames_of,
    in_order,
    rows_by_table,
    single,
    without_files,
)
from tests.analyzer.pipeline.test_questions import blocks
from tests.analyzer.pipeline.test_ring import build, moved
from tests.analyzer.wire import CLIENT, Talk, frames, segments
from wireanalyze.spark import register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture in two files, which names topics in one connection and uses their ids in others, and another one."""
    folder = tmp_path_factory.mktemp("captures")
    cut(folder / "two", frames_of(GOLDEN / "k4_java_share.pcap.zst"), ["1.pcap", "2.pcap"])
    shutil.copy(GOLDEN / "k24_sasl_v0.pcap.zst", folder)
    return folder


def test_every_table_has_the_rows_of_one_process(captures: Path) -> None:
    """Whatever shares the connections are divided into; see test_the_how_to for Spark."""
    found: dict[str, list[pa.RecordBatch]] = {table: [] for table in TABLES}
    for _, group in groupby(find_captures([str(captures)]).files, key=lambda file: file.capture_name):
        files = list(group)
        for table in TABLES:
            for share in [WHOLE] if table in WHOLE_TABLES else [Share(0, 2), Share(1, 2)]:
                found[table] += build_capture_rows(files, Options(), table, share)
    rows = {name: in_order(name, pa.Table.from_batches(found[name], build_schema(name))) for name in TABLES}
    assert without_files(rows) == without_files(single(captures))
    assert any("js" in row["topics"] for row in rows["messages"])


def test_bodies_have_types_of_their_own(captures: Path) -> None:
    """In shares as in one process; the schema follows from the option."""
    given = {"path": str(captures), "fields_of": "kafka.ShareFetch, kafka.Metadata.response"}
    query = SourceOptions.parse(given)
    bodies = query.options.bodies
    columns = build_schema("messages", bodies=bodies)
    batches = [
        batch
        for _, group in groupby(query.find_files(), key=lambda file: file.capture_name)
        for files in [list(group)]
        for share in (Share(0, 2), Share(1, 2))
        for batch in build_capture_rows(files, query.options, "messages", share)
    ]
    rows = in_order("messages", pa.Table.from_batches(batches, columns))
    assert rows == rows_by_table(build_all_tables(query.find_files(), query.options), bodies=bodies)["messages"]
    assert sum(row["fields"] is not None for row in rows) > 9
    assert CaptureSource(given).schema()["fields"].dataType.names == bodies.names


@pytest.mark.slow
def test_the_how_to(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query on Spark: what it does not want is not made; the rest is as in a table, with the types of Spark."""
    monkeypatch.chdir(ROOT)
    place: dict[str, Any] = {"spark": spark}
    for text in blocks("docs/how-to/notebooks.md", "python"):
        exec(text, place)  # it is ours
    with Session(["captures/kafka.pcap"]).load() as session:
        made = build_tables(session, CountingOrigins("c", ["f"]), Options(fields=False), named=["exchanges"])
        rows = [row for _, batch in made for row in batch.to_pylist()]
    slow = Counter(row["operation"] for row in rows if (row["latency_ns"] or 0) > 20e6)
    assert slow
    assert {row.operation: row["count"] for row in place["slow"].collect()} == slow
    assert {row.name for row in place["errors"].collect()} == {
        row["error"]["name"] for row in rows if row["operation"] == "Produce" and row["error"]
    }


@pytest.mark.parametrize("shown", [False, True])
def test_secrets(shown: bool) -> None:
    files = find_captures([str(GOLDEN / "k24_sasl_v0.pcap.zst")]).files
    rows = build_capture_rows(files, Options(limits=Limits(show_secrets=shown)), "messages")
    masked = [text for batch in rows for text in batch.column("fields").to_pylist() if '"redacted":true' in text]
    assert bool(masked) is not shown


def test_decode_as(tmp_path: Path) -> None:
    """A request that no version of Kafka knows, on a port that is nobody's."""
    strange = Talk(((CLIENT, b"\0\0\0\x0c\x03\xe7\0\1\0\0\0\1\xff\xffme"),), (("10.0.0.1", 40_000), ("10.0.0.2", 5)))
    cut(tmp_path / "in", frames(segments(strange), strange), ["1.pcap"])
    files = find_captures([str(tmp_path)]).files
    rules: tuple[DecodeAsRules, ...] = ((), ((5, "kafka"),))
    found = [
        [
            name
            for batch in build_capture_rows(files, Options(each), "messages")
            for name in batch["protocol"].to_pylist()
        ]
        for each in rules
    ]
    assert found == [["unknown"], ["kafka"]]


def columns(table: str) -> StructType:
    return CaptureSource({"table": table, "path": "x"}).schema()


def test_what_a_query_does_not_want_is_not_made(spark: SparkSession, captures: Path) -> None:
    query = SourceOptions.parse({"path": str(captures), "table": "messages"})
    found = CaptureReader(
        query, StructType.fromDDL("capture STRING, operation STRING, time_ns BIGINT, source_ip STRING")
    )
    everything = pa.Table.from_batches(batch for each in found.partitions() for batch in found.read(each))
    middle = sorted(everything["time_ns"].to_pylist())[len(everything) // 2]
    filters = [
        EqualTo(("capture",), str(captures)),
        EqualTo(("error",), {"name": "x"}),
        In(("operation",), ("Metadata", "SaslHandshake")),
        GreaterThanOrEqual(("time_ns",), middle),
    ]
    assert list(found.pushFilters(filters)) == filters
    partitions = found.partitions()
    assert [files[0].name for files, _ in (each.value for each in partitions)] == ["k24_sasl_v0.pcap.zst"]
    rows = [row for batch in found.read(partitions[0]) for row in batch.to_pylist()]
    assert rows == [
        row
        for row in everything.to_pylist()
        if row["capture"] == str(captures) and row["operation"] in filters[2].value and row["time_ns"] >= middle
    ]
    assert rows
    assert {row["source_ip"] for row in rows} == {"127.0.0.1"}
    list(found.pushFilters([EqualTo(("capture",), "another")]))
    assert not found.partitions()
    assert not list(found.read(InputPartition(None)))  # as Spark asks where there is none


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"tabel": "x"}, "The data source has no option 'tabel'."),
        ({"table": "x"}, "There is no table 'x'. Give one of messages,"),
        ({"table": "names"}, "No capture was given."),
        ({"path": "x", "window": "a"}, "An option of the data source is wrong: invalid literal"),
        ({"path": "x", "fields": "false", "fields_of": "kafka.Fetch"}, "The options for all bodies (fields) and for"),
        ({"path": "x", "fields": "no"}, "An option of the data source is wrong: fields is 'no'. Give true or false."),
        ({"path": "x", "partitions": "0"}, "An option of the data source is wrong: partitions is 0. Give 1 or more."),
        (
            {"path": "x", "decode_as": "stream==1=kafka"},
            "An option of the data source is wrong: Streams have no numbers.",
        ),
        ({"path": "x", "decode_as": "1=x"}, "An option of the data source is wrong: There is no protocol 'x'"),
    ],
)
def test_wrong_options_are_a_sentence(given: dict[str, str], text: str) -> None:
    with pytest.raises(UserError) as raised:
        SourceOptions.parse(given)
    assert str(raised.value).startswith(text)


@pytest.mark.parametrize("table", ["messages", "exchanges"])
def test_a_stream_has_each_row_once(spark: SparkSession, table: str, tmp_path: Path) -> None:
    """Each batch finds some more files, is made twice, and those of before are gone."""
    build(tmp_path / "whole")
    live, state = tmp_path / "ring", tmp_path / "state"
    live.mkdir()
    given = {"path": str(live), "table": table, "state": str(state)}
    files, rows = sorted((tmp_path / "whole").iterdir()), list[pa.RecordBatch]()
    offset = CaptureStreamReader(SourceOptions.parse(given), columns(table)).initialOffset()
    for some in (files[:3], files[3:4], files[4:]):
        for path in live.iterdir():
            path.unlink()
        for path in some:
            path.rename(live / path.name)
        reader = CaptureStreamReader(SourceOptions.parse(given), columns(table))
        end = reader.latestOffset(offset)
        other = CaptureStreamReader(SourceOptions.parse({**given, "table": "streams"}), columns("streams"))
        with pytest.raises(UserError, match="is the state of another query"):
            other.initialOffset()
        assert (end, reader.latestOffset(offset)) == ({"batch": offset["batch"] + 1}, end)
        tries = [[batch for each in reader.partitions(offset, end) for batch in reader.read(each)] for _ in range(2)]
        assert tries[0] == tries[1]
        rows, offset = [*rows, *tries[1]], end
        (chain,) = (path for path in state.iterdir() if path.is_dir())
        (chain / "_batch-killed").mkdir()
        reader.commit(end)
        assert os.listdir(chain) == [f"open-{end['batch']}"]
        assert reader.latestOffset(end) == end
    found = pa.Table.from_batches(rows).select(build_schema(table).names).cast(build_schema(table))
    build(tmp_path / "whole_again")
    expected = moved(single(tmp_path / "whole_again"), live)[table]
    ended = [row for row in expected if row.get("answered") is not False and row.get("partner_id", "") is not None]
    assert ended
    known = {(row["capture"], row.get("id") or row.get("request_id")) for row in ended}
    mine = in_order(table, found)
    assert [row for row in mine if (row["capture"], row.get("id") or row.get("request_id")) in known] == ended
    assert len(os.listdir(state)) == 2
    with pytest.raises(UserError, match="is the state of another query"):
        reader.initialOffset()


def test_spark_streams_what_a_ring_has(spark: SparkSession, tmp_path: Path) -> None:
    register(spark)
    cut(tmp_path / "ring", frames_of(ROOT / "captures" / "kafka.pcap"), ["1.pcap"])
    os.utime(tmp_path / "ring" / "1.pcap", (1, 1))
    given = {"table": "exchanges", "state": str(tmp_path / "state")}
    rows = spark.readStream.format("wireanalyze").options(**given).load(str(tmp_path / "ring")).select("request_id")
    written = rows.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    written.start(str(tmp_path / "rows")).awaitTermination()
    found = pq.read_table(tmp_path / "rows").column("request_id").to_pylist()
    assert sorted(found) == sorted(
        row["request_id"] for row in single(tmp_path / "ring")["exchanges"] if row["answered"]
    )


STREAM = """
import sys
from pyspark.sql import SparkSession
from wireanalyze.spark import register
folder, forever = sys.argv[1], sys.argv[2] == "forever"
conf = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false"}
spark = SparkSession.builder.master("local[1]").config(map=conf).getOrCreate()
register(spark)
given = {"table": "exchanges", "state": f"{folder}/state"}
rows = spark.readStream.format("wireanalyze").options(**given).load(f"{folder}/ring").select("request_id")
query = rows.writeStream.option("checkpointLocation", f"{folder}/checkpoint")
query = query.trigger(processingTime="0 seconds") if forever else query.trigger(availableNow=True)
query.start(f"{folder}/rows").awaitTermination()
"""


@pytest.mark.slow
def test_a_stream_whose_driver_was_killed_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    """Killed while it made the second of three batches; the rows are those of one process, each once."""
    frames = frames_of(ROOT / "captures" / "kafka.pcap")
    cut(tmp_path / "all", frames, ["1.pcap", "2.pcap", "3.pcap"])
    (tmp_path / "ring").mkdir()

    def add(name: str) -> None:
        shutil.copy(tmp_path / "all" / name, tmp_path / "draft")
        os.utime(tmp_path / "draft", (1, 1))
        os.rename(tmp_path / "draft", tmp_path / "ring" / name)

    def wait_for(pattern: str) -> None:
        end = time.monotonic() + 120
        while not list(tmp_path.glob(pattern)):
            assert time.monotonic() < end, pattern
            time.sleep(0.02)

    command = [sys.executable, "-c", STREAM, str(tmp_path)]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    add("1.pcap")
    driver = subprocess.Popen([*command, "forever"], stderr=subprocess.DEVNULL, env=environment, start_new_session=True)
    try:
        wait_for("checkpoint/commits/0")
        add("2.pcap")
        wait_for("checkpoint/offsets/1")
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    assert not (tmp_path / "checkpoint" / "commits" / "1").exists()
    add("3.pcap")
    for _ in range(2):  # the first run with availableNow ends with what was begun before
        subprocess.run([*command, "once"], stderr=subprocess.DEVNULL, env=environment, check=True, timeout=180)
    found = [row.request_id for row in spark.read.parquet(str(tmp_path / "rows")).collect()]
    expected = [row["request_id"] for row in single(tmp_path / "all")["exchanges"] if row["answered"]]
    assert sorted(found) == sorted(expected)


def test_a_stream_needs_a_state(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="A stream needs a folder"):
        CaptureStreamReader(SourceOptions.parse({"path": str(tmp_path)}), StructType())
