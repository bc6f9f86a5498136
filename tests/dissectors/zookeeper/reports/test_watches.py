"""The story of watches, made by hand: what sets one, what fires it, what is behind the event."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dissectors.api import Role
from dissectors.zookeeper.reports.watches import Watches
from tests.dissectors.telling import MS
from tests.dissectors.zookeeper.reports.told import Book, txn

Way = Callable[[Book], object]
NONODE = {"err": -101}


def get(book: Book, path: str = "/a", **more: object) -> int:
    return book.call("getData", {"path": path, "watch": True}, **more)


def watch(book: Book, mode: int, path: str = "/a") -> int:
    return book.call("addWatch", {"path": path, "mode": mode})


def twice(book: Book) -> None:
    get(book)
    get(book)
    book.event("NodeDataChanged", "/a")
    book.event("NodeDataChanged", "/a")


def again(book: Book) -> None:
    get(book)
    book.end()
    book.call("setWatches", {"dataWatches": ["/a"], "existWatches": [], "childWatches": []}, stream=2)
    book.event("NodeDataChanged", "/a", stream=2)


def lost(book: Book) -> None:
    get(book)
    book.end()


def moved(book: Book) -> None:
    """The old connection ends behind the new one's beginning."""
    get(book)
    book.call("setWatches2", {"dataWatches": ["/a"]}, stream=2)
    book.end()


def removed(book: Book) -> None:
    watch(book, 0)
    watch(book, 1)
    book.call("removeWatches", {"path": "/a", "type": 4})


def persistent(book: Book) -> None:
    watch(book, 0)
    for event in ("NodeDataChanged", "NodeChildrenChanged", "NodeDeleted", "NodeCreated"):
        book.event(event, "/a")
    book.event("NodeDataChanged", "/a/b")


def recursive(book: Book) -> None:
    watch(book, 1)
    book.event("NodeCreated", "/a/b/c")
    book.event("NodeDataChanged", "/a")
    book.event("NodeChildrenChanged", "/a")
    book.event("NodeDataChanged", "/ab")


def closed(book: Book) -> None:
    get(book)
    book.call("closeSession", {})


def both(book: Book) -> None:
    get(book)
    book.call("getChildren", {"path": "/a", "watch": True})
    book.event("NodeDeleted", "/a")


CASES: dict[str, tuple[Way, list[tuple[object, ...]]]] = {
    "set, and not fired": (get, [("data", 0, "stands", 0)]),
    "no watch was asked for": (lambda book: book.call("getData", {"path": "/a", "watch": False}), []),
    "the read failed": (lambda book: get(book, answer=NONODE), []),
    "no answer": (lambda book: book.tell({"path": "/a", "watch": True}, operation="getData", role=Role.REQUEST), []),
    "a node that is there": (lambda b: b.call("exists", {"path": "/a", "watch": True}), [("data", 0, "stands", 0)]),
    "one that is not": (lambda b: b.call("exists", {"path": "/a", "watch": True}, NONODE), [("exist", 0, "stands", 0)]),
    "exists with another error": (lambda b: b.call("exists", {"path": "/a", "watch": True}, {"err": -4}), []),
    "it fires once": (twice, [("data", 0, "fired", 1), (None, None, "fired", 1)]),
    "set before the capture": (lambda book: book.event("NodeDeleted", "/a"), [(None, None, "fired", 1)]),
    "of another session": (
        lambda book: (get(book), book.event("NodeDataChanged", "/a", session=0x11)),
        [(None, None, "fired", 1), ("data", 0, "stands", 0)],
    ),
    "the state of a session is no watch's": (lambda book: book.event("None", ""), []),
    "set again behind a reconnect": (again, [("data", 0, "fired", 1)]),
    "not set again": (lost, [("data", 0, "lost", 0)]),
    "the connection that it had left ends": (moved, [("data", 0, "stands", 0)]),
    "taken away": (removed, [("persistent", 0, "removed", 0), ("recursive", 2, "stands", 0)]),
    "one that stays": (persistent, [(None, None, "fired", 1), ("persistent", 0, "stands", 4)]),
    "below a node": (recursive, [(None, None, "fired", 1), (None, None, "fired", 1), ("recursive", 0, "stands", 2)]),
    "the session is closed": (closed, [("data", 0, "session closed", 0)]),
    "two with one event": (both, [("data", 0, "fired", 1), ("child", 2, "fired", 1)]),
}


@pytest.mark.parametrize("case", CASES)
def test_what_becomes_of_a_watch(case: str) -> None:
    way, expected = CASES[case]
    book = Book(Watches)
    way(book)
    assert book.only("kind", "set", "state", "events") == expected


def create(book: Book, path: str = "/a/b", **more: object) -> int:
    return book.call("create", {"path": path, "flags": 0}, {"path": path, **more}, session=0x11, stream=2)


def answered_later(book: Book) -> None:
    """The event comes first."""
    row = book.tell(
        {"path": "/a"}, operation="setData", role=Role.REQUEST, partner=book.row + 2, session=0x11, stream=2
    )
    book.event("NodeDataChanged", "/a", after=7)
    book.reply(row, "setData", session=0x11, stream=2)


def two_of_which(book: Book) -> None:
    """Both have been answered, and the event names one of them."""
    for zxid in (7, 8):
        book.call("setData", {"path": "/a"}, {"zxid": zxid}, session=0x11, stream=2)
    book.event("NodeDataChanged", "/a", 7)


def failed(book: Book) -> None:
    book.call("setData", {"path": "/a"}, {"err": -103}, session=0x11, stream=2)
    book.event("NodeDataChanged", "/a")


def in_a_multi(book: Book) -> None:
    requested = {"operations": [{"type": "check", "path": "/a"}, {"type": "create", "path": "/a/b-", "flags": 2}]}
    done = {"operations": [{"type": "check", "err": 0}, {"type": "create", "path": "/a/b-01", "err": 0}]}
    book.call("multi", requested, done, session=0x11, stream=2)
    book.event("NodeChildrenChanged", "/a")
    book.event("NodeCreated", "/a/b-01")


def told_by_the_quorum(book: Book) -> None:
    """The proposal says which of two requests the transaction is."""
    for xid in (3, 4):
        book.tell({"path": "/a"}, operation="setData", role=Role.REQUEST, partner=99, session=0x11, stream=2, xid=xid)
    book.packet("PROPOSAL", txn(5, 9, 0x11, 4, path="/a"), stream=3)
    book.event("NodeDataChanged", "/a", 9)


def only_the_quorum(book: Book) -> None:
    book.packet("INFORM", txn(5, 9, 0x11, 4, path="/a"), stream=3)
    book.event("NodeDataChanged", "/a", 9, after=4)


WRITES: dict[str, tuple[Way, list[tuple[object, ...]]]] = {
    "a write that is not answered yet": (answered_later, [(0, 7)]),
    "a child": (lambda b: (create(b), b.event("NodeChildrenChanged", "/a")), [(0, 2)]),
    "a child of the root": (lambda b: (create(b, "/x"), b.event("NodeChildrenChanged", "/")), [(0, 2)]),
    "not of a grandchild": (lambda b: (create(b, "/a/b/c"), b.event("NodeChildrenChanged", "/a")), [(None, None)]),
    "by the transaction": (two_of_which, [(0, 4)]),
    "not one that failed": (failed, [(None, None)]),
    "one of several": (in_a_multi, [(0, 2), (0, 3)]),
    "by the proposal": (told_by_the_quorum, [(1, 2)]),
    "of whom nobody saw the request": (only_the_quorum, [(0, 4)]),
}


@pytest.mark.parametrize("case", WRITES)
def test_the_write_behind_an_event(case: str) -> None:
    way, expected = WRITES[case]
    book = Book(Watches)
    way(book)
    assert book.only("write", "delivery_ns") == [(row, None if late is None else late * MS) for row, late in expected]


def test_what_is_reported_of_each_message() -> None:
    book = Book(Watches)
    get(book)
    book.call("setData", {"path": "/a"}, session=0x11, stream=2)
    book.event("NodeDataChanged", "/a")
    book.finish()
    (entry,) = book.entries
    assert [Watches.describe(entry, row) for _, row in entry.rows] == [
        "sets the data watch on /a that message 5 fires",
        "fires the data watch on /a that message 1 set 3 ms before; the news took 2 ms",
        "is the write behind the event that fires the data watch on /a that message 1 set; the news took 2 ms",
    ]


def test_of_several_events_the_slowest_is_reported() -> None:
    book = Book(Watches)
    watch(book, 0)
    for took in (7, 2):
        book.call("setData", {"path": "/a"}, session=0x11, stream=2)
        book.event("NodeDataChanged", "/a", after=took)
    book.finish()
    (entry,) = book.entries
    assert Watches.describe(entry, entry.rows[-1][1]).endswith("message 1 set; the slowest of its 2 events took 8 ms")
