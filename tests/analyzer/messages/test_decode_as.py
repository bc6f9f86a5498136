"""What the user says about ports and connections: how it is written, and that it holds whatever the bytes are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from analyzer.decode.endpoints import name_endpoint, name_stream
from analyzer.errors import UserError
from analyzer.messages import decode_as
from analyzer.messages.decode_as import DecodeAsTarget, PortRange, StreamEnds, StreamNumber
from analyzer.session import Session
from tests.analyzer.decode.test_rows import ANSWER, REQUEST
from tests.analyzer.wire import (
    CLIENT,
    SERVER,
    Cut,
    Talk,
    byte_by_byte,
    capture,
    frames,
    rows_of,
    segments,
    whole,
    without_handshake,
    write,
)

KAFKA = Path(__file__).parents[3] / "captures" / "kafka.pcap"
ENDS = StreamEnds("10.0.0.1:40000", "10.0.0.2:9092")
SIX = StreamEnds("[fd00::1]:40000", "[fd00::2]:2181", 2)
GOOD: list[tuple[str, DecodeAsTarget, str]] = [
    ("9092=kafka", 9092, "kafka"),
    ("9092,kafka", 9092, "kafka"),
    (" tcp.port == 9092 , kafka ", 9092, "kafka"),
    ("tcp.port==8000-8010,kafka", PortRange(8000, 8010), "kafka"),
    ("8000:3=zookeeper-quorum", PortRange(8000, 8002), "zookeeper-quorum"),
    ("8000-8000=kafka", 8000, "kafka"),
    ("65535=none", 65535, "none"),
    ("stream==3,pulsar", StreamNumber(3), "pulsar"),
    ("tcp.stream==0=raw", StreamNumber(0), "raw"),
    ("10.0.0.1:40000>10.0.0.2:9092=kafka", ENDS, "kafka"),
    ("10.0.0.1:40000 > 10.0.0.2:09092,kafka", ENDS, "kafka"),
    ("[fd00:0:0::1]:40000>[FD00::2]:2181#2=zookeeper", SIX, "zookeeper"),
]
BAD = {
    "9092": "is not PORT=PROTOCOL",
    "": "is not PORT=PROTOCOL",
    "0=kafka": "'0' is neither a port nor a stream",
    "65536=kafka": "is neither a port",
    "10-5=kafka": "is neither a port",
    "65000:1000=kafka": "is neither a port",
    "8000:0=kafka": "is neither a port",
    "stream==3": "is neither a port",
    "stream=3=kafka": "is neither a port",
    "stream==-1=kafka": "is neither a port",
    "10.0.0.1:1>10.0.0.256:2=kafka": "is neither a port",
    "10.0.0.1:1>10.0.0.2:99999=kafka": "is neither a port",
    "10.0.0.1>10.0.0.2=kafka": "is neither a port",
    "[10.0.0.1:1>[::2]:2=kafka": "is neither a port",
    "9092=parrot": "There is no protocol 'parrot'. Give one of kafka, ",
}


@pytest.mark.parametrize(("text", "where", "protocol"), GOOD, ids=[text for text, *_ in GOOD])
def test_what_can_be_reported(text: str, where: DecodeAsTarget, protocol: str) -> None:
    assert decode_as.parse_rule(text) == (where, protocol)


@pytest.mark.parametrize("text", BAD)
def test_what_is_wrong_is_reported(text: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        decode_as.parse_rule(text)
    assert BAD[text] in str(caught.value)


def test_the_last_word_counts() -> None:
    reported = ((9092, "kafka"), (PortRange(9090, 9100), "pulsar"), (9092, "none"))
    assert list(decode_as.merge_rules(reported)) == [PortRange(9090, 9100), 9092]
    ports = decode_as.collect_ports(decode_as.merge_rules(reported).items())
    assert (ports[9092], ports[9090], ports[9100], len(ports)) == ("none", "pulsar", "pulsar", 11)
    assert decode_as.collect_ports(reversed(reported))[9092] == "kafka"


TALK = Talk(((CLIENT, REQUEST), (SERVER, ANSWER), (CLIENT, REQUEST), (SERVER, ANSWER)))
Told = Mapping[DecodeAsTarget, str]
FORCED: list[Told] = [
    {StreamNumber(0): "pulsar"},
    {ENDS: "pulsar"},
    {StreamEnds(ENDS.server, ENDS.client): "pulsar"},
    {9092: "kafka", StreamNumber(0): "pulsar"},
    {ENDS: "kafka", StreamNumber(0): "pulsar"},
]


@pytest.mark.parametrize("cut", [whole, byte_by_byte])
@pytest.mark.parametrize("told", FORCED, ids=str)
def test_a_word_is_obeyed_whatever_the_bytes_are(tmp_path: Path, told: Told, cut: Cut) -> None:
    path = capture(tmp_path / "a.pcap", segments(TALK, cut))
    with Session([path], decode_as=told).load() as session:
        assert session.engine.dissector(session.engine.streams.cell("protocol", 0)) is not None
        assert {row["protocol"] for row in rows_of(session)} <= {"pulsar", "unknown"}
        text = "stream 0, from the client: read as pulsar, as was asked for; its first bytes are those of kafka"
        assert [finding.text for finding in session.findings if finding.code == "wrong-protocol"] == [text]


def test_a_range_of_ports_is_obeyed(tmp_path: Path) -> None:
    path = capture(tmp_path / "a.pcap", segments(TALK))
    with Session([path], decode_as={PortRange(9000, 9100): "pulsar"}).load() as session:
        assert {row["protocol"] for row in rows_of(session)} <= {"pulsar", "unknown"}
        assert "wrong-protocol" in {finding.code for finding in session.findings}


LEFT: list[Told] = [{StreamNumber(0): "none"}, {ENDS: "raw"}, {9092: "none"}, {9092: "kafka", ENDS: "none"}]


@pytest.mark.parametrize("told", LEFT, ids=str)
def test_a_connection_may_be_left_undecoded(tmp_path: Path, told: Told) -> None:
    path = capture(tmp_path / "a.pcap", segments(TALK))
    with Session([path], decode_as=told).load() as session:
        found = rows_of(session)
        assert {(row["protocol"], row["role"], row["state"]) for row in found} == {("unknown", "raw", "undecoded")}
        assert sum(row["length"] for row in found) == 2 * (len(REQUEST) + len(ANSWER))
        assert [finding.code for finding in session.findings] == []


@pytest.mark.parametrize("told", [{StreamNumber(1): "none"}, {replace(ENDS, reuse=1): "none"}, {9091: "none"}], ids=str)
def test_others_are_not_meant(tmp_path: Path, told: Told) -> None:
    path = capture(tmp_path / "a.pcap", segments(TALK))
    with Session([path], decode_as=told).load() as session:
        assert {row["protocol"] for row in rows_of(session)} == {"kafka"}


def test_a_reused_port_is_a_stream_of_its_own(tmp_path: Path) -> None:
    again = replace(TALK, isn=(900_000, 8_000_000))
    packets = [*frames(segments(TALK)), *frames(segments(again), again, begin=frames(segments(TALK))[-1].time + 1)]
    path = write(tmp_path / "a.pcap", packets)
    with Session([path], decode_as={replace(ENDS, reuse=1): "none"}).load() as session:
        protocols = [(row["stream"], row["protocol"]) for row in rows_of(session)]
        assert set(protocols) == {(0, "kafka"), (1, "unknown")}


@pytest.mark.parametrize(
    ("told", "client"),
    [
        ({StreamNumber(0): "kafka"}, "10.0.0.1:40000"),
        ({ENDS: "kafka"}, "10.0.0.1:40000"),
        ({StreamEnds(ENDS.server, ENDS.client): "kafka"}, "10.0.0.2:9092"),
    ],
    ids=str,
)
def test_without_handshake_the_first_end_is_the_client(tmp_path: Path, told: Told, client: str) -> None:
    path = capture(tmp_path / "a.pcap", without_handshake(segments(TALK)))
    with Session([path], decode_as=told).load() as session:
        assert name_endpoint(session, 0, CLIENT) == client


def test_neither_blocks_nor_files_nor_the_path_matter() -> None:
    with Session([KAFKA]).load() as session:
        stream = name_stream(session, 5)
        plain = {row["id"]: row for row in rows_of(session)}
    reported: list[Told] = [{StreamNumber(5): "rocketmq"}, dict([decode_as.parse_rule(f"{stream}=rocketmq")])]
    seen = []
    for each in reported:
        for arguments in ({}, {"block": 1}, {"block": 97, "use_fast_path": False}):
            with Session([KAFKA], decode_as=each, **arguments).load() as session:
                seen.append(rows_of(session))
    assert all(found == seen[0] for found in seen)
    assert {row["protocol"] for row in seen[0] if row["stream"] == 5} <= {"rocketmq", "unknown"}
    same = ("id", "operation", "state", "length")
    for row in seen[0]:
        if row["stream"] != 5:
            assert [row[key] for key in same] == [plain[row["id"]][key] for key in same]


def test_an_unknown_protocol_is_an_error() -> None:
    with pytest.raises(KeyError, match="parrot"):
        Session([KAFKA], decode_as={StreamNumber(0): "parrot"})


def test_a_capture_is_read_again_with_one_word_more(tmp_path: Path) -> None:
    path = capture(tmp_path / "a.pcap", segments(TALK))
    with (
        Session([path], decode_as={9092: "pulsar"}).load() as session,
        session.reopen_with_rules((9092, "kafka")).load() as again,
    ):
        assert {row["protocol"] for row in rows_of(again)} == {"kafka"}
        with again.reopen_with_rules((StreamNumber(0), "none")).load() as left:
            assert {row["protocol"] for row in rows_of(left)} == {"unknown"}
        path.unlink()
        with pytest.raises(UserError, match="can be read only once"):
            session.reopen_with_rules((9092, "none"))
