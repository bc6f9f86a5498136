"""Snapshots: any tree, cut anywhere, more than anybody wants to hold, and read a little at a time."""

from __future__ import annotations

import struct
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.api import Body, Context, Role
from dissectors.wire.embedded import CutList, holds_secret, length_of
from dissectors.wire.message import fold_tree
from dissectors.wire.secret import Secret
from dissectors.zookeeper.quorum import ZooKeeperQuorum
from dissectors.zookeeper.quorum.snapshot_framer import CHUNK, SnapshotFramer
from tests.dissectors.trees import assert_tiles, every
from tests.dissectors.window import Bytes
from tests.dissectors.zookeeper.messages import WORLD, acl, buffer, node, snapshot, ustring, vector
from tests.effort import within

QUORUM, CONTEXT = ZooKeeperQuorum(), Context(Role.ONEWAY)
NULL = b"\xff\xff\xff\xff"
END = ustring("/") + ustring("BenWasHere")


def bound(monkeypatch: pytest.MonkeyPatch, most: int, limit: int) -> None:
    """At most so many items of a list are shown, in so many bytes."""
    monkeypatch.setattr("dissectors.zookeeper.quorum.snapshot.compute_bounds", lambda: (most, limit))


def checked(message: bytes) -> Body:
    """The three ways to read it agree."""
    body, tree = QUORUM.values(message, CONTEXT), QUORUM.tree(message, CONTEXT)
    assert_tiles(tree)
    for other in (fold_tree(tree), QUORUM.streaming(Bytes(message), CONTEXT)):
        assert other == body
        assert lengths(other) == lengths(body)
    assert "Secret" not in QUORUM.info(body, CONTEXT)
    return body


def lengths(body: Body | None) -> dict[str, tuple[int, bool]]:
    """How long lists are, and whether what is not shown of them may be secret."""
    assert body is not None
    found = ((name, value) for name, value in body.values.items() if isinstance(value, list))
    return {name: (length_of(value), isinstance(value, CutList) and value.hides) for name, value in found}


MANY_ACLS = vector(*(acl("digest", f"user{number}:hash") for number in range(40)))
TREES: dict[str, tuple[bytes, dict[str, Any]]] = {
    "nothing": (vector() + vector() + END, {"sessions": [], "acls": [], "nodes": []}),
    "nothing, in the other way": (NULL + NULL + END, {"sessions": None, "acls": None, "nodes": []}),
    "an ACL that is null": (vector() + vector(bytes(8) + NULL) + END, {"acls": [{"key": 0, "acl": None}]}),
    "ids that are null": (
        vector() + vector(bytes(8) + vector(bytes(4) + NULL + NULL)) + END,
        {"acls": [{"key": 0, "acl": [{"perms": 0, "id": {"scheme": None, "id": None}}]}]},
    ),
}


@pytest.mark.parametrize("case", TREES)
def test_trees(case: str) -> None:
    message, expected = TREES[case]
    body = checked(message)
    assert body.findings == ()
    assert {name: body.values[name] for name in expected} == expected
    assert SnapshotFramer().length(Bytes(message)) == len(message)


def test_a_secret_in_an_acl_is_one_also_where_it_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    message = snapshot(acls=(WORLD, WORLD, MANY_ACLS))
    assert checked(message).values["acls"][2]["acl"][7]["id"]["id"] == Secret("user7:hash")
    bound(monkeypatch, 2, len(message))
    body = checked(message)
    assert lengths(body)["acls"] == (3, True)
    assert holds_secret(body.values)
    (more,) = (each for each in every(QUORUM.tree(message, CONTEXT).fields) if each.spec.name == "more")
    assert more.spec.secret
    assert message[more.offset : more.offset + more.length].count(b"user") == 40


@pytest.mark.parametrize(("most", "limit"), [(100, 1 << 20), (4, 1 << 20), (100, 600), (1, 1 << 20), (100, 40)])
def test_a_long_one_is_shown_in_part_and_read_to_its_end(
    monkeypatch: pytest.MonkeyPatch, most: int, limit: int
) -> None:
    bound(monkeypatch, most, limit)
    message = snapshot(*(node(f"/{number}") for number in range(50)), sessions=9, acls=(WORLD, WORLD, MANY_ACLS))
    body = checked(message)
    assert body.findings == ()
    assert body.values["signature"] == "BenWasHere"
    assert {name: length for name, (length, _) in lengths(body).items()} == {"sessions": 9, "acls": 3, "nodes": 51}
    assert QUORUM.info(body, CONTEXT) == "51 nodes, 9 sessions"
    assert all(len(body.values[name]) <= most for name in ("sessions", "acls", "nodes"))
    for each in every(QUORUM.tree(message, CONTEXT).fields):
        assert each.spec.name in PASSED or each.offset + each.length <= limit


PASSED = {"more", "sessions", "acls", "count", "nodes", "end", "signature"}
BOUNDS = [(1 << 14, 1 << 23), (3, 1 << 23), (1 << 14, 500), (3, 250)]
CUT = snapshot(
    node("/ä/日本", None), node("/a", b"x" * 90), node("/b"), node("/c", b""), sessions=4, acls=(WORLD, MANY_ACLS)
)


@pytest.mark.slow
@pytest.mark.parametrize(("most", "limit"), BOUNDS)
def test_a_cut_anywhere_is_one_finding_and_what_was_read_is_there(
    monkeypatch: pytest.MonkeyPatch, most: int, limit: int
) -> None:
    bound(monkeypatch, most, limit)
    whole = checked(CUT)
    counts: list[int] = []
    for end in range(len(CUT)):
        body = checked(CUT[:end])
        assert [finding.code for finding in body.findings] == ["malformed-body"], end
        found = body.values.get("nodes", [])
        nodes = [each for each in found if "pzxid" in each.get("stat", ())]
        assert nodes == whole.values["nodes"][: len(nodes)]
        assert len(found) - len(nodes) <= 1
        counts.append(length_of(found) - len(found) + len(nodes))
    assert counts == sorted(counts)
    assert counts[-1] == 5


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("most", "limit"), BOUNDS)
def test_hostile_bytes(monkeypatch: pytest.MonkeyPatch, most: int, limit: int) -> None:
    bound(monkeypatch, most, limit)
    random = Random(11)
    with within(40):
        for _ in range(1500):
            content = bytearray(CUT)
            for _ in range(random.randint(1, 3)):
                at = random.randrange(len(content))
                content[at : at + random.randint(0, 5)] = random.choice(
                    [b"", NULL, b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\1/", random.randbytes(3)]
                )
            checked(bytes(content))


PATHS = st.text(max_size=12).map(lambda text: "/" + text).filter(lambda path: path != "/")
Item = tuple[str, bytes | None, int]
ITEMS = st.tuples(PATHS, st.none() | st.binary(max_size=90), st.integers(0, (1 << 63) - 1))


@given(
    nodes=st.lists(ITEMS, max_size=12),
    sessions=st.integers(0, 12),
    acls=st.integers(0, 6),
    bounds=st.tuples(st.integers(1, 14), st.integers(30, 3000)),
)
def test_any_tree(nodes: list[Item], sessions: int, acls: int, bounds: tuple[int, int]) -> None:
    message = snapshot(*(node(*each) for each in nodes), sessions=sessions, acls=(WORLD,) * acls)
    with pytest.MonkeyPatch.context() as patch:
        bound(patch, *bounds)
        body = checked(message)
    assert body.findings == ()
    assert {name: length for name, (length, _) in lengths(body).items()} == {
        "sessions": sessions,
        "acls": acls,
        "nodes": len(nodes) + 1,
    }
    shown = [(each["path"], each["data"], each["acl"]) for each in body.values["nodes"]]
    assert shown == [("", b"x", 1), *nodes][: len(shown)]
    assert SnapshotFramer().length(Bytes(message)) == len(message)
    assert SnapshotFramer().length(Bytes(message[:-1])) < 0


def test_text_that_is_none_is_shown_as_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    message = snapshot(buffer(b"/\xff") + node("")[4:], node("/b"))
    assert checked(message).values["nodes"][1]["path"] == b"/\xff"
    bound(monkeypatch, 2, len(message))
    assert checked(message).values["nodes"][1]["path"] == b"/\xff"


def test_what_stands_behind_it_is_reported() -> None:
    body = checked(snapshot() + b"??")
    assert [finding.code for finding in body.findings] == ["trailing-bytes"]
    assert body.values["_rest"] == b"??"
    assert body.values["signature"] == "BenWasHere"


def test_another_signature() -> None:
    assert checked(snapshot()[:-1] + b"?").values["signature"] == "BenWasHer?"
    assert checked(snapshot()[:-14] + NULL).values["signature"] is None


def test_a_long_one_is_read_a_little_at_a_time_and_hardly_more_than_once(monkeypatch: pytest.MonkeyPatch) -> None:
    bound(monkeypatch, 100, CHUNK)
    message = snapshot(
        *(node(f"/n{number}", bytes(number % 700)) for number in range(9000)), node("/big", bytes(CHUNK))
    )
    window = Bytes(message)
    body = QUORUM.streaming(window, CONTEXT)
    assert body is not None
    assert lengths(body)["nodes"] == (9002, False)
    assert len(message) > 40 * CHUNK
    assert window.most <= CHUNK
    assert window.asked < 1.2 * len(message)


@pytest.mark.parametrize("behind", range(-8, 3))
def test_the_end_is_found_wherever_what_is_read_at_once_ends(monkeypatch: pytest.MonkeyPatch, behind: int) -> None:
    """A path of one byte is the end only if it is the root's."""
    bound(monkeypatch, 1, CHUNK)
    nodes = vector() + vector() + node("x", bytes(100)) * 300
    nodes += node("y", bytes(CHUNK + behind - len(nodes) - len(node("y", b""))))
    assert len(nodes) == CHUNK + behind
    message = nodes + END
    assert SnapshotFramer().length(Bytes(message)) == len(message)
    body = QUORUM.streaming(Bytes(message), CONTEXT)
    assert body is not None
    assert body.findings == ()
    assert lengths(body)["nodes"] == (301, False)


def test_only_a_snapshot_is_skimmed() -> None:
    assert QUORUM.streaming(Bytes(struct.pack(">iq", 3, 7) + NULL + NULL), Context(Role.ONEWAY, 3)) is None
    assert QUORUM.streaming(Bytes(struct.pack(">qi", 6855662812065295820, 0) + NULL), CONTEXT) is None
