"""Divides the time of exchanges between the network, other requests and the server.

Theory. The capture point sees an exchange four times: first and last byte of the request, first and last byte of the
response. The time between them is divided:

- `sending` and `answering`: from the first to the last byte of the request and of the response.
- `network`: the round trip from the capture point to the responder. `client` is the other part of the round trip, which
the capture does not show: the requester waited that much longer.
- `lost`: the connection stalled until bytes were retransmitted. Bytes of the response may be retransmitted after its
last byte, if the capture point is on its path.
- `closed`: one side had its window closed while the other had data to send.
- `waiting`: until the responses to the requests before it were sent, if a connection responds in order.
- `working`: the rest, from the last byte of the request to the first byte of the response.

So the parts are never negative, and their sum is the time that the requester waited. Everything is computed in columns.
Stalls are sums over events (analyzer.tcp.network), looked up only in the few half-streams that have any.
"""

from __future__ import annotations

import numpy as np

from analyzer.columns.arrays import ArrayRows, Bools, Ints, argsort_stable, find_runs, flag_run_starts, list_distinct
from analyzer.messages.index import FROM_CLIENT, NO_PROTOCOL
from analyzer.session import Analysis
from analyzer.tcp.network import UNMEASURED, NetworkEventKind
from dissectors.api import Role
from dissectors.slotted import make_slotted
from dissectors.wire.fast_path import NULL

PARTS = ("client", "sending", "network", "lost", "closed", "waiting", "working", "answering")
"""The parts of an exchange's time, in the order in which they begin."""


@make_slotted(frozen=False)
class ExchangeDelays(ArrayRows):
    """Divides n exchanges, each by its rows; times in ns. resent: packets. ahead: requests that it waited for.

    begin: time of the first byte of the request. may_wait: the server may delay the response until it has data to send.
    """

    request: Ints
    answer: Ints
    begin: Ints
    client: Ints
    sending: Ints
    network: Ints
    lost: Ints
    closed: Ints
    waiting: Ints
    working: Ints
    answering: Ints
    resent: Ints
    ahead: Ints
    may_wait: Bools

    @property
    def total(self) -> Ints:
        """Returns how long the requester waited."""
        found: Ints = np.sum([getattr(self, name) for name in PARTS], axis=0)
        return found

    @property
    def cost(self) -> Ints:
        """Returns the delay of each exchange in ns (int64, n), without the time that a request waits on purpose."""
        return self.total - np.where(self.may_wait, self.working, 0)


def divide_exchanges(session: Analysis, rows: range) -> ExchangeDelays:
    """Divides the exchanges whose request is among some rows, in the order of connections and requests."""
    table, pieces = session.rows, session.engine.pieces
    part = slice(rows.start, rows.stop)
    role, partner = table.column("role")[part], table.column("partner")[part]
    request = np.flatnonzero((role == Role.REQUEST) & (partner != NULL) & (partner >= table.first)) + rows.start
    stream, side = table.column("stream")[request].astype(np.int64), table.column("side")[request].astype(np.int64)
    order = argsort_stable(2 * stream + side)
    request, stream, side = request[order], stream[order], side[order]
    answer = table.column("partner")[request].astype(np.int64)
    begin = pieces.column("time")[table.column("pieces")[request]]
    requested = np.maximum(table.column("time")[request], begin)
    first = np.maximum(pieces.column("time")[table.column("pieces")[answer]], requested)
    last = np.maximum(table.column("time")[answer], first)
    client, network = _find_round_trips(session, stream, side)
    stalls = _Stalls(session, stream, side)
    sending, resent = stalls.measure(begin, requested)
    between, more = stalls.measure(requested, first)
    answering, others = stalls.measure(first, last)
    late, last_ones = stalls.measure_late(first, last)
    network = np.minimum(network, first - requested)
    free = first - requested - network
    lost, closed = np.minimum(between[0], free), np.minimum(between[1], np.maximum(free - between[0], 0))
    free = free - lost - closed
    in_order, may_wait = find_habits(session, request)
    ahead, behind = _find_queue(2 * stream + side, requested, last, first)
    waiting = np.where(in_order, np.clip(ahead - requested - network - lost - closed, 0, free), 0)
    return ExchangeDelays(
        request,
        answer,
        begin,
        client,
        requested - begin - sending[0] - sending[1],
        network,
        sending[0] + lost + answering[0] + late,
        sending[1] + closed + answering[1],
        waiting,
        free - waiting,
        last - first - answering[0] - answering[1],
        resent + more + others + last_ones,
        np.where(waiting > 0, behind, 0),
        may_wait,
    )


def _find_round_trips(session: Analysis, stream: Ints, side: Ints) -> tuple[Ints, Ints]:
    """Returns the round trips from the capture point to the requester and to the responder, 0 if unknown."""
    streams, back = np.unique(stream, return_inverse=True)
    metrics = session.engine.network.find_metrics(streams)
    both = [
        np.where(each == UNMEASURED, 0, np.maximum(each, 0))[back] for each in (metrics.client_rtt, metrics.server_rtt)
    ]
    from_client = side == FROM_CLIENT
    return np.where(from_client, both[0], both[1]), np.where(from_client, both[1], both[0])


def find_habits(session: Analysis, request: Ints) -> tuple[Bools, Bools]:
    """Returns whether the responses of a connection come in order, and whether a server may hold a request for long."""
    protocols, codes = (session.rows.column(name)[request] for name in ("protocol", "code"))
    in_order, may_wait = np.zeros(len(request), bool), np.zeros(len(request), bool)
    for number in list_distinct(protocols).tolist():
        dissector = None if number == NO_PROTOCOL else session.engine.dissector(number)
        if dissector is not None:
            mine = protocols == number
            in_order[mine] = dissector.answers_in_order
            may_wait |= mine & np.isin(codes, list(dissector.long_polls | dissector.waits))
    return in_order, may_wait


def _find_queue(half: Ints, requested: Ints, last: Ints, first: Ints) -> tuple[Ints, Ints]:
    """Returns when the responses before an exchange's own were sent, and the number of these that it had to wait for.

    half: numbers of directions, ascending; exchanges are in the order of requests.
    """
    done = np.zeros(len(half), np.int64)
    ahead = np.zeros(len(half), np.int64)
    for begin, end in zip(*(edge.tolist() for edge in find_runs(half)), strict=True):
        some = slice(begin, end)
        latest = np.maximum.accumulate(last[some])
        done[begin + 1 : end] = latest[:-1]
        ahead[some] = np.arange(end - begin) - np.searchsorted(latest, requested[some], "right")
    return np.minimum(done, first), np.maximum(ahead, 0)


class _Stalls:
    """Finds when and how long half-streams stalled, for both sides of the connections of exchanges.

    stream, side: of the exchanges' requests, sorted.
    """

    def __init__(self, session: Analysis, stream: Ints, side: Ints) -> None:
        self._count = len(stream)
        events = session.engine.network.events
        kind, of_stream = events.column("kind"), events.column("stream")
        client = np.maximum(session.engine.streams.column("client"), 0)
        self._found: list[tuple[slice, int, bool, Ints, Ints]] = []
        lost = kind == NetworkEventKind.RETRANSMISSION
        blocking = np.flatnonzero(lost | (kind == NetworkEventKind.ZERO_WINDOW))
        blocking = blocking[np.argsort(of_stream[blocking], kind="stable")]
        for begin, end in zip(*(edge.tolist() for edge in find_runs(2 * stream + side)), strict=True):
            number = int(stream[begin])
            first, stop = np.searchsorted(of_stream[blocking], (number, number + 1))
            here = blocking[first:stop]
            for column, which in ((0, lost[here]), (1, ~lost[here])):
                for of_side in (0, 1):
                    mine = here[which & (events.column("side")[here] == of_side)]
                    if len(mine):
                        # Data of the side that did not send the request belongs to the response.
                        asker = client[number] if side[begin] == FROM_CLIENT else 1 - client[number]
                        time = events.column("time")[mine]
                        start = time - events.column("cost")[mine]
                        self._found.append((slice(begin, end), column, of_side != asker, start, time))

    def measure(self, since: Ints, until: Ints) -> tuple[Ints, Ints]:
        """Returns how long (two rows: lost, closed) each exchange stalled in a time, and its retransmissions there."""
        found = np.zeros((2, self._count), np.int64)
        resent = np.zeros(self._count, np.int64)
        for some, column, _, start, time in self._found:
            found[column][some] += _overlap(start, time, since[some], until[some])
            if column == 0:
                inside = (np.searchsorted(time, each[some], "right") for each in (until, since))
                resent[some] += next(inside) - next(inside)
        length = until - since
        found[0] = np.minimum(found[0], length)
        found[1] = np.minimum(found[1], length - found[0])
        return found, resent

    def measure_late(self, first: Ints, last: Ints) -> tuple[Ints, Ints]:
        """Returns how long after its last byte a response was retransmitted, and how often."""
        late, resent = np.zeros(self._count, np.int64), np.zeros(self._count, np.int64)
        for some, column, answers, start, time in self._found:
            if column == 0 and answers:
                # The first retransmission after it, and those that follow without a gap.
                ends = np.append(~(start[1:] <= time[:-1]), True)
                stop = np.flatnonzero(ends)[np.searchsorted(np.flatnonzero(ends), np.arange(len(time)))]
                place = np.searchsorted(time, last[some], "right")
                there = np.minimum(place, len(time) - 1)
                mine = (place < len(time)) & (start[there] <= last[some]) & (start[there] >= first[some])
                late[some] = np.where(mine, time[stop[there]] - last[some], 0)
                resent[some] = np.where(mine, stop[there] - there + 1, 0)
        return late, resent


def _overlap(start: Ints, end: Ints, since: Ints, until: Ints) -> Ints:
    """Returns the overlap of n intervals with events, which rise and do not overlap each other."""
    total = np.concatenate(([0], np.cumsum(end - start)))

    def up_to(time: Ints) -> Ints:
        whole = np.searchsorted(end, time, "right")
        there = np.minimum(whole, len(end) - 1)
        part = np.where(whole < len(end), np.clip(time - start[there], 0, None), 0)
        return total[whole] + part

    return up_to(until) - up_to(since)


def find_slowest(delays: ExchangeDelays, keys: Ints) -> Ints:
    """Returns the indexes of the most expensive exchange for each key, the worst first."""
    cost = delays.cost
    order = np.lexsort((delays.request, -cost, keys))
    first = order[flag_run_starts(keys[order])]
    return first[np.lexsort((delays.request[first], -cost[first]))]
