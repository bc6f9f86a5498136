"""What messages carry, as files: the right bytes under safe names, and an index that says where each was."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.capture.output import INDEX
from analyzer.decode.bodies import decode_body
from analyzer.decode.content import read_messages
from analyzer.errors import UserError
from analyzer.export import objects, raw
from analyzer.export.folder import LONGEST, FileNames, create_filled_folder, safe_name
from analyzer.session import Session
from dissectors.wire.inner import content, find_within
from tests.analyzer.pipeline.house import talk
from tests.analyzer.wire import CLIENT, Talk, capture, segments

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden"
MIXED = ROOT / "captures" / "mixed.pcapng"

Indexed = list[dict[str, Any]]


def exported(path: Path, out: Path, *, show_secrets: bool = False) -> tuple[Indexed, objects.StoredObject]:
    with Session([path]).load() as session, create_filled_folder(str(out)) as folder:
        remaining = objects.write(session, np.arange(len(session.rows)), folder, show_secrets=show_secrets)
    return index_of(out), remaining


def index_of(folder: Path) -> Indexed:
    return [json.loads(line) for line in (folder / INDEX).read_text().splitlines()]


def steps(field: str) -> tuple[str | int, ...]:
    return tuple(int(part[1:-1]) if part[0] == "[" else part for part in re.findall(r"\[\d+\]|[^.\[\]]+", field))


CAPTURES = [
    (MIXED, {"key", "value", "data", "payload", "body"}),
    (GOLDEN / "kafka" / "k010_py_old.pcap.zst", {"key", "value"}),
    (GOLDEN / "kafka" / "k4_java_internal.pcap.zst", {"key", "value"}),
    (GOLDEN / "pulsar" / "cpp4_codecs.pcap.zst", {"payload"}),
    (GOLDEN / "rocketmq" / "m550_json_bcq_lab_bcq.pcap.zst", {"body"}),
    (GOLDEN / "zookeeper" / "en395_txns_follower.pcap.zst", {"data"}),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("path", "kinds"), CAPTURES, ids=lambda case: getattr(case, "name", ""))
def test_every_file_is_the_bytes_of_its_field(path: Path, kinds: set[str], tmp_path: Path) -> None:
    index, _ = exported(path, tmp_path / "out")
    assert {each["kind"] for each in index} == kinds
    assert {each["file"] for each in index} | {INDEX} == {file.name for file in (tmp_path / "out").iterdir()}
    with Session([path]).load() as session:
        for each in index:
            data = (tmp_path / "out" / each["file"]).read_bytes()
            assert content(find_within(decode_body(session, each["number"] - 1).values, steps(each["field"]))) == data
            assert len(data) == each["length"]


def test_records_are_called_by_topic_partition_and_offset(tmp_path: Path) -> None:
    index, _ = exported(MIXED, tmp_path / "out")
    first = next(each for each in index if each["protocol"] == "kafka")
    assert first["file"] == "jg-0-0.key"  # the message has the topic's id, another its name
    assert (tmp_path / "out" / "jg-0-0.key").read_bytes() == b"key-1"
    files = [each["file"] for each in index]
    # The same record was produced and fetched; its key and its value keep the same number.
    assert {"jg-0-0~2.key", "jg-0-0~2.value"} <= set(files)
    assert "_kz_a_b_c.data" in files


def test_what_compression_hid_is_open(tmp_path: Path) -> None:
    path = GOLDEN / "rocketmq" / "m550_bin_compress_lab_base.pcap.zst"
    index, _ = exported(path, tmp_path / "out")
    plain = [(tmp_path / "out" / each["file"]).read_bytes() for each in index if "Uncompressed" in each["field"]]
    assert plain
    assert all(data.startswith(b"the quick brown fox") for data in plain)


CHUNKS = GOLDEN / "pulsar" / "go4_chunks.pcap.zst"


def test_what_was_sent_in_chunks_is_one_file(tmp_path: Path) -> None:
    """Sent in messages 43 to 47, delivered in 58 to 62."""
    index, _ = exported(CHUNKS, tmp_path / "out")
    found = [each for each in index if "joined" in each]
    assert [(each["number"], each["joined"]) for each in found] == [
        (47, [43, 44, 45, 46, 47]),
        (62, [58, 59, 60, 61, 62]),
    ]
    sent, delivered = ((tmp_path / "out" / each["file"]).read_bytes() for each in found)
    assert (len(sent), sent) == (4200, delivered)
    assert not [each for each in index if "chunk" in each["file"]]
    assert [each["number"] for each in index if 40 < each["number"] < 63] == [47, 62]


@pytest.mark.parametrize(
    ("numbers", "found"),
    [
        ([43, 44, 46], [(43, 1000), (44, 1000), (46, 1000)]),
        ([47], [(47, 4200)]),
        ([43, 58, 47, 62], [(47, 4200), (62, 4200)]),
        ([43, 58, 47], [(47, 4200), (58, 1000)]),
    ],
)
def test_some_chunks_of_a_message(numbers: list[int], found: list[tuple[int, int]], tmp_path: Path) -> None:
    with Session([CHUNKS]).load() as session, create_filled_folder(str(tmp_path / "out")) as folder:
        objects.write(session, np.array(numbers) - 1, folder)
    assert [(each["number"], each["length"]) for each in index_of(tmp_path / "out")] == found


def test_chunks_that_cannot_be_joined_are_files_each(tmp_path: Path) -> None:
    index, remaining = exported(GOLDEN / "pulsar" / "java4_encryption.pcap.zst", tmp_path / "out")
    chunked = [each for each in index if "chunk" in each["file"] or each["number"] in (114, 115, 116, 117, 118)]
    assert not [each for each in index if "joined" in each]
    assert {each["number"] for each in chunked} >= {114, 115, 116, 117, 118}
    assert remaining.secrets == 0


def produce(topic: bytes) -> bytes:
    """A Produce request v2 with one message of magic 1, key `k` and value `v`."""
    inner = b"\1\0" + bytes(8) + b"\0\0\0\1k" + b"\0\0\0\1v"
    message = bytes(8) + (len(inner) + 4).to_bytes(4) + bytes(4) + inner
    body = b"\0\1\0\0\x03\xe8" + b"\0\0\0\1" + len(topic).to_bytes(2) + topic + b"\0\0\0\1\0\0\0\0"
    body = b"\0\0\0\2\0\0\0\7\0\2me" + body + len(message).to_bytes(4) + message
    return len(body).to_bytes(4) + body


@pytest.mark.parametrize("topic", [b"../../../etc/cron.d/x", b"/", b"..", b"\x1b]0;x\x07", b"a" * 600, b"-rf", b""])
def test_no_topic_leads_out_of_the_folder(topic: bytes, tmp_path: Path) -> None:
    path = capture(tmp_path / "in.pcap", segments(Talk((*talk(1).writes, (CLIENT, produce(topic))))))
    index, _ = exported(path, tmp_path / "out")
    assert [each["name"][0] for each in index] == [topic.decode()] * 2
    files = sorted(file.name for file in (tmp_path / "out").iterdir())
    assert files == sorted([INDEX, *(each["file"] for each in index)])
    assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._~-]{0,160}", name) for name in files)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["in.pcap", "out"]


def test_the_number_of_files_is_bounded(tmp_path: Path) -> None:
    with Session([MIXED]).load() as session:
        rows = np.arange(len(session.rows))
        with (
            pytest.raises(UserError, match="more than 3 files"),
            create_filled_folder(str(tmp_path / "out"), most=3) as folder,
        ):
            objects.write(session, rows, folder)
    assert not list(tmp_path.iterdir())


def test_messages_as_files(tmp_path: Path) -> None:
    with Session([MIXED]).load() as session:
        rows = np.arange(0, len(session.rows), 7)
        with create_filled_folder(str(tmp_path / "out")) as folder:
            raw.write_each(session, rows, folder)
        index = index_of(tmp_path / "out")
        assert [each["number"] for each in index] == (rows + 1).tolist()
        assert index[0]["file"] == "000001-ApiVersions-request.bin"
        for each, message in zip(index, read_messages(session, rows), strict=True):
            assert (tmp_path / "out" / each["file"]).read_bytes() == message


def test_what_a_snapshot_is_too_long_for_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dissectors.zookeeper.quorum.snapshot.compute_bounds", lambda: (5, 1 << 20))
    index, remaining = exported(GOLDEN / "zookeeper" / "mtu_en395_snap.pcap.zst", tmp_path / "out")
    assert len([each for each in index if each["operation"] == "SNAPSHOT"]) <= 5
    assert remaining.items == 151


# ---- file names are safe whatever a capture says


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("orders-3-17", "orders-3-17"),
        ("my.topic_1", "my.topic_1"),
        ("../../etc/passwd", "_.._.._etc_passwd"),
        ("/", "_"),
        ("..", "_"),
        (".hidden", "_.hidden"),
        ("-rf", "_-rf"),
        ("", "_"),
        ("a\x1b[2Jb\nc\x00d", "a_2Jb_c_d"),
        ("caf\u00e9\u202egnp", "caf_gnp"),
        ("CON", "_CON"),
        ("nul.x", "_nul.x"),
        ("console", "console"),
        ("dot.", "dot"),
        ("x" * 500, "x" * LONGEST),
    ],
)
def test_names(text: str, name: str) -> None:
    assert safe_name(text) == name


@given(st.text(st.characters(), max_size=300))
def test_every_name_is_one_plain_component(text: str) -> None:
    name = safe_name(text)
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", name)
    assert len(name) <= LONGEST
    assert name == safe_name(name) or name.startswith("_")


def test_the_same_name_is_given_once() -> None:
    names = FileNames()
    assert [names.new(text) for text in ("a", "A", "a/", "a?", "a~2", "b")] == ["a", "A~2", "a_", "a_~2", "a_2", "b"]
