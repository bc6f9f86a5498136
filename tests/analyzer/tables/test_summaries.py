"""Summaries are the sums of what stands in the tables `exchanges` and `messages`, however they were added up."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from analyzer.query.response_errors import load_nothing_new

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")

import pyarrow as pa

from analyzer.pipeline.finish import add_required_tables, finish_tables
from analyzer.session import Session
from analyzer.tables.options import Options
from analyzer.tables.origins import CountingOrigins
from analyzer.tables.summaries import PARTS, merge_summaries
from analyzer.tables.table_builder import build_tables
from analyzer.tables.table_schemas import build_schema
from tests.analyzer.pipeline.house import GOLDEN, ROOT
from tests.analyzer.tables.test_latencies import plain

SECOND = 10**9
WANTED = ("messages", "exchanges", "summaries")
CAPTURES = {
    "kafka": GOLDEN / "k4_java_internal.pcap.zst",
    "pulsar": GOLDEN.parent / "pulsar" / "java4_errors.pcap.zst",
    "rocketmq": GOLDEN.parent / "rocketmq" / "m550_json_tx_lab_tx.pcap.zst",
    "mixed": ROOT / "captures" / "mixed.pcapng",
}
KEY = ("date", "window_ns", "capture", "protocol", "role", "operation", "version", "client", "topic")


def counted(exchanges: Iterable[dict[str, Any]], messages: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What each of them counts for."""
    for row in exchanges:
        error, latency = row["error"], row["latency_ns"]
        is_empty = error is not None and error["code"] in load_nothing_new().get(
            (row["protocol"], row["operation"]), ()
        )
        yield {
            **row,
            "role": "request",
            "time": row["request_time_ns"],
            "answers": int(row["answered"]),
            "errors": int(error is not None and not is_empty),
            "request_bytes": row["request_length"],
            "response_bytes": row["response_length"] or 0,
            "waited": [] if latency is None else [latency],
        }
    for row in messages:
        if row["role"] in ("oneway", "push"):
            nothing = dict.fromkeys(("answers", "errors", "response_bytes"), 0)
            yield {**row, **nothing, "time": row["time_ns"], "request_bytes": row["length"], "waited": []}


def expected(rows: Iterable[dict[str, Any]], window: int) -> dict[tuple[Any, ...], dict[str, Any]]:
    sums: dict[tuple[Any, ...], Counter[str]] = defaultdict(Counter)
    waited: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for row in rows:
        row["window_ns"] = row["time"] - row["time"] % (window * SECOND)
        for topic in (None, *row["topics"]):
            key = tuple({**row, "topic": topic}[name] for name in KEY if name != "date")
            sums[key]["messages"] += 1
            for name in ("answers", "errors", "request_bytes", "response_bytes"):
                sums[key][name] += row[name]
            waited[key] += row["waited"]
    return {
        key: {
            **{name: found[name] for name in ("messages", "answers", "errors", "request_bytes", "response_bytes")},
            "latency_sum_ns": sum(waited[key]),
            "latency_max_ns": max(waited[key], default=None),
            "latency": [
                {"bucket": bucket, "count": count} for bucket, count in sorted(Counter(map(plain, waited[key])).items())
            ],
        }
        for key, found in sums.items()
    }


@pytest.mark.sampled(4)
@pytest.mark.parametrize("window", [60, 1])
@pytest.mark.parametrize("name", CAPTURES)
def test_they_are_what_the_other_tables_add_up_to(name: str, window: int) -> None:
    with Session([CAPTURES[name]]).load() as session:
        found: dict[str, list[dict[str, Any]]] = {table: [] for table in WANTED}
        made = build_tables(
            session, CountingOrigins("c", ["f"]), Options(window=window), named=add_required_tables(WANTED)
        )
        for table, batch in finish_tables(made, WANTED):
            found[table] += batch.to_pylist()
    sums = expected(counted(found["exchanges"], found["messages"]), window)
    rows = {tuple(row[name] for name in KEY if name != "date"): row for row in found["summaries"]}
    assert len(rows) == len(found["summaries"])
    assert {key: {name: row[name] for name in sums[key]} for key, row in rows.items()} == sums
    assert sum(row["messages"] for key, row in rows.items() if key[-1] is None and row["role"] == "request") == len(
        found["exchanges"]
    )
    assert any(row["latency"] for row in rows.values())


def parts(path: Path) -> list[pa.RecordBatch]:
    with Session([path]).load() as session:
        made = build_tables(session, CountingOrigins("c", ["f"]), Options(), named=("summaries",))
        return [batch for table, batch in made if table == PARTS]


def test_they_may_be_added_up_in_any_order() -> None:
    every = [batch for path in CAPTURES.values() for batch in parts(path)]
    rows = [row for batch in merge_summaries(every) for row in batch.to_pylist()]
    single = [batch.slice(place, 1) for batch in reversed(every) for place in range(len(batch))]
    assert [row for batch in merge_summaries(single) for row in batch.to_pylist()] == rows
    assert all(batch.schema == build_schema("summaries") for batch in merge_summaries(every))
    assert list(merge_summaries([])) == []


def test_a_name_and_its_id_are_one_topic() -> None:
    """A part that has both counts once for the name, and once for all."""
    (part, *_) = parts(CAPTURES["kafka"])
    one = part.slice(0, 1).to_pylist()[0] | {"messages": 3, "bucket": 5, "answers": 3}
    rows = [one | {"topics": '["id1", "one"]', "is_list": True}, one | {"topics": "id1", "is_list": False}]
    found = merge_summaries([pa.RecordBatch.from_pylist(rows, part.schema)], {"c": {"id1": "one"}})
    counts = [(row["topic"], row["messages"], row["latency"]) for batch in found for row in batch.to_pylist()]
    assert counts == [("one", 6, [{"bucket": 5, "count": 6}]), (None, 6, [{"bucket": 5, "count": 6}])]
