"""Names stand in the place of ids, whoever has read the message that told them; files are written again for it."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyzer.pipeline import finish

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")

import pyarrow as pa
import pyarrow.parquet as pq

from analyzer.capture.packets import PacketReader
from analyzer.pipeline.finish import add_required_tables, finish_tables, replace_ids, rewrite_file
from analyzer.session import Session
from analyzer.tables.arrow_columns import TableBatch, build_batch
from analyzer.tables.options import Options
from analyzer.tables.origins import CountingOrigins
from analyzer.tables.parquet_files import ParquetSink
from analyzer.tables.table_builder import build_tables
from analyzer.tables.table_schemas import ALL_TABLES, build_schema
from analyzer.tables.topic_names import TopicNames, index_names, merge_names, select_first_names
from tests.analyzer.pipeline.house import GOLDEN, ROOT, frames_of
from tests.analyzer.wire import write
from tests.effort import steps

PLACES = ("file", "first_record", "last_record", "number")
"""Columns that tell apart what was cut; all others are the same."""

NAMES: TopicNames = {"a": {"id1": "one", "id2": "two"}, "b": {"id1": "other"}}


def apart(path: Path, folder: Path, parts: int) -> list[Path]:
    """The connections of a capture, dealt out to several."""
    packets = frames_of(path)
    with PacketReader([path]) as capture:
        owner = {
            number - 1: flow % parts
            for block in capture.blocks()
            for number, flow in zip(block.number.tolist(), block.flow.tolist(), strict=True)
        }
    found = []
    for part in range(parts):
        found.append(folder / f"{part}.pcap")
        write(found[-1], [packet for number, packet in enumerate(packets) if owner.get(number) == part])
    return found


def made(path: Path) -> list[TableBatch]:
    with Session([path]).load() as session:
        return list(
            build_tables(session, CountingOrigins("c", ["f"]), Options(), named=add_required_tables(ALL_TABLES))
        )


def rows(found: Iterable[TableBatch]) -> dict[str, list[Any]]:
    """Of each table, in an order of their own."""
    every: dict[str, list[Any]] = defaultdict(list)
    for table, batch in found:
        every[table] += [{key: value for key, value in row.items() if key not in PLACES} for row in batch.to_pylist()]
    return {table: sorted(mine, key=repr) for table, mine in every.items()}


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        (GOLDEN / "k4_java_share.pcap.zst", 3),
        (GOLDEN / "k4_java_txn.pcap.zst", 2),
        (ROOT / "captures/kafka-4.4.pcap.zst", 5),
    ],
    ids=str,
)
def test_it_does_not_matter_who_has_read_what(path: Path, parts: int, tmp_path: Path) -> None:
    several = [each for part in apart(path, tmp_path, parts) for each in made(part)]
    several.sort(key=lambda each: each.table != "names")
    (alone,) = apart(path, tmp_path, 1)
    one, other = rows(finish_tables(made(alone), ALL_TABLES)), rows(finish_tables(several, ALL_TABLES))
    assert one["names"]
    assert set(one) == set(other)
    for table, mine in one.items():
        assert mine == other[table], table
    known = {row["id"]: row["name"] for row in one["names"]}
    reported = {topic for row in one["messages"] for topic in row["topics"]}
    assert set(known.values()) & reported
    assert not set(known) & reported


def test_names_of_many_batches_are_indexed_once() -> None:
    def told(count: int) -> list[TableBatch]:
        columns = build_schema("names")
        found = [{"capture": "x", "kind": "topic", "id": f"id {each}", "name": str(each)} for each in range(count)]
        return [TableBatch("names", pa.RecordBatch.from_pylist([each], columns)) for each in found]

    few, many = told(10), told(80)
    assert len(rows(finish_tables(many, ["names"]))["names"]) == 80
    work = [steps(partial(list, finish_tables(found, ["names"]))) for found in (few, many)]
    assert work[1] < 12 * work[0]


def batch(capture: list[str], topics: list[Any], *, listed: bool = True) -> pa.RecordBatch:
    name, kind = ("topics", pa.list_(pa.string())) if listed else ("topic", pa.string())
    return pa.record_batch({"capture": pa.array(capture), name: pa.array(topics, kind), "n": range(len(topics))})


def test_lists_of_names() -> None:
    """Each thing once, where it came first; captures have names of their own."""
    before = [["id1"], ["x", "id2", "two", "id1"], ["id1", "id2"], [], ["id3", "id3"]]
    after = replace_ids("messages", batch(["a", "a", "b", "a", "a"], before), NAMES)
    assert after.column("topics").to_pylist() == [["one"], ["x", "two", "one"], ["other", "id2"], [], ["id3"]]
    assert after.column("n").to_pylist() == list(range(5))
    assert after.schema == batch(["a"], [[]]).schema


def test_single_names() -> None:
    after = replace_ids("records", batch(["b", "a", "a"], ["id1", None, "id2"], listed=False), NAMES)
    assert after.column("topic").to_pylist() == ["other", None, "two"]


@pytest.mark.parametrize("table", ["messages", "streams"])
def test_what_has_no_ids_stays(table: str) -> None:
    mine = batch(["a", "c"], [["x"], ["id1"]])
    assert replace_ids(table, mine, NAMES) is mine


def names(*told: tuple[str, str, int]) -> pa.RecordBatch:
    ids, text, times = zip(*told, strict=True)
    columns = {"capture": "c", "kind": "topic", "protocol": "kafka", "id": list(ids), "name": list(text)}
    days = np.zeros(len(told), np.int32)
    return build_batch("names", {**columns, "time_ns": np.array(times), "date": days}, Options())


def test_the_first_name_counts() -> None:
    """The earliest, of several at one time the first by its letters; none that an earlier run has told."""
    parts = [names(("i", "late", 9), ("j", "b", 5)), names(("i", "early", 3), ("j", "a", 5), ("k", "old", 1))]
    found = [(row["id"], row["name"], row["time_ns"]) for each in select_first_names(parts) for row in each.to_pylist()]
    assert found == [("i", "early", 3), ("j", "a", 5), ("k", "old", 1)]
    assert index_names(parts) == {"c": {"i": "early", "j": "a", "k": "old"}}
    new = [row["id"] for each in select_first_names(parts, {"c": {"k": "older"}}) for row in each.to_pylist()]
    assert new == ["i", "j"]
    assert merge_names({"c": {"k": "older"}}, index_names(parts))["c"] == {"i": "early", "j": "a", "k": "older"}


def test_a_file_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analyzer.tables.parquet_files.ROW_GROUP_BYTES", 1)  # a row group for each batch
    sink = ParquetSink(str(tmp_path), "part")
    for number in range(3):
        rows = {
            name: pa.nulls(2, field.type) for name, field in ((each.name, each) for each in build_schema("records"))
        }
        rows |= {"capture": pa.array(["a", "b"]), "topic": pa.array(["id1", f"x{number}"])}
        rows |= {"date": pa.array([0, 0], pa.date32()), "protocol": pa.array(["kafka", "kafka"])}
        sink.add(TableBatch("records", pa.record_batch(rows, build_schema("records"))))
    (written,) = sink.close()
    path = str(tmp_path / written.path)
    before = pq.read_schema(path)
    assert not rewrite_file(path, "records", {"b": {"id1": "other"}})
    assert not rewrite_file(path, "streams", NAMES)
    assert rewrite_file(path, "records", NAMES)
    assert not rewrite_file(path, "records", NAMES)
    assert pq.read_table(path, partitioning=None).column("topic").to_pylist() == ["one", "x0", "one", "x1", "one", "x2"]
    assert pq.read_schema(path).equals(before, check_metadata=True)
    assert pq.read_metadata(path).num_row_groups == 3
    assert pq.read_metadata(path).row_group(0).column(0).compression == "ZSTD"
    assert os.listdir(os.path.dirname(path)) == ["part.parquet"]


def test_what_needs_names() -> None:
    assert set(add_required_tables(["streams"])) == {"streams"}
    assert all("names" in add_required_tables([table]) for table in (*finish.TOPIC_COLUMNS, "summaries"))
