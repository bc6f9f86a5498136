"""What members of groups tell each other: the vendor's own bytes, in the messages that carry them."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dissectors.api import Context, Role
from dissectors.field import Tree
from dissectors.kafka.nested import structures as groups
from dissectors.kafka.tables import table
from dissectors.wire import budget
from dissectors.wire.embedded import EmbeddedValue
from tests.dissectors.kafka.nested.structured import KAFKA, PRODUCE, batched, both, framed, produce, unread, uvarint
from tests.dissectors.kafka.nested.test_structures import ASSIGNED, SUBSCRIBED, request, sized, text
from tests.dissectors.trees import assert_tiles, every, node

FILE = json.loads(Path(__file__).with_name("groups.json").read_text())


class Case(NamedTuple):
    """Bytes that the vendor wrote, and what was put into them."""

    name: str
    version: int
    data: bytes
    value: dict[str, Any]


CASES = [Case(row["name"], row["version"], bytes.fromhex(row["hex"]), row["value"]) for row in FILE["cases"]]


def plain(value: Any) -> Any:
    """A value without the bytes it came from: of those that hold nothing their digits."""
    if isinstance(value, EmbeddedValue):
        return plain(value.value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.hex() if isinstance(value, bytes) else value


def some(name: str, version: int) -> Case:
    return next(case for case in CASES if (case.name, case.version) == (name, version))


def subscription(user_data: bytes, version: int = 0) -> bytes:
    return struct.pack(">hi", version, 1) + text("orders") + sized(user_data)


def assignment(user_data: bytes) -> bytes:
    return struct.pack(">hii", 0, 0, len(user_data)) + user_data


def joined(kind: str, assignor: str, metadata: bytes) -> tuple[Any, Tree]:
    """The metadata of a JoinGroup v0, and its tree."""
    named = struct.pack(">i", 1) + text(assignor) + sized(metadata)
    frame = request(11, 0, text("g") + bytes(4) + text("m") + text(kind) + named)
    body, tree = both(frame, Context(Role.REQUEST, 11, 0))
    assert not unread(body)
    return body.values["protocols"][0]["metadata"], tree


def synced(assigned: bytes, version: int, kind: str, assignor: str | None) -> Any:
    """The assignment in an answer to SyncGroup, of version 3 or 5."""
    context = Context(Role.RESPONSE, 14, version, {"protocolType": kind})
    if version < 5:
        frame = framed(struct.pack(">iih", 1, 0, 0) + sized(assigned))
    else:
        name = b"\0" if assignor is None else uvarint(len(assignor) + 1) + assignor.encode()
        head = struct.pack(">iBih", 1, 0, 0, 0) + uvarint(len(kind) + 1) + kind.encode() + name
        frame = framed(head + uvarint(len(assigned) + 1) + assigned + b"\0")
    body, _ = both(frame, context)
    assert not unread(body)
    return body.values["assignment"]


ASSIGNORS = {
    "StickyAssignorUserData": "sticky",
    "CooperativeStickyAssignorUserData": "cooperative-sticky",
    "SubscriptionInfoData": "stream",
}


@pytest.mark.parametrize("case", [case for case in CASES if case.name in ASSIGNORS], ids=str)
def test_user_data_of_subscriptions(case: Case) -> None:
    stored, _ = joined("consumer", ASSIGNORS[case.name], subscription(case.data))
    assert stored.name == "ConsumerProtocolSubscription"
    found = stored.value["userData"]
    assert (found.name, found.data, plain(found)) == (case.name, case.data, case.value)


@pytest.mark.parametrize("assignor", ["range", "mine", "StreamsPartitionAssignor", "", "sticky ", "stream"])
def test_user_data_of_another_assignor_stays_bytes(assignor: str) -> None:
    data = some("StickyAssignorUserData", 1).data
    stored, _ = joined("consumer", assignor, subscription(data))
    assert stored.value["userData"] == data


def test_other_clients_cooperate_with_the_layout_of_the_sticky_assignor() -> None:
    case = some("StickyAssignorUserData", 1)
    stored, _ = joined("consumer", "cooperative-sticky", subscription(case.data))
    assert stored.value["userData"].name == "StickyAssignorUserData"


@pytest.mark.parametrize(
    "data", [b"", b"\0", bytes(3), bytes(5), b"\x7f\xff\xff\xff", some("StickyAssignorUserData", 1).data[:-1]]
)
@pytest.mark.parametrize("assignor", ["sticky", "stream"])
def test_user_data_that_does_not_fit(data: bytes, assignor: str) -> None:
    stored, _ = joined("consumer", assignor, subscription(data))
    assert stored.value["userData"] == data


@pytest.mark.parametrize("protocols", [1, 3])
def test_all_structures_of_a_tree_share_its_nodes(monkeypatch: pytest.MonkeyPatch, protocols: int) -> None:
    """What has no room left stays bytes, or ends where the room does; that is said once."""
    monkeypatch.setattr(budget, "_BYTES_A_NODE", budget.USUAL // 5000)
    owning = struct.pack(">hiii", 1, 0, -1, 1000) + struct.pack(">hi", 0, 0) * 1000
    named = (text("range") + sized(owning)) * protocols
    frame = request(11, 0, text("g") + bytes(4) + text("m") + text("consumer") + struct.pack(">i", protocols) + named)
    tree = KAFKA.tree(frame, Context(Role.REQUEST, 11, 0))
    assert_tiles(tree)
    assert sum(1 for _ in every(tree.fields)) < 5100
    assert [finding.code for finding in tree.findings] == ["limit-exceeded"] * (protocols > 1)


@pytest.mark.parametrize("case", [case for case in CASES if case.name == "AssignmentInfo"], ids=str)
@pytest.mark.parametrize(("version", "assignor"), [(3, None), (5, None), (5, "stream")])
def test_user_data_of_assignments(case: Case, version: int, assignor: str | None) -> None:
    stored = synced(assignment(case.data), version, "consumer", assignor)
    found = stored.value["userData"]
    assert (found.name, plain(found)) == (case.name, case.value)


IDENTITY = b'{"version":1,"host":"sr-1","port":8081,"master_eligibility":true,"scheme":"http"}'
ASSIGNMENT = b'{"error":0,"master":"sr-1-a1","master_identity":{"version":1,"host":"sr-1","port":8081},"version":1}'


def test_what_schema_registrys_servers_say() -> None:
    stored, tree = joined("sr", "v0", IDENTITY)
    assert (stored.name, stored.data, stored.value) == ("SchemaRegistryIdentity", IDENTITY, json.loads(IDENTITY))
    assert node(tree, "body", "protocols", "[0]", "metadata", "port").value == 8081
    given = synced(ASSIGNMENT, 5, "sr", "v0")
    assert (given.name, given.value) == ("SchemaRegistryAssignment", json.loads(ASSIGNMENT))


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b" {}", b'{"a":1}x', b'{"a":NaN}', b"{'a':1}", b'{"a":1,}',
                                  b'{"a":' * 70 + b"1" + b"}" * 70])  # fmt: skip
def test_what_else_schema_registrys_servers_may_say(data: bytes) -> None:
    assert joined("sr", "v0", data)[0] == data


def test_user_data_of_an_assignment_by_another_assignor() -> None:
    data = some("AssignmentInfo", 1).data
    assert synced(assignment(data), 5, "consumer", "mine").value["userData"] == data


def test_streams_versions_have_names_for_their_numbers() -> None:
    case = some("SubscriptionInfoData", 11)
    _, tree = joined("consumer", "stream", subscription(case.data))
    data = node(tree, "body", "protocols", "[0]", "metadata", "userData")
    assert node(Tree([data], tree.sources, []), "userData", "errorCode").text == "INCOMPLETE_SOURCE_TOPIC_METADATA"
    sums = node(Tree([data], tree.sources, []), "userData", "taskOffsetSums")
    assert node(Tree([sums], tree.sources, []), "taskOffsetSums", "[0]", "offsetSum").text == "LATEST_OFFSET"


@pytest.mark.parametrize("case", [case for case in CASES if case.name == "ConnectWorkerState"], ids=str)
def test_connects_workers(case: Case) -> None:
    stored, _ = joined("connect", "sessioned", case.data)
    assert (stored.name, plain(stored)) == (case.name, case.value)
    if case.value.get("allocation"):
        assert stored.value["allocation"].name == "ConnectAssignment"


@pytest.mark.parametrize("case", [case for case in CASES if case.name == "ConnectAssignment"], ids=str)
@pytest.mark.parametrize("version", [3, 5])
def test_connects_assignments(case: Case, version: int) -> None:
    stored = synced(case.data, version, "connect", "sessioned" if version == 5 else None)
    assert (stored.name, plain(stored)) == (case.name, case.value)


def test_a_connectors_own_task_has_a_name() -> None:
    _, tree = joined("connect", "sessioned", some("ConnectWorkerState", 2).data)
    allocation = node(tree, "body", "protocols", "[0]", "metadata", "allocation")
    tasks = node(Tree([allocation], tree.sources, []), "allocation", "assignment", "[0]", "tasks")
    assert [child.text for child in tasks.children] == [None, "CONNECTOR", None, None]


NEWEST = struct.pack(">hi", 3, 0) + struct.pack(">iii", -1, 0, 7) + b"\xff\xff"
"""A subscription v3: no topics, null user data, nothing owned, generation 7, null rack."""


@pytest.mark.parametrize(("version", "rest", "expected"), [
    (3, b"", {}),
    (4, b"", {"_readAs": 3}),
    (4, b"more", {"_readAs": 3, "_rest": b"more"}),
    (19, b"more", {"_readAs": 3, "_rest": b"more"}),
])  # fmt: skip
def test_a_newer_version_is_read_as_the_newest_known(version: int, rest: bytes, expected: dict[str, Any]) -> None:
    stored, tree = joined("consumer", "range", version.to_bytes(2) + NEWEST[2:] + rest)
    known = {"topics": [], "userData": None, "ownedPartitions": [], "generationId": 7, "rackId": None}
    assert stored.value == {"_version": version, **known, **expected}
    if expected:
        mark = node(tree, "body", "protocols", "[0]", "metadata", "_version", "_readAs")
        assert mark.text == "newer than the tables, read as version 3"


@pytest.mark.parametrize(
    "data",
    [b"\0\4" + SUBSCRIBED[2:], b"\0\x14" + NEWEST[2:], b"\xff\xff" + NEWEST[2:], NEWEST + b"x", b"\0\4" + NEWEST[2:-1]],
)
def test_what_no_version_explains_stays_bytes(data: bytes) -> None:
    assert joined("consumer", "range", data)[0] == data


def test_a_group_of_another_kind() -> None:
    data = b'{"host":"sr","port":8081}'
    assert joined("mine", "v0", data)[0] == data
    assert synced(ASSIGNED, 5, "sr", "v0") == ASSIGNED


def test_a_members_classic_protocols_in_the_offsets_topic() -> None:
    """ConsumerGroupMemberMetadataValue v0, whose last field is tagged."""
    case = some("CooperativeStickyAssignorUserData", 0)
    metadata = subscription(case.data)
    protocol = uvarint(19) + b"cooperative-sticky" + uvarint(len(metadata) + 1) + metadata + b"\0"
    classic = b"\1" + struct.pack(">i", 9) + b"\2" + protocol + b"\0"
    head = b"\0\0" + b"\0\0" + b"\1" + b"\1" + b"\1" + b"\0" + struct.pack(">i", 5) + b"\0"
    tagged = b"\1\0" + uvarint(len(classic)) + classic
    key = b"\0\5" + text("g") + text("m")
    body, _ = both(produce(b"__consumer_offsets", batched([(key, head + tagged)])), PRODUCE)
    (record,) = body.values["topicData"][0]["partitionData"][0]["records"][0]["records"]
    (found,) = record["value"].value["classicMemberMetadata"]["supportedProtocols"]
    assert found["metadata"].value["userData"].value == {"generation": 7}


def test_a_groups_metadata_names_its_assignor() -> None:
    case = some("StickyAssignorUserData", 0)
    member = text("m") + text("c") + text("/h") + struct.pack(">i", 9) + sized(subscription(case.data)) + sized(b"")
    value = (
        struct.pack(">h", 0) + text("consumer") + bytes(4) + text("sticky") + text("m") + struct.pack(">i", 1) + member
    )
    body, _ = both(produce(b"__consumer_offsets", batched([(b"\0\2" + text("g"), value)])), PRODUCE)
    (record,) = body.values["topicData"][0]["partitionData"][0]["records"][0]["records"]
    (found,) = record["value"].value["members"]
    assert plain(found["subscription"].value["userData"]) == case.value


@pytest.mark.parametrize("row", table("groups")["structures"], ids=lambda row: row["name"])
def test_no_cut_of_the_vendors_bytes_fits(row: dict[str, Any]) -> None:
    """But a sticky assignor's, whose layouts follow one another without a version."""
    reads = {"Connect": groups.detect_newest, "AssignmentInfo": groups.detect_streams}
    read = next((read for start, read in reads.items() if row["name"].startswith(start)), groups.detect_unversioned)
    for case in CASES:
        if case.name == row["name"]:
            fitting = [size for size in range(len(case.data) + 1) if read(case.name, case.data[:size]) is not None]
            earlier = [len(case.data) - 4] if (case.name, case.version) == ("StickyAssignorUserData", 1) else []
            assert fitting == [*earlier, len(case.data)]
