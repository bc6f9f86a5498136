"""The story of sessions, made by hand: how each begins, goes on elsewhere, and ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dissectors.api import Role
from dissectors.zookeeper.reports.sessions import SessionReport
from tests.dissectors.telling import MS
from tests.dissectors.zookeeper.reports.told import SESSION, Book, txn

Way = Callable[[Book], object]
CLOSE_TYPE = -11


def connect(book: Book, asked: int = 0, given: int | None = SESSION, stream: int = 1, **answer: object) -> None:
    session = SESSION if asked or given else None
    more = {"operation": "connect", "stream": stream, "session": session}
    row = book.tell({"timeOut": 9000, "sessionId": asked}, role=Role.REQUEST, partner=book.row + 1, **more)
    if given is not None:
        values = {"timeOut": 6000 if given else 0, "sessionId": given, **answer}
        book.tell(values, role=Role.RESPONSE, partner=row, from_client=False, **more)


def opened(book: Book) -> None:
    connect(book)


def elsewhere(book: Book) -> None:
    connect(book)
    book.end(by_client=False)
    connect(book, SESSION, stream=20)


def old_one_ends(book: Book) -> None:
    connect(book)
    connect(book, SESSION, stream=20)
    book.end(stream=1, by_client=False)


def expired(book: Book) -> None:
    connect(book)
    book.end()
    connect(book, SESSION, 0, stream=20)


def by_the_leader(book: Book) -> None:
    connect(book)
    book.packet("PROPOSAL", txn(CLOSE_TYPE, 9, xid=0), stream=3)


def close(book: Book) -> None:
    connect(book)
    book.call("closeSession", {})
    book.packet("PROPOSAL", txn(CLOSE_TYPE, 9, xid=5), stream=3)
    book.end(by_client=False)


def no_answer(book: Book) -> None:
    connect(book, given=None)
    book.end(by_client=False)


def refused(book: Book) -> None:
    row = book.tell({"timeOut": 9}, operation="connect", role=Role.REQUEST, partner=book.row + 1, session=None)
    book.tell({"err": -119}, operation="connect", role=Role.RESPONSE, partner=row, session=None)


def auth_failed(book: Book) -> None:
    connect(book)
    book.call("auth", {}, {"err": -115})
    book.end(by_client=False)


STATES: dict[str, tuple[Way, tuple[object, ...]]] = {
    "open at the capture's end": (opened, ("open", None, 1, 6000 * MS)),
    "the connection ends": (lambda b: (connect(b), b.end()), ("lost", "client", 1, 6000 * MS)),
    "goes on elsewhere": (elsewhere, ("open", None, 2, 6000 * MS)),
    "goes on before the old connection ends": (old_one_ends, ("open", None, 2, 6000 * MS)),
    "unknown when it comes back": (expired, ("expired", "server", 2, 6000 * MS)),
    "expired by the leader": (by_the_leader, ("expired", "leader", 1, 6000 * MS)),
    "closed": (close, ("closed", "client", 1, 6000 * MS)),
    "unanswered": (no_answer, ("refused", "server", 1, None)),
    "refused by a bare error": (refused, ("refused", "server", 1, None)),
    "not authenticated": (auth_failed, ("refused", "server", 1, 6000 * MS)),
    "a capture that begins late": (lambda b: b.call("exists", {"path": "/"}), ("open", None, 1, None)),
}


@pytest.mark.parametrize("case", STATES)
def test_how_a_session_stands(case: str) -> None:
    way, expected = STATES[case]
    book = Book(SessionReport)
    way(book)
    assert book.only("state", "by", "connections", "timeout_ns") == [expected]


def test_a_word_is_no_session() -> None:
    book = Book(SessionReport)
    book.tell({"text": "ruok"}, operation=None, role=Role.REQUEST, partner=1, session=None)
    assert book.finish() == []


def test_a_session_without_a_name_is_its_connection() -> None:
    book = Book(SessionReport)
    book.call("exists", {"path": "/"}, session=None)
    book.call("exists", {"path": "/"}, session=None, stream=2)
    assert book.only("session", "requests") == [("stream 1", 1), ("stream 2", 1)]


def test_what_is_counted() -> None:
    book = Book(SessionReport)
    connect(book)
    book.call("ping", {}, after=40)
    book.call("getData", {"path": "/a", "watch": True})
    book.call("getData", {"path": "/b", "watch": True}, {"err": -101})
    book.event("NodeDataChanged", "/a")
    book.call("exists", {"path": "/c", "watch": True}, {"err": -101})
    (text,) = book.finish()
    assert {name: text[name] for name in ("requests", "pings", "errors", "events")} == {
        "requests": 3,
        "pings": 1,
        "errors": 2,
        "events": 1,
    }
    assert (text["watches_set"], text["watches_fired"], text["watches_open"]) == (2, 1, 1)
    assert (text["silence_ns"], text["asked_ns"]) == (41 * MS, 9000 * MS)


def test_watches_stand_on_a_connection() -> None:
    book = Book(SessionReport)
    connect(book)
    book.call("getData", {"path": "/a", "watch": True})
    book.call("getData", {"path": "/b", "watch": True})
    connect(book, SESSION, stream=20)
    book.call("setWatches", {"dataWatches": ["/a"], "existWatches": [], "childWatches": []}, stream=20)
    book.end(stream=1)
    assert book.only("watches_set", "watches_open") == [(2, 1)]


def test_no_watch_stands_when_its_connection_has_ended() -> None:
    book = Book(SessionReport)
    connect(book)
    book.call("getData", {"path": "/a", "watch": True})
    book.end()
    assert book.only("state", "watches_set", "watches_open") == [("lost", 1, 0)]


EPHEMERAL, PLAIN = 1, 0


def node(book: Book, name: str, flags: int = EPHEMERAL, **answer: object) -> None:
    book.call("create", {"path": name, "flags": flags}, {"path": name, **answer}, stream=SESSION)


NODES: dict[str, tuple[Way, tuple[int, list[str]]]] = {
    "created": (lambda b: node(b, "/e"), (1, ["/e"])),
    "by the name that it got": (lambda b: node(b, "/e-", 3, path="/e-07"), (1, ["/e-07"])),
    "one that stays": (lambda b: node(b, "/e", PLAIN), (0, [])),
    "refused": (lambda b: node(b, "/e", err=-110), (0, [])),
    "deleted by another session": (
        lambda b: (node(b, "/e"), b.call("delete", {"path": "/e"}, session=0x11, stream=2)),
        (1, []),
    ),
    "gone with the session": (lambda b: (node(b, "/e"), b.call("closeSession", {}, stream=SESSION)), (1, [])),
    "in a multi that failed": (
        lambda b: b.call(
            "multi",
            {"operations": [{"type": "create", "path": "/e", "flags": 1}]},
            {"operations": [{"type": "error", "err": -2}]},
        ),
        (0, []),
    ),
}


@pytest.mark.parametrize("case", NODES)
def test_ephemeral_nodes(case: str) -> None:
    way, expected = NODES[case]
    book = Book(SessionReport)
    way(book)
    assert book.only("ephemerals_created", "ephemerals")[0] == expected


def test_the_oldest_are_reported_and_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SessionReport, "limit", 3)
    book = Book(SessionReport)
    for number in range(5):
        book.call("exists", {"path": "/"}, session=0x100 + number, stream=number)
    assert len(book.entries) == 2
    assert [name for (name,) in book.only("session")] == [hex(0x100 + number) for number in range(5)]


def test_what_is_reported_of_each_message() -> None:
    book = Book(SessionReport)
    elsewhere(book)
    book.call("closeSession", {}, stream=20)
    book.finish()
    (entry,) = book.entries
    assert [SessionReport.describe(entry, row) for _, row in entry.rows][::2] == [
        "connects session 0x10: closed by the client 6 ms after it was first seen, 2 connections",
        "closes session 0x10: closed by the client 6 ms after it was first seen, 2 connections",
    ]
