"""A capture read in batches, with what is open carried from one to the next, is the capture read at once."""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from analyzer.pipeline import carry_over, finish

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")

import pyarrow as pa
import pyarrow.parquet as pq

from analyzer.errors import UserError
from analyzer.messages.decode_as import make_rules
from analyzer.pipeline import partition
from analyzer.pipeline.checkpoint import FlowCheckpoint
from analyzer.pipeline.pointers import POINTER_SCHEMA
from analyzer.pipeline.sources import CaptureFile, find_captures
from analyzer.pipeline.state_file import STATE, STATE_SCHEMA, BatchContext, OpenStates, StateCodec, write_states
from analyzer.tables.arrow_columns import NOTES, TableBatch
from analyzer.tables.options import Options
from analyzer.tables.table_schemas import TABLES
from dissectors.kafka.conversation import KafkaConversation
from tests.analyzer.capture.writers import NS, T0, Frame
from tests.analyzer.pipeline.house import EFFECTS, ROOT, answer, message, talk
from tests.analyzer.pipeline.test_partition import dealt_out, scanned
from tests.analyzer.tls.talking import encrypt, write_key_log
from tests.analyzer.wire import CLIENT, SERVER, Segment, Talk, data_segments, frames, opening, segments, talks, write

NEEDED = finish.add_required_tables(TABLES)
GOLDEN = ROOT / "tests" / "golden"
HOUR = 3600 * NS
SERVER_END = ("10.0.0.2", 9092)

Texts = Mapping[str, list[str]]


def texts(found: Sequence[TableBatch]) -> Texts:
    """The rows of each table as texts, in order; the number that people know a row by is that of one reading."""
    rows: dict[str, list[str]] = {table: [] for table in TABLES}
    for table, batch in finish.finish_tables((each for each in found if each.table != NOTES), TABLES):
        remaining = batch.drop_columns(["number"]) if table == "findings" else batch
        rows[table] += [json.dumps(row, default=str, sort_keys=True) for row in remaining.to_pylist()]
    return {table: sorted(each) for table, each in rows.items()}


def complaints(found: Sequence[TableBatch]) -> list[str]:
    notes = [json.loads(note) for table, batch in found if table == NOTES for note in batch.column(0).to_pylist()]
    return [note["error"] for note in notes if note.get("error")]


def at_once(folder: Path, options: Options) -> Texts:
    files = find_captures([str(folder)]).files
    parts = dealt_out(scanned(files), 1, 1 << 16)
    return texts([each for part in parts for each in partition.build_rows(part, files, options, None, NEEDED)])


class Run:
    """Batches that follow one another, in all tables; `found` has what they have written."""

    def __init__(self, folder: Path, random: Random, options: Options | None = None) -> None:
        self._folder, self._random, self._options = folder, random, options or Options()
        self._number = 0
        self._latest: dict[str, int] = {}
        self.found: list[TableBatch] = []
        self.carried: list[bytes | None] = []

    def batch(self, paths: Sequence[Path], close: bool = False) -> pa.Table:
        """Reads files and then deletes them; returns the state that is left."""
        self._number += 1
        files = find_captures([*map(str, paths)]).files if paths else ()
        pointers = [] if not files else [scanned(files)]
        for table in pointers:
            self._note_latest(table, files)
        before, place = (str(self._folder / str(number)) for number in (self._number - 1, self._number))
        try:
            names = [path.name for path in Path(before).glob("*")]
            rows = [*OpenStates.find(before, names, self._latest, files).read_rows()]
        except UserError as error:
            self.found.append(TableBatch(NOTES, pa.record_batch([[json.dumps({"error": str(error)})]], ["note"])))
            rows = []
        table = pa.concat_tables([*pointers, pa.Table.from_batches(rows, POINTER_SCHEMA)])
        carry = BatchContext(place, close, self._latest)
        states = []
        for part in dealt_out(table, self._random.randint(1, 4), self._random.choice((20, 1 << 16))):
            for each in partition.build_rows(part, files, self._options, carry, NEEDED):
                if each.table == STATE:
                    states.append(each.batch)
                    self.carried += each.batch["data"].to_pylist()
                else:
                    self.found.append(each)
        left = pa.Table.from_batches(states, STATE_SCHEMA)
        write_states(place, "states.parquet", left)
        shutil.rmtree(before, ignore_errors=True)
        for path in paths:
            path.unlink()
        return left

    def _note_latest(self, pointers: pa.Table, files: Sequence[CaptureFile]) -> None:
        folders = {file.capture: file.capture_name for file in files}
        for name, place in zip(pointers["connection"].to_pylist(), pointers["place"].to_pylist(), strict=True):
            if name:
                folder = folders[int.from_bytes(name[:4])]
                self._latest[folder] = max(self._latest.get(folder, place), place)


def in_batches(
    tmp_path: Path,
    packets: Sequence[Frame],
    random: Random,
    cuts: Sequence[int] | None = None,
    options: Options | None = None,
) -> Run:
    """A capture cut into files, which are read a few at a time; asserts that it is the capture read at once."""
    folder = tmp_path / "capture"
    folder.mkdir()
    edges = sorted({0, len(packets), *(cuts if cuts is not None else random.sample(range(1, len(packets)), 5))})
    paths = []
    for number, (first, last) in enumerate(pairwise(edges)):
        paths.append(write(folder / f"{number:03}.pcap", packets[first:last]))
    expected = at_once(folder, options or Options())
    run = Run(tmp_path / "state", random, options)
    while paths:
        count = random.randint(1, 2)
        batch, paths = paths[:count], paths[count:]
        run.batch(batch, close=not paths and random.random() < 0.5)
        if not paths:
            run.batch([], close=True)
    assert complaints(run.found) == []
    found = texts(run.found)
    for table in TABLES:
        assert found[table] == expected[table], table
    return run


def woven(path: Path, effect: Callable[[Talk, Random], list[Segment]], random: Random) -> list[Frame]:
    """The conversations of a real capture at the same time, with an effect."""
    found: list[Frame] = []
    for index, each in enumerate(talks(path)):
        found += frames(effect(each, random), each, T0 + index * 5_000_000)
    return sorted(found, key=lambda frame: frame.time)


REAL = (
    "kafka/k24_sasl_v0",
    "kafka/k4_errors",
    "kafka/k4_java_share",
    "zookeeper/en395_quorum_sasl",
    "pulsar/java4_errors",
    "rocketmq/m326_send",
)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("effect", [*EFFECTS])
def test_effects(tmp_path: Path, effect: str) -> None:
    random = Random(effect)
    in_batches(tmp_path, woven(GOLDEN / "kafka" / "k4_go_segment.pcap.zst", EFFECTS[effect], random), random)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", REAL)
def test_protocols(tmp_path: Path, name: str) -> None:
    random = Random(name)
    effect = EFFECTS[random.choice([*EFFECTS])]
    in_batches(tmp_path, woven(GOLDEN / f"{name}.pcap.zst", effect, random), random)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["k4_java_classic", "zk39_ibp_2.4"])
def test_fetch_sessions_go_on(tmp_path: Path, name: str) -> None:
    """A Fetch that names no topic has those of its session, also where an earlier batch has read what opened it."""
    random = Random(name)
    packets = woven(GOLDEN / "kafka" / f"{name}.pcap.zst", lambda talk, random: segments(talk), random)
    run = in_batches(tmp_path, packets, random, random.sample(range(1, len(packets)), 12))
    fetches = [row for row in map(json.loads, texts(run.found)["exchanges"]) if row["operation"] == "Fetch"]
    assert len(fetches) > 90
    assert all(row["topics"] for row in fetches)


def carried(data: bytes) -> FlowCheckpoint:
    """The checkpoint of a connection."""
    return StateCodec(make_rules({})[0].dissectors).decode(data)


def waiting(data: bytes) -> int:
    """How many of its rows are not written yet."""
    return carried(data).rows.written.count(False)


SILENT = [
    *frames(segments(talk(1, 2))),
    *frames([*opening(), Segment(CLIENT, 0, message(3))], replace(talk(), isn=(70_000, 90_000)), T0 + 10 * NS),
    *frames([Segment(CLIENT, 0, message(4))], replace(talk(), isn=(5_000, 6_000)), T0 + 4000 * NS),
    *frames(segments(talk(5)), replace(talk(), ends=(("10.0.0.9", 1), SERVER_END)), T0 + 9000 * NS),
    *frames([Segment(SERVER, 0, answer(4)), Segment(CLIENT, 17, message(6))], begin=T0 + 9001 * NS),
]
"""Ports that are used again, requests that nobody answers, an hour of silence twice."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_streams_that_follow_one_another(tmp_path: Path, size: int) -> None:
    in_batches(tmp_path, SILENT, Random(size), range(0, len(SILENT), size))


def test_what_is_left(tmp_path: Path) -> None:
    """An open request is carried by its bytes; after an hour only the number of streams is left."""
    folder = tmp_path / "capture"
    folder.mkdir()
    run = Run(tmp_path / "state", Random(1))
    first = frames([*opening(), Segment(CLIENT, 0, message(1)), Segment(CLIENT, len(message(1)), message(2)[:9])])
    (left,) = run.batch([write(folder / "1.pcap", first)]).to_pylist()
    assert (waiting(left["data"]), carried(left["data"]).cells["packets"]) == (1, 5)
    assert not any(len(batch) for table, batch in run.found if table in ("messages", "streams"))
    later = frames(segments(talk(1)), replace(talk(), ends=(("10.0.0.9", 1), SERVER_END)), T0 + 2 * HOUR)
    states = run.batch([write(folder / "2.pcap", later)]).to_pylist()
    silent = next(each for each in states if each["connection"] == left["connection"])
    assert (silent["uses"], silent["end_ns"], silent["data"]) == (1, None, None)
    written = [row["id"] for table, batch in run.found if table == "messages" for row in batch.to_pylist()]
    assert "10.0.0.1:40000>10.0.0.2:9092/c/0" in written


def test_a_conversation_that_tells_no_handles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is never cut in the middle, and is not carried from batch to batch."""
    monkeypatch.delattr(KafkaConversation, "handles")
    monkeypatch.setattr(partition, "ENOUGH", 10)
    monkeypatch.setattr(partition, "MOST", 20)
    packets = frames([*opening(), *data_segments(talk(*range(50)).writes)])
    folder = tmp_path / "capture"
    folder.mkdir()
    path = write(folder / "1.pcap", packets)
    expected = at_once(folder, Options())
    (part,) = dealt_out(scanned(find_captures([str(folder)]).files), 1, 7)
    found = list(partition.build_rows(part, find_captures([str(folder)]).files, Options(), named=NEEDED))
    assert complaints(found) == []
    assert texts(found)["messages"] == expected["messages"]
    run = Run(tmp_path / "state", Random(1))
    run.batch([path])
    assert "cannot be continued in a later run" in complaints(run.found)[0]


def test_too_many_that_wait_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carry_over, "MOST_WAITING", 2)
    folder = tmp_path / "capture"
    folder.mkdir()
    run = Run(tmp_path / "state", Random(1))
    requested = [(CLIENT, message(number)) for number in range(5)]
    packets = frames([*opening(), *data_segments(requested)])
    (left,) = run.batch([write(folder / "1.pcap", packets)]).to_pylist()
    assert waiting(left["data"]) == 2
    answers = [(CLIENT, b"".join(data for _, data in requested)), *((SERVER, answer(number)) for number in range(5))]
    run.batch([write(folder / "2.pcap", frames(data_segments(answers)[1:], begin=T0 + NS))])
    run.batch([], close=True)
    rows = [row for table, batch in run.found if table == "messages" for row in batch.to_pylist()]
    assert [row["partner_id"] is None for row in sorted(rows, key=lambda row: (row["role"], row["offset"]))] == [
        *([True] * 3 + [False] * 2),
        *([False] * 5),
    ]
    assert len({row["id"] for row in rows}) == len(rows) == 10


@pytest.mark.parametrize(
    ("version", "said"), [(b"99", "has version 99"), (b"some", "is damaged"), (None, "is damaged")]
)
def test_states_of_another_program(tmp_path: Path, version: bytes | None, said: str) -> None:
    folder = tmp_path / "capture"
    folder.mkdir()
    run = Run(tmp_path / "state", Random(1))
    first, second = frames([*opening(), Segment(CLIENT, 0, message(1))]), frames([Segment(SERVER, 0, answer(1))])
    left = run.batch([write(folder / "1.pcap", first)])
    file = tmp_path / "state" / "1" / "states.parquet"
    file.unlink() if version else file.write_bytes(b"PAR1")
    if version:
        pq.write_table(left.replace_schema_metadata({b"wireanalyze.state": version}), file)
    run.batch([write(folder / "2.pcap", second)])
    (complaint,) = complaints(run.found)
    assert said in complaint
    assert "--state" in complaint


@pytest.mark.parametrize("effect", ["reordered", "lost", "overlapping"])
def test_tls_sessions_go_on_and_no_secret_is_in_their_states(tmp_path: Path, effect: str) -> None:
    random = Random(effect)
    packets, scripts = [], []
    for number, each in enumerate(talks(GOLDEN / "kafka" / "k4_go_segment.pcap.zst")[:4]):
        encrypted, script = encrypt(each, number, record=300, update=3)
        scripts.append(script)
        packets += frames(EFFECTS[effect](encrypted, random), encrypted, T0 + number * NS)
    packets.sort(key=lambda frame: frame.time)
    keys = write_key_log(tmp_path / "keys", scripts)
    run = in_batches(tmp_path, packets, random, options=Options(key_logs=(str(keys),)))
    remaining = [zlib.decompress(data) for data in run.carried if data]
    assert any(b"TlsSession" in data for data in remaining)
    secrets = {bytes.fromhex(line.split()[-1]) for line in keys.read_text().splitlines()}
    assert not any(secret in data for secret in secrets for data in remaining)
