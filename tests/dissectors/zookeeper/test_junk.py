"""Bytes of other protocols before and between messages of servers are raw runs, and the messages stay what they are."""

from __future__ import annotations

import struct
from functools import cache
from pathlib import Path
from random import Random

import pytest

from analyzer.decode.content import find_dissector, read_header, read_message
from analyzer.session import Session
from tests.analyzer.wire import CLIENT, Talk, capture, rows, segments
from tests.dissectors.zookeeper.messages import GOLDEN

KEYS = ("from_client", "protocol", "operation", "offset", "length")
MOST = 16

JUNK = {
    "HTTP": b"GET /index.html HTTP/1.1\r\nHost: zk\r\nUser-Agent: curl/8\r\n\r\n",
    "TLS": bytes.fromhex("16030100a5010000a10303") + Random(1).randbytes(155),
    "random": Random(2).randbytes(200),
    "zeros": bytes(120),
    "Kafka": b"".join(struct.pack(">ihhih", 40, 0, 0, number, 4) + b"test" + bytes(26) for number in range(3)),
    "a Produce of zeros": struct.pack(">ihhih", 30, 0, 0, 1, 0) + bytes(20),
    "a Produce": struct.pack(">ihhih4shii", 24, 0, 0, 1, 4, b"test", 1, 1000, 0),
    "a Metadata": struct.pack(">ihhih4si", 18, 3, 1, 1, 4, b"test", 0),
    "a getData": struct.pack(">iiii2s?", 15, 1, 4, 2, b"/a", False),
    "lengths": b"".join(struct.pack(">i", size) + bytes([size]) * size for size in (20, 33, 47)),
    "Redis": b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nvalue\r\n",
    "SSH": b"SSH-2.0-OpenSSH_9.6\r\n",
}
PORTS = {"zookeeper-quorum": 2888, "zookeeper-election": 3888}
SIDES = ("client", "server")


@cache
def conversation(capture_name: str, protocol: str) -> list[tuple[int, bytes, str | None]]:
    """The longest one of a golden capture: side, bytes and operation of each message."""
    found: dict[int, list[tuple[int, bytes, str | None]]] = {}
    with Session([GOLDEN / f"{capture_name}.pcap.zst"]).load() as session:
        for row in range(len(session.rows)):
            dissector = find_dissector(session, row)
            if dissector is not None and dissector.name == protocol:
                message = (
                    session.rows.cell("side", row),
                    read_message(session, row),
                    read_header(session, row).operation,
                )
                found.setdefault(session.rows.cell("stream", row), []).append(message)
    return max(found.values(), key=len)[:MOST]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("junk", JUNK)
@pytest.mark.parametrize("behind", [0, 1, 2, 3, 9])
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("protocol", PORTS)
@pytest.mark.parametrize("capture_name", ["en395_quorum_sasl", "en336_boot"])
def test_junk(capture_name: str, protocol: str, side: str, behind: int, junk: str, tmp_path: Path) -> None:
    """Behind so many messages of its side, or all if there are fewer."""
    known = conversation(capture_name, protocol)
    own = [place for place, message in enumerate(known) if SIDES[message[0]] == side]
    at = own[min(behind, len(own)) - 1] + 1 if behind else own[0]
    if behind and known[at - 1][2] == "SNAP":
        pytest.skip("nothing tells what comes behind a SNAP from a snapshot")
    messages = [*known[:at], (SIDES.index(side), JUNK[junk], None), *known[at:]]
    talk = Talk(tuple(message[:2] for message in messages), (("10.0.0.1", 40_000), ("10.0.0.2", PORTS[protocol])))
    found = rows(capture(tmp_path / "a.pcap", segments(talk), talk), KEYS)
    offsets, expected = [0, 0], []
    for each, data, operation in messages:
        is_junk = data is JUNK[junk]
        name = "unknown" if is_junk else protocol
        expected.append((each == CLIENT, name, operation, offsets[each], len(data)))
        offsets[each] += len(data)
    assert sorted(tuple(row[key] for key in KEYS) for row in found) == sorted(expected)
