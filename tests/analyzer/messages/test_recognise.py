"""Which protocol a connection speaks: by the user's word, the bytes, the port; also behind what a proxy puts first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analyzer.decode.bodies import decode_tree
from analyzer.insight.diagnosis import diagnose
from analyzer.insight.overview import overview
from analyzer.session import Session
from tests.analyzer.wire import (
    CLIENT,
    SERVER,
    Cut,
    Talk,
    byte_by_byte,
    capture,
    rows_of,
    segments,
    talks,
    whole,
    without_handshake,
)

ROOT = Path(__file__).parents[3]
KAFKA = ROOT / "captures" / "kafka.pcap"
V1 = b"PROXY TCP4 192.0.2.7 192.0.2.8 60744 9092\r\n"
V2 = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + bytes(12)
HELLO = bytes.fromhex("16030101240100012003033ee964474c00674e788268239ee9c5c7db283ef7c9")


def on_port(talk: Talk, port: int) -> Talk:
    return replace(talk, ends=(talk.ends[0], (talk.ends[1][0], port)))


@pytest.fixture(scope="module")
def talk() -> Talk:
    return next(talk for talk in talks(KAFKA) if len(talk.writes) == 6)


def proxied(talk: Talk, preamble: bytes) -> Talk:
    return replace(talk, writes=((CLIENT, preamble), *talk.writes))


@pytest.mark.parametrize("cut", [whole, byte_by_byte])
@pytest.mark.parametrize("preamble", [V1, V2], ids=["version 1", "version 2"])
def test_what_a_proxy_puts_first_is_a_raw_row(talk: Talk, preamble: bytes, cut: Cut, tmp_path: Path) -> None:
    path = capture(tmp_path / "a.pcap", segments(proxied(talk, preamble), cut), talk)
    with Session([path]).load() as session:
        first, *rest = rows_of(session)
        assert (first["role"], first["protocol"], first["length"]) == ("raw", "unknown", len(preamble))
        assert "HAProxy" in first["info"]
        assert [row["operation"] for row in rest[:2]] == ["ApiVersions", "ApiVersions"]
        assert {row["state"] for row in rest} == {"complete"}
        assert [each["code"] for each in first["findings"]] == ["proxy-preamble"]
        assert session.findings == []


def test_a_proxy_without_a_conversation_is_named(tmp_path: Path) -> None:
    path = capture(tmp_path / "a.pcap", segments(Talk(((CLIENT, V1),))))
    with Session([path]).load() as session:
        (row,) = rows_of(session)
        assert (row["role"], row["length"]) == ("raw", len(V1))
        assert "HAProxy" in row["info"]


def test_a_preamble_is_found_without_the_handshake(talk: Talk, tmp_path: Path) -> None:
    path = capture(tmp_path / "a.pcap", without_handshake(segments(proxied(talk, V1))), talk)
    with Session([path]).load() as session:
        first, *rest = rows_of(session)
        assert (first["role"], first["length"]) == ("raw", len(V1))
        assert [row["state"] for row in rest] == ["complete"] * 6


def test_a_protocol_on_the_port_of_another_is_named(talk: Talk, tmp_path: Path) -> None:
    path = capture(tmp_path / "a.pcap", segments(talk), on_port(talk, 2181))
    with Session([path]).load() as session:
        assert {row["protocol"] for row in rows_of(session)} == {"kafka"}
        (finding,) = session.findings
        assert finding.code == "wrong-protocol"
        assert "kafka is spoken on port 2181, which usually is that of zookeeper" in finding.text


@pytest.mark.parametrize("port", [2181, 2888, 3888, 6650])
@pytest.mark.parametrize("shown", [(CLIENT, SERVER), (CLIENT,)], ids=["both sides", "requests alone"])
@pytest.mark.parametrize("messages", [1, 2, 6])
def test_who_speaks_it_on_the_port_of_another_is_believed(
    talk: Talk, port: int, shown: tuple[int, ...], messages: int, tmp_path: Path
) -> None:
    writes = tuple(each for each in talk.writes[:messages] if each[0] in shown)
    protocol = on_port(replace(talk, writes=writes), port)
    with Session([capture(tmp_path / "a.pcap", segments(protocol), protocol)]).load() as session:
        assert [row["operation"] is not None for row in rows_of(session)] == [True] * len(writes)
        assert {row["protocol"] for row in rows_of(session)} == {"kafka"}
        assert [finding.code for finding in session.findings if finding.code == "wrong-protocol"] == ["wrong-protocol"]


@pytest.mark.parametrize("port", [9092, 50_123])
def test_on_its_own_port_or_one_of_nobody_nothing_is_reported(talk: Talk, port: int, tmp_path: Path) -> None:
    path = capture(tmp_path / "a.pcap", segments(talk), on_port(talk, port))
    with Session([path]).load() as session:
        assert {row["protocol"] for row in rows_of(session)} == {"kafka"}
        assert session.findings == []


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (HELLO, "a TLS ClientHello; a server that reads a size there sees 369295617"),
        (b"GET / HTTP/1.1\r\n\r\n", "an HTTP request"),
    ],
)
@pytest.mark.parametrize(
    ("port", "codes"), [(9092, ["wrong-protocol"]), (2181, ["wrong-protocol"]), (80, []), (443, [])]
)
def test_what_is_foreign_is_named_and_wrong_on_a_port_of_ours(
    data: bytes, text: str, port: int, codes: list[str], tmp_path: Path
) -> None:
    talk = on_port(Talk(((CLIENT, data),)), port)
    with Session([capture(tmp_path / "a.pcap", segments(talk), talk)]).load() as session:
        (row,) = rows_of(session)
        assert (row["role"], row["protocol"], row["state"]) == ("raw", "unknown", "undecoded")
        assert text in row["info"]
        # One finding, wherever it is asked for.
        assert [each["code"] for each in row["findings"]] == codes
        assert [each.code for each in decode_tree(session, 0).findings] == codes
        assert [each.finding.code for each in diagnose(session)] == codes
        assert [code for _, code, _ in overview(session).findings] == codes
        assert session.findings == []


def test_what_is_foreign_in_a_connection_of_ours_is_reported_once(talk: Talk, tmp_path: Path) -> None:
    alert = bytes.fromhex("15030300020228")
    writes = (talk.writes[0], (SERVER, alert))
    path = capture(tmp_path / "a.pcap", segments(replace(talk, writes=writes)), on_port(talk, 50_123))
    with Session([path]).load() as session:
        *_, row = rows_of(session)
        (finding,) = row["findings"]
        assert finding["text"].startswith("the bytes are a TLS alert; ")
        assert ", in a connection of kafka; " in finding["text"]
        assert session.findings == []


LATE = {
    "like a packet of a quorum": ("000000110000102b0000000000000009afbd7b0100", 0x102B),
    "like one of the other side": ("00000012000000060000000000000e358c7600000000", 6),
    "several of them": ("000000110000102b0000000000000009afbd7b0100000000110000102c0000000000000009afbd7b0100", 0x102B),
    "like a Produce": ("0000002700000000000000000002066a74782d67000000020a3132372e302e302e31000072080000010000", 0),
}


@pytest.mark.parametrize(("data", "correlation"), LATE.values(), ids=LATE)
@pytest.mark.parametrize("port", [9092, 29_194])
def test_an_answer_alone_in_a_capture_that_begins_late(data: str, correlation: int, port: int, tmp_path: Path) -> None:
    """Of real brokers; the connection's opening and the request are not there."""
    late = on_port(Talk(((SERVER, bytes.fromhex(data)),)), port)
    with Session([capture(tmp_path / "a.pcap", without_handshake(segments(late)), late)]).load() as session:
        first, *rest = rows_of(session)
        assert (first["protocol"], first["role"], first["correlation"]) == ("kafka", "response", correlation)
        assert first["state"] == "guessed"
        assert not first["from_client"]
        assert {row["role"] for row in rest} <= {"response"}
