"""How long messages are where nothing in front says it: words, the beginnings of elections, packets, snapshots."""

from __future__ import annotations

import pickle
from random import Random

import pytest

from dissectors.api import Framer
from dissectors.zookeeper import ZooKeeper
from dissectors.zookeeper.election import ZooKeeperElection
from dissectors.zookeeper.quorum import ZooKeeperQuorum
from dissectors.zookeeper.quorum.snapshot_framer import CHUNK
from tests.dissectors.window import Bytes
from tests.dissectors.zookeeper.messages import (
    acl,
    connect,
    connected,
    get_data,
    initial,
    node,
    notification,
    packet,
    proposal,
    sasl,
    snapshot,
    ustring,
    vector,
)
from tests.effort import within

WORDS_C, WORDS_S = ZooKeeper().make_framer(True, True), ZooKeeper().make_framer(False, True)
QUORUM = ZooKeeperQuorum()


def lengths(framer: Framer | None, stream: bytes, ended: bool = True, step: int = 1) -> list[int | None]:
    """What is told of a stream that comes in steps: the length of each message, and what is said at the end."""
    assert framer is not None
    found: list[int | None] = []
    begin, end = 0, 0
    while True:
        framer = pickle.loads(pickle.dumps(framer))
        length = framer.length(Bytes(stream[begin:end]), ended and end == len(stream))
        if length is None or length == 0:
            return [*found, length]
        if 0 < length <= end - begin:
            found.append(length)
            begin += length
        elif end == len(stream):
            return [*found, length]
        else:
            end = min(end + step, len(stream))
        if begin == end == len(stream):
            return found


PACKETS = [packet("FOLLOWERINFO", data=bytes(20)), packet("ACK"), packet(77, data=b"?"), sasl(b"abc")]
TREE = snapshot(node("/a"), node("/BenWasHere", b"BenWasHere"), sessions=2, acls=(vector(), vector(acl("a", "b"))))
CASES: dict[str, tuple[Framer | None, bytes, list[int | None]]] = {
    "a word": (ZooKeeper().make_framer(True, True), b"ruok", [4]),
    "a word and more": (ZooKeeper().make_framer(True, True), b"ruok\0\0\0\1", [4, 4]),
    "stmk": (ZooKeeper().make_framer(True, True), b"stmk" + bytes(8), [12]),
    "half of stmk": (ZooKeeper().make_framer(True, True), b"stmk" + bytes(3), [-12]),
    "no word": (ZooKeeper().make_framer(True, True), connect(), [None]),
    "an answer": (ZooKeeper().make_framer(False, True), b"imok", [4]),
    "a line's end": (ZooKeeper().make_framer(False, True), b"\n", [1]),
    "no text": (ZooKeeper().make_framer(False, True), connected(1), [None]),
    "an election of 3.5": (ZooKeeperElection().make_framer(True, True), initial() + notification(),
                           [len(initial()), 48]),
    "an election of 3.4": (ZooKeeperElection().make_framer(True, True), bytes(7) + b"\4" + notification(36), [8, 40]),
    "an election with SASL": (ZooKeeperElection().make_framer(True, True),
                              initial() + sasl() + sasl(b"abc") + notification(), [len(initial()), 16, 19, 48]),
    "the other side": (ZooKeeperElection().make_framer(False, True), notification(), [48]),
    "the other side with SASL": (ZooKeeperElection().make_framer(False, True), sasl(b"abc") + notification(), [19, 48]),
    "a strange initial message": (ZooKeeperElection().make_framer(True, True), b"\xff" * 8, [0]),
    "an address too long": (ZooKeeperElection().make_framer(True, True), initial(address="a" * 3000), [0]),
    "frames of another protocol": (ZooKeeperElection().make_framer(False, True), bytes(3) + b"\x28" + b"x" * 40, [0]),
    "packets": (QUORUM.make_framer(True, True), b"".join(PACKETS), [len(each) for each in PACKETS]),
    "a packet of no type": (QUORUM.make_framer(True, True), packet(0), [0]),
    "a packet with identities": (QUORUM.make_framer(True, True), packet("ACK", ids=vector(ustring("a") +
    ustring(None))),
                                 [20 + 5 + 4]),
    "too many identities": (QUORUM.make_framer(True, True), packet("ACK", ids=b"\x7f\0\0\0"), [0]),
    "a cut packet": (QUORUM.make_framer(True, True), packet("ACK")[:-1], [-20]),
    "a snapshot": (QUORUM.make_framer(False, True), packet("SNAP") + TREE + packet("UPTODATE"), [20, len(TREE), 20]),
    "data that no such packet has": (QUORUM.make_framer(True, True), packet("ACKEPOCH", data=bytes(200)) + b"GET", [0]),
    "a packet of the other side": (QUORUM.make_framer(True, True), packet("UPTODATE") + b"GET", [0]),
    "a snapshot without its signature": (QUORUM.make_framer(False, True), packet("SNAP") + TREE[:-1] + b"?", [20, 0]),
    "no sessions, no ACLs, no nodes": (QUORUM.make_framer(False, True),
                                       packet("SNAP") + bytes(8) + ustring("/") + ustring("BenWasHere"), [20, 27]),
}  # fmt: skip


@pytest.mark.parametrize("step", [1, 3, 64, 100_000])
@pytest.mark.parametrize("case", CASES)
def test_lengths(case: str, step: int) -> None:
    framer, stream, expected = CASES[case]
    assert lengths(pickle.loads(pickle.dumps(framer)), stream, step=step) == expected


def test_a_snapshot_is_the_leaders() -> None:
    framer = QUORUM.make_framer(True, True)
    assert (framer.length(Bytes(packet("SNAP")), False), framer.settled) == (20, True)


@pytest.mark.parametrize(
    ("behind", "expected"),
    [
        (b"", 21),
        (b"non", -25),
        (b"none", 0),
        (packet("ACK"), 21),
        (packet(77), 21),
        (sasl(), 21),
        (b"GET / HTTP/1.1", 0),
    ],
)
def test_a_packet_of_an_unknown_type_is_confirmed_by_what_follows(behind: bytes, expected: int) -> None:
    assert QUORUM.make_framer(True, True).length(Bytes(packet(77, data=b"?") + behind), False) == expected


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("word", [b"ruok", b"stmk" + bytes(8)])
def test_a_line_break_belongs_to_the_word_that_it_came_with(word: bytes, ending: bytes) -> None:
    typed = word + ending
    assert lengths(ZooKeeper().make_framer(True, True), typed, step=100) == [len(typed)]
    assert lengths(ZooKeeper().make_framer(True, True), typed, step=len(word)) == [len(word), len(ending)]
    assert lengths(ZooKeeper().make_framer(True, True), typed + b"?", step=100) == [len(word), len(ending) + 1]


SETTING = packet("PROPOSAL", 9, bytes(40))
ASKING = packet("REQUEST", -1, bytes(20), vector(ustring("ip") + ustring("10.0.0.1")))
ACROSS: dict[str, tuple[bytes, range, int, int]] = {
    "a gap in the data": (SETTING + packet("ACK"), range(30, 40), 60, 60),
    "one of which the end has not come": (SETTING + packet("ACK"), range(30, 40), 40, 60),
    "a gap over the end": (SETTING + packet("ACK"), range(30, 70), 80, 60),
    "a gap in the end": (SETTING + packet("ACK"), range(58, 59), 80, 60),
    "no head": (SETTING, range(15, 40), 60, 0),
    "no packet": (bytes(60), range(30, 40), 60, 0),
    "a length that there cannot be": (packet("ACK")[:12] + b"\x7f" * 48, range(30, 40), 60, 0),
    "a request whose ids are there": (ASKING, range(20, 30), len(ASKING), len(ASKING)),
    "whose ids are lost": (ASKING + packet("ACK"), range(20, len(ASKING)), len(ASKING) + 20, len(ASKING)),
    "of whose ids some are lost": (ASKING + packet("ACK"), range(44, len(ASKING)), len(ASKING) + 20, len(ASKING)),
    "SASL": (sasl(bytes(30)), range(20, 30), 46, 46),
}


@pytest.mark.parametrize("case", ACROSS)
def test_a_packet_that_has_lost_some_bytes(case: str) -> None:
    stream, lost, end, expected = ACROSS[case]
    damaged = stream[: lost.start] + bytes(len(lost)) + stream[lost.stop :]
    assert (
        QUORUM.make_framer(not stream.startswith(SETTING[:4]), False).measure_across_loss(
            Bytes(damaged[:end]), lost, False
        )
        == expected
    )


NEWLEADER = packet("NEWLEADER", 5 << 32, b"server.1=a")


@pytest.mark.parametrize("step", [7, 50, 1000])
@pytest.mark.parametrize("size", [1, 100])
def test_a_snapshot_that_has_lost_some_bytes(size: int, step: int) -> None:
    """Wherever it is: the signature ends it, or if this is lost the packet that begins a segment behind the gap."""
    stream = TREE + packet("PING", 5)
    for at in range(1, len(TREE), 3):
        lost = range(at, min(at + size, len(TREE)))
        framer = QUORUM.make_framer(False, True)
        assert framer.length(Bytes(packet("SNAP")), False) == 20
        damaged = stream[: lost.start] + bytes(len(lost)) + stream[lost.stop :]
        ends = [*range(lost.stop, len(TREE), step), len(TREE), len(stream)]
        for end in ends:
            framer = pickle.loads(pickle.dumps(framer))
            assert framer.length(Bytes(damaged[: lost.start]), False) < 0
            found = framer.measure_across_loss(Bytes(damaged[:end]), lost, False)
            if found >= 0:
                break
        assert found == len(TREE)
        assert framer.settled


@pytest.mark.parametrize("behind", [NEWLEADER, NEWLEADER[:30], packet("PING", 5)])
def test_a_snapshot_whose_end_is_lost(behind: bytes) -> None:
    framer = QUORUM.make_framer(False, True)
    assert framer.length(Bytes(packet("SNAP")), False) == 20
    damaged = TREE[:-9] + bytes(9)
    lost = range(len(TREE) - 9, len(TREE))
    assert framer.measure_across_loss(Bytes(damaged), lost, False) == -len(TREE) - 1
    assert framer.measure_across_loss(Bytes(damaged + behind), lost, False) == len(TREE)


def test_the_search_of_a_snapshots_end_looks_at_bytes_once() -> None:
    framer = QUORUM.make_framer(False, True)
    assert framer.length(Bytes(packet("SNAP")), False) == 20
    tree, requested = bytes(1_000_000), 0
    for end in range(2000, len(tree), 1448):
        window = Bytes(tree[:end])
        assert framer.measure_across_loss(window, range(1000, 2000), False) < 0
        requested += window.asked
    assert requested < 2 * len(tree)


def test_a_text_goes_on_until_the_end() -> None:
    assert lengths(ZooKeeper().make_framer(False, True), b"imok", ended=False) == [-1]


def test_hostile_bytes_are_measured_soon() -> None:
    random = Random(1)
    with within(10):  # some 0.05 s
        for _ in range(2000):
            stream = packet("SNAP") + random.randbytes(random.randint(0, 60)).replace(b"\x7f", b"\0")
            lengths(QUORUM.make_framer(False, True), stream, step=17)


def test_a_large_snapshot_is_read_once() -> None:
    """Its reader keeps its place: what it looks at grows with the bytes that come, not with those that there are."""
    tree = snapshot(*(node(f"/n{number}", bytes(number % 700)) for number in range(8000)), node("/big", bytes(300_000)))
    stream = packet("SNAP") + tree
    framer = QUORUM.make_framer(False, True)
    assert framer.length(Bytes(stream), False) == 20
    requested = 0
    for end in range(0, len(tree), 1448):
        window = Bytes(tree[:end])
        assert framer.length(window, False) < 0
        requested += window.asked
    assert framer.length(Bytes(tree), False) == len(tree)
    assert len(tree) > 3_000_000 > CHUNK
    assert requested < 3 * len(tree)


def test_a_frame_is_no_word() -> None:
    assert WORDS_C is not None
    assert WORDS_S is not None
    assert WORDS_C.length(Bytes(get_data(1)), False) is None
    assert WORDS_S.length(Bytes(proposal("delete", ustring("/a"))), False) is None
