"""Replies whose requests nobody saw: which of them are read, as what, and what is said of the others."""

from __future__ import annotations

import struct
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.api import Body, Context, Role
from dissectors.finding import Finding
from dissectors.wire.message import fold_tree
from dissectors.wire.secret import Secret
from dissectors.zookeeper import ZooKeeper
from dissectors.zookeeper.guessing.guess import ZooKeeperGuessFinding, format_hints, guess
from dissectors.zookeeper.guessing.plausible import is_path
from dissectors.zookeeper.header import CUT_CONNECT
from dissectors.zookeeper.labels import error_name
from tests.dissectors.trees import assert_tiles
from tests.dissectors.zookeeper.messages import WORLD, acl, buffer, golden, reply, ustring, vector
from tests.dissectors.zookeeper.test_info import item, multi, stat

pytestmark = pytest.mark.xdist_group("captured")

ZOOKEEPER, ORPHAN = ZooKeeper(), Context(Role.RESPONSE)
LISTS = "getChildren, getEphemerals, getAllChildrenNumber and 1 more"
CREATED = struct.pack(">qqqqiiiqiiq", 7, 7, 10**12, 10**12, 0, 0, 0, 0, 3, 0, 7)


def read(message: bytes) -> tuple[Body, Finding | None]:
    body, tree = ZOOKEEPER.values(message, ORPHAN), ZOOKEEPER.tree(message, ORPHAN)
    assert_tiles(tree)
    assert fold_tree(tree, error_name) == body
    hinted = Context(Role.RESPONSE, extra=format_hints(message))
    assert ZOOKEEPER.values(message, hinted) == body
    assert ZOOKEEPER.tree(message, hinted) == tree
    return body, next((each for each in body.findings if each.code == "guessed-layout"), None)


def test_a_cut_connect_stays_one() -> None:
    """One that is cut before its password has an extra context, which a guess does not replace."""
    message = struct.pack(">iiiq", 36, 0, 30_000, 7)
    whole = ZOOKEEPER.values(message, Context(Role.RESPONSE, extra=CUT_CONNECT))
    assert ZOOKEEPER.values(message, Context(Role.RESPONSE, extra={**CUT_CONNECT, **format_hints(message)})) == whole
    assert whole.values["timeOut"] == 30_000


TOLD = [
    (ustring("/kl/n-0000000001"), "create or sync", "/kl/n-0000000001"),
    (ustring("/"), "create or sync", "/"),
    (ustring("/a") + CREATED, "create2, createContainer or createTTL", "/a"),
    (stat(3, 12), "exists, setData or setACL", "version 3"),
    (buffer(b"abc") + stat(3, 3), "getData", "3 bytes, version 3"),
    (buffer(b"/a") + stat(3, 2), "getData", "2 bytes, version 3"),
    (buffer(None) + stat(3), "getData", "no data, version 3"),
    (buffer(b"server.1=a:1:2:participant;3") + stat(0, 28), "getData or reconfig", "28 bytes, version 0"),
    (vector(ustring("a"), ustring("b")), "getChildren", "2 children"),
    (vector(ustring("/a/b")), "getEphemerals", "1 ephemeral node /a/b"),
    (vector(ustring("a")) + stat(0, 0, 1), "getChildren2", "1 child"),
    (WORLD + stat(), "getACL", "ACL world cdrwa, ACL version 0"),
    (vector(ustring("ip") + ustring("::1")), "whoAmI", "ip ::1"),
    ((12).to_bytes(4), "getAllChildrenNumber", "12 below"),
    (multi(item("create", ustring("/a")), item("delete")), "multi", "create /a, delete"),
    (multi(item("getData", buffer(b"x") + stat(0, 1))), "multiRead", "getData"),
    (multi(item("error", bytes(4))), "multi or multiRead", ""),
    (multi(), "multi or multiRead", ""),
]  # fmt: skip


@pytest.mark.parametrize(("body", "names", "line"), TOLD, ids=[f"{each[1]}: {each[2]}" for each in TOLD])
def test_recognition_by_bytes(body: bytes, names: str, line: str) -> None:
    found, finding = read(reply(1, body))
    assert isinstance(finding, ZooKeeperGuessFinding)
    assert (finding.names, finding.text) == (names, f"read as the reply to {names}; no other layout fits")
    assert ZOOKEEPER.info(found, ORPHAN) == (f"perhaps {names}: {line}" if line else f"perhaps {names}")
    assert found.values == ZOOKEEPER.values(reply(1, body), Context(Role.RESPONSE, finding.opcodes[0])).values


@pytest.mark.parametrize(
    ("xid", "names"), [(-2, "ping"), (-4, "auth"), (-8, "setWatches or setWatches2")], ids=["ping", "auth", "watches"]
)
def test_recognition_by_xid(xid: int, names: str) -> None:
    found, finding = read(reply(xid))
    assert isinstance(finding, ZooKeeperGuessFinding)
    assert (finding.names, found.values) == (names, {"zxid": 7, "err": 0})
    assert ZOOKEEPER.info(found, ORPHAN) == f"perhaps {names}"


def test_an_error_has_no_body_and_no_guess() -> None:
    found, finding = read(reply(1, err=-101))
    assert (found.values, found.error, finding) == ({"zxid": 7, "err": -101}, (-101, "NONODE"), None)
    assert ZOOKEEPER.info(found, ORPHAN) == "NONODE"


UNDECIDED = [
    (b"", "closeSession, delete, check and 6 more", None),
    (bytes(4), LISTS, bytes(4)),
    (bytes(4) + stat(), "getData, getChildren2", bytes(4) + stat()),
]  # fmt: skip


@pytest.mark.parametrize(("body", "names", "shown"), UNDECIDED)
def test_what_is_unknown_is_not_guessed(body: bytes, names: str, shown: bytes | None) -> None:
    found, finding = read(reply(1, body))
    assert finding is not None
    assert not isinstance(finding, ZooKeeperGuessFinding)
    if shown is None:
        assert finding.text == f"too little to tell what it answers: {names} would fit"
        assert "payload" not in found.values
    else:
        assert finding.text.startswith("too little to tell what it answers: ")
        payload = found.values["payload"]
        assert (payload.reveal() if isinstance(payload, Secret) else payload) == shown


@pytest.mark.parametrize(
    "body",
    [
        b"?",
        bytes(range(200)),
        ustring("a/b") + b"!",
        ustring("/a\0b") + stat(),
        buffer(b"abc") + stat(3, 4),
        vector(ustring("a"), ustring("/b")),
        vector(ustring("")),
        vector(ustring("a")) + stat(0, 0, 2),
        vector(acl("no scheme", "x")) + stat(),
        stat(-9),
        struct.pack(">q", -5) + stat()[8:],
    ],
)
def test_what_no_server_sends_is_not_believed_and_may_be_anything(body: bytes) -> None:
    found, finding = read(reply(1, body))
    assert finding is None
    assert found.values == {"zxid": 7, "err": 0, "payload": Secret(body)}


@pytest.mark.parametrize("token", [b"rspauth=0123456789abcdef", b"\x60\x06\x05sekret", b"sekret/a", b"server.sekret"])
def test_a_token_is_never_shown(token: bytes) -> None:
    """Neither whole, nor where its message is cut, nor where the reading is another one."""
    for body in (buffer(token), buffer(token) + b"?", b"?" + buffer(token)):
        message = reply(1, body)
        for end in range(len(message) + 1):
            values = ZOOKEEPER.values(message[:end], ORPHAN).values
            assert not any(isinstance(each, bytes | str) and len(each) > 4 for each in values.values()), end
            tree = ZOOKEEPER.tree(message[:end], ORPHAN)
            assert_tiles(tree)
            assert token[-6:] not in repr(tree.fields).encode()


def test_digests_of_an_access_list_are_not_shown() -> None:
    body = vector(acl("digest", "bob:SEKRETHASH=")) + stat()
    found, finding = read(reply(1, body))
    assert isinstance(finding, ZooKeeperGuessFinding)
    assert "SEKRET" not in repr(found.values)
    for end in range(len(body)):
        assert "SEKRET" not in repr(ZOOKEEPER.values(reply(1, body)[: end + 20], ORPHAN).values)
        assert "SEKRET" not in repr(ZOOKEEPER.values(reply(1, body[:end]), ORPHAN).values)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", True), ("/a", True), ("/a/b c", True), ("/kz/tab\u00a0nbsp", True), ("/ä/日本", True), ("", False),
        ("a", False), ("/a/", False), ("//a", False), ("/a/./b", False), ("/..", False), ("/a\0", False),
        ("/a\x1f", False), ("/\uf8ff", False), (b"/\xff", False), (None, False),
    ],
)  # fmt: skip
def test_paths(path: object, expected: bool) -> None:
    assert is_path(path) is expected


def test_real_replies_without_their_requests() -> None:
    counts: Counter[str] = Counter()
    for each in golden():
        if each.dissector.name == "zookeeper" and each.context.role is Role.RESPONSE and each.context.code is not None:
            found, finding = read(each.data)
            if found.error is not None and finding is None:
                counts["error"] += 1
            elif not isinstance(finding, ZooKeeperGuessFinding):
                counts["undecided"] += 1
            elif each.context.code in finding.opcodes:
                counts["right"] += 1
                first = Context(Role.RESPONSE, finding.opcodes[0])
                assert found.values == ZOOKEEPER.values(each.data, first).values
            else:
                counts["wrong"] += 1
    assert counts["wrong"] == 0
    assert counts["right"] > 2 * counts["undecided"] > 100


@given(st.binary(max_size=120), st.sampled_from([0, 0, 0, -101, -115]))
def test_any_body_is_read_alike_both_ways(body: bytes, err: int) -> None:
    message = reply(1, body, err)
    read(message)
    found = guess(message)
    assert found.opcode is None or not found.secret
