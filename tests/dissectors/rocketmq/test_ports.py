"""What else comes to RocketMQ's ports, and frames that are none, too long, or begun late: each said in a sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analyzer.session import Session
from dissectors.api import Context, Role
from dissectors.rocketmq import RocketMQ
from dissectors.rocketmq.header import MAXIMUM, TAKEN, report_oversized
from tests.analyzer.wire import (
    CLIENT,
    SERVER,
    Cut,
    Ends,
    Row,
    Talk,
    byte_by_byte,
    capture,
    rows_of,
    segments,
    whole,
    without_handshake,
)
from tests.dissectors.rocketmq.frames import binary, command, frame
from tests.dissectors.test_signatures import CONNECT, KAFKA
from tests.dissectors.trees import assert_tiles

ROCKETMQ = RocketMQ()
ASK, ANSWER = command(105, topic="orders"), command(0, flag=1)
HELLO = bytes.fromhex("1603010005010000010000")
SERVER_HELLO = bytes.fromhex("160303000502000001ff")
V1 = b"PROXY TCP4 10.0.0.1 10.0.0.2 4000 9876\r\n"
V2 = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + bytes(12)
PREFACE, SETTINGS = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", bytes.fromhex("000000040000000000")
PULSAR = bytes.fromhex("0000000b 00000007 0802 1203 0a0131")


def to(port: int) -> Ends:
    return ("10.0.0.1", 40_000), ("10.0.0.2", port)


def of(path: Path, port: int, *writes: tuple[int, bytes], cut: Cut = whole) -> tuple[list[Row], list[str]]:
    """Rows, and what is said of the stream."""
    talk = Talk(writes, to(port))
    with Session([capture(path / "a.pcap", segments(talk, cut), talk)]).load() as session:
        return rows_of(session), [finding.text for finding in session.findings]


STRANGERS = {
    "TLS": (10_911, HELLO, "a TLS ClientHello", "record where TLS ends"),
    "HTTP": (9876, b"GET / HTTP/1.1\r\n\r\n", "an HTTP request", "health check"),
    "gRPC": (10_909, PREFACE, "the HTTP/2 preface", "gRPC client belongs to a port"),
    "SSH": (9876, b"SSH-2.0-OpenSSH_9.2\r\n", "an SSH greeting", "wrong port"),
}


@pytest.mark.parametrize("cut", [whole, byte_by_byte])
@pytest.mark.parametrize(("port", "data", "what", "advice"), STRANGERS.values(), ids=STRANGERS)
def test_strangers(port: int, data: bytes, what: str, advice: str, cut: Cut, tmp_path: Path) -> None:
    (row,), said_of_stream = of(tmp_path, port, (CLIENT, data), cut=cut)
    assert (row["role"], [each["code"] for each in row["findings"]]) == ("raw", ["wrong-protocol"])
    assert said_of_stream == []
    text = row["findings"][0]["text"]
    assert what in row["info"]
    assert f"on port {port}, which usually is that of rocketmq" in text
    assert what in text
    assert advice in text


def test_each_side_is_recognised_by_its_own_bytes(tmp_path: Path) -> None:
    rows, output = of(tmp_path, 9876, (CLIENT, HELLO), (SERVER, SERVER_HELLO))
    assert ["ClientHello" in row["info"] for row in rows] == [row["from_client"] for row in rows] == [True, False]
    assert output == []
    _, output = of(tmp_path, 9876, (CLIENT, PREFACE), (SERVER, SETTINGS))
    assert len(output) == 1
    assert [text for text in output if "those of the other side are the HTTP/2 preface" in text and "server:" in text]


@pytest.mark.parametrize(("name", "data"), [("kafka", KAFKA), ("zookeeper", CONNECT), ("pulsar", PULSAR)])
def test_other_protocols_of_ours(name: str, data: bytes, tmp_path: Path) -> None:
    (row,), (text,) = of(tmp_path, 9876, (CLIENT, data))
    assert row["protocol"] == name
    assert f"{name} is spoken on port 9876, which usually is that of rocketmq" in text


@pytest.mark.parametrize("cut", [whole, byte_by_byte])
@pytest.mark.parametrize("preamble", [V1, V2], ids=["version 1", "version 2"])
def test_a_proxy_before_the_conversation(preamble: bytes, cut: Cut, tmp_path: Path) -> None:
    rows, text = of(tmp_path, 10_911, (CLIENT, preamble + ASK), (SERVER, ANSWER), cut=cut)
    assert [(row["role"], row["length"]) for row in rows] == [
        ("raw", len(preamble)),
        ("request", len(ASK)),
        ("response", len(ANSWER)),
    ]
    assert [each["code"] for each in rows[0]["findings"]] == ["proxy-preamble"]
    assert text == []


@pytest.mark.parametrize("port", [8080, 8081])
def test_the_proxys_ports_are_named(port: int, tmp_path: Path) -> None:
    rows, output = of(tmp_path, port, (CLIENT, PREFACE), (SERVER, SETTINGS))
    assert all(f"on port {port} a RocketMQ proxy's clients usually speak" in row["info"] for row in rows)
    assert not any("wrong port" in text for text in output)
    (row,), _ = of(tmp_path, port, (CLIENT, b"GET / HTTP/1.1\r\n\r\n"))
    assert "RocketMQ" not in row["info"]


def test_the_proxys_remoting_port_speaks_rocketmq(tmp_path: Path) -> None:
    rows, text = of(tmp_path, 8080, (CLIENT, ASK), (SERVER, ANSWER))
    assert ({row["protocol"] for row in rows}, text) == ({"rocketmq"}, [])


BETWEEN = {
    "a header larger than its frame": (frame(b"{}")[:4] + b"\0\0\x40\0{}", "request", "malformed-body"),
    "a binary header larger than its frame": (frame(b"{}")[:4] + b"\1\0\x40\0{}", "request", "malformed-body"),
    "a frame without a header": (b"\0\0\0\4\0\0\0\0", "request", "malformed-body"),
    "a length of 0": (b"\0\0\0\0", "raw", None),
    "a length that has no room for a mark": (b"\0\0\0\3\0\0\0", "raw", None),
    "a negative length": (b"\xff\xff\xff\xff\0\0\0\2{}", "raw", None),
}


@pytest.mark.parametrize("cut", [whole, byte_by_byte])
@pytest.mark.parametrize(("data", "role", "code"), BETWEEN.values(), ids=BETWEEN)
def test_what_follows_a_bad_frame_stays(data: bytes, role: str, code: str | None, cut: Cut, tmp_path: Path) -> None:
    rows, text = of(tmp_path, 9876, *[(CLIENT, each) for each in (ASK, data, ASK, ASK)], cut=cut)
    assert [row["length"] for row in rows] == [len(ASK), len(data), len(ASK), len(ASK)]
    assert [row["role"] for row in rows] == ["request", role, "request", "request"]
    assert [each["code"] for each in rows[1]["findings"]] == ([] if code is None else [code])
    assert len(text) == (code is None)


@pytest.mark.parametrize("message", [ASK, binary(105)], ids=["JSON", "binary"])
@pytest.mark.parametrize("skipped", [1, 2, 4, 5, 9, 20])
def test_it_begins_within_a_frame(message: bytes, skipped: int, tmp_path: Path) -> None:
    talk = Talk(((CLIENT, message),) * 4, to(9876))
    first, *rest = without_handshake(segments(talk))
    late = replace(first, payload=first.payload[skipped:], at=skipped)
    with Session([capture(tmp_path / "late.pcap", [late, *rest], talk)]).load() as session:
        rows = rows_of(session)
    assert [(row["role"], row["length"]) for row in rows] == [
        ("raw", len(message) - skipped),
        *[("request", len(message))] * 3,
    ]


def test_a_frame_larger_than_is_taken(tmp_path: Path) -> None:
    large = command(10, b"x" * TAKEN)

    def segment(data: bytes) -> list[bytes]:
        return [data[at : at + 1448] for at in range(0, len(data), 1448)]

    rows, text = of(tmp_path, 10_911, (CLIENT, ASK), (CLIENT, large), (CLIENT, ASK), cut=segment)
    assert [row["length"] for row in rows] == [len(ASK), len(large), len(ASK)]
    assert "oversized-frame" in [each["code"] for each in rows[1]["findings"]]
    assert not text


@pytest.mark.parametrize(("size", "count"), [(TAKEN - 4, 0), (TAKEN - 3, 1)])
def test_what_is_taken_by_default(size: int, count: int) -> None:
    assert len(report_oversized(size)) == count


def test_a_frame_larger_than_any(tmp_path: Path) -> None:
    huge = (MAXIMUM + 1).to_bytes(4) + ASK[4:]
    rows, (text,) = of(tmp_path, 9876, (CLIENT, ASK), (CLIENT, huge), (CLIENT, ASK), (CLIENT, ASK))
    assert [row["role"] for row in rows] == ["request", "raw", "request", "request"]
    assert "a frame of more than 128 MiB" in text


REFUSED = {
    "a frame": (ASK, False),
    "a huge one": (b"\x10\0\0\0" + ASK[4:], True),
    "a huge binary one": (b"\x7f\xff\xff\xff" + binary(105)[4:], True),
    "noise": (b"\xff" * 64, False),
    "nothing": (b"", False),
}


@pytest.mark.parametrize(("data", "named"), REFUSED.values(), ids=REFUSED)
def test_refused(data: bytes, named: bool) -> None:
    assert (ROCKETMQ.refused(data, True) is not None) is named


def test_both_roads_say_that_a_frame_is_large() -> None:
    message = command(10, b"x" * TAKEN)
    context = Context(Role.REQUEST, 10)
    tree = ROCKETMQ.tree(message, context)
    assert_tiles(tree)
    assert [each.code for each in ROCKETMQ.values(message, context).findings] == [each.code for each in tree.findings]
    assert "oversized-frame" in [each.code for each in tree.findings]
