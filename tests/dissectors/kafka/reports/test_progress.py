"""Progress: positions, lag and commits of each group and partition."""

from __future__ import annotations

from typing import Any

from dissectors.kafka.reports.progress import ProgressReport
from tests.dissectors.kafka.reports.builder import ReportBuilder


def fetch(
    found: ReportBuilder, offset: int | None, batches: list[tuple[int, int]], end: int, error: int = 0, **more: Any
) -> int:
    """A Fetch of t[0], its offset where the request names one, and batches of (first offset, records)."""
    topics = [] if offset is None else [{"topic": "t", "partitions": [{"partition": 0, "fetchOffset": offset}]}]
    records = [{"baseOffset": base, "lastOffsetDelta": n - 1, "count": n, "length": 10 * n} for base, n in batches]
    partition = {"partitionIndex": 0, "errorCode": error, "highWatermark": end, "records": records}
    requested = {"replicaId": more.pop("replica", -1), "topics": topics}
    return found.call("Fetch", requested, {"responses": [{"topic": "t", "partitions": [partition]}]}, **more)


def commit(found: ReportBuilder, offset: int, error: int = 0, **more: Any) -> int:
    """An OffsetCommit of t[0]."""
    requested = {
        "groupId": "g",
        "topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "committedOffset": offset}]}],
    }
    reported = {"topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "errorCode": error}]}]}
    return found.call("OffsetCommit", requested, reported, **more)


def test_a_group_reads_a_partition() -> None:
    found = ReportBuilder(ProgressReport)
    found.send("Heartbeat", {"groupId": "g"})
    fetch(found, 10, [(10, 5)], 100)
    fetch(found, None, [(15, 10), (25, 5)], 120, after=999)
    commit(found, 30)
    (row,) = found.finish()
    assert (row["group"], row["topic"], row["partition"], row["consumer"], row["readers"]) == ("g", "t", 0, "c1", 1)
    assert (row["started"], row["position"], row["high_watermark"]) == (10, 30, 120)
    assert (row["lag"], row["first_lag"], row["most_lag"]) == (90, 85, 90)
    assert (row["fetches"], row["records"], row["bytes"]) == (2, 20, 200)
    assert (row["records_a_second"], row["bytes_a_second"]) == (20, 200)
    assert (row["committed"], row["committed_by"], row["commit_lag"], row["commits"]) == (30, "c1", 90, 1)
    assert (row["back"], row["errors"]) == (0, [])


def test_a_fetch_belongs_to_the_group_of_its_client() -> None:
    found = ReportBuilder(ProgressReport)
    found.send("Heartbeat", {"groupId": "g"}, stream=1)
    fetch(found, 0, [(0, 1)], 1, stream=1)
    fetch(found, 0, [(0, 1)], 1, stream=2)
    assert found.only("group", "consumer") == [("g", "c1"), (None, "c2")]


def test_followers_are_no_readers() -> None:
    found = ReportBuilder(ProgressReport)
    fetch(found, 0, [(0, 1)], 1, replica=2)
    assert found.finish() == []


def test_commits_that_go_back_or_are_refused() -> None:
    found = ReportBuilder(ProgressReport)
    commit(found, 50)
    back = commit(found, 20)
    commit(found, 60, error=22)
    (row,) = found.finish()
    assert (row["commits"], row["back"], row["committed"], row["errors"]) == (3, 1, 60, ["ILLEGAL_GENERATION"])
    assert found.said(back) == ["goes back: group g, t[0]"]


def test_errors_of_fetches() -> None:
    found = ReportBuilder(ProgressReport)
    fetch(found, 99_999, [], -1, error=1)
    assert found.only("position", "high_watermark", "errors") == [(99_999, None, ["OFFSET_OUT_OF_RANGE"])]


def test_where_a_group_goes_on() -> None:
    found = ReportBuilder(ProgressReport)
    topics = [{"name": "t", "partitions": [{"partitionIndex": 0, "committedOffset": 7}]}]
    found.call("OffsetFetch", {}, {"groups": [{"groupId": "g", "topics": topics}]})
    assert found.only("group", "committed", "commits") == [("g", 7, 0)]
