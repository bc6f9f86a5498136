"""Tables of an export are those of the pipeline, from a session that was read."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")

import pyarrow as pa
import pyarrow.dataset as ds

from analyzer.errors import UserError
from analyzer.export import objects
from analyzer.export.folder import create_filled_folder
from analyzer.export.packets import with_partners
from analyzer.export.tables import write_tables
from analyzer.pipeline.sources import find_captures
from analyzer.session import Session
from analyzer.tables.options import Options
from analyzer.tables.table_schemas import ALL_TABLES, TABLES, build_schema
from tests.analyzer.pipeline.house import (
    EFFECTS,
    Rows,
    build_all_tables,
    cut,
    dealt,
    golden_frames,
    in_order,
    rows_by_table,
)

ROOT = Path(__file__).parents[3]
MIXED = ROOT / "captures" / "mixed.pcapng"


def loaded(folder: Path, name: str) -> pa.Table:
    kinds = pa.schema([build_schema(name).field(column) for column in ("date", "protocol")])
    found = ds.dataset(folder / name, partitioning=ds.partitioning(kinds, flavor="hive")).to_table()
    return found.select(build_schema(name).names).cast(build_schema(name))


def read(folder: Path, name: str) -> list[dict[str, Any]]:
    """A table as its readers see it."""
    rows: list[dict[str, Any]] = loaded(folder, name).to_pylist()
    return rows


def table(folder: Path, name: str) -> list[dict[str, Any]]:
    """The same in the order of its keys."""
    return in_order(name, loaded(folder, name))


def written(files: Sequence[Path], out: Path, code: int | None = None, jobs: int = 1) -> tuple[dict[str, int], Rows]:
    with Session(files) as session:
        session.load()
        session.jobs = jobs
        rows = None if code is None else np.flatnonzero(session.rows.column("code") == code)
        counts = dict(write_tables(session, str(out), rows, Options(), list(TABLES)))
    return counts, {name: table(out, name) if counts[name] else [] for name in TABLES}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["mixed", "cut", "dealt", "lost", "snapped"])
def test_they_are_the_tables_of_the_pipeline(name: str, tmp_path: Path) -> None:
    files, folder = [MIXED], tmp_path / "captures"
    if name in ("cut", "dealt"):
        from random import Random

        packets = golden_frames("k4_go_segment", EFFECTS["doubled"])
        if name == "cut":
            cut(folder, packets, ["1.pcap", "2.pcap", "3.pcap"])
        else:
            dealt(folder, packets, Random(3))
    elif name in EFFECTS:
        cut(folder, golden_frames("k4_go_segment", EFFECTS[name]), ["1.pcap"])
    if name != "mixed":
        files = sorted(folder.iterdir())
    expected = rows_by_table(build_all_tables(find_captures([str(file) for file in files]).files, Options()))
    counts, found = written(files, tmp_path / "out", jobs=2 if name in ("mixed", "lost") else 1)
    assert found == expected
    assert counts == {each: len(rows) for each, rows in expected.items()}


def test_chosen_messages_and_exchanges_of_which_they_are_a_half(tmp_path: Path) -> None:
    _, whole = written([MIXED], tmp_path / "whole")
    _, found = written([MIXED], tmp_path / "out", 18)
    messages = [row for row in whole["messages"] if row["code"] == 18]
    ids = {row["id"] for row in messages}
    assert found["messages"] == messages
    assert found["exchanges"] == [row for row in whole["exchanges"] if ids & {row["request_id"], row["response_id"]}]


def test_the_command_knows_every_table() -> None:
    from analyzer.export.forms import TABLES as NAMED

    assert tuple(TABLES) == NAMED
    assert all(column.meaning for columns in ALL_TABLES.values() for column in columns)


def test_answers_alone_bring_their_exchanges(tmp_path: Path) -> None:
    with Session([MIXED]) as session:
        session.load()
        rows = np.flatnonzero(session.rows.column("role") == 1)
        counts = write_tables(session, str(tmp_path / "a"), rows, Options(), ["exchanges"])
        both = with_partners(session, rows)
        assert counts == write_tables(session, str(tmp_path / "b"), both, Options(), ["exchanges"])
    assert table(tmp_path / "a", "exchanges") == table(tmp_path / "b", "exchanges")
    assert any(row["error"] for row in table(tmp_path / "a", "exchanges"))


@pytest.mark.slow
def test_streams_count_what_is_exported(tmp_path: Path) -> None:
    with Session([MIXED]) as session:
        session.load()
        write_tables(session, str(tmp_path / "whole"), None, Options(), ["streams", "messages"])
        write_tables(session, str(tmp_path / "some"), np.array([3, 700]), Options(), ["streams"])
        count = len(session.engine.streams)
    whole, some = read(tmp_path / "whole", "streams"), read(tmp_path / "some", "streams")
    assert len(whole) == count
    assert [sum(row[f"{side}_messages"] for row in some) for side in ("client", "server")] == [1, 1]
    for stream in whole:
        mine = [row for row in read(tmp_path / "whole", "messages") if row["stream_id"] == stream["stream_id"]]
        for side, sender in (("client", True), ("server", False)):
            lengths = [row["length"] for row in mine if row["from_client"] is sender]
            assert (stream[f"{side}_messages"], stream[f"{side}_bytes"]) == (len(lengths), sum(lengths))
        assert all(row["protocol"] == stream["protocol"] for row in mine)
        assert stream["stream_id"].startswith(f"{stream['client']}>{stream['server']}")
        assert all(stream["first_time_ns"] <= row["time_ns"] <= stream["last_time_ns"] for row in mine)
    assert {stream["closed_by"] for stream in whole} == {"client", "server", None}


SEEN_BY_PEOPLE = re.compile(r"^stream \d+, |, before packet \d+$")
"""What a finding of a stream says to people and not in tables: numbers that are those of one reading."""


def test_findings_with_a_row_and_without(tmp_path: Path) -> None:
    cut(tmp_path / "captures", golden_frames("k4_go_segment", EFFECTS["lost"]), ["1.pcap"])
    with Session([tmp_path / "captures" / "1.pcap"]) as session:
        session.load()
        write_tables(session, str(tmp_path / "out"), None, Options(), ["findings", "messages"])
        others = sorted((one.code, SEEN_BY_PEOPLE.sub("", one.text)) for one in session.findings)
    found = read(tmp_path / "out", "findings")
    assert sorted((row["code"], row["text"]) for row in found if row["id"] is None) == others
    assert {code for code, _ in others} >= {"gap", "bytes-skipped"}
    assert all((row["stream_id"] is None) is (row["code"] == "damaged-capture") for row in found)
    assert {row["protocol"] for row in found if row["id"] is None} == {"kafka"}
    assert all((row["number"] is None) is (row["id"] is None) for row in found)
    reported = {(row["id"], row["code"], row["text"]) for row in found}
    for row in read(tmp_path / "out", "messages"):
        assert {(row["id"], each["code"], each["text"]) for each in row["findings"]} <= reported


RECORDS = [
    (ROOT / "tests/golden/kafka/k010_py_old.pcap.zst", "old-0.8.0", {0, 1, 2}, ("key_length", "value_length")),
    (ROOT / "tests/golden/rocketmq/m550_json_bcq_lab_bcq.pcap.zst", "lab_bcq", {0}, ("value_length",)),
]
"""Captures with a topic, its partitions, and what of a record is an object: RocketMQ's keys are properties."""


@pytest.mark.parametrize(("path", "topic", "partitions", "own"), RECORDS, ids=lambda case: getattr(case, "name", ""))
def test_records_are_those_of_objects(
    path: Path, topic: str, partitions: set[int], own: tuple[str, ...], tmp_path: Path
) -> None:
    with Session([path]) as session:
        session.load()
        counts = write_tables(session, str(tmp_path / "out"), None, Options(), ["records"])
        with create_filled_folder(str(tmp_path / "objects")) as folder:
            objects.write(session, np.arange(len(session.rows)), folder)
    found = read(tmp_path / "out", "records")
    keys = [row for row in found if row["key_length"] is not None]
    lengths = [row[name] for row in found for name in own if row[name] is not None]
    assert (len(lengths), sum(lengths)) == (folder.count, folder.bytes)
    assert (counts["records"], {row["topic"] for row in found} >= {topic}) == (len(found), True)
    assert {row["partition"] for row in found} <= partitions
    assert all(len(row["key_hash"]) == 16 and row["timestamp_ms"] != 0 for row in keys)
    assert min(row["offset"] for row in found if row["offset"] is not None) == 0


def test_tables_come_next_to_others_and_replace_none(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with Session([MIXED]) as session:
        session.load()
        write_tables(session, str(out), None, Options(), ["exchanges"])
        write_tables(session, str(out), None, Options(fields=False), ["messages"])
        with pytest.raises(UserError, match=r"has tables already \(messages\)"):
            write_tables(session, str(out), None, Options(), ["messages"])
        assert sorted(path.name for path in out.iterdir()) == ["exchanges", "messages", "views.sql"]
        none = np.zeros(0, np.int64)
        assert write_tables(session, str(out), none, Options(), ["messages"], force=True) == {"messages": 0}
    assert sorted(path.name for path in out.iterdir()) == ["exchanges", "views.sql"]


def test_a_folder_of_somebody_else_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "song").touch()
    with (
        Session([MIXED]) as session,
        pytest.raises(UserError, match="records is not replaced"),
    ):
        write_tables(session, str(tmp_path), None, Options(), ["records"], force=True)
    assert (tmp_path / "records" / "song").exists()


def test_what_fails_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("analyzer.export.tables._write_rows", interrupted)
    (tmp_path / "kept").mkdir()
    for folder in ("kept", "kept/new", "other/new"):
        with Session([MIXED]) as session, pytest.raises(KeyboardInterrupt):
            write_tables(session, str(tmp_path / folder), None, Options(), ["records"])
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["kept"]


def test_the_command_writes_them(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "analyzer.cli",
        "export",
        str(MIXED),
        "-o",
        str(tmp_path / "out"),
        "--as",
        "parquet",
    ]
    done = subprocess.run([*command, "--table", "exchanges"], capture_output=True, text=True, timeout=60, check=True)
    assert "480 exchanges written" in done.stderr
    assert len(table(tmp_path / "out", "exchanges")) == 480
