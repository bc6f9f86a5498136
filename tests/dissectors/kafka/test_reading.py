"""What becomes of versions and keys beyond the tables: nothing that was read is lost, and nobody calls it certain."""

from __future__ import annotations

import struct

import pytest

from dissectors.api import Context, Role, State
from dissectors.kafka import Kafka
from dissectors.kafka.header import NEWER
from dissectors.kafka.schemas import apis
from dissectors.kafka.sensitive import is_sensitive_message
from dissectors.wire.secret import Secret
from tests.dissectors.kafka.nested.structured import both, framed
from tests.dissectors.kafka.truth import GOLDEN, frames
from tests.dissectors.trees import every

KAFKA = Kafka()
NEWEST = {frame.context.code: apis()[frame.context.code].versions.high for frame in frames(GOLDEN)}
HEARTBEAT, GROUP = 12, {"groupId": "g", "generationId": 3, "memberId": "m", "groupInstanceId": None}
HANDSHAKE, MECHANISM = 17, {"mechanism": "PLAIN"}
CREATE = 37

FLEXIBLE = b"\2g\0\0\0\3\2m\0"
PLAIN = b"\0\5PLAIN"
PARTITIONS = b"\3\2a\0\0\0\1\0\0\2b\0\0\0\2\0\0" + struct.pack(">iB", 9, 1)


def request(key: int, version: int, body: bytes, flexible: bool = True) -> bytes:
    return framed(struct.pack(">hhih", key, version, 1, -1) + (b"\0" if flexible else b"") + body)


@pytest.mark.parametrize(
    ("key", "beyond", "body", "values", "said"),
    [
        (HEARTBEAT, 1, FLEXIBLE + b"\0", GROUP, []),
        (HEARTBEAT, NEWER, FLEXIBLE + b"\0", GROUP, []),
        (HEARTBEAT, 1, FLEXIBLE + b"\0" + b"\0\0\0\7", GROUP | {"_rest": b"\0\0\0\7"}, ["trailing-bytes"]),
        (HEARTBEAT, 1, FLEXIBLE + b"\0\0\0\7" + b"\0", GROUP | {"_rest": b"\0\0\7\0"}, ["trailing-bytes"]),
        (HEARTBEAT, 1, FLEXIBLE + b"\2x" + b"\0", GROUP, ["unsupported-version"]),
        (HEARTBEAT, 1, FLEXIBLE + b"\1" + b"\0", GROUP, ["unsupported-version"]),
        (HEARTBEAT, 1, FLEXIBLE + b"\1\5\2ab", GROUP | {"_unknownTaggedFields": [{"tag": 5, "data": b"ab"}]}, []),
        (HEARTBEAT, 1, FLEXIBLE[:-1], {name: GROUP[name] for name in list(GROUP)[:3]}, ["unsupported-version"]),
        (HEARTBEAT, 1, b"\2g\0\0\0\3\x7fm\0\0", {"groupId": "g", "generationId": 3}, ["unsupported-version"]),
        (HANDSHAKE, 1, PLAIN, MECHANISM, []),
        (HANDSHAKE, 1, PLAIN + b"\0\1x", MECHANISM | {"_rest": b"\0\1x"}, ["trailing-bytes"]),
        (HANDSHAKE, 1, b"\x40\0PLAIN", {}, ["unsupported-version"]),
        (CREATE, 1, PARTITIONS + b"\0", {"topics": [{"name": "a", "count": 1, "assignments": None},
            {"name": "b", "count": 2, "assignments": None}], "timeoutMs": 9, "validateOnly": True}, []),
        (CREATE, 1, PARTITIONS[:8] + b"\0\0\0\7" + PARTITIONS[8:], {"topics": [{"name": "a", "count": 1,
            "assignments": None}, {}]}, ["unsupported-version"]),
    ],
    ids=["the same", "16 versions on", "more behind the tags", "zero before the tags", "a text before the tags",
         "a boolean before the tags", "a new tag", "no tags", "broken in the middle", "plain", "plain, and more",
         "plain, and broken", "structs", "a field inside the first struct"],
)  # fmt: skip
def test_newer_versions(key: int, beyond: int, body: bytes, values: dict[str, object], said: list[str]) -> None:
    version, flexible = NEWEST[key] + beyond, key != HANDSHAKE
    frame = request(key, version, body, flexible)
    found, tree = both(frame, Context(Role.REQUEST, key, version))
    assert found.values == values
    first, *others = found.findings
    assert first.text == f"version {version} is newer than the tables, read as version {NEWEST[key]}"
    assert [finding.code for finding in others] == said
    undecoded = [node for node in every(tree.fields) if node.spec.type == "undecoded"]
    assert len(undecoded) == ("unsupported-version" in said and body != FLEXIBLE[:-1])
    assert KAFKA.header(frame, True).state is State.GUESSED


def test_every_newest_layout_reads_what_the_next_version_has_in_common_with_it() -> None:
    for frame in frames(GOLDEN):
        key, version = frame.context.code, frame.context.version
        if key is None or version != NEWEST[key] or key == 18:
            continue
        now, _ = both(frame.data, frame.context)
        data, context = frame.data, Context(frame.context.role, key, version + 1)
        if context.role is Role.REQUEST:
            data = data[:6] + struct.pack(">h", version + 1) + data[8:]
        for more in (b"", b"\0\0\0\1", b"\xff" * 9):
            then, _ = both(framed(data[4:] + more), context)
            hidden = is_sensitive_message(key, context.role is Role.RESPONSE)
            rest = {"_rest": Secret(more) if hidden else more} if more else {}
            assert then.values == now.values | rest, frame.name
            assert then.error == now.error
            assert then.findings[0].code == "unsupported-version"


CLIENT = b"\0\3lab"


@pytest.mark.parametrize(
    ("key", "version", "behind", "values", "client"),
    [
        (200, 0, CLIENT, {}, "lab"),
        (200, 0, CLIENT + b"\0\1\2", {"payload": b"\0\1\2"}, "lab"),
        (-1, 0, b"\xff\xffrest", {"payload": b"rest"}, None),
        (200, 0, b"\x7f\0lab", {"payload": Secret(b"\x7f\0lab")}, ""),
        (200, 0, b"\0\2\1\2", {"payload": Secret(b"\0\2\1\2")}, ""),
        (3, NEWEST[3] + NEWER + 1, CLIENT + b"\0\0\0\0", {"payload": b"\0\0\0\0"}, "lab"),
        (18, -1, CLIENT, {}, "lab"),
    ],
    ids=["key", "key and a body", "no client id", "none that fits", "none to be read", "version far beyond", "below"],
)
def test_beyond_the_tables(key: int, version: int, behind: bytes, values: dict[str, object], client: str) -> None:
    frame = framed(struct.pack(">hhi", key, version, 4) + behind)
    body, tree = both(frame, Context(Role.REQUEST, key, version))
    assert body.values == values
    (finding,) = body.findings
    assert finding.code == ("unsupported-version" if key in apis() else "unknown-operation")
    header = {node.spec.name: node.value for node in tree.fields[1].children}
    assert (header["requestApiKey"], header["requestApiVersion"], header["correlationId"]) == (key, version, 4)
    assert header.get("clientId", "") == client
    assert [node.spec.type for node in tree.fields[2:]] == ["undecoded"] * bool(values)
    assert KAFKA.header(frame, True).state is State.UNDECODED


def test_a_newer_version_that_is_cut_is_cut() -> None:
    frame = request(HEARTBEAT, NEWEST[HEARTBEAT] + 1, FLEXIBLE + b"\0")
    for cut in range(20, len(frame)):
        body, _ = both(frame[:cut], Context(Role.REQUEST, HEARTBEAT, NEWEST[HEARTBEAT] + 1))
        assert [finding.code for finding in body.findings] == ["unsupported-version", "malformed-body"]
