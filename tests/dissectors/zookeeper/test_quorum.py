"""What a leader and its learners say: packets, transactions, snapshots, who answers whom."""

from __future__ import annotations

import pickle
import struct
from pathlib import Path
from typing import Any

import pytest

from analyzer.messages.index import RowMark
from analyzer.session import Session
from dissectors.api import Context, Outcome, Role, State
from dissectors.wire.embedded import EmbeddedValue
from dissectors.wire.message import fold_tree
from dissectors.wire.secret import Secret
from dissectors.zookeeper.labels import load_numbers
from dissectors.zookeeper.quorum import ZooKeeperQuorum
from tests.analyzer.wire import rows_of
from tests.dissectors.trees import assert_tiles
from tests.dissectors.zookeeper.messages import (
    WORLD,
    acl,
    buffer,
    node,
    packet,
    proposal,
    sasl,
    snapshot,
    txn,
    ustring,
    vector,
)

QUORUM = ZooKeeperQuorum()
CAPTURES = Path(__file__).parents[3] / "captures"
REQUEST, RESPONSE, ONEWAY = Role.REQUEST, Role.RESPONSE, Role.ONEWAY
DIGEST = struct.pack(">iq", 2, 77)
DIGEST_VALUES = {"version": 2, "treeDigest": 77}
CREATED = ustring("/a") + buffer(b"x") + WORLD + b"\0"
WORLD_VALUES = [{"perms": 31, "id": {"scheme": "world", "id": "anyone"}}]
CREATED_VALUES = {"path": "/a", "data": b"x", "acl": WORLD_VALUES, "ephemeral": False}


def in_multi(operation: str, body: bytes) -> bytes:
    return load_numbers("operation")[operation].to_bytes(4, signed=True) + buffer(body)


def data_of(message: bytes, role: Role = ONEWAY) -> Any:
    context = Context(role, int.from_bytes(message[:4]))
    body, tree = QUORUM.values(message, context), QUORUM.tree(message, context)
    assert_tiles(tree)
    assert fold_tree(tree) == body
    assert body.findings == ()
    QUORUM.info(body, context)
    return body.values["data"]


TXNS: dict[str, tuple[str, bytes, Any, dict[str, int] | None]] = {
    "create": ("create", CREATED + bytes(4), {**CREATED_VALUES, "parentCVersion": 0}, None),
    "create, 3.3": ("create", CREATED, CREATED_VALUES, None),
    "create with a digest": (
        "create",
        CREATED + bytes(4) + DIGEST,
        {**CREATED_VALUES, "parentCVersion": 0},
        DIGEST_VALUES,
    ),
    "close": ("closeSession", b"", None, None),
    "close with a digest": ("closeSession", DIGEST, None, DIGEST_VALUES),
    "close with paths": ("closeSession", vector(ustring("/e")) + DIGEST, {"paths2Delete": ["/e"]}, DIGEST_VALUES),
    "an error": ("error", b"\xff\xff\xff\x9a", {"err": -102}, None),
    "multi": (
        "multi",
        vector(in_multi("delete", ustring("/a")), in_multi("error", bytes(4)), in_multi("delete", b"??")) + DIGEST,
        {
            "txns": [
                {"type": 2, "data": EmbeddedValue(ustring("/a"), {"path": "/a"}, "DeleteTxn")},
                {"type": -1, "data": EmbeddedValue(bytes(4), {"err": 0}, "ErrorTxn")},
                {"type": 2, "data": b"??"},
            ]
        },
        DIGEST_VALUES,
    ),
    "a multi in a multi": (
        "multi",
        vector(in_multi("multi", vector())),
        {"txns": [{"type": 14, "data": vector()}]},
        None,
    ),
}


@pytest.mark.parametrize("case", TXNS)
def test_transactions(case: str) -> None:
    operation, body, values, digest = TXNS[case]
    found = data_of(proposal(operation, body), REQUEST).value
    assert found["header"]["type"] == load_numbers("operation")[operation]
    assert found["txn"] == values
    assert found.get("digest") == digest


def test_a_digest_in_an_acl_is_a_secret_and_so_are_the_bytes_around_it() -> None:
    body = ustring("/a") + vector(acl("digest", "me:hash")) + bytes(4)
    found = data_of(proposal("setACL", body), REQUEST)
    assert found.value["txn"]["acl"][0]["id"]["id"] == Secret("me:hash")
    assert found.data == Secret(txn("setACL", body))


SESSION = struct.pack(">qi", 5, 6000)
PACKETS: dict[str, tuple[bytes, Role, Any]] = {
    "a learner of 3.3": (packet("FOLLOWERINFO", data=bytes(8)), ONEWAY, {"serverid": 0}),
    "of 3.4": (packet("FOLLOWERINFO", data=bytes(12)), ONEWAY, {"serverid": 0, "protocolVersion": 0}),
    "of 3.5": (packet("OBSERVERINFO", data=bytes(20)), ONEWAY,
               {"serverid": 0, "protocolVersion": 0, "configVersion": 0}),
    "a leader": (packet("LEADERINFO", data=b"\0\1\0\0"), ONEWAY, {"protocolVersion": 65536}),
    "an epoch": (packet("ACKEPOCH", data=bytes(4)), ONEWAY, {"epoch": 0}),
    "a configuration": (packet("NEWLEADER", data=b"server.1=a"), ONEWAY, {"config": "server.1=a"}),
    "a ping": (packet("PING", data=2 * SESSION), RESPONSE, {"sessions": [{"sessionId": 5, "timeout": 6000}] * 2}),
    "a ping without sessions": (packet("PING", data=b""), RESPONSE, {"sessions": []}),
    "a question": (packet("REVALIDATE", data=SESSION), REQUEST, {"sessionId": 5, "timeout": 6000}),
    "its answer": (packet("REVALIDATE", data=SESSION[:8] + b"\1"), RESPONSE, {"sessionId": 5, "valid": True}),
    "a request": (packet("REQUEST", data=bytes(8) + struct.pack(">ii", 1, 9) + ustring("/")), ONEWAY,
                  {"sessionId": 0, "cxid": 1, "opcode": 9, "request": {"path": "/"}}),
    "a request without a record": (packet("REQUEST", data=bytes(8) + struct.pack(">ii", 1, -11)), ONEWAY,
                                   {"sessionId": 0, "cxid": 1, "opcode": -11, "request": {}}),
    "an unknown request": (packet("REQUEST", data=bytes(8) + struct.pack(">ii", 1, 999) + b"?"), ONEWAY,
                           {"sessionId": 0, "cxid": 1, "opcode": 999, "request": b"?"}),
}  # fmt: skip


@pytest.mark.parametrize("case", PACKETS)
def test_packets(case: str) -> None:
    message, role, values = PACKETS[case]
    found = data_of(message, role)
    assert found.value == values
    assert found.name == ("LearnerInfo" if "serverid" in values else None)


def test_packets_without_data() -> None:
    assert [data_of(packet(name)) for name in ("ACK", "COMMIT", "UPTODATE", "SNAP", "NEWLEADER", "PING")] == [None] * 6


def test_a_packet_with_identities() -> None:
    body = QUORUM.values(packet("ACK", ids=vector(ustring("digest") + ustring("a:b"))), Context(ONEWAY, 3))
    assert body.values["authinfo"] == [{"scheme": "digest", "id": Secret("a:b")}]


def test_an_unknown_packet_keeps_its_number() -> None:
    body = QUORUM.values(packet(77, data=b"?"), Context(ONEWAY, 77))
    assert (body.values["type"], body.values["data"]) == (77, b"?")
    assert [finding.code for finding in body.findings] == ["unknown-operation"]


BROKEN: dict[str, tuple[bytes, Role, str]] = {
    "a transaction that fits nothing": (proposal("delete", b"\0\0\0\x09/"), REQUEST, "malformed-body"),
    "bytes behind a transaction": (proposal("delete", ustring("/a") + b"?"), REQUEST, "trailing-bytes"),
    "half a session": (packet("PING", data=SESSION[:9]), RESPONSE, "malformed-body"),
    "a long learner": (packet("FOLLOWERINFO", data=bytes(21)), ONEWAY, "trailing-bytes"),
    "a short learner": (packet("FOLLOWERINFO", data=bytes(7)), ONEWAY, "malformed-body"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_breaks_is_one_finding_and_the_rest_is_read(case: str) -> None:
    message, role, code = BROKEN[case]
    body = QUORUM.values(message, Context(role, int.from_bytes(message[:4])))
    assert [finding.code for finding in body.findings] == [code]
    assert body.values["authinfo"] is None
    assert isinstance(body.values["data"], EmbeddedValue)


def test_a_snapshot() -> None:
    message = snapshot(node("/a"), node("/b", None))
    body, tree = QUORUM.values(message, Context(ONEWAY)), QUORUM.tree(message, Context(ONEWAY))
    assert_tiles(tree)
    assert fold_tree(tree) == body
    assert body.values["sessions"] == [{"id": 1, "timeout": 6000}]
    assert body.values["acls"] == [{"key": 1, "acl": WORLD_VALUES}]
    assert [(each["path"], each["data"]) for each in body.values["nodes"]] == [("", b"x"), ("/a", b"x"), ("/b", None)]
    assert body.values["signature"] == "BenWasHere"
    assert QUORUM.info(body, Context(ONEWAY)) == "3 nodes, 1 session"


# ---- who answers whom

Talk = list[tuple[bool, bytes]]
LEARNER, LEADER = True, False
DELETE = ustring("/a")


def stepped(talk: Talk) -> list[Outcome]:
    conversation, found = QUORUM.conversation(), []
    for handle, (from_client, message) in enumerate(talk):
        conversation = pickle.loads(pickle.dumps(conversation))
        found.append(conversation.step(handle, message[:512], from_client))
    return found


CASES: dict[str, tuple[Talk, list[tuple[Role, int | None]]]] = {
    "a proposal and its ACK": (
        [(LEADER, proposal("delete", DELETE, 8)), (LEADER, proposal("delete", DELETE, 9)), (LEARNER, packet("ACK", 9)),
         (LEARNER, packet("ACK", 8)), (LEADER, packet("COMMIT", 8))],
        [(REQUEST, None), (REQUEST, None), (RESPONSE, 0 + 1), (RESPONSE, 0), (ONEWAY, None)],
    ),
    "an ACK of something else": (
        [(LEADER, packet("NEWLEADER", 8)), (LEARNER, packet("ACK", 8))],
        [(ONEWAY, None), (ONEWAY, None)],
    ),
    "pings": (
        [(LEADER, packet("PING", 8)), (LEADER, packet("PING", 8)), (LEARNER, packet("PING", 8, b"")),
         (LEARNER, packet("PING", 8, b""))],
        [(REQUEST, None), (REQUEST, None), (RESPONSE, 0), (RESPONSE, 1)],
    ),
    "questions for sessions": (
        [(LEARNER, packet("REVALIDATE", -1, SESSION)), (LEADER, packet("REVALIDATE", -1, SESSION[:8] + b"\1"))],
        [(REQUEST, None), (RESPONSE, 0)],
    ),
    "an answer for another session": (
        [(LEARNER, packet("REVALIDATE", -1, SESSION)), (LEADER, packet("REVALIDATE", -1, bytes(9)))],
        [(REQUEST, None), (RESPONSE, None)],
    ),
    "SASL": ([(LEARNER, sasl()), (LEADER, sasl(b"x", 1))], [(ONEWAY, None), (ONEWAY, None)]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_partners(case: str) -> None:
    talk, expected = CASES[case]
    assert [(outcome.header.role, outcome.partner) for outcome in stepped(talk)] == expected


PING, PONG = (LEADER, packet("PING", 8)), (LEARNER, packet("PING", 8, b""))
GREETED, UP = (LEADER, packet("LEADERINFO", 8, bytes(4))), (LEADER, packet("UPTODATE", -1))
NEW = (LEADER, packet("NEWLEADER", 8))
PROPOSED, ACKED = (LEADER, proposal("delete", DELETE, 9)), (LEARNER, packet("ACK", 9))


@pytest.mark.parametrize(
    ("talk", "partners", "not_owed"),
    [
        ([GREETED, PING, UP, PING, PONG], [None, None, None, None, 3], [1]),
        ([(LEADER, packet("DIFF")), PING, NEW, PING, UP, PING, PONG], [*[None] * 6, 5], [1, 3]),
        ([NEW, (LEADER, packet("DIFF")), PING, UP, PONG], [None, None, None, None, 2], []),
        ([GREETED, PING, PONG, PING, PONG], [None, None, None, None, 3], [1]),
        ([GREETED, PROPOSED, NEW, ACKED, UP], [None, None, None, 1, None], [1]),
        ([GREETED, PROPOSED, NEW, UP, PROPOSED], [None] * 5, [1]),
        ([GREETED, (LEARNER, packet("REVALIDATE", -1, SESSION))], [None, None], []),
    ],
    ids=["a ping", "without a greeting", "3.3", "no end is seen", "a late ACK", "a PROPOSAL", "a learner's question"],
)
def test_a_learner_that_is_not_up_to_date(talk: Talk, partners: list[int | None], not_owed: list[int]) -> None:
    found = stepped(talk)
    assert [outcome.partner for outcome in found] == partners
    assert [handle for handle, outcome in enumerate(found) if not outcome.owed] == not_owed


def test_a_connection_begins_until_the_learner_is_up_to_date() -> None:
    conversation, found = QUORUM.conversation(), []
    for handle, (side, message) in enumerate([(LEARNER, packet("OBSERVERINFO", 0, bytes(20))), GREETED, PING, UP]):
        conversation.step(handle, message, side)
        found.append(conversation.beginning)
    assert found == [True, True, True, False]


@pytest.mark.parametrize("use_fast_path", [True, False])
def test_a_real_ensemble_answers_its_pings_at_once(use_fast_path: bool) -> None:
    """One of them was sent before a learner was up to date, and an observer was sent five PROPOSALs."""
    with Session([CAPTURES / "zookeeper-ensemble.pcap.zst"], use_fast_path=use_fast_path).load() as session:
        found, marks = rows_of(session), session.rows.column("marks").tolist()
    pings = [row for row in found if row["protocol"] == QUORUM.name and row["operation"] == "PING"]
    assert max(row["latency_ns"] for row in pings if row["role"] == "response") < 50_000_000
    not_owed = [row["operation"] for row, mark in zip(found, marks, strict=True) if mark & RowMark.NOTHING_OWED]
    assert not_owed == ["PING"] + ["PROPOSAL"] * 5


@pytest.mark.parametrize(
    ("before", "from_client", "behind", "expected"),
    [
        ([PING, PING], LEARNER, [PONG, PING, PONG], [None, None, 1, None, 3]),
        ([PING], LEARNER, [PONG, PING, PING, PONG, PONG], [None, 0, None, None, 2, 3]),
        ([PING, PING], LEADER, [PONG, PONG], [None, None, 0, 1]),
        ([PING, (LEADER, packet("PING", 9))], LEARNER, [PONG], [None, None, 0]),
    ],
    ids=["an answer is lost", "none is", "the leader's bytes", "another zxid"],
)
def test_a_ping_whose_answer_was_lost(
    before: Talk, from_client: bool, behind: Talk, expected: list[int | None]
) -> None:
    conversation, found = QUORUM.conversation(), []
    for handle, (side, message) in enumerate([*before, *behind]):
        if handle == len(before):
            conversation.note_loss(from_client)
        conversation = pickle.loads(pickle.dumps(conversation))
        found.append(conversation.step(handle, message, side).partner)
    assert found == expected


def test_what_has_lost_its_zxid_pairs_with_nothing() -> None:
    talk: Talk = [(LEADER, packet("PROPOSAL", 9)[:10]), (LEARNER, packet("ACK", 8)[:10]), (LEADER, packet("PING")[:4])]
    assert [each.partner for each in stepped(talk)] == [None] * 3


def test_an_orphan_is_a_guess() -> None:
    assert stepped([(LEARNER, packet("PING", 8, b""))])[0].header.state is State.GUESSED


def test_a_snapshot_comes_behind_a_snap() -> None:
    talk: Talk = [
        (LEADER, packet("SNAP")),
        (LEARNER, packet("ACK")),
        (LEADER, snapshot()),
        (LEADER, packet("UPTODATE")),
    ]
    assert [outcome.header.operation for outcome in stepped(talk)] == ["SNAP", "ACK", "SNAPSHOT", "UPTODATE"]
    assert stepped(talk)[2].header.code is None


def test_a_snapshot_that_a_gap_took_away() -> None:
    found = stepped([(LEADER, packet("SNAP")), (LEADER, packet("UPTODATE"))])
    assert [outcome.header.operation for outcome in found] == ["SNAP", "UPTODATE"]
