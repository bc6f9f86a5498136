"""A ring capture in runs, on Spark: whatever is killed, vanishes or is being written, no row is lost or doubled."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from analyzer.pipeline import ring_capture

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")
pytest.importorskip("pyspark", reason="the extra wireanalyze[pipeline] is not installed")

import pyarrow.compute as pc

from analyzer.errors import UserError
from analyzer.pipeline import commit, job
from analyzer.pipeline.ring_capture import RingCapture
from analyzer.pipeline.sources import CaptureSources, find_captures
from analyzer.tables.options import Options
from analyzer.tables.typed_bodies import parse_bodies
from tests.analyzer.pipeline.house import Rows, cut, golden_frames, single
from tests.analyzer.pipeline.written import table, written
from tests.analyzer.wire import in_parts, reordered, segments

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")

FILES = 8
SUMMED = ("messages", "answers", "errors", "request_bytes", "response_bytes", "latency_sum_ns")


def build(folder: Path, seed: int = 1) -> None:
    """A ring of files, cut anywhere, with packets in disorder."""
    random = Random(seed)
    packets = golden_frames("k4_sweep_rest", lambda talk, _: reordered(segments(talk, in_parts(random)), random))
    cut(folder, packets, [f"ring_{number:05}.pcap" for number in range(FILES)])
    for place, path in enumerate(sorted(folder.iterdir())):
        os.utime(path, (place, place))


def sources(*folders: Path) -> CaptureSources:
    return find_captures(map(str, folders), needed=False)


def added_up(rows: Rows) -> Rows:
    """Summaries of batches are to be summed up; what files say is not what they say together."""
    sums: dict[str, dict[str, int]] = {}
    for row in rows["summaries"]:
        key = json.dumps({name: row[name] for name in ("window_ns", "role", "operation", "version", "client", "topic")})
        found = sums.setdefault(key, dict.fromkeys(SUMMED, 0))
        for name in SUMMED:
            found[name] += row[name]
        for each in row["latency"] or ():
            bucket = f"bucket {each['bucket']}"
            found[bucket] = found.get(bucket, 0) + each["count"]
    return {**rows, "summaries": [{"key": key, **counts} for key, counts in sorted(sums.items())]}


def moved(rows: Rows, folder: Path) -> Rows:
    """The same as if the capture lay in another folder."""
    return {
        name: [{**row, "capture": str(folder)} if "capture" in row else row for row in part]
        for name, part in rows.items()
    }


@pytest.fixture(params=["local", "spark"])
def engine(request: pytest.FixtureRequest) -> SparkSession | None:
    """What runs the tasks; None: processes of this machine."""
    found: SparkSession | None = None if request.param == "local" else request.getfixturevalue("spark")
    return found


def test_batches_make_the_tables_of_one_process(engine: SparkSession | None, tmp_path: Path) -> None:
    """Each batch finds some more files, and those of before are gone."""
    build(tmp_path / "whole")
    expected = moved(added_up(single(tmp_path / "whole")), tmp_path / "ring")
    live, tables, state = tmp_path / "ring", tmp_path / "tables", RingCapture(str(tmp_path / "state"))
    live.mkdir()
    files = sorted((tmp_path / "whole").iterdir())
    seen = []
    batches = (files[:3], files[3:4], files[4:], []) if engine is None else (files[:3], files[3:], [])
    for some in batches:
        for path in live.iterdir():
            path.unlink()
        for path in some:
            path.rename(live / path.name)
        last = RingCapture(state.state, close=not some)
        report = ring_capture.run(engine, sources(live), str(tables), Options(partitions=len(some) % 3 + 1), last)
        seen.append([note.name for note in report.files])
        assert not report.waiting
        ring_capture.run(engine, sources(live), str(tables), Options(), state) if some else None
    assert seen == [[path.name for path in some] for some in batches]
    assert added_up(written(tables)) == expected
    assert [name for name in os.listdir(tables) if name.startswith("_")] == [commit.LOCK]
    assert not ring_capture.run(
        engine, sources(live), str(tables), Options(), RingCapture(state.state, close=True)
    ).files
    build(live / "more")
    with pytest.raises(UserError, match=r"was closed before .* was written"):
        ring_capture.run(engine, sources(live), str(tables), Options(), state)


def test_the_file_that_is_being_written_waits(tmp_path: Path) -> None:
    build(tmp_path / "ring")
    newest = max((tmp_path / "ring").iterdir())
    newest.touch()
    tables, state = tmp_path / "tables", RingCapture(str(tmp_path / "state"))
    report = ring_capture.run(None, sources(tmp_path / "ring"), str(tables), Options(), state)
    assert report.waiting == (str(newest),)
    assert len(report.files) == FILES - 1
    newest.unlink()
    report = ring_capture.run(None, sources(tmp_path / "ring"), str(tables), Options(), state)
    assert [(note.path, note.state, note.reason) for note in report.files] == [
        (str(newest), "quarantined", "it vanished before it was read")
    ]
    assert not ring_capture.run(None, sources(tmp_path / "ring"), str(tables), Options(), state).files
    reported = table(tables, "files")
    assert reported.num_rows == FILES
    assert reported.filter(pc.equal(reported["state"], "quarantined"))["path"].to_pylist() == [str(newest)]


@pytest.mark.parametrize("at", [0.3, 0.7])
def test_a_file_that_grows_is_read_on(tmp_path: Path, at: float) -> None:
    """It was quiet for long, and then it goes on, in the middle of a record."""
    build(tmp_path / "ring")
    expected = added_up(single(tmp_path / "ring"))
    newest = max((tmp_path / "ring").iterdir())
    whole = newest.read_bytes()
    tables, state = tmp_path / "tables", RingCapture(str(tmp_path / "state"))
    for data in (whole[: int(len(whole) * at)], whole):
        newest.write_bytes(data)
        os.utime(newest, (1, len(data)))
        ring_capture.run(None, sources(tmp_path / "ring"), str(tables), Options(), state)
    ring_capture.run(None, sources(tmp_path / "ring"), str(tables), Options(), RingCapture(state.state, close=True))
    found = added_up(written(tables))
    reported = [row for row in found["findings"] if row["code"] != "damaged-capture"]
    assert _begun_anywhere({**found, "findings": reported}) == _begun_anywhere(expected)


def _begun_anywhere(rows: Rows) -> Rows:
    """A message of which an earlier run has read the first packet does not tell its number."""
    return {**rows, "messages": [{**row, "first_record": None} for row in rows["messages"]]}


def test_files_that_vanish_or_are_damaged_are_in_quarantine(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(tmp_path / "ring")
    removed, damaged, foreign = sorted((tmp_path / "ring").iterdir())[:3]
    damaged.write_bytes(damaged.read_bytes()[:-7])
    (tmp_path / "ring" / "notes.txt").write_text("no capture")
    foreign.write_bytes(foreign.read_bytes()[:24] + b"\xff" * 40)
    found = sources(tmp_path / "ring")
    removed.unlink()
    report = job.run(spark, found, str(tmp_path / "tables"), Options())
    by_path = {note.path: note for note in report.files}
    assert by_path[str(removed)].state == "quarantined"
    assert "No such file" in (by_path[str(removed)].reason or "")
    assert by_path[str(damaged)].state == "damaged"
    assert by_path[str(foreign)].state in ("quarantined", "damaged")
    reported = table(tmp_path / "tables", "files")
    assert reported.filter(pc.equal(reported["state"], "read")).num_rows == FILES - 3
    assert report.rows["messages"] == table(tmp_path / "tables", "messages").num_rows > 0


def test_another_ring_is_distinguished(tmp_path: Path) -> None:
    build(tmp_path / "ring")
    state = RingCapture(str(tmp_path / "state"))
    ring_capture.run(None, sources(tmp_path / "ring"), str(tmp_path / "tables"), Options(), state)
    for folder, options, sentence in (
        ("other", Options(), "belongs to the tables in"),
        ("tables", Options(fields=False), "was begun with other options"),
        ("tables", Options(bodies=parse_bodies(["kafka.Fetch"])), "was begun with other options"),
    ):
        with pytest.raises(UserError, match=sentence):
            ring_capture.run(None, sources(tmp_path / "ring"), str(tmp_path / folder), options, state)
    with pytest.raises(UserError, match=r"has tables already .* or the --state that belongs to them\."):
        ring_capture.run(
            None, sources(tmp_path / "ring"), str(tmp_path / "tables"), Options(), RingCapture(str(tmp_path / "new"))
        )


def test_a_state_that_lost_a_file_is_refused(tmp_path: Path) -> None:
    """Otherwise the rows of open connections would be missing without a word."""
    build(tmp_path / "ring")
    first, second = sorted((tmp_path / "ring").iterdir())[:2]
    state, tables = tmp_path / "state", str(tmp_path / "tables")
    ring_capture.run(None, sources(first), tables, Options(), RingCapture(str(state)))
    known = state / "open-1" / job.KNOWN
    text = known.read_text()
    for broken, sentence in ((None, "No such file"), ("{", "is damaged"), ("{}", "is damaged"), ("[]", "is damaged")):
        known.unlink() if broken is None else known.write_text(broken)
        with pytest.raises(UserError, match=rf"Cannot read the state .*known.json: .*{sentence}.* another --state\."):
            ring_capture.run(None, sources(first, second), tables, Options(), RingCapture(str(state)))
    known.write_text(text)
    min((state / "open-1").glob("*.parquet")).unlink()
    with pytest.raises(UserError, match=r"Cannot read the state .*parquet: No such file or directory\. Begin again"):
        ring_capture.run(None, sources(first, second), tables, Options(), RingCapture(str(state)))


def test_another_state_takes_nothing_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run was killed behind its ledger; then somebody names a wrong state, which has folders of its own."""
    build(tmp_path / "ring")
    tables, state, wrong = tmp_path / "tables", RingCapture(str(tmp_path / "state")), tmp_path / "wrong"
    first, *others = sorted((tmp_path / "ring").iterdir())
    ring_capture.run(None, sources(first), str(tables), Options(), state)
    with monkeypatch.context() as patch:
        patch.setattr(commit, "recover_folder", killed_after(commit.recover_folder))
        with pytest.raises(KeyboardInterrupt):
            ring_capture.run(None, sources(*others), str(tables), Options(), state)
    (wrong / "open-source").mkdir(parents=True)
    with pytest.raises(UserError, match="has tables already"):
        ring_capture.run(None, sources(*others), str(tables), Options(), RingCapture(str(wrong)))
    with pytest.raises(UserError, match="cannot hold both the tables and the state"):
        ring_capture.run(None, sources(*others), str(tables), Options(), RingCapture(str(tables)))
    assert not ring_capture.run(
        None, sources(first, *others), str(tables), Options(), RingCapture(state.state, close=True)
    ).files
    assert added_up(written(tables)) == added_up(single(tmp_path / "ring"))
    ring_capture.run(None, sources(), str(tmp_path / "new"), Options(), RingCapture(str(wrong)))
    assert (wrong / "open-source").is_dir()


def killed_after(real: Callable[[str, int], None]) -> Callable[[str, int], None]:
    """The second call is the one behind the ledger."""
    calls = []

    def recover(folder: str, batches: int) -> None:
        calls.append(batches)
        if len(calls) > 1:
            raise KeyboardInterrupt
        real(folder, batches)

    return recover


def test_what_is_closed_stays_closed(tmp_path: Path) -> None:
    """Also when there is something to be said of a file later."""
    build(tmp_path / "ring")
    plain = min((tmp_path / "ring").iterdir())
    path = plain.with_suffix(".gz")
    path.write_bytes(gzip.compress(plain.read_bytes()))
    tables, state = tmp_path / "tables", RingCapture(str(tmp_path / "state"))
    ring_capture.run(None, sources(path), str(tables), Options(), RingCapture(state.state, close=True))
    with path.open("ab") as file:
        file.write(b"x")
    (note,) = ring_capture.run(None, sources(path), str(tables), Options(), state).files
    assert (note.state, note.reason) == (
        "quarantined",
        "it has grown since it was read: its last 1 bytes are not in the tables",
    )
    with pytest.raises(UserError, match=r"was closed before .* was written"):
        ring_capture.run(None, sources(tmp_path / "ring"), str(tables), Options(), state)


def test_what_changed_while_spark_began_is_read(tmp_path: Path) -> None:
    """Folders are looked through before."""
    build(tmp_path / "ring")
    path = min((tmp_path / "ring").iterdir())
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    found = sources(path)
    path.write_bytes(whole)
    os.utime(path, (1, 1))
    (note,) = ring_capture.run(
        None, found, str(tmp_path / "tables"), Options(), RingCapture(str(tmp_path / "state"))
    ).files
    assert (note.state, note.bytes) == ("read", len(whole))


def test_what_was_no_capture_is_read_when_it_is_one(tmp_path: Path) -> None:
    """It was passed over, so its beginning is in no table."""
    build(tmp_path / "ring")
    path = min((tmp_path / "ring").iterdir())
    whole = path.read_bytes()
    states = []
    for size, at in ((20, 1), (20, 1), (len(whole), 2)):
        path.write_bytes(whole[:size])
        os.utime(path, (at, at))
        found = sources(tmp_path / "ring")
        report = ring_capture.run(
            None, found, str(tmp_path / "tables"), Options(), RingCapture(str(tmp_path / "state"))
        )
        states.append([note.state for note in report.files if note.path == str(path)])
    assert states == [["passed over"], [], ["read"]]


def test_tables_of_another_run_are_not_replaced(spark: SparkSession, tmp_path: Path) -> None:
    """They came while Spark began, behind the first look."""
    build(tmp_path / "ring")
    found = sources(tmp_path / "ring")
    (tmp_path / "tables" / "messages").mkdir(parents=True)
    with pytest.raises(UserError, match="has tables already"):
        job.run(spark, found, str(tmp_path / "tables"), Options(), overwrite=False)


def killed(command: Sequence[str], tables: Path, seconds: float) -> float | None:
    """Runs it, and kills it so long after its batch has begun, with all that it started; None, or how long that took.

    A batch has begun when it has a folder for what it writes.
    """
    alone = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK", "PYSPARK"))}
    before = staged(tables)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=alone)
    try:
        while process.poll() is None and not staged(tables) - before:
            time.sleep(0.005)
        began = time.monotonic()
        process.wait(seconds)
        took = time.monotonic() - began
    except subprocess.TimeoutExpired:
        return None
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        text = process.stderr.read() if process.returncode > 0 else b""
        process.stderr.close()
    assert process.returncode == 0, text.decode()
    return took


def staged(tables: Path) -> set[str]:
    return {path.name for path in tables.glob(f"{commit.STAGING}*")}


def kill_and_go_on(folder: Path, kills: int, seed: int) -> None:
    """A batch that ends before it is killed is begun anew, and tells how long it may be waited."""
    random = Random(seed)
    build(folder / "ring", seed)
    tables, state = folder / "tables", folder / "state"
    base = [sys.executable, "-m", "analyzer.cli", "pipeline", str(folder / "ring"), "-o", str(tables)]
    command = [*base, "--state", str(state), "--master", "local[2]", "--close"]
    longest = 2.0
    while kills:
        took = killed(command, tables, random.uniform(0, longest))
        if took is None:
            kills -= 1
        else:
            longest = min(longest, took)
            shutil.rmtree(tables)
            shutil.rmtree(state)
    assert killed(command, tables, 300) is not None
    assert added_up(written(tables)) == added_up(single(folder / "ring"))
    assert [name for name in os.listdir(tables) if name.startswith("_")] == [commit.LOCK]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_killed_at_any_moment(tmp_path: Path, seed: int) -> None:
    kill_and_go_on(tmp_path, 4, seed)
