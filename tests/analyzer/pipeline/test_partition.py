"""Rows made of pointers are those of one process, however the pointers were cut, dealt out and brought together."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")

import pyarrow as pa
import pyarrow.compute

from analyzer.pipeline import partition, pointers
from analyzer.pipeline.finish import add_required_tables
from analyzer.pipeline.scan import build_splits, scan_splits
from analyzer.pipeline.sources import CaptureFile, find_captures
from analyzer.tables.arrow_columns import NOTES, TableBatch
from analyzer.tables.options import Options
from analyzer.tables.table_schemas import TABLES
from tests.analyzer.pipeline.house import (
    KEY,
    Rows,
    cut,
    dealt,
    golden_frames,
    message,
    rows_by_table,
    single,
    without_files,
)
from tests.analyzer.wire import CLIENT, Segment, frames, in_parts, opening, reordered, segments

SORTED = [(name, "ascending") for name in ("connection", "place", "origin")]


def shuffled(files: tuple[CaptureFile, ...], partitions: int, batch: int) -> Iterable[list[pa.RecordBatch]]:
    """What Spark does between the two stages."""
    return dealt_out(scanned(files), partitions, batch)


def scanned(files: tuple[CaptureFile, ...]) -> pa.Table:
    return pa.Table.from_batches(scan_splits(build_splits(files), files, Options()))


def dealt_out(found: pa.Table, partitions: int, batch: int) -> Iterable[list[pa.RecordBatch]]:
    owner = pa.array([zlib.crc32(name) % partitions for name in found["connection"].to_pylist()])
    for number in range(partitions):
        mine = found.filter(pa.compute.equal(owner, number)).sort_by(SORTED).combine_chunks()
        yield mine.to_batches(max_chunksize=batch)


def run(folder: Path, partitions: int = 2, batch: int = 1000) -> list[TableBatch]:
    files = find_captures([str(folder)]).files
    parts = shuffled(files, partitions, batch)
    return [
        found
        for part in parts
        for found in partition.build_rows(part, files, Options(), None, add_required_tables(TABLES))
    ]


def without_notes(found: list[TableBatch]) -> Rows:
    return rows_by_table(each for each in found if each.table != NOTES)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("partitions", "batch", "enough"), [(1, 1 << 16, 1 << 17), (2, 100, 1), (7, 13, 50), (16, 1 << 16, 1 << 17)]
)
def test_the_tables_are_those_of_one_process(
    house: Path, expected: Rows, partitions: int, batch: int, enough: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition, "ENOUGH", enough)
    monkeypatch.setattr(partition, "MOST", 2 * enough)
    monkeypatch.setattr(pointers, "BATCH", batch)
    made = run(house, partitions, batch)
    assert without_notes(made) == without_files(expected)
    notes = [json.loads(note) for found in made if found.table == NOTES for note in found.batch.column(0).to_pylist()]
    assert len(notes) == len(find_captures([str(house)]).files)
    assert {Path(note["path"]).parent.name for note in notes if note["findings"]} == {"damaged"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(6))
def test_files_may_be_cut_anywhere(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    packets = golden_frames("k4_sweep_rest", lambda talk, _: reordered(segments(talk, in_parts(random)), random))
    cut(tmp_path / "one", packets, ["a.pcap"])
    names = [f"{number}.pcap" for number in range(random.randint(2, 9))]
    random.shuffle(names)
    if seed % 2:
        cut(tmp_path / "other", packets, names)
    else:
        dealt(tmp_path / "other", packets, random, len(names))
    moved = ("capture", "file", "first_record", "last_record")
    one, other = single(tmp_path / "one"), without_notes(run(tmp_path / "other", 3))
    assert other == single(tmp_path / "other")
    for table, key in KEY.items():
        assert {row[key]: {**row, **dict.fromkeys(moved)} for row in other[table]} == {
            row[key]: {**row, **dict.fromkeys(moved)} for row in one[table]
        }


def test_records_are_counted_in_their_file(expected: Rows) -> None:
    """The same message in the whole capture and in its three parts."""
    rows = [row for row in expected["messages"] if row["capture"].endswith("/cut")]
    assert {row["file"] for row in rows} == {"a.pcap", "b.pcap", "c.pcap"}
    assert all(1 <= row["last_record"] <= 1241 // 3 + 1 for row in rows)
    assert all(row["first_record"] is None or 1 <= row["first_record"] <= row["last_record"] for row in rows)


def test_a_message_that_crosses_files(tmp_path: Path) -> None:
    """The number of its first packet counts in another file than that of its last."""
    parts = [Segment(CLIENT, 0, message(1)[:9]), Segment(CLIENT, 9, message(1)[9:])]
    for name, files in (("one", ["1.pcap"]), ("two", ["1.pcap", "2.pcap"])):
        cut(tmp_path / name, frames([opening()[0], *parts, opening()[2]]), files)
    places = [
        (row["file"], row["first_record"], row["last_record"], row["length"], row["state"])
        for name in ("one", "two")
        for row in single(tmp_path / name)["messages"]
    ]
    assert places == [("1.pcap", 2, 3, len(message(1)), "complete"), ("2.pcap", None, 1, len(message(1)), "complete")]


@pytest.mark.parametrize(
    ("capture", "clients"),
    [("fragments", {"x" * 60}), ("v6", {"me"}), ("unknown", {None})],
)
def test_odd_packets(expected: Rows, capture: str, clients: set[str | None]) -> None:
    """Those of fragments lie in no file; a connection over IPv6 goes on in a second file."""
    rows = [row for row in expected["messages"] if row["capture"].endswith(f"/{capture}")]
    assert {row["client"] for row in rows} == clients
    if capture in ("fragments", "v6"):
        assert all(row["partner_id"] is not None and row["state"] == "complete" for row in rows)


def test_names_that_are_no_unicode(expected: Rows) -> None:
    files = {row["file"] for row in expected["messages"] if row["capture"].endswith("/words")}
    assert files == {r"\udcff.pcap"}


def test_connections_that_come_again_are_numbered_over_the_capture(expected: Rows) -> None:
    rows = [row for row in expected["messages"] if row["capture"].endswith("/again")]
    stream = "10.0.0.1:40000>10.0.0.2:9092"
    assert {(row["stream_id"], row["correlation"]) for row in rows} == {
        *((stream, number) for number in "12"),
        *((f"{stream}#1", number) for number in "34"),
        *((f"{stream}#2", number) for number in "56"),
        (f"{stream}#3", "7"),
    }


def test_captures_with_the_same_addresses_stay_apart(expected: Rows) -> None:
    fast_paths = {
        name: {row["client"] for row in expected["messages"] if row["capture"].endswith(name)}
        for name in ("fast_path-a", "fast_path-b")
    }
    assert fast_paths == {"fast_path-a": {"first"}, "fast_path-b": {"second"}}


def test_exchanges(expected: Rows) -> None:
    messages = {(row["capture"], row["id"]): row for row in expected["messages"]}
    requests = {key for key, row in messages.items() if row["role"] == "request"}
    assert {(row["capture"], row["request_id"]) for row in expected["exchanges"]} == requests
    assert {row["answered"] for row in expected["exchanges"]} == {True, False}
    for row in expected["exchanges"]:
        request = messages[row["capture"], row["request_id"]]
        assert (row["response_id"], row["date"]) == (request["partner_id"], request["date"])
        if row["answered"]:
            response = messages[row["capture"], row["response_id"]]
            assert row["latency_ns"] == response["latency_ns"] == row["response_time_ns"] - row["request_time_ns"]
            assert (row["error"], row["response_length"]) == (response["error"], response["length"])
        else:
            nulls = ("response_id", "response_time_ns", "latency_ns", "error", "response_length", "response_state")
            assert {row[name] for name in nulls} == {None}


def test_a_file_that_has_vanished(tmp_path: Path) -> None:
    packets = golden_frames("k4_sweep_rest", lambda talk, _: segments(talk))
    cut(tmp_path / "a", packets, ["1.pcap"])
    files = find_captures([str(tmp_path)]).files
    (part,) = shuffled(files, 1, 1000)
    (tmp_path / "a" / "1.pcap").unlink()
    (found,) = partition.build_rows(part, files, Options())
    assert (found.table, b"Cannot open" in found.batch.column(0).to_pylist()[-1]) == (NOTES, True)
    (scanned,) = scan_splits(build_splits(files), files, Options())
    assert b"Cannot open" in scanned.column(3).to_pylist()[0]
