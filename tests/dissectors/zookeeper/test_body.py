"""Bytes of a client's connection, and what comes out."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

import pytest

from dissectors.api import Context, Role
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.secret import Secret
from dissectors.zookeeper import ZooKeeper
from dissectors.zookeeper.labels import load_numbers
from tests.dissectors.trees import assert_tiles, node
from tests.dissectors.zookeeper.messages import (
    WORLD,
    acl,
    buffer,
    connect,
    connected,
    event,
    get_data,
    reply,
    request,
    ustring,
    vector,
)

ZOOKEEPER = ZooKeeper()
REQUEST, RESPONSE, PUSH = Role.REQUEST, Role.RESPONSE, Role.PUSH
STAT = struct.pack(">qqqqiiiqiiq", 2, 3, 1_700_000_000_000, 1_700_000_000_001, 1, 2, 3, 0, 4, 5, 6)
STAT_VALUES = {
    "czxid": 2, "mzxid": 3, "ctime": 1_700_000_000_000, "mtime": 1_700_000_000_001, "version": 1, "cversion": 2,
    "aversion": 3, "ephemeralOwner": 0, "dataLength": 4, "numChildren": 5, "pzxid": 6,
}  # fmt: skip
WORLD_VALUES = [{"perms": 31, "id": {"scheme": "world", "id": "anyone"}}]
DONE = b"\xff\xff\xff\xff\1\xff\xff\xff\xff"


def item(operation: str, body: bytes = b"", err: int = 0) -> bytes:
    return struct.pack(">i?i", load_numbers("operation")[operation], False, err) + body


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    data: bytes
    role: Role
    operation: str | int | None
    values: dict[str, Any]
    error: tuple[int, str] | None = None
    findings: list[str] = field(default_factory=list)
    info: str = ""

    @property
    def context(self) -> Context:
        code = load_numbers("operation")[self.operation] if isinstance(self.operation, str) else self.operation
        return Context(self.role, code)

    def __str__(self) -> str:
        return self.name


SECRET = Secret(bytes(16))
CASES = [
    Case("connect", connect(5, zxid=9), REQUEST, None,
         {"protocolVersion": 0, "lastZxidSeen": 9, "timeOut": 10000, "sessionId": 5, "passwd": SECRET,
          "readOnly": False},
         info="session 0x5, timeout 10 s, zxid 0x9"),
    Case("connect, 3.3", connect(tail=b""), REQUEST, None,
         {"protocolVersion": 0, "lastZxidSeen": 0, "timeOut": 10000, "sessionId": 0, "passwd": SECRET},
         info="new session, timeout 10 s"),
    Case("connect, null password", connect(password=None), REQUEST, None,
         {"protocolVersion": 0, "lastZxidSeen": 0, "timeOut": 10000, "sessionId": 0, "passwd": None, "readOnly": False},
         info="new session, timeout 10 s"),
    Case("expired", connected(0, 0, bytes(16)), RESPONSE, None,
         {"protocolVersion": 0, "timeOut": 0, "sessionId": 0, "passwd": SECRET, "readOnly": False},
         findings=["session-expired"], info="session expired"),
    Case("refused by a bare header", reply(0, err=-119), RESPONSE, None, {"zxid": 7, "err": -119},
         (-119, "NOTREADONLY"), info="NOTREADONLY"),
    Case("getData", get_data(1), REQUEST, "getData", {"path": "/a", "watch": False}, info="/a"),
    Case("its answer", reply(1, buffer(b"\1\2") + STAT), RESPONSE, "getData",
         {"zxid": 7, "err": 0, "data": b"\1\2", "stat": STAT_VALUES}, info="2 bytes, version 1"),
    Case("no data", reply(1, buffer(None) + STAT), RESPONSE, "getData",
         {"zxid": 7, "err": 0, "data": None, "stat": STAT_VALUES}, info="no data, version 1"),
    Case("an error has no body", reply(1, err=-101), RESPONSE, "getData", {"zxid": 7, "err": -101},
         (-101, "NONODE"), info="NONODE"),
    Case("an error that there is not", reply(1, err=-77), RESPONSE, "getData", {"zxid": 7, "err": -77},
         (-77, "UNKNOWN_-77"), info="UNKNOWN_-77"),
    Case("a body behind an error", reply(1, b"??", err=-101), RESPONSE, "getData",
         {"zxid": 7, "err": -101, "_rest": b"??"}, (-101, "NONODE"), ["trailing-bytes"], "NONODE"),
    Case("a failed SASL step", reply(1, buffer(None), err=-115), RESPONSE, "sasl",
         {"zxid": 7, "err": -115, "token": None}, (-115, "AUTHFAILED"), info="AUTHFAILED"),
    Case("a failed SASL step without a token", reply(1, err=-115), RESPONSE, "sasl", {"zxid": 7, "err": -115},
         (-115, "AUTHFAILED"), info="AUTHFAILED"),
    Case("a SASL token", request(1, "sasl", buffer(b"abc")), REQUEST, "sasl", {"token": Secret(b"abc")},
         info="token, 3 bytes"),
    Case("auth", request(-4, "auth", bytes(4) + ustring("digest") + buffer(b"me:pw")), REQUEST, "auth",
         {"type": 0, "scheme": "digest",
          "auth": EmbeddedValue(Secret(b"me:pw"), {"user": "me", "password": Secret("pw")}, "DigestCredentials")},
         info="digest, user me"),
    Case("an ACL of a digest", request(1, "setACL", ustring("/") + vector(acl("digest", "me:hash", 3)) + bytes(4)),
         REQUEST, "setACL",
         {"path": "/", "acl": [{"perms": 3, "id": {"scheme": "digest", "id": Secret("me:hash")}}], "version": 0},
         info="/, if version 0, ACL digest rw"),
    Case("create", request(1, "create", ustring("/a") + buffer(b"") + WORLD + bytes([0, 0, 0, 3])), REQUEST, "create",
         {"path": "/a", "data": b"", "acl": WORLD_VALUES, "flags": 3},
         info="/a, ephemeral seq, 0 bytes"),
    Case("a null ACL", request(1, "create", ustring("/a") + buffer(b"") + buffer(None) + bytes(4)), REQUEST, "create",
         {"path": "/a", "data": b"", "acl": None, "flags": 0}, info="/a, 0 bytes"),
    Case("no UTF-8", request(1, "sync", buffer(b"/\xff")), REQUEST, "sync", {"path": b"/\xff"}, info="b'/\\xff'"),
    Case("addWatch", reply(1, bytes(4)), RESPONSE, "addWatch", {"zxid": 7, "err": 0}),
    Case("an event", event("/a", 1, 3), PUSH, "notification",
         {"zxid": -1, "type": "NodeCreated", "state": "SyncConnected", "path": "/a"},
         info="NodeCreated /a"),
    Case("an event of a kind that there is not", event("/a", 99), PUSH, "notification",
         {"zxid": -1, "type": 99, "state": "SyncConnected", "path": "/a"}, info="event 99 /a"),
    Case("multi", request(1, "multi", item("delete", ustring("/a") + bytes(4), -1) + item("check", ustring("/b")
         + bytes(4), -1) + DONE), REQUEST, "multi",
         {"operations": [{"type": "delete", "err": -1, "path": "/a", "version": 0},
                         {"type": "check", "err": -1, "path": "/b", "version": 0}]}, info="delete /a, check /b"),
    Case("an empty multi", request(1, "multi", DONE), REQUEST, "multi", {"operations": []}),
    Case("a failed multi", reply(1, b"".join(item("error", struct.pack(">i", err), err) for err in (0, -103, -2))
         + DONE), RESPONSE, "multi",
         {"zxid": 7, "err": 0, "operations": [{"type": "error", "err": err} for err in (0, -103, -2)]},
         (-103, "BADVERSION"), info="nothing done: item 2 of 3: BADVERSION"),
    Case("a multi without an end", request(1, "multi", item("delete", ustring("/a") + bytes(4), -1)), REQUEST, "multi",
         {"operations": [{"type": "delete", "err": -1, "path": "/a", "version": 0}]}, findings=["malformed-body"],
         info="delete /a"),
    Case("a multi of what it cannot hold", request(1, "multi", item("ping") + DONE), REQUEST, "multi",
         {"operations": [{"type": "ping", "err": 0}]}, findings=["malformed-body"], info="ping"),
    Case("an unknown opcode", request(1, 999, b"?"), REQUEST, 999, {"payload": b"?"}, findings=["unknown-operation"],
         info="1 byte"),
    Case("an orphan", reply(1, b"?"), RESPONSE, None, {"zxid": 7, "err": 0, "payload": Secret(b"?")}, info="1 byte"),
    Case("trailing bytes", request(1, "sync", ustring("/") + b"?"), REQUEST, "sync", {"path": "/", "_rest": b"?"},
         findings=["trailing-bytes"], info="/"),
    Case("a length below -1", request(1, "sync", b"\xff\xff\xff\xfb"), REQUEST, "sync", {"undecoded": None},
         findings=["malformed-body"]),
    Case("a count that cannot be", request(1, "setWatches", bytes(8) + b"\x7f\xff\xff\xff"), REQUEST, "setWatches",
         {"relativeZxid": 0, "undecoded": None}, findings=["malformed-body"]),
    Case("a word", b"ruok", REQUEST, None, {}),
    Case("a word that was typed", b"ruok\r\n", REQUEST, None, {}),
    Case("stmk", b"stmk" + (511).to_bytes(8), REQUEST, None, {"traceMask": 511}, info="mask 511"),
    Case("an answer", b"Zookeeper version: 3\nClients:\n", RESPONSE, None,
         {"text": "Zookeeper version: 3\nClients:\n", "values": {"Zookeeper version": "3"}},
         info="3"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_and_tree(case: Case) -> None:
    body, tree = ZOOKEEPER.values(case.data, case.context), ZOOKEEPER.tree(case.data, case.context)
    expected = {name: value for name, value in case.values.items() if name != "undecoded"}
    assert {name: value for name, value in body.values.items() if name != "undecoded"} == expected
    assert body.error == case.error
    assert [finding.code for finding in body.findings] == case.findings
    assert [finding.code for finding in tree.findings] == case.findings
    assert ZOOKEEPER.info(body, case.context) == case.info
    assert_tiles(tree)


def test_a_tree_has_places_and_labels() -> None:
    tree = ZOOKEEPER.tree(reply(1, buffer(b"\1\2") + STAT), Context(RESPONSE, 4))
    created, data = node(tree, "body", "stat", "ctime"), node(tree, "body", "data")
    assert (created.offset, created.length, created.text) == (20 + 6 + 16, 8, "2023-11-14T22:13:20.000Z")
    assert (data.offset, data.length, data.head, data.spec.type) == (20, 6, 4, "buffer")
    assert [part.spec.name for part in tree.fields] == ["length", "header", "body"]
    tree = ZOOKEEPER.tree(
        request(1, "create", ustring("/a") + buffer(b"") + WORLD + bytes([0, 0, 0, 1])), Context(REQUEST, 1)
    )
    assert node(tree, "body", "acl", "[0]", "perms").text == "cdrwa"
    assert node(tree, "body", "flags").text == "EPHEMERAL"
    assert node(tree, "header", "type").text == "create"


@pytest.mark.parametrize(
    ("owner", "text"),
    [
        (0, None),
        (0x1234, "session 0x1234"),
        (-1 << 63, "container"),
        (-0x0100_0000_0000_0000 + 600, "time to live 600 ms"),
    ],
)
def test_owners(owner: int, text: str | None) -> None:
    stat = STAT[:44] + struct.pack(">q", owner) + STAT[52:]
    assert node(ZOOKEEPER.tree(reply(1, stat), Context(RESPONSE, 3)), "body", "stat", "ephemeralOwner").text == text
