"""Decrypted captures of real servers: length, SHA-256 and number of frames, as tshark gives them."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest

import analyzer.messages.engine
from analyzer.decode.rows import RowReader
from analyzer.messages.index import FROM_CLIENT
from analyzer.session import Session
from analyzer.tls.key_files import KeyRing
from tests.analyzer.tls.talking import encrypt, write_key_log
from tests.analyzer.wire import (
    Segment,
    Talk,
    doubled,
    in_parts,
    overlapping,
    reordered,
    repeated_later,
    segments,
    talks,
)
from tests.analyzer.wire import capture as write_capture

GOLDEN = Path(__file__).parents[2] / "golden" / "tls"
SHARED = Path(__file__).parents[4] / "shared" / "tls"
CAPTURES = (
    "k_java_t13",
    "k_ossl_t12_etm_sha256",
    "k_plain_on_tls",
    "k_t12_cbc_sha256",
    "k_t12_chacha",
    "k_t12_gcm128",
    "k_t13_g256",
    "k_t13_keyupdate_g128",
    "k_t13_resume",
    "k_wrongca",
    "p_go_t12",
    "rmq_t13",
    "zk_t13",
)


@pytest.fixture(autouse=True)
def _small_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fast path takes even one packet."""
    monkeypatch.setattr(analyzer.messages.engine, "WORTH_A_ROUND", 1)
    monkeypatch.setattr(analyzer.messages.engine, "WORTH_DECRYPTING", 1)


def capture(name: str) -> Path:
    """The folder of a capture: here, or beside the checkout."""
    for folder in (GOLDEN, SHARED):
        if (folder / f"{name}.keylog").exists():
            return folder
    pytest.skip("the captures of ../shared/tls are absent")


def read(
    name: str, *, block: int = 32_768, form: str = "pcap.zst", logs: bool = True
) -> dict[tuple[int, int], list[bytes]]:
    """The rows of each direction of each stream, by the number of the stream and 0 for the client."""
    folder = capture(name)
    secrets = KeyRing([str(folder / f"{name}.keylog")] if logs else [])
    found = defaultdict(list)
    with Session([folder / f"{name}.{form}"], block=block, secrets=secrets).load() as session:
        pieces, rows = session.engine.pieces, session.rows
        for row in range(len(rows)):
            first, count = rows.cell("pieces", row), rows.cell("count", row)
            places = [(pieces.cell("at", each), pieces.cell("length", each)) for each in range(first, first + count)]
            side = int(rows.cell("side", row) != FROM_CLIENT)
            data = b"".join(session.source.store.read_bytes(*place) for place in places)
            found[rows.cell("stream", row), side].append(data)
    return found


@pytest.mark.sampled(9)
@pytest.mark.parametrize("block", [32_768, 7])
@pytest.mark.parametrize("name", CAPTURES)
def test_plaintext_is_that_of_tshark(name: str, block: int) -> None:
    found = read(name, block=block)
    for stream in json.loads((capture(name) / f"{name}.streams.json").read_text())["streams"]:
        for side, expected in enumerate(stream["directions"]):
            rows = found[stream["tcp_stream"], side]
            if not expected["length"]:
                continue  # raw rows, or plaintext from the beginning
            text = b"".join(rows)
            assert (len(text), hashlib.sha256(text).hexdigest()) == (expected["length"], expected["sha256"])
            assert len(rows) == expected["frames"]


@pytest.mark.parametrize("name", ["k_t13_g256", "k_t13_keyupdate_g128"])
def test_plaintext_is_kept_once(name: str) -> None:
    """Also where a key update or a session ticket ends a run of one side, and the other side's goes on."""
    folder, sizes = capture(name), []
    for use_fast_path in (True, False):
        secrets = KeyRing([str(folder / f"{name}.keylog")])
        with Session([folder / f"{name}.pcap.zst"], secrets=secrets, use_fast_path=use_fast_path).load() as session:
            sizes.append(session.source.store.appended)
    fast, slow = sizes
    assert slow < fast < slow * 1.02  # behind each record's plaintext is its content type


ORDERLY: dict[str, Callable[[Talk, Random], Sequence[Segment]]] = {
    "whole": lambda talk, random: segments(talk),
    "cut": lambda talk, random: segments(talk, in_parts(random, 900)),
    "reordered": lambda talk, random: reordered(segments(talk, in_parts(random, 900)), random),
    "doubled": lambda talk, random: doubled(segments(talk, in_parts(random, 900))),
    "repeated": lambda talk, random: repeated_later(segments(talk, in_parts(random, 900))),
    "overlapping": lambda talk, random: overlapping(segments(talk, in_parts(random, 900)), talk, random),
}
KEYS = ("protocol", "role", "operation", "version", "correlation", "partner", "length", "offset", "state")
NAMES = ("operation", "client", "scope")
PARTNER, OFFSET = KEYS.index("partner"), KEYS.index("offset")
PLAIN = [
    GOLDEN.parent / "kafka" / "k4_go_segment.pcap.zst",
    GOLDEN.parent / "pulsar" / "java4_errors.pcap.zst",
    GOLDEN.parent / "rocketmq" / "m326_send.pcap.zst",
]


def exact_rows(path: Path, secrets: KeyRing, **how: int) -> list[tuple[object, ...]]:
    """All columns of all rows and of their pieces, but for where plaintext lies and how messages are numbered."""
    with Session([path], secrets=secrets, **how).load() as session:  # type: ignore[arg-type]
        pieces, table = session.engine.pieces, session.rows
        columns = [table.column(name).tolist() for name in table.TYPES if name not in ("pieces", "extra", *NAMES)]
        columns += [list(map(session.engine.text, table.column(name).tolist())) for name in NAMES]
        parts = zip(*(pieces.column(name).tolist() for name in pieces.TYPES if name != "at"), strict=True)
        every = list(parts)
        first, count = table.column("pieces").tolist(), table.column("count").tolist()
        return list(zip(*columns, (every[at : at + some] for at, some in zip(first, count, strict=True)), strict=True))


def rows(path: Path, secrets: KeyRing | None = None, **how: int) -> list[tuple[object, ...]]:
    with Session([path], secrets=secrets, **how).load() as session:  # type: ignore[arg-type]
        every = np.arange(len(session.rows))
        columns = RowReader(session).read_columns(KEYS, every)
    columns[PARTNER] = [partner is not None for partner in columns[PARTNER]]  # reordering changes who closes first
    return sorted(zip(*columns, strict=True), key=lambda row: (row[1] != "request", row[OFFSET]))


@pytest.mark.sampled(9)
@pytest.mark.parametrize("record", [100, 16_384])
@pytest.mark.parametrize("effect", ORDERLY)
@pytest.mark.parametrize("plain", PLAIN, ids=lambda path: path.name.partition(".")[0])
def test_rows_are_those_of_the_same_conversation_without_tls(
    tmp_path: Path, plain: Path, effect: str, record: int
) -> None:
    for number, talk in enumerate(talks(plain)[:2]):
        encrypted, script = encrypt(talk, number, record=record)
        path = write_capture(tmp_path / "a.pcap", ORDERLY[effect](encrypted, Random(number)), encrypted)
        keys = KeyRing([str(write_key_log(tmp_path / "keys", [script]))])
        expected = rows(write_capture(tmp_path / "b.pcap", segments(talk), talk))
        assert rows(path, keys) == expected
        slow = exact_rows(path, keys, use_fast_path=False)
        assert slow == exact_rows(path, keys, block=5 if record == 100 else 32_768)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("record", [100, 16_384])
@pytest.mark.parametrize("plain", PLAIN, ids=lambda path: path.name.partition(".")[0])
def test_a_lost_segment_costs_the_messages_in_its_records(tmp_path: Path, plain: Path, record: int) -> None:
    """Most of a conversation stays as it was, and the same bytes are framed."""
    talk = max(talks(plain), key=lambda each: len(each.writes))
    encrypted, script = encrypt(talk, 1, record=record)
    keys = KeyRing([str(write_key_log(tmp_path / "keys", [script]))])
    expected = {row[:5] for row in rows(write_capture(tmp_path / "b.pcap", segments(talk), talk))}
    whole = segments(encrypted, in_parts(Random(1), 700))
    with_data = [place for place, each in enumerate(whole) if each.payload and place > len(whole) // 3]
    for place in Random(2).sample(with_data, min(8, len(with_data))):
        path = write_capture(tmp_path / "a.pcap", [*whole[:place], *whole[place + 1 :]], encrypted)
        found = {row[:5] for row in rows(path, keys)}
        assert len(expected - found) <= 12 + len(expected) // 20


def test_keys_that_come_late_to_a_live_capture_are_waited_for(tmp_path: Path) -> None:
    talk = talks(PLAIN[0])[3]
    encrypted, script = encrypt(talk, 1)
    path = write_capture(tmp_path / "a.pcap", segments(encrypted), encrypted)
    keys = tmp_path / "keys"
    ring = KeyRing([str(keys)], grows=True)
    with Session([path], secrets=ring, block=1) as session:
        for number, _ in enumerate(session.grow()):
            if number == 3:
                assert not len(session.rows)
                write_key_log(keys, [script])
        assert session.engine.dissector(session.rows.cell("protocol", 0)) is not None
        assert len(session.rows) == len(talk.writes)


def test_a_pcapng_file_brings_its_secrets() -> None:
    name, folder = "k_t13_g256", capture("k_t13_g256")
    with Session([folder / f"{name}_dsb.pcapng.zst"]).load() as session:
        assert len(session.rows) == 50
        assert not (session.rows.column("protocol") < 0).any()


def test_a_haproxy_header_may_stand_before_tls(tmp_path: Path) -> None:
    talk = talks(PLAIN[0])[0]
    encrypted, script = encrypt(talk, 1)
    header = b"PROXY TCP4 10.0.0.9 10.0.0.2 5000 9092\r\n"
    (side, first), *rest = encrypted.writes
    encrypted = Talk(((side, header + first), *rest), talk.ends)
    path = write_capture(tmp_path / "a.pcap", segments(encrypted), encrypted)
    ring = KeyRing([str(write_key_log(tmp_path / "keys", [script]))])
    found = rows(path, ring)
    expected = rows(write_capture(tmp_path / "b.pcap", segments(talk), talk))
    assert [row[2] for row in found if row[1] != "raw"] == [row[2] for row in expected]
    assert sum(row[1] == "raw" for row in found) == 1
