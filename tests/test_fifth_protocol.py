"""The protocol of docs/how-to/dissector.md, taken from there and installed as a stranger's package."""

from __future__ import annotations

import pickle
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from analyzer.decode.bodies import decode_body, decode_tree
from analyzer.session import Session
from dissectors import registry
from dissectors.api import Context, Dissector, Role
from dissectors.pairing import PairByKey
from tests.analyzer.reading import info_of
from tests.analyzer.wire import (
    CLIENT,
    SERVER,
    STEP_NS,
    Cut,
    Talk,
    byte_by_byte,
    capture,
    in_parts,
    rows,
    segments,
    whole,
    without_handshake,
)
from tests.dissectors.trees import assert_tiles, node
from tests.effort import within

MANUAL = Path(__file__).parent.parent / "docs" / "how-to" / "dissector.md"
CODE = MANUAL.read_text().split("```python\n")[1].split("```")[0]
ENDS = (("10.0.0.1", 40_000), ("10.0.0.2", 53))
KEYS = (
    "protocol",
    "role",
    "operation",
    "correlation",
    "partner",
    "latency_ns",
    "state",
    "from_client",
    "error",
    "length",
)


@pytest.fixture(autouse=True)
def dns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Dissector]:
    """The dissector, installed."""
    (tmp_path / "fifth_protocol.py").write_text(CODE)
    info = tmp_path / "fifth-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fifth\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\ndns = fifth_protocol:Dns\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry.forget_plugins()
    yield registry.by_name("dns")
    assert registry.problems() == ()
    registry.forget_plugins()
    sys.modules.pop("fifth_protocol", None)


def name(text: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in text.split(".")) + b"\0"


def message(number: int, flags: int, host: str, *answers: bytes, kind: int = 1) -> bytes:
    body = struct.pack(">HHHHHH", number, flags, 1, len(answers), 0, 0) + name(host) + struct.pack(">HH", kind, 1)
    body += b"".join(answers)
    return struct.pack(">H", len(body)) + body


def query(number: int, host: str) -> bytes:
    return message(number, 0x0100, host)


def address(*parts: int) -> bytes:
    """A record of type A whose name is a pointer to the question's."""
    return struct.pack(">HHHIH", 0xC00C, 1, 1, 300, 4) + bytes(parts)


QUERIES = query(7, "example.org"), query(8, "nowhere.example.org"), query(9, "lost.example.org")
ANSWERS = message(8, 0x8183, "nowhere.example.org"), message(7, 0x8180, "example.org", address(192, 0, 2, 1))
TALK = Talk((*((CLIENT, each) for each in QUERIES), *((SERVER, each) for each in ANSWERS)), ENDS)
ANSWERED = Context(Role.RESPONSE, 0)


def test_it_is_short_and_an_example_of_style() -> None:
    assert len(CODE.splitlines()) < 60
    assert max(map(len, CODE.splitlines())) <= 120


def test_rows(tmp_path: Path) -> None:
    found = rows(capture(tmp_path / "dns.pcap", segments(TALK), TALK), KEYS)
    nxdomain = {"code": 3, "name": "NXDOMAIN"}
    expected = [
        ("dns", "request", "QUERY", 7, 5, None, "complete", True, None, len(QUERIES[0])),
        ("dns", "request", "QUERY", 8, 4, None, "complete", True, None, len(QUERIES[1])),
        ("dns", "request", "QUERY", 9, None, None, "complete", True, None, len(QUERIES[2])),
        ("dns", "response", "QUERY", 8, 2, 2 * STEP_NS, "complete", False, nxdomain, len(ANSWERS[0])),
        ("dns", "response", "QUERY", 7, 1, 4 * STEP_NS, "complete", False, None, len(ANSWERS[1])),
    ]
    assert [tuple(row.values()) for row in found] == expected


@pytest.mark.parametrize("use_fast_path", [False, True])
@pytest.mark.parametrize("cut", [whole, byte_by_byte, in_parts(Random(1), 9)], ids=["whole", "bytes", "parts"])
def test_segments_do_not_matter(tmp_path: Path, cut: Cut, use_fast_path: bool) -> None:
    keys = [key for key in KEYS if key != "latency_ns"]
    expected = rows(capture(tmp_path / "whole.pcap", segments(TALK), TALK), keys)
    found = rows(capture(tmp_path / "cut.pcap", segments(TALK, cut), TALK), keys, use_fast_path=use_fast_path, block=7)
    assert found == expected


def test_it_is_recognised_on_any_port(tmp_path: Path) -> None:
    talk, keys = Talk(TALK.writes, (ENDS[0], ("10.0.0.2", 5300))), ("protocol", "correlation", "from_client")
    expected = [("dns", 7, True), ("dns", 8, True), ("dns", 9, True), ("dns", 8, False), ("dns", 7, False)]
    for packets in (segments(talk), without_handshake(segments(talk))):
        path = capture(tmp_path / "any.pcap", packets, talk)
        assert [tuple(row.values()) for row in rows(path, keys)] == expected
        assert [tuple(row.values()) for row in rows(path, keys, decode_as={5300: "dns"})] == expected


def test_values_and_tree(tmp_path: Path) -> None:
    with Session([capture(tmp_path / "dns.pcap", segments(TALK), TALK)]).load() as session:
        body, tree = decode_body(session, 4), decode_tree(session, 4)
        assert info_of(session, 3).startswith("NXDOMAIN, id 8")
    requested = {"name": "example.org.", "type": 1, "class": 1}
    assert body.values == {
        "id": 7, "flags": 0x8180, "rcode": 0,
        "questionsCount": 1, "answersCount": 1, "authoritiesCount": 0, "additionalsCount": 0,
        "questions": [requested], "answers": [{**requested, "ttl": 300, "data": bytes([192, 0, 2, 1])}],
        "authorities": [], "additionals": [],
    }  # fmt: skip
    assert body.error is None
    assert body.findings == ()
    assert_tiles(tree)
    pointer = node(tree, "answers", "[0]", "name")
    assert (pointer.value, pointer.offset, pointer.length) == ("example.org.", 2 + 12 + 13 + 4, 2)


def test_a_cut_message_is_one_finding(dns: Dissector) -> None:
    for whole_message in (*QUERIES, *ANSWERS):
        for end in range(len(whole_message)):
            cut = whole_message[:end]
            tree = dns.tree(cut, ANSWERED)
            assert_tiles(tree)
            assert [finding.code for finding in tree.findings] == ["malformed-body"], end
            assert dns.values(cut, ANSWERED).findings == tuple(tree.findings)
            assert dns.header(cut, True).correlation in (None, int.from_bytes(whole_message[2:4]))
            dns.info(dns.values(cut, ANSWERED), ANSWERED)


HOSTILE = {
    "a pointer to itself": message(1, 0x8180, "a", b"\xc0\x13" + bytes(10)),
    "pointers in a circle": message(1, 0x8180, "a", b"\xc0\x15\xc0\x13" + bytes(10)),
    "a pointer behind the end": message(1, 0x8180, "a", b"\xff\xff" + bytes(10)),
    "a label of a circle": message(1, 0x8180, "a", b"\x01a\xc0\x15" + bytes(10)),
    "more records than bytes": struct.pack(">HHHHHHH", 12, 1, 0x8180, 0, 0xFFFF, 0, 0),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_bytes_are_one_finding(dns: Dissector, case: str) -> None:
    tree = dns.tree(HOSTILE[case], ANSWERED)
    assert_tiles(tree)
    assert [finding.code for finding in tree.findings] == ["malformed-body"]


def test_random_bytes_come_to_an_end(dns: Dissector) -> None:
    random = Random(2)
    with within(10):  # some 0.05 s
        for _ in range(300):
            noise = random.randbytes(random.randint(0, 400)).replace(b"\x7f", b"\xc0")
            data = struct.pack(">HHHHHHH", 12 + len(noise), 1, 0x8180, 1, random.randint(0, 20), 0, 0) + noise
            assert_tiles(dns.tree(data, ANSWERED))


def test_trailing_bytes_are_retained(dns: Dissector) -> None:
    body = query(1, "a")[2:] + b"more"
    found = dns.values(struct.pack(">H", len(body)) + body, ANSWERED)
    assert found.values["_rest"] == b"more"
    assert [finding.code for finding in found.findings] == ["trailing-bytes"]


def test_both_sides_may_ask_and_the_state_travels(dns: Dissector) -> None:
    talk = dns.conversation()
    assert talk.step(0, query(5, "a"), True).partner is None
    assert talk.step(1, query(5, "b"), False).partner is None
    talk = pickle.loads(pickle.dumps(talk))
    assert talk.step(2, message(5, 0x8180, "b"), True).partner == 1
    assert talk.step(3, message(5, 0x8180, "a"), False).partner == 0
    orphan = talk.step(4, message(5, 0x8180, "a"), False)
    assert (orphan.partner, orphan.header.state.name, orphan.header.operation) == (None, "GUESSED", "QUERY")
    assert isinstance(talk, PairByKey)
    assert (talk.count, len(talk.waiting)) == (0, 0)
