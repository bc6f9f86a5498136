"""Lines for people: of answers, with what was asked, and without it."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import pytest

from analyzer.decode.jsonable import JsonWriter
from dissectors.api import Context, Role
from dissectors.wire.embedded import CutList
from dissectors.zookeeper import ZooKeeper
from dissectors.zookeeper.election import ZooKeeperElection
from dissectors.zookeeper.labels import load_numbers
from dissectors.zookeeper.quorum import ZooKeeperQuorum
from tests.dissectors.zookeeper.messages import (
    WORLD,
    acl,
    buffer,
    connect,
    connected,
    event,
    initial,
    notification,
    packet,
    proposal,
    reply,
    request,
    snapshot,
    txn,
    ustring,
    vector,
)

ZOOKEEPER, QUORUM, ELECTION = ZooKeeper(), ZooKeeperQuorum(), ZooKeeperElection()
END = struct.pack(">i?i", -1, True, -1)


def stat(version: int = 0, size: int = 0, children: int = 0, owner: int = 0, aversion: int = 0) -> bytes:
    return struct.pack(">qqqqiiiqiiq", 1, 1, 10**12, 10**12, version, 0, aversion, owner, size, children, 1)


def item(operation: str, body: bytes = b"", err: int = 0) -> bytes:
    return struct.pack(">i?i", load_numbers("operation")[operation], False, err) + body


def failing(*errors: int) -> bytes:
    return b"".join(item("error", err.to_bytes(4, signed=True), err) for err in errors) + END


def create(path: str, flags: int = 0, access: bytes = WORLD) -> bytes:
    return ustring(path) + buffer(b"12345678") + access + flags.to_bytes(4)


def multi(*items: bytes) -> bytes:
    return b"".join(items) + END


def line(operation: str, role: Role, message: bytes, asked: bytes | None = None) -> str:
    """The line about a message, its request known to the fields that it recalls."""
    code = None if operation == "connect" else load_numbers("operation")[operation]
    context = Context(role, code)
    body = ZOOKEEPER.values(message, context)
    assert not [each for each in body.findings if each.code == "malformed-body"]
    if asked is not None:
        values: Mapping[str, Any] = ZOOKEEPER.values(asked, Context(Role.REQUEST, code)).values
        body = body._replace(request={name: values[name] for (name,) in ZOOKEEPER.request_fields(context)})
    return ZOOKEEPER.info(body, context)


PATH = ustring("/a")
AUTH = bytes(4) + ustring("digest") + buffer(b"bob:pw")
RECONFIG = ustring("server.4=d:1:2") + ustring("2,3") + ustring(None) + bytes(8)
SETS = struct.pack(">q", 9) + vector(*map(ustring, ("/a", "/b", "/c", "/d"))) + vector() + vector(ustring("/e"))
BOTH = multi(item("create", create("/a")), item("delete", ustring("/b") + bytes(4)))
MANY = multi(*(item("delete", ustring(f"/{each}") + bytes(4), -1) for each in range(9)))
REQUESTS = [
    ("connect", connect(), "new session, timeout 10 s"),
    ("connect", connect(0x1234, 0x10000002A, tail=b"\1"),
     "session 0x1234, timeout 10 s, zxid 0x10000002a, may be read-only"),
    ("create", create("/a", 3), "/a, ephemeral seq, 8 bytes"),
    ("create", create("/a", 99, vector(acl("digest", "u:h", 1))), "/a, mode 99, 8 bytes, ACL digest r"),
    ("createTTL", create("/a", 6) + (3_600_000).to_bytes(8), "/a, seq, 8 bytes, time to live 1 h"),
    ("delete", PATH + (3).to_bytes(4), "/a, if version 3"),
    ("setData", PATH + buffer(b"1") + b"\xff" * 4, "/a, 1 byte"),
    ("getData", PATH + b"\1", "/a, watch"),
    ("setWatches", SETS, "4 data watches /a, /b, /c, 1 more, 1 child watch /e"),
    ("removeWatches", PATH + (2).to_bytes(4), "/a, data watches"),
    ("removeWatches", PATH + (9).to_bytes(4), "/a, watches of type 9"),
    ("addWatch", PATH + (1).to_bytes(4), "/a, recursive"),
    ("addWatch", PATH + (9).to_bytes(4), "/a, mode 9"),
    ("getEphemerals", PATH, "/a"),
    ("reconfig", RECONFIG, "joining server.4=d:1:2, leaving 2,3"),
    ("auth", AUTH, "digest, user bob"),
    ("multi", BOTH, "create /a, delete /b"),
    ("multi", MANY, "delete /0, delete /1, delete /2, 6 more"),
    ("closeSession", b"", ""),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "body", "expected"), REQUESTS, ids=[each[2] or each[0] for each in REQUESTS])
def test_requests(operation: str, body: bytes, expected: str) -> None:
    message = body if operation == "connect" else request(1, operation, body)
    assert line(operation, Role.REQUEST, message) == expected


SEQUENTIAL, PLAIN = create("/a", 3), create("/a", 1)
ANSWERS = [
    ("connect", connect(), connected(5), "new session 0x5, timeout 10 s", "session 0x5, timeout 10 s"),
    ("connect", connect(5), connected(5, 6000, tail=b"\1"),
     "session 0x5 renewed, timeout 6 s, asked for 10 s, read-only",
     "session 0x5, timeout 6 s, read-only"),
    ("connect", connect(0x1234), connected(0, 0), "session 0x1234 expired", "session expired"),
    ("create", SEQUENTIAL, ustring("/a0000000007"), "/a ephemeral seq -> /a0000000007", "/a0000000007"),
    ("create2", PLAIN, PATH + stat(), "/a, ephemeral", "/a"),
    ("create", SEQUENTIAL, -110, "NODEEXISTS /a, ephemeral seq", "NODEEXISTS"),
    ("setData", PATH + buffer(b"") + (3).to_bytes(4), -103, "BADVERSION /a, if version 3", "BADVERSION"),
    ("exists", PATH + b"\1", -101, "NONODE /a", "NONODE"),
    ("create", create(""), -8, "BADARGUMENTS", "BADARGUMENTS"),
    ("exists", PATH + b"\0", stat(3, 12, 2, 0x99), "/a, 12 bytes, version 3, 2 children, session 0x99",
     "version 3, session 0x99"),
    ("getData", PATH + b"\0", buffer(b"1" * 12) + stat(3, 12), "/a, 12 bytes, version 3", "12 bytes, version 3"),
    ("setData", PATH + buffer(b"") + bytes(4), stat(4), "/a, version 4", "version 4"),
    ("setACL", PATH + WORLD + bytes(4), stat(4, aversion=7), "/a, ACL version 7", "version 4"),
    ("getACL", PATH, WORLD + stat(), "/a, ACL world cdrwa, ACL version 0", "ACL world cdrwa, ACL version 0"),
    ("getChildren2", PATH + b"\0", vector(*map(ustring, "abc")) + stat(), "/a, 3 children", "3 children"),
    ("getAllChildrenNumber", PATH, (12).to_bytes(4), "/a, 12 below", "12 below"),
    ("getEphemerals", PATH, vector(ustring("/a/b")), "/a, 1 ephemeral node /a/b", "1 ephemeral node /a/b"),
    ("getEphemerals", PATH, vector(), "/a, no ephemeral nodes", "no ephemeral nodes"),
    ("auth", AUTH, b"", "digest, user bob, accepted", ""),
    ("auth", AUTH, -115, "AUTHFAILED digest, user bob", "AUTHFAILED"),
    ("sasl", buffer(b""), buffer(None), "no token", "no token"),
    ("reconfig", RECONFIG, buffer(b"server.1=a:1:2:participant;3\nversion=10000002b") + stat(-1),
     "1 server, version 0x10000002b", "1 server, version 0x10000002b"),
    ("whoAmI", None, vector(ustring("ip") + ustring("::1")), "ip ::1", "ip ::1"),
    ("sync", PATH, PATH, "/a", "/a"),
    ("delete", PATH + (3).to_bytes(4), b"", "/a", ""),
    ("removeWatches", PATH + (3).to_bytes(4), -121, "NOWATCHER /a, all watches", "NOWATCHER"),
    ("multi", BOTH, multi(item("create", PATH), item("delete")), "create /a, delete /b", "create /a, delete"),
    ("multi", multi(item("create", create("/a", 2)), item("check", PATH + bytes(4))),
     multi(item("create", ustring("/a07")), item("check")), "create /a seq -> /a07, check /a", "create /a07, check"),
    ("multi", BOTH, failing(0, -101), "nothing done: create /a, delete /b: NONODE",
     "nothing done: item 2 of 2: NONODE"),
    ("multi", MANY, failing(*[0] * 6, -101, -2, -2),
     "nothing done: delete /0, delete /1, delete /2, 3 more, delete /6: NONODE, 2 more",
     "nothing done: 3 more, item 7 of 9: NONODE, 2 more"),
    ("multi", multi(item("delete", ustring("/b") + bytes(4))), failing(-101), "delete /b: NONODE",
     "item 1 of 1: NONODE"),
    ("multiRead", multi(item("getData", PATH + b"\0"), item("getChildren", PATH + b"\0")),
     multi(item("error", (-101).to_bytes(4, signed=True), -101), item("getChildren", vector())),
     "getData /a: NONODE, getChildren /a", "item 1 of 2: NONODE, getChildren"),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "asked", "answer", "known", "alone"), ANSWERS, ids=[each[3] for each in ANSWERS])
def test_answers(operation: str, asked: bytes | None, answer: bytes | int, known: str, alone: str) -> None:
    if operation == "connect":
        assert isinstance(answer, bytes)
        message, before = answer, asked
    else:
        message = reply(1, answer) if isinstance(answer, bytes) else reply(1, err=answer)
        before = None if asked is None else request(1, operation, asked)
    assert line(operation, Role.RESPONSE, message, before) == known
    assert line(operation, Role.RESPONSE, message) == alone


@pytest.mark.parametrize("answer", [failing(0, -101), multi(item("create", PATH), item("delete"))])
def test_multis_have_a_template(answer: bytes) -> None:
    context, message = Context(Role.RESPONSE, load_numbers("operation")["multi"]), reply(1, answer)
    made, plain = ZOOKEEPER.template(message, context, None), ZOOKEEPER.values(message, context)
    assert made is not None
    assert made.body.error == plain.error
    found, expected = ([(each["type"], [*each]) for each in body.values["operations"]] for body in (made.body, plain))
    assert found == expected
    assert not all(made.builder.fixed), "of the same items, others may have other paths and numbers"


def test_only_what_is_repeated_is_reported() -> None:
    """A request may be known by a few fields or by all of them; the line is the same."""
    requested, message = request(1, "setData", PATH + buffer(b"123") + bytes(4)), reply(1, err=-101)
    context = Context(Role.RESPONSE, load_numbers("operation")["setData"])
    body = ZOOKEEPER.values(message, context)
    whole = ZOOKEEPER.values(requested, Context(Role.REQUEST, context.code)).values
    few = {name: whole[name] for (name,) in ZOOKEEPER.request_fields(context)}
    assert few.keys() < whole.keys()
    lines = {ZOOKEEPER.info(body._replace(request=each), context) for each in (whole, few)}
    assert lines == {"NONODE /a, if version 0"}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (event("/a", 3), "NodeDataChanged /a"),
        (event("", -1, 0), "Disconnected"),
        (event("/a", 99), "event 99 /a"),
    ],
)
def test_events(message: bytes, expected: str) -> None:
    assert line("notification", Role.PUSH, message) == expected


MULTI_TXN = vector(*(load_numbers("operation")[name].to_bytes(4, signed=True) + buffer(body) for name, body in (
    ("create", PATH + buffer(b"") + WORLD + bytes(5)), ("delete", ustring("/b")))))  # fmt: skip
QUORUM_LINES = [
    (proposal("create", PATH + buffer(b"12") + WORLD + b"\1" + bytes(4)),
     "create /a, ephemeral, 2 bytes, zxid 0x7, session 0x1234"),
    (packet("INFORM", 7, txn("setData", PATH + buffer(b"12") + (3).to_bytes(4))),
     "setData /a, 2 bytes, version 3, zxid 0x7, session 0x1234"),
    (proposal("error", (-101).to_bytes(4, signed=True)), "error NONODE, zxid 0x7, session 0x1234"),
    (proposal("multi", MULTI_TXN), "multi create /a, delete /b, zxid 0x7, session 0x1234"),
    (packet("REQUEST", -1, struct.pack(">qii", 5, 1, 1) + create("/a", 2)), "create /a, seq, 8 bytes, session 0x5"),
    (packet("REQUEST", -1, struct.pack(">qii", 5, 1, 14) + BOTH), "multi create /a, delete /b, session 0x5"),
    (packet("FOLLOWERINFO", 2 << 32, struct.pack(">qiq", 3, 65536, 0)), "server 3, epoch 2"),
    (packet("LEADERINFO", 3 << 32, bytes(4)), "epoch 3"),
    (packet("ACKEPOCH", 0x200000005, (2).to_bytes(4)), "epoch 2, zxid 0x200000005"),
    (packet("NEWLEADER", 3 << 32, b"server.1=a\nserver.2=b"), "2 servers, epoch 3"),
    (packet("DIFF", 0), "zxid 0x0"),
    (packet("TRUNC", 0x100000004), "zxid 0x100000004"),
    (packet("REVALIDATE", 0, struct.pack(">qi", 5, 4000)), "session 0x5, timeout 4 s"),
    (packet("COMMITANDACTIVATE", 7, (3).to_bytes(8)), "leader 3, zxid 0x7"),
]  # fmt: skip


@pytest.mark.parametrize(("message", "expected"), QUORUM_LINES, ids=[each[1] for each in QUORUM_LINES])
def test_the_quorum(message: bytes, expected: str) -> None:
    header = QUORUM.header(message, True)
    context = Context(header.role, header.code)
    assert QUORUM.info(QUORUM.values(message, context), context) == expected


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("PING", struct.pack(">qiqi", 5, 1, 6, 1), "2 sessions, zxid 0x7"),
        ("REVALIDATE", struct.pack(">q?", 5, False), "zxid 0x7, session 0x5 not valid"),
    ],
)
def test_answers_of_the_quorum(name: str, data: bytes, expected: str) -> None:
    context = Context(Role.RESPONSE, load_numbers("packet")[name])
    assert QUORUM.info(QUORUM.values(packet(name, 7, data), context), context) == expected


def test_a_snapshot_is_counted() -> None:
    context = Context(Role.ONEWAY)
    body = QUORUM.values(snapshot(sessions=5), context)
    assert QUORUM.info(body, context) == "1 node, 5 sessions"
    many = body._replace(values=body.values | {"nodes": CutList([{}] * 3, 1234)})
    assert QUORUM.info(many, context) == "1,234 nodes, 5 sessions"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (notification(state=0), "LOOKING, votes for 3, zxid 0x7, epoch 2, round 1"),
        (notification(state=2), "LEADING, leader 3, zxid 0x7, epoch 2, round 1"),
        (initial(2, "a:1|b:1", -65535), "server 2 at a:1, b:1"),
    ],
)
def test_the_election(message: bytes, expected: str) -> None:
    context = Context(Role.ONEWAY)
    assert ELECTION.info(ELECTION.values(message, context), context) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"imok", "imok"),
        (b"zk_version\t3.9.5-29, built on\nzk_server_state\tleader\nzk_znode_count\t7\n", "3.9.5, leader, 7 nodes"),
        (b"Zookeeper version: 3.3.6-1, built\nZxid: 0x10\nMode: read-only\nNode count: 4\n",
         "3.3.6, read-only, zxid 0x10, 4 nodes"),
        (b"1 connections watching 2 paths\nTotal watches:3", "1 connection, 2 paths, 3 watches"),
        (b"This ZooKeeper instance is not currently serving requests\n",
         "This ZooKeeper instance is not currently serving requests"),
        (b"zk_version\t3.9.5-29\nzk_outstanding_requests\t12\n", "3.9.5, 12 requests waiting"),
        (b"Environment:\nzookeeper.version=3.9.5-29, built on\njava.version=17.0.15\n", "3.9.5, Java 17.0.15"),
        (b"Zookeeper version: 3.9.5-29, built\nClients:\n /[::1]:1[1](queued=0)\n\nConnections: 2\nOutstanding: 0\n",
         "3.9.5, 2 connections"),
        (b"Clients:\n /[::1]:1[1](queued=0)\n", "1 connection"),
        ((b"SessionTracker dump:\nSession Sets (2)/(1):\n0 expire at Sun:\n1 expire at Sun:\n\t0x5\n"
         b"ephemeral nodes dump:\nSessions with Ephemerals (1):\n0x5:\n\t/a\n\t/b\n"
         b"Connections dump:\n1 expire at Sun:\n\tip: /[::1]:1 sessionId: 0x5\n"), "1 session, 2 ephemeral nodes"),
        (b"SessionTracker dump:\nSession Sets (0):\nephemeral nodes dump:\nSessions with Ephemerals (0):\n",
         "no sessions"),
        (b"0x5\n\t/a\n0x6\n\t/a\n\n", "watches of 2 sessions"),
        (b"/a\n\t0x5\n\n", "watches of 1 path"),
        (b"sessions: 5\nephemerals: 6\nwatches: 7\nconnections: x\n", "sessions: 5"),
        (b"\n", "nothing"),
    ],
)  # fmt: skip
def test_words(text: bytes, expected: str) -> None:
    context = Context(Role.RESPONSE)
    body = ZOOKEEPER.values(text, context)
    assert ZOOKEEPER.info(body, context) == expected
    JsonWriter().format_line(body.values)
