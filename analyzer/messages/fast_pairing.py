"""Pairs requests and responses of many connections at once.

Theory. Requests wait in queues: one for each connection if responses come in order, else one for each connection,
requesting side, kind and key. The i-th response of a queue belongs to its i-th request. This is checked: the request
must be the earlier one, and its key the same. A response after all requests of its queue is an orphan. If a pair fails
the check, or a message changes the meaning of later ones, its connection goes through its Conversation, which is the
reference implementation.

Rows are sorted by queue with a stable sort, and they come in order of time, so each queue is in order of time. Two
cumulative sums then count requests and responses, which pairs all queues at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from analyzer.columns.arrays import (
    Array,
    Bools,
    Ints,
    decode_null,
    decode_null64,
    encode_null,
    encode_null64,
    find_runs,
)
from analyzer.messages.connection import Connection
from dissectors.api import MessageHeader, Outcome, Role, State
from dissectors.pairing import MOST_WAITING, Waiting
from dissectors.slotted import make_slotted
from dissectors.wire.fast_path import (
    NULL,
    NULL64,
    AnsweredRequests,
    Carried,
    FastPath,
    HeaderView,
    Rules,
    load_fast_path,
)

Number = Callable[[str | None], int]
Text = Callable[[int], str | None]


@make_slotted(frozen=False)
class PairingHeaders:
    """Holds the headers of n messages, sorted by connection (`owner`) and then by completion.

    `operation`, `scope`, `client` and `kind` are numbers of names. `serial` is the first row's; the others follow.
    `partner` is a serial or -1. `key` is NULL64 if a row takes no part. `extras` are extra contexts by row. `unowed`
    are rows of requests that need no response.
    """

    owner: Ints
    from_client: Bools
    serial: int
    role: Array
    state: Array
    operation: Array
    code: Array
    version: Array
    correlation: Array
    scope: Array
    client: Array
    key: Array
    kind: Array
    partner: Ints
    extras: dict[int, Mapping[str, str]]
    unowed: list[int]

    def set_header(self, row: int, header: MessageHeader, number: Number) -> None:
        """Overwrites one row with a header of the slow path."""
        self.role[row], self.state[row] = header.role, header.state
        self.operation[row], self.client[row] = number(header.operation), number(header.client)
        self.code[row] = encode_null(header.code)
        self.version[row] = encode_null(header.version)
        self.scope[row] = number(header.scope)
        self.correlation[row] = encode_null64(header.correlation, scoped=header.scope is not None)

    def set_look(self, row: int, look: HeaderView, number: Number) -> None:
        """Overwrites one row with its header and its queue."""
        self.set_header(row, look.header, number)
        self.key[row], self.kind[row] = encode_null64(look.key, scoped=True), number(look.kind)

    def set_outcome(self, row: int, outcome: Outcome, number: Number) -> None:
        """Overwrites one row with the outcome of its conversation."""
        self.set_header(row, outcome.header, number)
        self.partner[row] = -1 if outcome.partner is None else outcome.partner
        if outcome.extra:
            self.extras[row] = outcome.extra
        if not outcome.owed:
            self.unowed.append(row)


class WaitingColumns(NamedTuple):
    """Holds n requests of connections that wait for responses, as columns (int64) like those of PairingHeaders.

    handle: by which their conversations know them.
    """

    handle: Ints
    operation: Ints
    code: Ints
    version: Ints
    correlation: Ints
    scope: Ints
    client: Ints
    state: Ints
    from_client: Ints
    kind: Ints
    key: Ints


def _make_waiting_columns(requests: Sequence[Carried], number: Number) -> Ints:
    """Returns requests that a conversation remembers as the columns of WaitingColumns, shape (11, n)."""
    rows = [
        (
            waiting.handle,
            number(waiting.header.operation),
            encode_null(waiting.header.code),
            encode_null(waiting.header.version),
            encode_null64(waiting.header.correlation, scoped=waiting.header.scope is not None),
            number(waiting.header.scope),
            number(waiting.header.client),
            waiting.header.state,
            side,
            number(kind),
            encode_null64(key, scoped=True),
        )
        for (side, kind, key), waiting in requests
    ]
    return np.array(rows, np.int64).reshape(-1, len(WaitingColumns._fields)).T


def _list_waiting(columns: WaitingColumns, text: Text) -> Iterator[Carried]:
    """Yields the requests as their conversation remembers them."""
    for handle, operation, code, version, correlation, scope, client, state, side, kind, key in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        number, counting = decode_null64(correlation, scoped=scope != NULL), text(kind)
        names = (text(operation), decode_null(code), decode_null(version), number, text(client))
        header = MessageHeader(Role.REQUEST, *names, State(state), text(scope))
        yield (bool(side), counting, key if counting is None else key % (1 << 64)), Waiting(handle, header)


def settle_requests(connection: Connection, text: Text) -> None:
    """Gives the conversation of a connection the requests that the fast path has kept for it in columns."""
    columns, connection.unanswered = connection.unanswered, None
    if columns is None or connection.conversation is None or connection.dissector is None:
        return
    fast_path = load_fast_path(connection.dissector)
    assert fast_path is not None
    nothing = AnsweredRequests(np.empty(0, np.int64), np.empty(0, np.int64))
    fast_path.resume(connection.conversation, [*_list_waiting(WaitingColumns(*columns), text)], nothing)


class _Table(NamedTuple):
    """Holds requests and responses; `place` is a row, or negative (from the end of `carried`) for earlier blocks.

    queue: owner, requesting side and kind as one number, so that the order by queue is also one by owner; only the
    owner for protocols that respond in order.
    """

    owner: Ints
    place: Ints
    is_request: Bools
    queue: Ints
    key: Ints

    def take(self, order: Ints) -> _Table:
        """Returns the rows in another order."""
        return _Table(self.owner[order], self.place[order], self.is_request[order], self.queue[order], self.key[order])


class _Pairs(NamedTuple):
    """Holds rows of a sorted _Table: responses and their requests, orphans, and requests without response.

    contested: for each pair, whether more requests waited in that queue, and under that key.
    """

    answer: Ints
    request: Ints
    orphan: Ints
    waits: Ints
    contested: Bools


def pair_messages(
    headers: PairingHeaders,
    connections: Sequence[Connection],
    fast_path: FastPath,
    number: Number,
    text: Text,
    stepped: Bools,
) -> Ints:
    """Fills in partners and what responses copy from requests; returns the owners (sorted) that must be stepped.

    The unanswered requests of all other owners stay with their connections, see settle_requests(). Reference:
    Conversation.step, message by message; tests/analyzer/messages/test_engine.py compares the two.
    """
    odd = np.array([each.conversation is None or not fast_path.steady(each.conversation) for each in connections])
    odd[headers.owner[stepped]] = True
    carried = _collect_carried(connections, odd, fast_path, number)
    table = _make_table(headers, carried, fast_path.RULES)
    pairs = _pair_by_rank(table, fast_path.RULES)
    known = _Known(headers, carried.columns)
    _find_odd(headers, table, pairs, known, fast_path, odd)
    good = ~odd[table.owner[pairs.answer]]
    owner, answer, request = (
        column[rows[good]]
        for column, rows in ((table.owner, pairs.answer), (table.place, pairs.answer), (table.place, pairs.request))
    )
    handle = headers.partner[answer] = known.read_column("handle", request)
    code = known.read_column("code", request)
    for name in fast_path.RULES.taken:
        getattr(headers, name)[answer] = known.read_column(name, request)
    orphan = table.place[pairs.orphan]
    if fast_path.RULES.volunteers:
        unasked = np.isin(headers.code[orphan], fast_path.RULES.volunteers)
        headers.role[orphan[unasked]] = Role.ONEWAY
        orphan = orphan[~unasked]
    headers.state[orphan] = np.maximum(headers.state[orphan], State.GUESSED)
    waits = pairs.waits[_keep_latest(table.owner[pairs.waits], table.place[pairs.waits])]
    waits = waits[~odd[table.owner[waits]]]
    waits = waits[np.lexsort((table.place[waits], table.owner[waits]))]
    left = np.array([known.read_column(name, table.place[waits]) for name in WaitingColumns._fields], np.int64)
    steady = np.flatnonzero(~odd)
    edges = np.searchsorted(table.owner[waits], [steady, steady + 1]).T.tolist()
    for (each, first, last), (begin, end) in zip(_slices(owner, steady), edges, strict=True):
        conversation = connections[each].conversation
        assert conversation is not None
        fast_path.resume(conversation, (), AnsweredRequests(code[first:last], handle[first:last]))
        connections[each].unanswered = left[:, begin:end].copy() if begin < end else None
    for each in np.flatnonzero(odd).tolist():
        settle_requests(connections[each], text)
    return np.flatnonzero(odd)


class _CarriedRequests(NamedTuple):
    """Holds the requests of connections (`owner`) that wait since earlier blocks."""

    owner: Ints
    columns: WaitingColumns


def _collect_carried(
    connections: Sequence[Connection], odd: Bools, fast_path: FastPath, number: Number
) -> _CarriedRequests:
    """Returns the waiting requests of all connections that are not odd, the oldest of each first."""
    owners, parts = [], [np.empty((len(WaitingColumns._fields), 0), np.int64)]
    for owner in np.flatnonzero(~odd).tolist():
        connection = connections[owner]
        part = connection.unanswered
        if part is None and connection.conversation is not None:
            waiting = fast_path.waiting(connection.conversation)
            part = _make_waiting_columns(waiting, number) if waiting else None
        if part is not None:
            owners.append(np.full(part.shape[1], owner))
            parts.append(part)
    return _CarriedRequests(np.concatenate([parts[0][0], *owners]), WaitingColumns(*np.concatenate(parts, axis=1)))


def _slices(owner: Ints, owners: Ints) -> Iterator[tuple[int, int, int]]:
    """Returns where each of `owners` begins and ends in the sorted column `owner`."""
    edges = np.searchsorted(owner, [owners, owners + 1]).tolist()
    return zip(owners.tolist(), *edges, strict=True)


def _keep_latest(owner: Ints, place: Ints) -> Ints:
    """Returns which waiting rows are kept: the latest ones of each owner (sorted)."""
    begin, end = find_runs(owner)
    if not (end - begin > MOST_WAITING).any():
        return np.arange(len(owner))
    order = np.lexsort((place, owner))
    return np.sort(order[np.repeat(end, end - begin) - np.arange(len(owner)) <= MOST_WAITING])


class _Known:
    """Holds columns of requests by place: of rows, and of those `carried` from earlier blocks."""

    def __init__(self, headers: PairingHeaders, carried: WaitingColumns) -> None:
        self._headers, self._carried = headers, carried

    def read_column(self, name: str, place: Ints) -> Array:
        """Returns one column of requests, one of WaitingColumns."""
        if name == "handle":
            found = place + self._headers.serial
        else:
            found = getattr(self._headers, name)[np.maximum(place, 0)]
        old = place < 0
        if old.any():
            found[old] = getattr(self._carried, name)[place[old]]
        return found


def _make_table(headers: PairingHeaders, carried: _CarriedRequests, rules: Rules) -> _Table:
    """Returns all rows that take part, by queue, and by time within each queue."""
    is_request = headers.role == Role.REQUEST
    place = np.flatnonzero((is_request | (headers.role == Role.RESPONSE)) & (headers.key != NULL64))
    is_request = is_request[place]
    owner, key, kind = headers.owner[place], headers.key[place], headers.kind[place]
    side = headers.from_client[place] == is_request
    early = len(carried.owner)
    if early:
        columns = carried.columns
        old = (carried.owner, columns.from_client, columns.kind, columns.key)
        owner, side, kind, key = (np.concatenate(each) for each in zip(old, (owner, side, kind, key), strict=True))
        place = np.concatenate((np.arange(-early, 0), place))
        is_request = np.concatenate((np.ones(early, bool), is_request))
    if rules.in_order:
        table = _Table(owner, place, is_request, owner, key)
        return table.take(np.argsort(owner, kind="stable")) if early else table
    kind = np.where(kind == NULL, 0, kind + 1)
    queue = (owner * 2 + side) * (int(kind.max(initial=0)) + 1) + kind
    return _Table(owner, place, is_request, queue, key).take(_by_queue(queue, key))


def _by_queue(queue: Ints, key: Ints) -> Ints:
    """Returns the order by queue and key; sorts one combined number if both fit into it."""
    low, high = int(key.min(initial=0)), int(key.max(initial=0))
    if high - low >= 1 << 32 or int(queue.max(initial=0)) >= 1 << 31:
        return np.lexsort((key, queue))
    return np.argsort(queue << 32 | key - low, kind="stable")


def _pair_by_rank(table: _Table, rules: Rules) -> _Pairs:
    """Counts requests and responses of each queue, or of each key of it, and pairs those of the same rank."""
    is_request = table.is_request
    change = table.queue[1:] != table.queue[:-1]
    if not rules.in_order:
        change |= table.key[1:] != table.key[:-1]
    begin = np.concatenate((np.zeros(min(len(is_request), 1), np.int64), np.flatnonzero(change) + 1))
    size = np.diff(begin, append=len(is_request))
    request, answer = np.flatnonzero(is_request), np.flatnonzero(~is_request)
    requests_before: Ints = np.cumsum(is_request) - is_request
    first: Ints = requests_before[begin]
    last = np.append(first[1:], len(request))[: len(first)]
    rank = answer - requests_before[answer] + np.repeat(2 * first - begin, size)[answer]
    paired = rank < np.repeat(last, size)[answer]
    waits = np.ones(len(request), bool)
    waits[rank[paired]] = False
    contested = requests_before[answer[paired]] - rank[paired] > 1
    return _Pairs(answer[paired], request[rank[paired]], answer[~paired], request[waits], contested)


def _find_odd(
    headers: PairingHeaders, table: _Table, pairs: _Pairs, known: _Known, fast_path: FastPath, odd: Bools
) -> None:
    """Marks the owners that their conversations might pair differently."""
    request, answer = table.place[pairs.request], table.place[pairs.answer]
    wrong = request > answer
    if fast_path.RULES.in_order:
        wrong |= table.key[pairs.request] != table.key[pairs.answer]
    fits = fast_path.may_answer(known.read_column("code", request), headers.code[answer])
    if fits is not None:
        wrong |= ~fits
    if fast_path.RULES.overtaken and pairs.contested.any():
        wrong |= pairs.contested & ((request < 0) | _find_overtaken(request, answer))
    odd[table.owner[pairs.answer[wrong]]] = True
    if np.bincount(table.owner[table.is_request], minlength=1).max() > MOST_WAITING:
        odd[_find_crowded(headers, table, pairs)] = True


def _find_overtaken(request: Ints, answer: Ints) -> Bools:
    """Returns which requests are answered after a later request of the same owner."""
    order = np.argsort(answer)
    requests_before = request[order]
    found = np.empty(len(order), bool)
    found[order] = requests_before < np.maximum.accumulate(requests_before)
    return found


def _find_crowded(headers: PairingHeaders, table: _Table, pairs: _Pairs) -> Ints:
    """Returns the owners with more waiting requests than conversations remember."""
    change = np.zeros(len(headers.role), np.int64)
    own = table.place[table.is_request & (table.place >= 0)]
    change[own] = 1
    change[table.place[pairs.answer]] = -1
    answered = np.zeros(int(headers.owner[-1]) + 1, bool)
    answered[table.owner[pairs.answer]] = True
    begin, _ = find_runs(headers.owner)
    total = np.cumsum(change)
    most = np.maximum.reduceat(total, begin) - (total - change)[begin]
    owners = headers.owner[begin]
    carried = np.bincount(table.owner[table.place < 0], minlength=int(owners[-1]) + 1)
    # If nothing is answered, requests are kept in order, and the conversation forgets the oldest.
    found: Ints = owners[(most + carried[owners] > MOST_WAITING) & answered[owners]]
    return found
