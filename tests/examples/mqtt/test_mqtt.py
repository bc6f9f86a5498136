"""The MQTT plug-in on packets written from the standard: rows, pairing, values, trees, names, pages, both paths."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from analyzer.session import Session
from dissectors.api import Context, Dissector, Role
from tests.analyzer.wire import CLIENT, SERVER, Talk, byte_by_byte, capture, in_parts, rows, segments, whole
from tests.dissectors.fast_paths import looks
from tests.dissectors.trees import assert_tiles
from tests.examples.mqtt.dissector import packet_header
from tests.examples.mqtt.fast_path import FAST_PATH
from tests.examples.mqtt.tables import NAMES
from tests.examples.plugins import installed
from tests.program import run

ENDS = (("10.0.0.1", 40_000), ("10.0.0.2", 1883))


@pytest.fixture(autouse=True)
def mqtt(tmp_path: Path) -> Iterator[Dissector]:
    with installed("mqtt", "tests.examples.mqtt.dissector:Mqtt", tmp_path) as dissector:
        yield dissector


def packet(kind: str, body: bytes = b"", flags: int = 0) -> bytes:
    size, length = len(body), b""
    while True:
        length += bytes([size & 0x7F | (0x80 if size > 0x7F else 0)])
        size >>= 7
        if not size:
            return bytes([NAMES.index(kind) + 1 << 4 | flags]) + length + body


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return len(data).to_bytes(2) + data


def connect(version: int = 4, flags: int = 2, more: bytes = b"", name: str = "sensor") -> bytes:
    own = bytes([5]) + b"\x11" + (60).to_bytes(4) if version == 5 else b""
    return packet("CONNECT", text("MQTT") + bytes([version, flags]) + b"\0\x3c" + own + text(name) + more)


def publish(topic: str, payload: bytes, qos: int = 0, number: int = 0, own: bytes = b"") -> bytes:
    numbered = number.to_bytes(2) if qos else b""
    return packet("PUBLISH", text(topic) + numbered + own + payload, qos << 1)


def acknowledged(kind: str, number: int, more: bytes = b"") -> bytes:
    return packet(kind, number.to_bytes(2) + more, 2 if kind == "PUBREL" else 0)


OLD = [
    (CLIENT, connect()),
    (SERVER, packet("CONNACK", b"\0\0")),
    (CLIENT, packet("SUBSCRIBE", b"\0\1" + text("a/#") + b"\1" + text("b") + b"\0", 2)),
    (SERVER, packet("SUBACK", b"\0\1\1\x80")),
    (CLIENT, publish("a/b", b"hello")),
    (CLIENT, publish("t" * 200, b"x" * 300, 1, 2)),
    (CLIENT, publish("c", b"", 2, 3)),
    (SERVER, acknowledged("PUBREC", 3)),
    (SERVER, acknowledged("PUBACK", 2)),
    (CLIENT, acknowledged("PUBREL", 3)),
    (SERVER, acknowledged("PUBCOMP", 3)),
    (SERVER, publish("a/b", b"hello", 1, 2)),
    (CLIENT, acknowledged("PUBACK", 2)),
    (CLIENT, packet("PINGREQ")),
    (SERVER, packet("PINGRESP")),
    (CLIENT, packet("UNSUBSCRIBE", b"\0\2" + text("b"), 2)),
    (SERVER, packet("UNSUBACK", b"\0\2")),
    (CLIENT, packet("DISCONNECT")),
]
PROPERTIES = b"\x01\x01\x26" + text("k") + text("v") + b"\x0b\x81\x01\x26" + text("k2") + text("v2")
NEW = [
    (CLIENT, connect(5, 0xC6, b"\0" + text("will") + text(b"\1\2") + text("user") + text("hunter2"))),
    (SERVER, packet("CONNACK", b"\1\0\x06\x21\0\x0a\x12\0\0")),
    (CLIENT, publish("a", b"v5", 1, 9, bytes([len(PROPERTIES)]) + PROPERTIES)),
    (SERVER, acknowledged("PUBACK", 9, b"\x87\0")),
    (CLIENT, publish("a", b"again", 1, 10, b"\0")),
    (SERVER, acknowledged("PUBACK", 10)),
    (SERVER, packet("DISCONNECT", b"\x8e\x00")),
]
TALK, LATER = Talk(tuple(OLD), ENDS), Talk(tuple(NEW), ENDS)
KEYS = ("protocol", "operation", "version", "role", "correlation", "partner", "client", "state", "info", "error")


def read(path: Path, talk: Talk, **how: object) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in rows(capture(path, segments(talk), talk), KEYS, **how)]  # type: ignore[arg-type]


def test_rows_of_version_4(tmp_path: Path) -> None:
    found = read(tmp_path / "old.pcap", TALK)
    assert {(row[0], row[2], row[6], row[7]) for row in found} == {("mqtt", 4, "sensor", "complete")}
    assert [row[1] for row in found] == [NAMES[(data[0] >> 4) - 1] for _, data in OLD]
    assert [row[5] for row in found] == [2, 1, 4, 3, None, 9, 8, 7, 6, 11, 10, 13, 12, 15, 14, 17, 16, None]
    assert [row[8] for row in found][:9] == [
        "sensor, keep alive 60 s, clean start", "", "a/#, QoS 1; b", "QoS 1, failed", "a/b, 5 bytes",
        "t" * 200 + ", QoS 1, 300 bytes", "c, QoS 2", "", "",
    ]  # fmt: skip


def test_rows_of_version_5(tmp_path: Path) -> None:
    found = read(tmp_path / "new.pcap", LATER)
    assert {(row[0], row[2], row[6]) for row in found} == {("mqtt", 5, "sensor")}
    assert [row[5] for row in found] == [2, 1, 4, 3, 6, 5, None]
    assert [row[9] and row[9]["name"] for row in found] == [
        None,
        None,
        None,
        "NOT_AUTHORIZED",
        None,
        None,
        "SESSION_TAKEN_OVER",
    ]


@pytest.mark.parametrize("talk", [TALK, LATER], ids=["4", "5"])
@pytest.mark.parametrize("use_fast_path", [False, True])
@pytest.mark.parametrize("cut", [whole, byte_by_byte, in_parts(Random(1), 9)], ids=["whole", "bytes", "parts"])
def test_neither_segments_nor_the_path_matter(tmp_path: Path, talk: Talk, cut: object, use_fast_path: bool) -> None:
    expected = rows(capture(tmp_path / "whole.pcap", segments(talk), talk), KEYS, use_fast_path=False)
    path = capture(tmp_path / "cut.pcap", segments(talk, cut), talk)  # type: ignore[arg-type]
    assert rows(path, KEYS, use_fast_path=use_fast_path, block=7) == expected


def test_headers_in_columns_are_those_of_the_reference() -> None:
    for each, (side, data) in zip(looks(FAST_PATH, [(data, side == CLIENT) for side, data in OLD]), OLD, strict=True):
        header = packet_header(data, side == CLIENT)
        assert each is not None
        assert (each.header.role, each.header.code, each.header.key) == (header.role, header.code, header.key)


def test_values_and_tree(mqtt: Dissector) -> None:
    message, context = NEW[2][1], Context(Role.REQUEST, 3, 5)
    body = mqtt.values(message, context)
    assert body.findings == ()
    assert body.values == {
        "head": 0x32, "packetType": 3, "dup": False, "qos": 1, "retain": False, "remainingLength": len(message) - 2,
        "topic": "a", "packetId": 9, "payload": b"v5",
        "properties": {
            "payloadFormatIndicator": 1, "subscriptionIdentifiers": [129],
            "userProperties": [{"name": "k", "value": "v"}, {"name": "k2", "value": "v2"}],
        },
    }  # fmt: skip
    assert "hunter2" not in repr(mqtt.values(NEW[0][1], Context(Role.REQUEST, 1, 5)))


@pytest.mark.parametrize("version", [4, 5])
def test_every_cut_and_every_packet(mqtt: Dissector, version: int) -> None:
    for _, data in OLD if version == 4 else NEW:
        context = Context(Role.REQUEST, data[0] >> 4, version)
        for end in range(1, len(data) + 1):
            tree = mqtt.tree(data[:end], context)
            assert_tiles(tree)
            assert len(tree.findings) == (end < len(data))
            assert mqtt.values(data[:end], context).findings == tuple(tree.findings)
            mqtt.info(mqtt.values(data[:end], context), context)


def test_noise(mqtt: Dissector) -> None:
    random = Random(3)
    for _ in range(400):
        data = bytearray(random.choice(OLD + NEW)[1])
        for _ in range(random.randint(1, 3)):
            data[random.randrange(len(data))] = random.randrange(256)
        context = Context(Role.REQUEST, data[0] >> 4, random.choice((4, 5)))
        tree = mqtt.tree(bytes(data), context)
        assert_tiles(tree)
        assert mqtt.values(bytes(data), context).findings == tuple(tree.findings)


def test_names_columns_and_pages(tmp_path: Path) -> None:
    path = str(capture(tmp_path / "mqtt.pcap", segments(TALK), TALK))
    filtered = run("list", path, "-Y", "mqtt.topic contains b and mqtt.PUBLISH.retain == false", "--format", "csv")
    assert [line.split(",")[0] for line in filtered.stdout.decode().splitlines()[1:]] == ["5", "12"]
    assert b"t" * 150 in run("list", path, "--columns", "mqtt", "-w").stdout
    assert b"mqtt.CONNECT.connectFlags" in run("fields", "connectFlags").stdout
    page = run("protocols", "mqtt", "CONNECT").stdout.decode()
    assert "willFlag" in page
    assert "if passwordFlag" in page
    with Session([Path(path)]).load() as session:
        assert len(session.rows) == len(OLD)
