"""Who answers whom on a client's connection, message by message."""

from __future__ import annotations

import pickle

import pytest

from dissectors.api import Outcome, Role, State
from dissectors.pairing import MOST_WAITING
from dissectors.zookeeper import ZooKeeper
from dissectors.zookeeper.conversation import ZooKeeperConversation
from dissectors.zookeeper.header import opens_session
from tests.dissectors.zookeeper.messages import connect, connected, event, get_data, reply, request, ustring

Talk = list[tuple[bool, bytes]]
ASK, TELL = True, False
OPENING: Talk = [(ASK, connect()), (TELL, connected(0x1234))]


def stepped(talk: Talk) -> list[Outcome]:
    conversation, found = ZooKeeper().conversation(), []
    for handle, (from_client, message) in enumerate(talk):
        conversation = pickle.loads(pickle.dumps(conversation))
        found.append(conversation.step(handle, message[:512], from_client))
    return found


# name: messages, and for each the index of the one that it answers
CASES: dict[str, tuple[Talk, list[int | None]]] = {
    "one by one": ([(ASK, get_data(1)), (TELL, reply(1)), (ASK, get_data(2)), (TELL, reply(2))], [None, 0, None, 2]),
    "pipelined": ([(ASK, get_data(1)), (ASK, get_data(2)), (TELL, reply(1)), (TELL, reply(2))], [None, None, 0, 1]),
    "out of order": ([(ASK, get_data(1)), (ASK, get_data(2)), (TELL, reply(2)), (TELL, reply(1))], [None, None, 1, 0]),
    "an xid twice": ([(ASK, get_data(5)), (ASK, get_data(5)), (TELL, reply(5)), (TELL, reply(5))], [None, None, 0, 1]),
    "xid 0": ([(ASK, get_data(0)), (TELL, reply(0))], [None, 0]),
    "pings": (
        [(ASK, request(-2, "ping")), (ASK, get_data(1)), (TELL, reply(-2)), (TELL, reply(1))],
        [None, None, 0, 1],
    ),
    "a ping under another xid": ([(ASK, request(9, "ping")), (TELL, reply(-2))], [None, 0]),
    "auth": ([(ASK, request(-4, "auth", bytes(12))), (TELL, reply(-4))], [None, 0]),
    "auth under a plain xid": ([(ASK, request(3, "auth", bytes(12))), (TELL, reply(3))], [None, 0]),
    "watches": ([(ASK, request(-8, "setWatches", bytes(20))), (TELL, reply(-8))], [None, 0]),
    "watches under a plain xid": ([(ASK, request(3, "setWatches2", bytes(28))), (TELL, reply(3))], [None, 0]),
    "SASL under xid 0": ([(ASK, request(0, "sasl", bytes(4))), (TELL, reply(0, bytes(4)))], [None, 0]),
    "a session, then a path of three bytes under xid 0": (
        [*OPENING, (ASK, request(0, "sync", ustring("/ab"))), (TELL, reply(0, ustring("/ab")))],
        [None, 0, None, 2],
    ),
    "the same without the session": (
        [(ASK, request(0, "sync", ustring("/ab"))), (TELL, reply(0, ustring("/ab")))],
        [None, 0],
    ),
    "no children under xid 0": ([(ASK, get_data(0)), (TELL, reply(0, bytes(4)))], [None, 0]),
    "an event between": ([(ASK, get_data(1)), (TELL, event()), (TELL, reply(1))], [None, None, 0]),
    "an xid again, whose answer was lost": (
        [(ASK, get_data(5)), (ASK, get_data(6)), (TELL, reply(6)), (ASK, get_data(5)), (TELL, reply(5))],
        [None, None, 1, None, 3],
    ),
    "an auth overtakes": (
        [
            (ASK, get_data(5)),
            (ASK, request(-4, "auth", bytes(12))),
            (TELL, reply(-4)),
            (ASK, get_data(5)),
            (TELL, reply(5)),
        ],
        [None, None, 1, None, 0],
    ),
    "an orphan": ([(TELL, reply(4)), (ASK, get_data(4)), (TELL, reply(4))], [None, None, 1]),
    "a word": ([(ASK, b"ruok"), (TELL, b"imok")], [None, 0]),
    "more behind a word": ([(ASK, b"ruok"), (ASK, b"\r\n"), (TELL, b"imok")], [None, None, 0]),
    "a short answer to a word": ([(ASK, b"isro"), (TELL, b"\0\0")], [None, 0]),
    "text that nobody asked for": ([(TELL, b"imok")], [None]),
    "connect": (OPENING, [None, 0]),
    "connect, refused by a bare header": ([(ASK, connect()), (TELL, reply(0, err=-119))], [None, 0]),
    "two connects at once": ([OPENING[0], OPENING[0], OPENING[1], OPENING[1]], [None, None, 0, 1]),
    "a connect whose answer is lost": (
        [OPENING[0], (ASK, get_data(1)), (TELL, reply(1)), OPENING[0], OPENING[1]],
        [None, None, 1, None, 3],
    ),
    "an error under xid 0 behind a connect whose answer is lost": (
        [OPENING[0], (ASK, get_data(0)), (TELL, reply(0, err=-101))],
        [None, None, 1],
    ),
    "an answer to a connect that was not seen": (
        [(TELL, connected(5)), (ASK, get_data(1)), (TELL, reply(1))],
        [None, None, 1],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_partners(case: str) -> None:
    talk, expected = CASES[case]
    assert [outcome.partner for outcome in stepped(talk)] == expected


ASKED, TOLD = (ASK, request(-2, "ping")), (TELL, reply(-2))


@pytest.mark.parametrize(
    ("before", "behind", "expected"),
    [
        ([ASKED], [ASKED, TOLD, ASKED, TOLD], [None, None, 1, None, 3]),
        ([ASKED], [TOLD, ASKED, TOLD], [None, 0, None, 2]),
        ([ASKED], [(ASK, get_data(1)), (TELL, reply(1)), ASKED, TOLD], [None, None, 1, None, 3]),
    ],
    ids=["the answer is lost", "it is not", "something later is answered"],
)
def test_a_ping_whose_answer_was_lost(before: Talk, behind: Talk, expected: list[int | None]) -> None:
    conversation, found = ZooKeeper().conversation(), []
    for handle, (side, message) in enumerate([*before, *behind]):
        if handle == len(before):
            conversation.note_loss(False)
        conversation = pickle.loads(pickle.dumps(conversation))
        found.append(conversation.step(handle, message, side).partner)
    assert found == expected
    assert isinstance(conversation, ZooKeeperConversation)
    assert not conversation.gapped


def test_a_reply_takes_over_what_only_its_request_says() -> None:
    header = stepped([*OPENING, (ASK, get_data(7)), (TELL, reply(7))])[-1].header
    assert (header.role, header.operation, header.code, header.correlation) == (Role.RESPONSE, "getData", 4, 7)
    assert (header.client, header.state) == ("0x1234", State.COMPLETE)


def test_the_session_is_in_every_header_once_it_is_known() -> None:
    again = [(ASK, connect(session=-2)), (TELL, connected(-2)), (ASK, get_data(1)), (TELL, event()), (TELL, reply(1))]
    assert [outcome.header.client for outcome in stepped(again)] == ["0xfffffffffffffffe"] * 5
    assert [outcome.header.client for outcome in stepped([*OPENING, (TELL, reply(9))])] == [None, "0x1234", "0x1234"]


def test_a_session_that_has_expired_stays_the_client() -> None:
    found = stepped([(ASK, connect(session=5)), (TELL, connected(0, timeout=0, password=bytes(16)))])
    assert [outcome.header.client for outcome in found] == ["0x5", "0x5"]


def test_a_bare_header_that_answers_a_connect_is_a_connect() -> None:
    header = stepped([(ASK, connect()), (TELL, reply(0, err=-119))])[1].header
    assert (header.operation, header.code, header.correlation, header.state) == ("connect", None, 0, State.COMPLETE)


def test_states() -> None:
    unknown: Talk = [
        (ASK, request(1, 999, b"?")),
        (TELL, reply(1, b"?")),
        (ASK, request(2, 999)),
        (TELL, reply(2, err=-6)),
    ]
    states = [outcome.header.state for outcome in stepped([*unknown, (TELL, reply(3))])]
    assert states == [State.UNDECODED, State.UNDECODED, State.UNDECODED, State.COMPLETE, State.GUESSED]


def test_what_comes_behind_a_word_is_raw() -> None:
    header = stepped([(ASK, b"ruok"), (ASK, get_data(1))])[1].header
    assert (header.role, header.state, header.operation) == (Role.RAW, State.UNDECODED, None)


def test_a_later_frame_may_be_a_connect() -> None:
    again = [(ASK, connect(zxid=5 << 32, session=9)), (TELL, connected(9)), (ASK, get_data(2)), (TELL, reply(2))]
    found = stepped([*OPENING, (ASK, request(1, "closeSession")), *again])
    assert [outcome.header.operation for outcome in found[3:5]] == ["connect", "connect"]
    assert [outcome.partner for outcome in found] == [None, 0, None, None, 3, None, 5]
    assert [outcome.header.client for outcome in found[3:]] == ["0x9"] * 4


@pytest.mark.parametrize("operation", ["delete", "check"])
@pytest.mark.parametrize("version", [-1, 0])
def test_a_path_of_twelve_bytes_is_no_connect(operation: str, version: int) -> None:
    """With xid 0 such a request has the length of a ConnectRequest, and the version where the password's length is."""
    requested = request(0, operation, ustring("/twelve-long") + version.to_bytes(4, signed=True))
    found = stepped([*OPENING, (ASK, requested), (TELL, reply(0))])
    assert [(each.header.operation, each.partner) for each in found[2:]] == [(operation, None), (operation, 2)]


def test_what_has_no_path_and_the_version_of_a_connect_is_unknown() -> None:
    """A connect whose password has another length than it says; the lower half of its zxid reads as that of a path."""
    damaged = connect(zxid=1 << 32 | 24, session=7)
    found = stepped([*OPENING, (ASK, damaged[:31] + b"\x55" + damaged[32:]), (TELL, reply(0))])
    assert [(each.header.operation, each.header.code, each.partner) for each in found[2:]] == [(None, None, None)] * 2


# What is left of a frame, and whether it is a connect: True, False, or None where nobody knows.
@pytest.mark.parametrize(
    ("message", "remaining", "expected"),
    [
        (connect(), 7, False),
        (connect(), 12, True),
        (connect(), 31, True),
        (connect(tail=b""), 30, True),
        (connect(password=None, tail=b""), 30, True),
        (connect(zxid=1 << 32 | 7), 14, None),
        (connect(zxid=1 << 32 | 7), 17, True),
        (connect(zxid=14 << 32 | 7), 30, None),
        (connect(zxid=99 << 32 | 7), 30, None),
        (request(0, "delete", ustring("/twelve-long") + bytes(4)), 30, False),
        (request(0, "delete", ustring("/twelve-long") + bytes(4)), 16, None),
        (request(0, "getData", ustring("/a") + bytes(1)), 14, False),
        (request(1, "delete", ustring("/twelve-long") + bytes(4)), 14, False),
    ],
)
def test_a_connect_that_was_cut(message: bytes, remaining: int, expected: bool | None) -> None:
    found = stepped([(ASK, message[:remaining])])[0].header.operation
    assert opens_session(message[:remaining]) is expected
    assert (found == "connect") is (expected is True)
    assert expected is not None or found is None


@pytest.mark.parametrize("remaining", range(8, 24))
def test_an_answer_to_a_connect_that_was_cut(remaining: int) -> None:
    """What waits says what it is; where both may, and where neither is known, nothing is said."""
    answer = (TELL, connected(0x1234)[:remaining])
    requested = (ASK, get_data(0))
    assert [each.partner for each in stepped([(ASK, connect()), answer, requested, (TELL, reply(0))])] == [
        None,
        0,
        None,
        2,
    ]
    assert stepped([(ASK, connect()), requested, answer])[-1].header.operation is None
    assert stepped([answer])[-1].header.operation is None
    assert stepped([requested, (TELL, reply(0, bytes(20))[:remaining])])[-1].partner == 0


def test_what_waits_is_bounded() -> None:
    conversation = ZooKeeper().conversation()
    frame = request(1, "sync", ustring("/"))
    for handle in range(MOST_WAITING + 10):
        conversation.step(handle, frame, True)
    assert conversation.step(-1, reply(1), False).partner == 10
