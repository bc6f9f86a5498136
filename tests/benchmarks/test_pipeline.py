"""What is made of figures of the pipeline: of Spark's log, of captures in many files, and of what one core does."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from analyzer.session import Session
from benchmarks.captures import write
from benchmarks.cluster import Cluster, Heap, Measured, needed, report, rows, scan
from benchmarks.eventlog import OTHER, REDUCE, SCAN, Stage, settings, stages
from benchmarks.kafka import ONE_CONNECTION
from benchmarks.library import Library
from benchmarks.ring import Ring
from benchmarks.scanning import scanned

SHUFFLED = {"shuffle.write.bytesWritten": 700, "jvmGCTime": 30, "diskBytesSpilled": 5}
FETCHED = {"shuffle.read.localBytesRead": 700, "shuffle.read.remoteBytesRead": 0}


def completed(number: int, begin: int, sums: dict[str, int]) -> str:
    reported = {
        "Stage ID": number,
        "Number of Tasks": 4,
        "Submission Time": begin,
        "Completion Time": begin + 1500,
        "Accumulables": [{"ID": 1, "Name": f"internal.metrics.{name}", "Value": value} for name, value in sums.items()],
    }
    return json.dumps({"Event": "SparkListenerStageCompleted", "Stage Info": reported})


def test_stages_are_what_they_read_and_write(tmp_path: Path) -> None:
    start = json.dumps({"Event": "SparkListenerLogStart", "Spark Version": "4.0.0"})
    lines = [start, completed(2, 9000, FETCHED), completed(1, 5000, SHUFFLED), completed(0, 1000, {})]
    (tmp_path / "local-1").write_text("\n".join(lines))
    assert stages(tmp_path) == [
        Stage(OTHER, 1.0, 2.5, 4, 0, 0, 0),
        Stage(SCAN, 5.0, 6.5, 4, 700, 5, 30),
        Stage(REDUCE, 9.0, 10.5, 4, 0, 0, 0),
    ]
    assert settings(tmp_path)[1] == "spark.eventLog.enabled=true"


def test_a_ring_has_the_bytes_of_one_file(tmp_path: Path) -> None:
    folder = Library(tmp_path).ring(300, 20)
    files = sorted(folder.iterdir())
    assert len(files) >= 15
    assert all(path.stat().st_size <= 20_000 for path in files)
    assert len({path.read_bytes() for path in files}) == len(files)
    assert folder == Library(tmp_path).ring(300, 20)
    with Session(files).load() as ring:
        assert not ring.findings
        assert len(ring.engine.streams) == 40
        assert len(ring.rows) > 400


def test_no_record_of_a_ring_is_cut(tmp_path: Path) -> None:
    with Ring(tmp_path / "a", 10) as ring:
        assert [ring.write(data) for data in (b"head", b"123456", b"1", b"234567", b"longer than a file")] == [
            4,
            6,
            1,
            6,
            18,
        ]
    assert [path.read_bytes() for path in sorted((tmp_path / "a").iterdir())] == [
        *(b"head123456", b"head1", b"head234567", b"headlonger than a file")
    ]


@pytest.mark.parametrize(("messages", "least", "most"), [("long", 1 << 20, 1 << 21), ("short", 400, 2000)])
def test_one_connection_has_messages_of_such_lengths(messages: str, least: int, most: int, tmp_path: Path) -> None:
    write(tmp_path / "a.pcap", ONE_CONNECTION[messages], size=3 << 20)
    with Session([tmp_path / "a.pcap"]).load() as session:
        assert len(session.engine.streams) == 1
        assert not session.findings
        assert least <= session.rows.column("length").max() < most


def test_scanning_counts_packets(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    library = Library(tmp_path)
    few, more = library.of_packets("small", 500), library.of_packets("small", 2000)
    with Session([more]).load() as session:
        packets = session.packets.counts.packets
    found = scanned(few, [more])
    assert found.packets == packets
    assert found.given > 40 * packets
    assert found.cpu > 0


MEASURED = Measured(2, 3, 25, 5, capture=250, shuffle=30, tables=100)
HEAP = Heap(terabytes=1)  # 4 billion packets
CLUSTER = Cluster(cores=100, of_a_machine=10, storage=1, network=8)  # 10 machines, 1 GB a second each


def test_a_heap_on_a_cluster() -> None:
    first, second = scan(MEASURED, HEAP, CLUSTER), rows(MEASURED, HEAP, CLUSTER)
    assert (first.cpu, first.storage, first.network) == pytest.approx((200, 1000, 100))
    assert (first.bottleneck, first.seconds) == ("storage", pytest.approx(1000))
    assert (second.cpu, second.storage, second.network) == pytest.approx((1200, 1400, 152))
    assert needed(MEASURED, CLUSTER) == pytest.approx((5.0, 100 / 30e-6 * 350 / 1e9))
    fast = replace(CLUSTER, storage=100)
    assert (scan(MEASURED, HEAP, fast).bottleneck, rows(MEASURED, HEAP, fast).bottleneck) == ("cpu", "cpu")


def test_the_busiest_connection_is_one_task() -> None:
    skewed = replace(HEAP, busiest=0.05)
    alone = rows(MEASURED, skewed, CLUSTER)
    assert (alone.bottleneck, alone.seconds) == ("longest", pytest.approx(0.05 * 4e9 * 30e-6))
    assert rows(MEASURED, skewed, replace(CLUSTER, cores=1000)).seconds == alone.seconds


def test_a_report_tells_the_sums() -> None:
    text = "\n".join(report(MEASURED, HEAP, [CLUSTER]))
    assert "4 billion packets and cost 39 core hours" in text
    assert "Shuffle 0.1 TB, tables 0.4 TB" in text
