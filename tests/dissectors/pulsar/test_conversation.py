"""Who answers whom on a Pulsar connection, message by message."""

from __future__ import annotations

import pickle

import pytest

from dissectors import pairing
from dissectors.api import Role, State
from dissectors.pulsar.conversation import LASTING, PulsarConversation
from dissectors.pulsar.fast_path import FAST_PATH
from tests.dissectors.pulsar.frames import (
    AUTH_RESPONSE,
    CHALLENGE,
    CONNECT,
    CONNECTED,
    METADATA,
    NO_ID,
    PING,
    PONG,
    ack,
    acked,
    error,
    field,
    found,
    frame,
    lookup,
    produced,
    producer,
    receipt,
    send,
    success,
)
from tests.dissectors.pulsar.test_reassembly import chunk

CLIENT, BROKER = True, False
Step = tuple[bool, bytes]


def asked(*frames: bytes) -> list[Step]:
    return [(CLIENT, each) for each in frames]


def answered(*frames: bytes) -> list[Step]:
    return [(BROKER, each) for each in frames]


def replicated(position: str, sequence: int) -> bytes:
    source = field(4, field(1, "__MSG_PROP_REPL_SOURCE_POSITION") + field(2, position))
    return send(METADATA + source, sequence=sequence)


def watch(kind: int, number: int) -> bytes:
    return frame(kind, field(1, number), field(2, "t"))


CLOSE = frame(16, field(1, 0), field(2, 7))
CLOSE_BY_BROKER = frame(16, field(1, 0), field(2, NO_ID))
CLOSED = frame(15, field(1, 0), field(2, NO_ID))
MARKER = frame(6, field(1, 0), field(2, 0), field(8, 1))

# name: messages, and for each the index of the one that it answers
CASES: dict[str, tuple[list[Step], list[int | None]]] = {
    "in any order": (asked(lookup(1), lookup(2)) + answered(found(2), found(1)), [None, None, 1, 0]),
    "ids beyond 2^53": (
        asked(lookup(2**53), lookup(2**53 + 1)) + answered(found(2**53 + 1), found(2**53)),
        [None, None, 1, 0],
    ),
    "an id again after its answer": (
        asked(lookup(1)) + answered(found(1)) + asked(lookup(1)) + answered(found(1)),
        [None, 0, None, 2],
    ),
    "an answer was lost, and its id is used again": (
        asked(lookup(1), producer(1)) + answered(produced(1, 1)) + asked(lookup(1)) + answered(found(1), found(1)),
        [None, None, 1, None, 0, 3],
    ),
    "an answer twice": (asked(lookup(1)) + answered(found(1), found(1)), [None, 0, None]),
    "an error for any request": (asked(lookup(1), producer(2)) + answered(error(2), error(1)), [None, None, 1, 0]),
    "the handshake": (asked(CONNECT) + answered(CONNECTED), [None, 0]),
    "the handshake refused": (asked(CONNECT) + answered(error(NO_ID)), [None, 0]),
    "an error that names nothing, later": (asked(CONNECT) + answered(CONNECTED, error(NO_ID)), [None, 0, None]),
    "a challenge in the handshake": (
        [*asked(CONNECT), *answered(CHALLENGE), *asked(AUTH_RESPONSE), *answered(CONNECTED)],
        [None, None, 1, 0],
    ),
    "pings both ways": ([*asked(PING), *answered(PING, PONG), *asked(PONG)], [None, None, 0, 1]),
    "pings in order": (asked(PING, PING) + answered(PONG, PONG), [None, None, 0, 1]),
    "a producer waits for its turn": (
        asked(producer(5)) + answered(produced(5, 0), produced(5, 1), produced(5, 1)),
        [None, 0, 0, None],
    ),
    "sends by producer and sequence": (
        asked(send(producer=1), send(producer=2)) + answered(receipt(2, 3), receipt(1, 3)),
        [None, None, 1, 0],
    ),
    "a send and a request of the same number": (
        asked(send(sequence=3), lookup(3)) + answered(found(3), receipt(0, 3)),
        [None, None, 1, 0],
    ),
    "a send refused": (asked(send()) + answered(frame(8, field(1, 0), field(2, 3), field(3, 9))), [None, 0]),
    "chunks share a sequence": (asked(send(), send()) + answered(receipt(0, 3), receipt(0, 3)), [None, None, 0, 1]),
    "an ack without id": (asked(ack(1, None)) + answered(acked(1)), [None, None]),
    "an ack with id": (asked(ack(1, 9)) + answered(acked(9)), [None, 0]),
    "an ack of a thousand": (asked(ack(1000, 9)) + answered(acked(9)), [None, 0]),
    "a close by either side": (asked(CLOSE) + answered(CLOSE_BY_BROKER, success(7)), [None, None, 0]),
    "sent again by a producer that was made anew": (
        asked(send(), send(sequence=4))
        + answered(CLOSED)
        + asked(producer(5))
        + answered(produced(5, 1))
        + asked(send(), send(sequence=4))
        + answered(receipt(0, 3), receipt(0, 4)),
        [None, None, None, None, 3, None, None, 5, 6],
    ),
    "a receipt that comes behind the close": (
        asked(send()) + answered(CLOSED, receipt(0, 3)) + asked(producer(5), send()) + answered(receipt(0, 3)),
        [None, None, 0, None, None, 4],
    ),
    "another producer is closed": (
        asked(send(producer=1)) + answered(CLOSED) + asked(producer(5)) + answered(receipt(1, 3)),
        [None, None, None, 0],
    ),
    "a number used again when its producer was closed": (
        asked(send(), frame(15, field(1, 0), field(2, 7)))
        + answered(receipt(0, 3), success(7))
        + asked(producer(8), send())
        + answered(receipt(0, 3)),
        [None, None, 0, 1, None, None, 5],
    ),
    "the first update of a watch": (
        asked(watch(70, 4)) + answered(watch(71, 4), watch(71, 4)),
        [None, 0, None],
    ),
    "watches of different things": (
        asked(watch(76, 4), watch(79, 4)) + answered(watch(80, 4), watch(77, 4)),
        [None, None, 1, 0],
    ),
    "a replicator's receipt tells the source": (
        asked(replicated("12:5", 100), replicated("12:6", 101)) + answered(receipt(0, 12, 6), receipt(0, 12, 5)),
        [None, None, 1, 0],
    ),
    "a replicator's receipt tells the sequence": (
        asked(replicated("12:5", 100)) + answered(receipt(0, 100)),
        [None, 0],
    ),
    "a replicator's markers": (asked(MARKER, MARKER) + answered(receipt(0, 0), receipt(0, 0)), [None, None, 0, 1]),
    "a replicator's position is no position": (
        asked(replicated("12:x", 100), replicated(":", 101)) + answered(receipt(0, 100), receipt(0, 101)),
        [None, None, 0, 1],
    ),
    "a payload that reads like a replicator's metadata": (
        asked(send(payload=replicated("12:5", 0), sequence=100)) + answered(receipt(0, 12, 5), receipt(0, 100)),
        [None, None, 0],
    ),
    "an answer in front": (answered(found(1)) + asked(lookup(1)), [None, None]),
    "a type that is in no table": (asked(frame(99)) + answered(frame(99)), [None, None]),
    "too short for anything": (asked(b"", b"\0\0\0\4\0\0\0\0"), [None, None]),
}


@pytest.mark.parametrize("case", CASES)
def test_partners(case: str) -> None:
    steps, expected = CASES[case]
    conversation = PulsarConversation()
    partners = []
    for handle, (from_client, message) in enumerate(steps):
        conversation = pickle.loads(pickle.dumps(conversation))
        partners.append(conversation.step(handle, message, from_client).partner)
    assert partners == expected


PINGED: list[Step | bool] = [*asked(PING), *answered(PONG), *asked(PING)]
"""A step, or which side lost bytes."""

# name: steps and losses, and the partners of the steps
LOSSES: dict[str, tuple[list[Step | bool], list[int | None]]] = {
    "a PONG": ([*PINGED, BROKER, *asked(PING), *answered(PONG)], [None, 0, None, None, 3]),
    "what stood before a PONG": (
        [*PINGED, BROKER, *answered(PONG), *asked(PING), *answered(PONG)],
        [None, 0, None, 2, None, 4],
    ),
    "a PING": ([*PINGED, CLIENT, *answered(PONG, PONG)], [None, 0, None, 2, None]),
    "of the broker's, its answer": (
        [*answered(PING), CLIENT, *answered(PING), *asked(PONG)],
        [None, None, 1],
    ),
    "a receipt of one of two chunks": ([*asked(send(), send()), BROKER, *answered(receipt(0, 3))], [None, None, None]),
    "what stood before the receipts of other messages": (
        [*asked(send(sequence=1), send(sequence=2)), BROKER, *answered(receipt(0, 2), receipt(0, 1))],
        [None, None, 1, 0],
    ),
    "a receipt of a chunk, and the next message's come": (
        [*asked(send(), send()), BROKER, *answered(receipt(0, 3)), *asked(send(sequence=4)), *answered(receipt(0, 4))],
        [None, None, None, None, 3],
    ),
    "a chunk": (
        [*asked(chunk(0, 3, b"a")), CLIENT, *asked(chunk(2, 3, b"c")), *answered(receipt(0, 3), receipt(0, 3))],
        [None, None, 0, None],
    ),
    "the first chunk": (
        [CLIENT, *asked(chunk(1, 2, b"b")), *answered(receipt(0, 3), receipt(0, 3))],
        [None, None, None],
    ),
    "what stood before chunks in a row": (
        [CLIENT, *asked(chunk(0, 2, b"a"), chunk(1, 2, b"b")), *answered(receipt(0, 3), receipt(0, 3))],
        [None, None, 0, 1],
    ),
    "what would say that it is a chunk": ([CLIENT, *asked(send()[:-10]), *answered(receipt(0, 3))], [None, None]),
    "a receipt of a marker": ([*asked(MARKER), BROKER, *asked(MARKER), *answered(receipt(0, 0))], [None, None, 1]),
    "nothing that has a number of its own": (
        [*asked(lookup(1), lookup(2)), BROKER, *answered(found(2), found(1))],
        [None, None, 1, 0],
    ),
}


@pytest.mark.parametrize("moved", [0, 1000], ids=["", "renumbered"])
@pytest.mark.parametrize("case", LOSSES)
def test_what_is_lost_shifts_nothing(case: str, moved: int) -> None:
    steps, expected = LOSSES[case]
    conversation = PulsarConversation()
    partners: list[int | None] = []
    names: dict[int, int] = {}
    for step in steps:
        conversation = pickle.loads(pickle.dumps(conversation))
        if moved:
            new = {handle: handle + moved for handle in conversation.handles()}
            conversation.renumber(new)
            names = {new[handle]: name for handle, name in names.items() if handle in new}
        if isinstance(step, bool):
            conversation.note_loss(step)
            continue
        handle = max(names, default=-1) + 1 + len(partners)
        names[handle] = len(partners)
        found = conversation.step(handle, step[1], step[0]).partner
        partners.append(None if found is None else names[found])
    assert partners == expected


def test_a_doubt_does_not_last() -> None:
    conversation = PulsarConversation()
    for handle, (side, message) in enumerate([*asked(PING, lookup(1), send()), *answered(CLOSED)]):
        conversation.step(handle, message, side)
    conversation.note_loss(BROKER)
    assert not FAST_PATH.steady(conversation)
    for handle in range(4, 4 + LASTING + 2):
        conversation.step(handle, ack(1, None), CLIENT)
    assert FAST_PATH.steady(conversation)
    assert list(conversation.handles()) == [1]


def talk(*steps: Step) -> list[tuple[Role, State, int | str | None, str | None]]:
    conversation = PulsarConversation()
    headers = [conversation.step(at, message, side).header for at, (side, message) in enumerate(steps)]
    return [(header.role, header.state, header.key, header.client) for header in headers]


def test_the_client_names_itself_once() -> None:
    steps = [*answered(PING), *asked(CONNECT), *answered(CONNECTED, CHALLENGE), *asked(AUTH_RESPONSE)]
    assert [client for _, _, _, client in talk(*steps)] == [None, *["Pulsar-Test-v1"] * 4]


def test_a_capture_that_begins_late_hears_the_name_at_a_refresh() -> None:
    assert [client for _, _, _, client in talk(*answered(CHALLENGE), *asked(AUTH_RESPONSE, PING))] == [
        None,
        "Pulsar-Test-v2",
        "Pulsar-Test-v2",
    ]


# Role, state and correlation of the last of some messages.
LAST: dict[str, tuple[list[Step], tuple[Role, State, int | str | None]]] = {
    "a request": (asked(lookup(7)), (Role.REQUEST, State.COMPLETE, "request:7")),
    "its answer": (asked(lookup(7)) + answered(found(7)), (Role.RESPONSE, State.COMPLETE, "request:7")),
    "an answer to nothing": (answered(found(7)), (Role.RESPONSE, State.GUESSED, "request:7")),
    "a send": (asked(send(producer=1, sequence=4)), (Role.REQUEST, State.COMPLETE, "send:1/4")),
    "an id of 64 bits": (asked(lookup(2**64 - 2)), (Role.REQUEST, State.COMPLETE, f"request:{2**64 - 2}")),
    "no id": (answered(error(NO_ID)), (Role.RESPONSE, State.GUESSED, None)),
    "an ack that nobody answers": (asked(ack(1, None)), (Role.ONEWAY, State.COMPLETE, None)),
    "an ack with an id": (asked(ack(1, 9)), (Role.REQUEST, State.COMPLETE, "request:9")),
    "a close by the client": (asked(CLOSE), (Role.REQUEST, State.COMPLETE, "request:7")),
    "a close by the broker": (answered(CLOSE_BY_BROKER), (Role.PUSH, State.COMPLETE, None)),
    "an update that answers": (asked(watch(70, 4)) + answered(watch(71, 4)), (Role.RESPONSE, State.COMPLETE, None)),
    "an update unasked": (answered(watch(71, 4)), (Role.PUSH, State.COMPLETE, None)),
    "a challenge is a question": (answered(CHALLENGE), (Role.REQUEST, State.COMPLETE, None)),
    "an unknown type": (asked(frame(99)), (Role.REQUEST, State.UNDECODED, None)),
}


@pytest.mark.parametrize("case", LAST)
def test_roles(case: str) -> None:
    steps, expected = LAST[case]
    assert talk(*steps)[-1][:3] == expected


def test_nothing_grows_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairing, "MOST_WAITING", 3)
    monkeypatch.setattr("dissectors.pulsar.conversation.MOST_WAITING", 3)
    conversation = PulsarConversation()
    for sequence in range(10):
        conversation.step(sequence, replicated(f"1:{sequence}", sequence), CLIENT)
    assert (conversation.count, len(conversation.sources)) == (3, 3)
    assert conversation.step(10, receipt(0, 1, 9), BROKER).partner == 9
    assert conversation.step(11, receipt(0, 1, 2), BROKER).partner is None
