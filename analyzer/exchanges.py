"""Bulk pairing: which response answers which request, for many connections at once.

Theory. Where answers come in the order of the questions, the i-th response of a connection answers its i-th request
that expects one. That is checked, not trusted: the correlation must be equal and the request earlier. A connection
where one pair fails the check, or that carries a message which changes the meaning of later ones, is stepped through
its Conversation, the plain twin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analyzer.columns import Array, Bools, Ints, given, given64, ranks, stored, stored64
from analyzer.connection import Connection
from dissectors.api import MessageHeader, Outcome, Role, State
from dissectors.wire.bulk import BulkDissector


@dataclass(slots=True)
class Headers:
    """What the index keeps of n messages, sorted by connection (`owner`) and then by completion.

    `operation` and `client` are numbers of Names; `partner` is a serial or -1; `extras` by row, where there are any.
    """

    owner: Ints
    serial: Ints
    role: Array
    state: Array
    operation: Array
    code: Array
    version: Array
    correlation: Array
    client: Array
    partner: Ints
    extras: dict[int, Mapping[str, str]]

    def put(self, row: int, outcome: Outcome, number: Callable[[str | None], int]) -> None:
        """Overwrites one row with what the plain road says of it."""
        header = outcome.header
        self.role[row], self.state[row] = header.role, header.state
        self.operation[row], self.client[row] = number(header.operation), number(header.client)
        self.code[row] = stored(header.code)
        self.version[row] = stored(header.version)
        self.correlation[row] = stored64(header.correlation)
        self.partner[row] = -1 if outcome.partner is None else outcome.partner
        if outcome.extra:
            self.extras[row] = outcome.extra


@dataclass(frozen=True, slots=True)
class Asked:
    """Requests that expect an answer, those carried from earlier blocks first, sorted by owner; `place`: row or -1."""

    owner: Ints
    place: Ints
    serial: Ints
    correlation: Ints
    shared: dict[str, Array]


SHARED = ("operation", "code", "version", "client", "state")
"""What a response takes over from its request."""


def pair(
    headers: Headers,
    connections: Sequence[Connection],
    protocol: BulkDissector,
    number: Callable[[str | None], int],
    text: Callable[[int], str | None],
    stepped: Bools,
) -> Ints:
    """Fills in partners and what responses take over; returns the owners that must be stepped instead (sorted).

    Conversations of all other owners are left with the requests that nothing answered yet.
    """
    asked = _asked(headers, connections, protocol, number)
    owners = len(connections)
    answers = np.flatnonzero(headers.role == Role.RESPONSE)
    answer_owner = headers.owner[answers]
    asked_count = np.bincount(asked.owner, minlength=owners)
    answer_count = np.bincount(answer_owner, minlength=owners)
    rank = ranks(answer_count)
    target = (np.cumsum(asked_count) - asked_count)[answer_owner] + rank
    fits = rank < asked_count[answer_owner]
    target[~fits] = 0
    if len(asked.owner):
        fits &= asked.correlation[target] == headers.correlation[answers]
        fits &= asked.place[target] < answers
    odd = np.array(
        [connection.conversation is None or not protocol.steady(connection.conversation) for connection in connections]
    )
    odd[headers.owner[stepped]] = True
    odd[answer_owner[~fits]] = True
    kept = ~odd[answer_owner]
    rows, sources = answers[kept], target[kept]
    headers.partner[rows] = asked.serial[sources]
    for name in SHARED:
        getattr(headers, name)[rows] = asked.shared[name][sources]
    unanswered = ranks(asked_count) >= answer_count[asked.owner]
    _leave(asked, unanswered & ~odd[asked.owner], connections, protocol, text, np.flatnonzero(~odd))
    return np.flatnonzero(odd)


def _asked(
    headers: Headers, connections: Sequence[Connection], protocol: BulkDissector, number: Callable[[str | None], int]
) -> Asked:
    carried = [
        (owner, -1, serial, *_numbers(header, number))
        for owner, connection in enumerate(connections)
        if connection.conversation is not None
        for serial, header in protocol.waiting(connection.conversation)
    ]
    old = np.array(carried, np.int64).reshape(len(carried), 4 + len(SHARED)).T
    rows = np.flatnonzero(headers.role == Role.REQUEST)
    new = (headers.owner[rows], rows, headers.serial[rows], headers.correlation[rows])
    new += tuple(getattr(headers, name)[rows].astype(np.int64) for name in SHARED)
    both = [np.concatenate((before, after)) for before, after in zip(old, new, strict=True)]
    order = np.argsort(both[0], kind="stable")
    owner, place, serial, correlation, *shared = (column[order] for column in both)
    return Asked(owner, place, serial, correlation, dict(zip(SHARED, shared, strict=True)))


def _numbers(header: MessageHeader, number: Callable[[str | None], int]) -> tuple[int, ...]:
    """correlation, then SHARED."""
    return (
        stored64(header.correlation),
        number(header.operation),
        stored(header.code),
        stored(header.version),
        number(header.client),
        header.state,
    )


def _leave(
    asked: Asked,
    unanswered: Bools,
    connections: Sequence[Connection],
    protocol: BulkDissector,
    text: Callable[[int], str | None],
    owners: Ints,
) -> None:
    left: dict[int, list[tuple[int, MessageHeader]]] = {owner: [] for owner in owners.tolist()}
    for row in np.flatnonzero(unanswered).tolist():
        operation, code, version, client, state = (int(asked.shared[name][row]) for name in SHARED)
        correlation = int(asked.correlation[row])
        header = MessageHeader(
            Role.REQUEST,
            text(operation),
            given(code),
            given(version),
            given64(correlation),
            text(client),
            State(state),
        )
        left[int(asked.owner[row])].append((int(asked.serial[row]), header))
    for owner, waiting in left.items():
        conversation = connections[owner].conversation
        assert conversation is not None
        protocol.resume(conversation, waiting)
