"""What the first bytes of a frame tell: headers, and how much they look like Kafka."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from dissectors.api import MessageHeader, Role, State
from dissectors.kafka import Kafka

KAFKA = Kafka()
COMPLETE, GUESSED, UNDECODED = State.COMPLETE, State.GUESSED, State.UNDECODED


@dataclass(frozen=True)
class Case:
    name: str
    prefix: str
    header: MessageHeader
    probe: int

    def __str__(self) -> str:
        return self.name


def request(operation: str | None, code: int, version: int, correlation: int | None, client: str | None,
            state: State = COMPLETE, role: Role = Role.REQUEST) -> MessageHeader:  # fmt: skip
    return MessageHeader(role, operation, code, version, correlation, client, state)


RAW = MessageHeader(Role.RAW, state=UNDECODED)
REQUESTS = [
    Case("Metadata v1", "00000019 0003 0001 00000007 0003 6c6162 00000001 0004 6e6f7065",
         request("Metadata", 3, 1, 7, "lab"), 95),
    Case("client id null", "0000000b 0012 0000 00000001 ffff", request("ApiVersions", 18, 0, 1, None), 95),
    Case("client id empty", "0000000a 0012 0000 00000001 0000", request("ApiVersions", 18, 0, 1, ""), 95),
    Case("client id not compact in a flexible header", "00000010 0012 0003 00000001 0001 61 00 01 01 00",
         request("ApiVersions", 18, 3, 1, "a"), 95),
    Case("client id cut", "00000019 0003 0001 00000007 0003 6c", request("Metadata", 3, 1, 7, None), 95),
    Case("correlation negative", "0000000a 0012 0000 ffffffff 0000", request("ApiVersions", 18, 0, -1, ""), 80),
    Case("header without client id", "0000000c 0007 0000 6299b87b 3bfab702",
         request("ControlledShutdown", 7, 0, 0x6299B87B, ""), 95),
    Case("produce v0, acks 0", "00000014 0000 0000 00000000 ffff 0000 00000000 00000000",
         request("Produce", 0, 0, 0, None, role=Role.ONEWAY), 95),
    Case("produce v0, acks 1", "00000014 0000 0000 00000000 ffff 0001 00000000 00000000",
         request("Produce", 0, 0, 0, None), 95),
    Case("produce v3, acks 0 behind a transaction", "00000018 0000 0003 00000000 ffff 0002 6162 0000 00000000 00000000",
         request("Produce", 0, 3, 0, None, role=Role.ONEWAY), 95),
    Case("produce v9, acks 0 behind header tags",
         "00000019 0000 0009 00000000 ffff 01 07 01 ff 03 6162 0000 00000000 01 00",
         request("Produce", 0, 9, 0, None, role=Role.ONEWAY), 95),
    Case("produce v9, transaction null", "00000014 0000 0009 00000000 ffff 00 00 0000 00000000 01 00",
         request("Produce", 0, 9, 0, None, role=Role.ONEWAY), 95),
    Case("a little newer than the tables", "0000000b 0012 0007 00000001 0001 61",
         request("ApiVersions", 18, 7, 1, "a", GUESSED), 60),
    Case("a version that never was", "00000016 0012 0063 00000001 0003 6c6162 00 04",
         request("ApiVersions", 18, 99, 1, "lab", UNDECODED), 30),
    Case("a version below zero", "0000000d 0012 ffff 00000006 0003 6c6162",
         request("ApiVersions", 18, -1, 6, "lab", UNDECODED), 30),
    Case("an unknown key", "0000000d 00c8 0000 00000004 0003 6c6162", request(None, 200, 0, 4, "lab", UNDECODED), 30),
    Case("a key below zero", "0000000d ffff 0000 00000005 0003 6c6162", request(None, -1, 0, 5, "lab", UNDECODED), 30),
    Case("an unknown key, and more to come", "0000000d 00c8 0000 00000004 0003 6c6162 0000000d 0012 0000",
         request(None, 200, 0, 4, "lab", UNDECODED), 30),
    Case("an unknown key, client id empty", "0000000a 00c8 0000 00000004 0000",
         request(None, 200, 0, 4, "", UNDECODED), 0),
    Case("an unknown key, client id not printable", "0000000d 00c8 0000 00000004 0003 6c0062",
         request(None, 200, 0, 4, "l\0b", UNDECODED), 0),
    Case("an unknown key, client id longer than the frame", "0000000c 00c8 0000 00000004 0003 6c6162",
         request(None, 200, 0, 4, "lab", UNDECODED), 0),
    Case("an unknown key, client id cut", "0000000d 00c8 0000 00000004 0003 6c61",
         request(None, 200, 0, 4, None, UNDECODED), 0),
    Case("an unknown key, correlation negative", "0000000d 00c8 0000 ffffffff 0003 6c6162",
         request(None, 200, 0, -1, "lab", UNDECODED), 0),
    Case("an unknown key in a frame far too large", "0100000d 00c8 0000 00000004 0003 6c6162",
         request(None, 200, 0, 4, "lab", UNDECODED), 0),
    Case("no room for the least body", "0000000c 0003 0001 00000007 0000 0000", request("Metadata", 3, 1, 7, ""), 0),
    Case("produce without client id", "0000001b 0000 0000 00000000 0000 0001 00000064 00000001 0001 74 00000000",
         request("Produce", 0, 0, 0, ""), 95),
    Case("produce without client id, cut before its topic", "0000001b 0000 0000 00000000 0000 0001 00000064",
         request("Produce", 0, 0, 0, ""), 15),
    Case("produce without client id and topics", "00000014 0000 0000 00000000 0000 0001 00000064 00000000",
         request("Produce", 0, 0, 0, ""), 95),
    Case("produce without client id, its topic without name",
         "0000001d 0000 0000 00000000 0000 0001 00000064 00000001 0000 00000000 000000",
         request("Produce", 0, 0, 0, ""), 0),
    Case("ZooKeeper's connect",
         "0000002d 00000000 00000000 00000000 00002710 00000000 00000000 00000010" + " 00000000" * 4 + " 00",
         request("Produce", 0, 0, 0, "", role=Role.ONEWAY), 0),
    Case("ZooKeeper's connect, cut", "0000002d 00000000 00000000 00000000 00002710",
         request("Produce", 0, 0, 0, "", role=Role.ONEWAY), 15),
    Case("ZooKeeper's election", "0000001c 00000001 00000000 00000003 00000000 00000000 00000000 00000001",
         request("Produce", 0, 1, 0, ""), 0),
    Case("the beginning of a request", "00000019 0003 0001 00000007", request("Metadata", 3, 1, 7, None), 15),
    Case("too short for a header", "00000004 00000000", RAW, 0),
    Case("nothing but a size", "00000000", RAW, 0),
    Case("GET / HTTP/1.1", "47455420 2f204854 54502f31 2e310d0a",
         request(None, 0x2F20, 0x4854, 0x54502F31, None, UNDECODED), 0),
    Case("a TLS hello", "16030100 a5010000 a1030300 01020304",
         request(None, -23295, 0, -1593638144, None, UNDECODED), 0),
    Case("bare GSSAPI", "00000014 6006092a 864886f7 12010202 78787878",
         request(None, 0x6006, 0x092A, -2042067209, None, UNDECODED), 40),
    Case("client id longer than the frame", "0000000c 0003 0001 00000007 0040 6161",
         request("Metadata", 3, 1, 7, None), 0),
    Case("client id not text", "00000019 0003 0001 00000007 0003 ff6162 00000000",
         request("Metadata", 3, 1, 7, "\ufffdab"), 0),
]  # fmt: skip


LONE_ANSWERS = {
    "FindCoordinator v2":
    "0000002700000000000000000002066a74782d67000000020a3132372e302e302e31000072080000010000",
    "OffsetFetch v9":
    "000000550000000a000000000002056a6e2d6702036a6e04000000000000000000000002000000000100000000000002"
    "0000000000000005000000000100000000000001000000000000000200000000010000000000000000",
    "Produce v2":
    "0000003d000000060000000100077365676d656e74000000010000000000000000000000000004ffffffffffffffff00"
    "0000000000000000000000ffff00000000",
    "Metadata v13":
    "0000005b00000001000000000003000000010a3132372e302e302e31000071a4067261636b3100000000020a3132372e"
    "302e302e3100007208067261636b32001777416e416c797a4551376d5a336c6162346b61666b410000000101000000",
}  # fmt: skip
"""Of real brokers. Their correlation ids are small, so their first bytes are those of a Produce."""


@pytest.mark.parametrize("answer", LONE_ANSWERS.values(), ids=LONE_ANSWERS)
def test_an_answer_that_reads_like_a_produce(answer: str) -> None:
    data = bytes.fromhex(answer)
    assert data[4:6] == bytes(2)
    assert KAFKA.probe(data, True) == 0
    assert KAFKA.probe(data, False) >= 20


@pytest.mark.parametrize("case", REQUESTS, ids=str)
def test_request(case: Case) -> None:
    prefix = bytes.fromhex(case.prefix)
    assert KAFKA.header(prefix, True) == case.header
    assert KAFKA.probe(prefix, True) == case.probe
    assert KAFKA.plausible(prefix, True) == (case.probe >= 80)


@pytest.mark.parametrize("case", REQUESTS, ids=str)
def test_any_prefix_gives_a_header_and_no_error(case: Case) -> None:
    prefix = bytes.fromhex(case.prefix)
    for cut in range(len(prefix)):
        header = KAFKA.header(prefix[:cut], True)
        assert header.code in (None, case.header.code)
        assert 0 <= KAFKA.probe(prefix[:cut], None) <= 100
        KAFKA.header(prefix[:cut], False)


RESPONSES = [
    Case("any", "00000008 00000007 00000000", MessageHeader(Role.RESPONSE, correlation=7, state=GUESSED), 25),
    Case("correlation negative", "00000008 ffffffff 0000",
         MessageHeader(Role.RESPONSE, correlation=-1, state=GUESSED), 0),
    Case("larger than usual", "01000000 00000001", MessageHeader(Role.RESPONSE, correlation=1, state=GUESSED), 8),
    Case("larger than allowed", "7fffffff 00000001", MessageHeader(Role.RESPONSE, correlation=1, state=GUESSED), 0),
    Case("empty, as after a SASL token", "00000000", RAW, 0),
    Case("too short", "00000003 00000000", RAW, 0),
]  # fmt: skip


@pytest.mark.parametrize("case", RESPONSES, ids=str)
def test_response(case: Case) -> None:
    prefix = bytes.fromhex(case.prefix)
    assert KAFKA.header(prefix, False) == case.header
    assert KAFKA.probe(prefix, False) == case.probe
    assert KAFKA.plausible(prefix, False) == (case.probe == 25)


def test_without_knowing_the_side_both_are_tried() -> None:
    assert KAFKA.probe(bytes.fromhex("0000000a 0012 0000 00000001 0000"), None) == 95
    assert KAFKA.probe(bytes.fromhex("00000008 00000007 00000000"), None) == 25
