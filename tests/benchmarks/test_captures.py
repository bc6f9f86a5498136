"""The captures that are measured: the same each time, sound to our own reader, and shaped like the real ones."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

from analyzer.decode.bodies import decode_body
from analyzer.decode.content import find_dissector, read_header, read_message
from analyzer.session import Session
from benchmarks.captures import write
from benchmarks.contents import record_bytes
from benchmarks.kafka import one_fetch
from benchmarks.library import KINDS, Library
from benchmarks.recorded import GOLDEN
from benchmarks.traffic import TAME, Traffic
from dissectors.api import Role, State

pytestmark = pytest.mark.xdist_group("benchmarks")

PACKETS = 2000
TAME_KINDS = [name for name, kind in KINDS.items() if kind.traffic == TAME]
REAL_KINDS = [name for name in KINDS if name not in TAME_KINDS]
SHARES = {"small": 0.36, "rocketmq": 0.39, "pulsar": 0.24, "zookeeper": 0.20, "quorum": 0.28}
"""Packets without payload in recordings (benchmarks/captures.py)."""

PROTOCOLS = {"rocketmq": "rocketmq", "pulsar": "pulsar", "zookeeper": "zookeeper", "quorum": "zookeeper-quorum"}
"""Of kinds that are not Kafka's."""


class Made(dict[str, Path]):
    """Captures by their kind, made when they are asked for."""

    def __init__(self, folder: Path) -> None:
        self._library = Library(folder)

    def __missing__(self, kind: str) -> Path:
        self[kind] = self._library.of_packets(kind, PACKETS)
        return self[kind]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("captures"))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", TAME_KINDS)
def test_all_messages_are_whole_paired_and_without_findings(kind: str, made: Made) -> None:
    with Session([made[kind]]).load() as session:
        rows = session.rows
        assert not session.findings
        assert set(rows.column("state").tolist()) == {State.COMPLETE}
        role = rows.column("role")
        expecting = (role == Role.REQUEST) | (role == Role.RESPONSE)
        assert (rows.column("partner")[expecting] >= 0).all()
        names = {find_dissector(session, row).name for row in range(len(rows))}  # type: ignore[union-attr]
        assert names == {PROTOCOLS.get(kind, "kafka")}
        assert not [row for row in range(len(rows)) if decode_body(session, row).findings]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_bytes_each_time(kind: str, made: Made, tmp_path: Path) -> None:
    write(tmp_path / "again.pcap", KINDS[kind], packets=PACKETS)
    assert (tmp_path / "again.pcap").read_bytes() == made[kind].read_bytes()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("kind", "share"), SHARES.items())
def test_not_fewer_packets_without_payload_than_in_recordings(kind: str, share: float, made: Made) -> None:
    with Session([made[kind]]) as session:
        lengths = np.concatenate([block.length for block in session.packets.blocks()])
    assert (lengths == 0).mean() >= share


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", [kind for kind in TAME_KINDS if kind != "quorum"])
def test_no_two_requests_of_a_connection_have_one_correlation(kind: str, made: Made) -> None:
    with Session([made[kind]]).load() as session:
        keys = [
            (session.rows.cell("stream", row), read_header(session, row).key)
            for row in np.flatnonzero(session.rows.column("role") == Role.REQUEST).tolist()
            if read_header(session, row).operation
            not in {"ping", "PING", "connect", "CONNECT", "PRODUCER", "SUBSCRIBE"}
        ]
    assert len(keys) > 50
    assert len(set(keys)) == len(keys)


def test_no_two_proposals_of_a_learner_have_one_zxid(made: Made) -> None:
    """Packets of servers have no correlation; a PROPOSAL is told by its zxid."""
    with Session([made["quorum"]]).load() as session:
        proposed = [
            (session.rows.cell("stream", row), read_message(session, row)[4:12])
            for row in range(len(session.rows))
            if read_header(session, row).operation == "PROPOSAL"
        ]
    assert len(set(proposed)) == len(proposed) > 50


def test_clients_and_topics_differ_and_a_third_of_large_batches_is_compressed(made: Made) -> None:
    codecs, topics, clients = [], set(), set()
    with Session([made["large"]]).load() as session:
        for row in np.flatnonzero(session.rows.column("role") == Role.REQUEST).tolist():
            header, values = read_header(session, row), decode_body(session, row).values
            clients.add(header.client)
            for topic in values.get("topicData", []) if header.operation == "Produce" else []:
                topics.add(topic["name"])
                codecs += [batch["compression"] for part in topic["partitionData"] for batch in part["records"]]
    assert len(clients) >= 8
    assert len(topics) >= 5
    packed = [codec for codec in codecs if codec != "none"]
    assert set(packed) == {"lz4", "snappy"}
    assert 0.15 < len(packed) / len(codecs) < 0.5


def test_a_capture_of_so_many_bytes_and_one_of_one_message(tmp_path: Path) -> None:
    library = Library(tmp_path)
    assert 1 << 20 <= library.of_size(1).stat().st_size < 1_300_000
    write(tmp_path / "one.pcap", one_fetch(1 << 20))
    with Session([tmp_path / "one.pcap"]).load() as session:
        assert len(session.rows) == 2
        assert session.rows.column("length").max() >= 1 << 20
        assert not decode_body(session, 1).findings
    assert not list(tmp_path.glob("*.part"))


def test_bytes_of_records_are_those_of_the_vendor() -> None:
    golden = GOLDEN / "kafka" / "k4_py_kp"
    text = zstandard.ZstdDecompressor().stream_reader(golden.with_suffix(".expected.ndjson.zst").read_bytes()).read()
    expected = sum(map(_vendors, map(json.loads, text.splitlines())))
    assert record_bytes(golden.with_suffix(".pcap.zst")) == expected > 1000


def _vendors(value: Any) -> int:
    """The bytes of keys, values and headers of the records in a row of the truth."""
    if isinstance(value, list):
        return sum(map(_vendors, value))
    if not isinstance(value, dict):
        return 0
    if not {"timestamp", "headers"} <= value.keys():
        return sum(map(_vendors, value.values()))
    sides = [value, *value["headers"]]
    bytes_of = [side[name] for side in sides for name in ("key", "value") if isinstance(side[name], dict)]
    return sum(each["length"] for each in bytes_of) + sum(len(header["key"]) for header in value["headers"])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", REAL_KINDS)
def test_real_traffic_is_of_its_protocol_and_nearly_whole(kind: str, made: Made) -> None:
    with Session([made[kind]]).load() as session:
        dissectors = [find_dissector(session, row) for row in range(len(session.rows))]
        assert {each.name for each in dissectors if each is not None} == {
            PROTOCOLS.get(kind.removeprefix("real-"), "kafka")
        }
        whole = (session.rows.column("state") == State.COMPLETE).mean()
    assert whole > (0.9 if kind not in ("one-way", "snapped") else -1)


def test_switches_of_traffic_do_what_they_say(tmp_path: Path) -> None:
    """Each switch alone, on the conversations of the real capture."""
    plain = replace(KINDS["real"], connections=8, together=0.0, traffic=TAME)

    def capture(**switches: Any) -> Session:
        path = tmp_path / f"{'-'.join(switches) or 'plain'}.pcap"
        write(path, replace(plain, traffic=Traffic(**switches)), packets=PACKETS)
        session = Session([path])
        session.load()
        return session

    with capture() as session:
        assert not session.findings
        assert in_flight(session) <= 3
    with capture(in_flight=((30, 1),)) as session:
        assert in_flight(session) >= 20
    with capture(one_way=True) as session:
        assert set(session.rows.column("role").tolist()) == {Role.RESPONSE}
    with capture(snap=128) as session:
        assert (session.rows.column("state") == State.PARTIAL).any()
    with capture(missed=0.05) as session:
        assert session.findings
    with capture(turns=(1, 2)) as session:
        assert len(session.engine.streams) > 50
    with capture(tls=1.0) as session:
        assert not (session.rows.column("state") == State.COMPLETE).any()
    for switches in ({"ipv6": 1.0}, {"vlan": 1.0}, {"delayed_acks": True}, {"reordered": 0.05}, {"retransmitted": 0.2}):
        with capture(**switches) as session:
            assert (session.rows.column("state") == State.COMPLETE).all(), switches
            assert len(session.rows) > 300


def in_flight(session: Session) -> int:
    """The most requests of a connection that were unanswered at once."""
    waiting: Counter[int] = Counter()
    most = 0
    for stream, role in zip(session.rows.column("stream").tolist(), session.rows.column("role").tolist(), strict=True):
        waiting[stream] += {Role.REQUEST: 1, Role.RESPONSE: -1}.get(Role(role), 0)
        most = max(most, waiting[stream])
    return most
