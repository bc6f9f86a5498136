"""The story of transactions, made by hand: who belongs to which, and what it took."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dissectors.api import Role
from dissectors.zookeeper.reports.commits import Commits
from tests.dissectors.telling import MS
from tests.dissectors.zookeeper.reports.told import SESSION, Book, txn

Way = Callable[[Book], object]
FIRST, SECOND, OBSERVER = 11, 12, 13
"""Connections of learners to one leader."""

CLIENT = 1
SET = 5


def propose(book: Book, zxid: int = 7, stream: int = FIRST, **more: int) -> int:
    return book.packet("PROPOSAL", txn(SET, zxid, path="/a"), zxid=zxid, stream=stream, **more)


def acknowledge(book: Book, zxid: int = 7, stream: int = FIRST, after: int = 1) -> None:
    book.packet("ACK", zxid=zxid, stream=stream, role=Role.RESPONSE, after=after)


def commit(book: Book, zxid: int = 7, stream: int = FIRST, name: str = "COMMIT", after: int = 1) -> None:
    book.packet(name, zxid=zxid, stream=stream, after=after)


def whole(book: Book) -> None:
    """A client of the first follower sets a node."""
    book.packet("FOLLOWERINFO", {"serverid": 1}, stream=FIRST)
    book.packet("FOLLOWERINFO", {"serverid": 2}, stream=SECOND)
    row = book.tell({}, operation="setData", role=Role.REQUEST, stream=CLIENT, xid=1, partner=10)
    requested = {"sessionId": SESSION, "cxid": 1, "opcode": SET, "request": {"path": "/a"}}
    book.packet("REQUEST", requested, stream=FIRST)
    propose(book, after=2)
    propose(book, stream=SECOND)
    acknowledge(book, stream=SECOND, after=4)
    commit(book)
    commit(book, stream=SECOND)
    acknowledge(book, after=30)
    book.reply(row, "setData", stream=CLIENT, xid=1)


def test_an_exchange_of_all() -> None:
    book = Book(Commits)
    whole(book)
    (text,) = book.finish()
    assert text == {
        "zxid": "0x7",
        "operation": "setData",
        "path": "/a",
        "error": None,
        "session": hex(SESSION),
        "xid": 1,
        "leader": "10.0.1.1:2181",
        "proposals": 2,
        "acks": 2,
        "acks_at_commit": 1,
        "quorum_ns": 6 * MS,
        "acknowledged": ["2 in 4 ms", "1 in 37 ms"],
        "slowest": "1",
        "slowest_took_ns": 37 * MS,
        "forwarded_ns": 2 * MS,
        "client_ns": 41 * MS,
    }


def test_the_messages_and_what_is_reported_of_them() -> None:
    book = Book(Commits)
    whole(book)
    book.finish()
    (entry,) = book.entries
    assert list(entry.rows) == [
        ("request", 2),
        ("forwarded", 3),
        ("proposal", 4),
        ("proposal", 5),
        ("ack", 6),
        ("commit", 7),
        ("commit", 8),
        ("ack", 9),
        ("reply", 10),
    ]
    assert Commits.describe(entry, 9) == (
        "ack of transaction 0x7 (setData /a); message 8 committed it 6 ms after it was proposed; "
        "acknowledged by 2 in 4 ms, by 1 in 37 ms; the client had its answer in 41 ms"
    )


def test_requests_of_a_follower_to_the_leader() -> None:
    book = Book(Commits)
    whole(book)
    book.finish()
    (entry,) = book.entries
    assert Commits.describe(entry, 3).startswith("a follower's request of transaction 0x7 (setData /a); message 8")


def failed(book: Book) -> None:
    """The transaction of what failed does not say what it was."""
    requested = {"sessionId": SESSION, "cxid": 1, "opcode": SET, "request": {"path": "/a"}}
    book.packet("REQUEST", requested, stream=FIRST)
    book.packet("PROPOSAL", txn(-1, 7, err=-101), zxid=7, stream=FIRST)


def failed_at_the_leader(book: Book) -> None:
    """Who asks the leader itself is named by no REQUEST."""
    book.tell({"path": "/a"}, operation="setData", role=Role.REQUEST, stream=CLIENT, xid=1, partner=9)
    book.packet("PROPOSAL", txn(-1, 7, err=-101), zxid=7, stream=FIRST)


def multi_failed_at_the_leader(book: Book) -> None:
    operations = [{"type": "check"}, {"type": "setData", "path": "/b"}]
    book.tell({"operations": operations}, operation="multi", role=Role.REQUEST, stream=CLIENT, xid=1, partner=9)
    book.packet("PROPOSAL", txn(-1, 7, err=-101), zxid=7, stream=FIRST)


def sent_again(book: Book) -> None:
    propose(book)
    acknowledge(book)
    commit(book)
    book.packet("DIFF", stream=SECOND, zxid=7)
    propose(book, stream=SECOND, after=50)
    commit(book, stream=SECOND)
    book.packet("NEWLEADER", stream=SECOND, zxid=1 << 32)
    acknowledge(book, 1 << 32, SECOND)


def late(book: Book) -> None:
    """A capture that begins behind the proposal."""
    acknowledge(book)
    commit(book)


def informed(book: Book) -> None:
    book.packet("INFORM", txn(SET, 7, path="/a"), zxid=7, stream=OBSERVER)


def inside(book: Book) -> None:
    """In a multi the first node is named."""
    book.packet("PROPOSAL", txn(14, 7, txns=[{"type": 13}, {"type": 5, "data": {"path": "/b"}}]), zxid=7, stream=FIRST)


CASES: dict[str, tuple[Way, list[tuple[object, ...]]]] = {
    "what failed": (failed, [("setData", "/a", "NONODE", 1, 0, None)]),
    "what failed, asked of the leader": (failed_at_the_leader, [("setData", "/a", "NONODE", 1, 0, None)]),
    "a multi that failed, asked of the leader": (
        multi_failed_at_the_leader,
        [("multi", "/b", "NONODE", 1, 0, None)],
    ),
    "sent again to one that was away": (sent_again, [("setData", "/a", None, 1, 1, 2 * MS)]),
    "a capture that begins late": (late, [(None, None, None, 0, 0, None)]),
    "an observer's view": (informed, [("setData", "/a", None, 0, 0, None)]),
    "a multi": (inside, [("multi", "/b", None, 1, 0, None)]),
    "an acknowledgement of something else": (lambda book: acknowledge(book, 1 << 32), []),
    "twice from one": (lambda b: (propose(b), acknowledge(b), acknowledge(b)), [("setData", "/a", None, 1, 1, None)]),
}


@pytest.mark.parametrize("case", CASES)
def test_parts_of_one(case: str) -> None:
    way, expected = CASES[case]
    book = Book(Commits)
    way(book)
    assert book.only("operation", "path", "error", "proposals", "acks", "quorum_ns") == expected


def test_the_same_number_of_another_leader() -> None:
    book = Book(Commits)
    propose(book)
    propose(book, stream=FIRST + 10)
    assert book.only("leader", "proposals") == [("10.0.1.1:2181", 1), ("10.0.1.2:2181", 1)]


def test_a_session_begins_with_xid_0() -> None:
    book = Book(Commits)
    row = book.tell({}, operation="connect", role=Role.REQUEST, stream=CLIENT, partner=2)
    book.packet("PROPOSAL", txn(-10, 7, xid=0, timeOut=9), zxid=7, stream=FIRST)
    book.tell({}, operation="connect", role=Role.RESPONSE, stream=CLIENT, partner=row)
    assert book.only("operation", "client_ns") == [("createSession", 2 * MS)]


def test_who_came_back_did_not_ask_for_its_end() -> None:
    book = Book(Commits)
    row = book.tell({}, operation="connect", role=Role.REQUEST, stream=CLIENT, partner=1)
    book.tell({}, operation="connect", role=Role.RESPONSE, stream=CLIENT, partner=row)
    book.packet("PROPOSAL", txn(-11, 7, xid=0), zxid=7, stream=FIRST, after=6000)
    book.finish()
    (entry,) = book.entries
    assert list(entry.rows) == [("proposal", 2)]
    assert Commits.cells(entry)["client_ns"] is None


def test_the_first_are_reported_when_many_have_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Commits, "limit", 4)
    book = Book(Commits)
    for zxid in range(10):
        propose(book, zxid)
    assert len(book.entries) == 6
    assert [zxid for (zxid,) in book.only("zxid")] == [hex(zxid) for zxid in range(10)]
