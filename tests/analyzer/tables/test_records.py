"""The table of records: what is read of many messages together is what decoding each of them says."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest

from analyzer.decode.content import find_dissector, read_context

pytest.importorskip("pyarrow", reason="the extra wireanalyze[pipeline] is not installed")

import pyarrow as pa

from analyzer.decode.resolved_names import TopicNamer
from analyzer.decode.rows import RowReader
from analyzer.session import Session
from analyzer.tables import records as module
from analyzer.tables.arrow_columns import build_batch
from analyzer.tables.options import Options
from analyzer.tables.record_fields import find_record_fields, hash_key, hash_keys, read_record_fields
from analyzer.tables.record_values import build_record_columns
from analyzer.tables.records import MESSAGE_COLUMNS, RecordTableBuilder, decode_records
from analyzer.tables.table_schemas import build_schema
from analyzer.tables.topic_columns import TopicColumns
from dissectors.wire.fast_path import load_fast_path
from tests.analyzer.pipeline.house import EFFECTS, cut, golden_frames
from tests.analyzer.wire import CLIENT, SERVER, Talk, frames, in_parts, segments, talks, write
from tests.dissectors.kafka.nested.structured import METADATA_ID, OTHER_ID, fetched, produce
from tests.dissectors.kafka.records.test_values import batch, message, record

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden"
KAFKA = ("k010_py_old", "k11_sweep", "k4_election", "k4_java_internal", "k4_java_share", "k4_java_txn", "k4_py_aio")
OTHERS = ("pulsar/cpp4_codecs", "pulsar/go4_chunks", "pulsar/java4_encryption", "rocketmq/m326_send")
MORE = ("rocketmq/m494_acl_signed", "rocketmq/m550_json_batch", "rocketmq/m550_json_tx_lab_tx", "zookeeper/zk_multi")
CAPTURES = [
    *(GOLDEN / "kafka" / f"{name}.pcap.zst" for name in KAFKA),
    *(path for name in (*OTHERS, *MORE) if (path := GOLDEN / f"{name}.pcap.zst").exists()),
    ROOT / "captures" / "mixed.pcapng",
]


def plain(session: Session, rows: np.ndarray) -> list[dict[str, object]]:
    """The rows of the table by definition."""
    about = list(RowReader(session).read_objects(MESSAGE_COLUMNS, rows))
    time = session.rows.column("time")[rows].tolist()
    records = list(decode_records(session, TopicNamer(session), rows))
    columns = pa.table(build_record_columns([cells for _, cells in records])).to_pylist()
    return [{**about[place], "time_ns": time[place], **each} for (place, _), each in zip(records, columns, strict=True)]


def together(session: Session, rows: np.ndarray) -> list[dict[str, object]]:
    """What the pipeline writes."""
    batches = [
        build_batch("records", {"capture": "c", **each}, Options())
        for each in RecordTableBuilder(session, None).build_rows(rows)
    ]
    assert all(0 < len(each) <= module.BATCH_RECORDS for each in batches)
    found = pa.Table.from_batches(batches, build_schema("records")).drop_columns(
        ["capture", "date", "time", "timestamp"]
    )
    return list(found.to_pylist())


def equal(session: Session) -> int:
    """Holds both equal, those of a protocol in the same order; returns how many there are."""
    rows = np.arange(len(session.rows))
    found: list[dict[str, object]] = []
    for some in (rows[::3], rows):
        wanted, found = plain(session, some), together(session, some)
        wanted.sort(key=lambda row: found_order(session, row))
        assert found == wanted
    return len(found)


def found_order(session: Session, row: dict[str, object]) -> int:
    """Protocols come one after the other, as the index numbers them."""
    return [each.name for each in session.engine.known.dissectors].index(str(row["protocol"]))


def left(session: Session) -> int:
    """How many messages with a layout of their own were not read together."""
    rows = np.flatnonzero(np.isin(session.rows.column("code"), (0, 1, 78)))
    dissector = find_dissector(session, int(rows[0]))
    assert dissector is not None
    fast_path = load_fast_path(dissector)
    assert fast_path is not None
    found = find_record_fields(session, fast_path, rows, lambda key: key)
    both = found.left.copy()
    for logged in fast_path.read_log_records(read_record_fields(session, rows, found, 0, len(rows))):
        both[logged.first : logged.stop] |= logged.left
    laid_out = [fast_path.logs(read_context(session, row)) is not None for row in rows.tolist()]
    return int(np.count_nonzero(both & np.array(laid_out)))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name.partition(".")[0])
def test_real_captures(path: Path) -> None:
    with Session([path]) as session:
        assert equal(session.load())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("effect", ["reordered", "lost", "late", "snapped"])
def test_what_a_network_does_to_them(effect: str, tmp_path: Path) -> None:
    cut(tmp_path / "captures", golden_frames("k4_go_franz", EFFECTS[effect]), ["1.pcap", "2.pcap"])
    with Session(sorted((tmp_path / "captures").iterdir())) as session:
        assert bool(equal(session.load())) is (effect != "snapped")  # nothing of a record is in what is left of it


def captured(path: Path, writes: Sequence[tuple[int, bytes]], parts: Random | None = None) -> Session:
    talk = Talk(tuple(writes))
    write(path, frames(segments(talk) if parts is None else segments(talk, in_parts(parts, 900)), talk))
    return Session([path]).load()


KEYS = (b"k", b"", None, b"long" * 20, b"0123456789", bytes(8), b"k")


def batches(chance: Random) -> bytes:
    count = chance.randrange(12)
    each = (record(at, at, chance.choice(KEYS), chance.choice((b"v", None, bytes(300)))) for at in range(count))
    return batch(b"".join(each), count, chance.choice((0, 8, 0x20)))


def produced(topics: Sequence[tuple[bytes, Sequence[bytes]]]) -> bytes:
    """A Produce v7 of partitions from 3 on."""
    body = struct.pack(">hhii", -1, 1, 0, len(topics))
    for topic, partitions in topics:
        body += struct.pack(">h", len(topic)) + topic + struct.pack(">i", len(partitions))
        for index, entries in enumerate(partitions, 3):
            body += struct.pack(">ii", index, len(entries) if entries else -1) + entries
    content = struct.pack(">hhih", 0, 7, 1, -1) + body
    return len(content).to_bytes(4) + content


@pytest.mark.parametrize("seed", range(3))
def test_topics_and_partitions(seed: int, tmp_path: Path) -> None:
    chance = Random(seed)
    topics = [[(chance.choice((b"a", b"orders", "\u00fc".encode(), b"__consumer_offsets")),
               [b"".join(batches(chance) for _ in range(chance.randrange(3))) for _ in range(chance.randrange(3))])
              for _ in range(chance.randrange(4))] for _ in range(40)]  # fmt: skip
    with captured(tmp_path / "1.pcap", [(CLIENT, produced(each)) for each in topics], chance) as session:
        assert equal(session) > 100
        assert left(session) == 0


def test_many_partitions_of_large_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields are found in more messages than are read in one go."""
    monkeypatch.setattr(module, "CHUNK_BYTES", 1000)
    sound = batch(record(0, 0, b"k", b"v"), 1)
    writes = [(CLIENT, produced([(b"a", [sound] * 20), (b"b", [sound] * 10)]))] * 9
    with captured(tmp_path / "1.pcap", writes) as session:
        assert equal(session) == 270
        assert left(session) == 0


def test_what_is_left_comes_where_it_belongs(tmp_path: Path) -> None:
    """Between messages that are read together: others, of all kinds that are not."""
    sound = batch(record(0, 0, b"k", b"v"), 1)
    odd = [
        produce(b"set", message(1, b"a", 0)),
        produce(b"\xff", sound),
        produce(b"__cluster_metadata", sound),
        produce(b"wrong", sound[:20] + b"\7" + sound[21:]),
        produce(b"broken", sound[:-3] + b"\x40" + sound[-2:]),
    ]
    writes = [each for other in odd for each in (produce(b"t", sound), other, produce(b"u", sound * 2))] * 5
    with captured(tmp_path / "1.pcap", [(CLIENT, each) for each in writes]) as session:
        assert equal(session) > 5 * 19
        assert left(session) == 5 * 4


def test_damage_at_every_byte(tmp_path: Path) -> None:
    whole = produced([(b"one", [batch(record(0, 0, b"k", b"v"), 1), b""]), (b"two", [batch(b"", 0)])])
    damaged = [
        whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :] for at in range(12, len(whole)) for bit in (1, 128)
    ]
    with captured(tmp_path / "1.pcap", [(CLIENT, each) for each in (whole, *damaged)]) as session:
        equal(session)
        assert 0 < left(session) < len(damaged)


def asked(topic: bytes, correlation: int) -> bytes:
    """A Fetch v17 of one topic, and nothing else of interest."""
    body = struct.pack(">iiibii", 100, 1, 1 << 20, 0, 0, 0) + b"\2" + topic + b"\1\0" + b"\1" + b"\1" + b"\0"
    content = struct.pack(">hhih", 1, 17, correlation, -1) + b"\0" + body
    return len(content).to_bytes(4) + content


@pytest.mark.parametrize(("topic", "together"), [(OTHER_ID, True), (METADATA_ID, False)])
def test_ids_of_topics(topic: bytes, together: bool, tmp_path: Path) -> None:
    sound = batch(record(0, 0, b"k", b"v"), 1)
    answer = fetched(topic, sound)
    writes = [each for number in range(9) for each in ((CLIENT, asked(topic, number)),
              (SERVER, answer[:4] + number.to_bytes(4) + answer[8:]))]  # fmt: skip
    with captured(tmp_path / "1.pcap", writes) as session:
        assert equal(session) == 9
        assert left(session) == (0 if together else 9)


def test_names_of_topics_are_those_that_the_capture_tells() -> None:
    with Session([GOLDEN / "kafka" / "k4_java_share.pcap.zst"]) as session:
        found = together(session.load(), np.arange(len(session.rows)))
        assert left(session) == 0
        named = {row["topic"] for row in found if row["operation"] == "ShareFetch"}
    assert named == {"js"}


@pytest.mark.parametrize("name", ["pulsar/cpp28_basic", "rocketmq/m430_bin_send", "rocketmq/m550_json_batch"])
def test_damage_of_other_protocols(name: str, tmp_path: Path) -> None:
    """Only messages that may carry records are asked; whatever their bytes say, no others have any."""
    chance = Random(name)
    for number, talk in enumerate(talks(GOLDEN / f"{name}.pcap.zst")):
        writes = []
        for side, data in talk.writes * 4:
            changed = bytearray(data)
            for _ in range(chance.randrange(3) if len(data) > 12 else 0):
                changed[chance.randrange(4, len(data))] = chance.choice((0, 1, 0x22, 0x7B, 0xFF, chance.randrange(256)))
            writes.append((side, bytes(changed)))
        write(tmp_path / f"{number}.pcap", frames(segments(Talk(tuple(writes), talk.ends)), talk))
    with Session(sorted(tmp_path.iterdir())) as session:
        assert equal(session.load())


def test_small_batches_are_those_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH_RECORDS", 3)
    monkeypatch.setattr(module, "CHUNK_BYTES", 500)
    sound = batch(record(0, 0, b"k", b"v") + record(1, 0, b"k", b"v"), 2)
    writes = [(CLIENT, produce(b"t", sound if at % 3 else message(1, b"a", 0))) for at in range(30)]
    with captured(tmp_path / "1.pcap", writes) as session:
        assert equal(session) == 50


def test_hashes_of_many_keys() -> None:
    chance = Random(1)
    for sizes in ((0, 1, 8, 9, 70), range(600)):
        keys = [chance.randbytes(chance.choice(sizes)) for _ in range(700)]
        data, length = b"".join((*keys, bytes(64))), np.array([len(key) for key in keys], np.int64)
        at = np.cumsum(length) - length
        length[::7] = -1
        wanted = [None if number % 7 == 0 else hash_key(key) for number, key in enumerate(keys)]
        assert hash_keys(data, at, length).to_pylist() == wanted


def test_a_record_that_names_no_topic_has_that_of_its_message() -> None:
    with Session([ROOT / "captures" / "pulsar.pcap.zst"]).load() as session:
        rows = np.arange(len(session.rows))
        subjects = TopicColumns(session)
        batches = list(RecordTableBuilder(session, lambda some: subjects.columns(some)["topics"]).build_rows(rows))
    topics = {topic for each in batches for topic in each["topic"].to_pylist()}
    assert None not in topics
    assert {"persistent://public/default/python-codecs", "persistent://public/default/java-chunks"} <= topics
