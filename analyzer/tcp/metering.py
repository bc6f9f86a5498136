"""Measures the network below connections, a block of packets at a time.

Theory. Packets are sorted by stream and time. For each side of the streams, two running maxima show how far the side
has sent (`top`), and how far the other side has acknowledged (`acked`). The metrics follow from them:

- A packet that acknowledges all sent bytes measures a round trip, from the packet that raised `top` to this one.
- A packet that begins below `top` repeats bytes. If the connection was not stalled before it, the network only changed
the order of packets. The cost of a retransmission is the time since the last acknowledgement, the first unacknowledged
byte, or the previous retransmission, whichever is latest.
- The handshake measures a round trip to each side.

The running maxima of all streams take one pass: each stream counts from its own multiple of 2^34, so no value of an
earlier stream reaches it. Sequence numbers count from the last `top`, across blocks. The result does not depend on
where blocks end; tests/analyzer/tcp/test_metering.py compares it with a measurement of one packet at a time.
"""

from __future__ import annotations

import numpy as np

from analyzer.capture.packets import PacketBlock
from analyzer.columns.arrays import Array, Bools, Ints, find_runs
from analyzer.tcp.network import (
    MOST_EVENTS,
    NEVER,
    UNKNOWN,
    UNMEASURED,
    HalfStreamTable,
    NetworkEventKind,
    NetworkEventTable,
    NetworkMetrics,
    find_metrics,
)
from analyzer.tcp.streams import ACK, FIN, RST, SYN, StreamTable
from dissectors.slotted import make_slotted

REORDERED_NS = 3_000_000
"""If the connection was stalled for less, packets were reordered and none was lost."""

TWICE_NS = 1_000_000
"""If the last bytes are repeated within this time, they were captured twice, on two interfaces."""

SHIFT, ORIGIN = 34, 1 << 32
"""A stream counts from ORIGIN above its multiple of 2^34; the multiple itself means that nothing is known yet."""


@make_slotted
class _Packets:
    """The packets of a block, sorted by stream and time; `run` numbers the streams, `shift` is their multiple of 2^34.

    size: sequence numbers that a packet takes; `carries`, if any. live: no RST. numbers: for each side, how far its
    bytes have come according to a packet, which has sent or acknowledged them.
    """

    block: PacketBlock
    order: Ints
    time: Ints
    side: Array
    flags: Array
    seq: Array
    ack: Array
    size: Array
    numbers: tuple[Array, Array]
    live: Bools
    acks: Bools
    carries: Bools
    place: Ints
    run: Ints
    shift: Ints
    begin: Ints
    end: Ints
    streams: Ints


class NetworkMeter:
    """Measures streams, block by block."""

    def __init__(self, streams: StreamTable) -> None:
        self._streams = streams
        self.halves, self.events = HalfStreamTable(), NetworkEventTable()

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory that metrics and events take."""
        return self.halves.memory_bytes + self.events.memory_bytes

    def find_metrics(self, streams: Ints) -> NetworkMetrics:
        """Returns the metrics of some streams, for the packets read so far."""
        return find_metrics(self._streams, self.halves, streams)

    def keep_only(self, streams: Ints) -> None:
        """Frees the metrics of all streams except these (int64, ascending)."""
        self.halves.keep_only(np.repeat(2 * streams, 2) + np.tile((0, 1), len(streams)))

    def measure(self, block: PacketBlock, order: Ints, streams: Ints, begin: Ints, end: Ints) -> None:
        """Measures the next packets.

        order: the positions that sort them by stream and time; the packets of streams[n] lie from begin[n] to end[n].
        """
        missing = 2 * len(self._streams) - len(self.halves)
        if missing:
            self.halves.append(missing, HalfStreamTable.BEGIN)
        if not len(order):
            return
        packets = _sort_packets(block, order, streams, begin, end)
        for side in (0, 1):
            self._measure_half(packets, side)
        self._measure_handshakes(packets)
        self._count_resets(packets)
        self._measure_windows(packets)

    def _measure_half(self, packets: _Packets, side: int) -> None:
        """Measures the bytes that one side of each stream sends."""
        half, begin, last = 2 * packets.streams + side, packets.begin, packets.end - 1
        mine = packets.side == side
        sent, acknowledging = mine & packets.live, packets.acks & ~mine
        number = packets.numbers[side]
        base = self._find_base(packets, half, number, sent, acknowledging)
        reach = (number - np.repeat(base, packets.end - begin)).view(np.int32).astype(np.int64)
        reach += ORIGIN
        top, top_before = self._follow(packets, half, "top", base, reach * sent)
        acked, acked_before = self._follow(packets, half, "acked", base, reach * acknowledging)
        risen = top > top_before
        confirms = np.flatnonzero(acked > acked_before)
        self._measure_acks(packets, half, confirms[acked.take(confirms) == top.take(confirms)], risen)
        rises = np.flatnonzero(risen)
        flies = rises[acked_before.take(rises) >= top_before.take(rises)]
        reach += packets.shift
        reach -= packets.size
        again = np.flatnonzero((reach < top_before) & sent & packets.carries)
        if len(again):
            columns = reach[again], top_before[again], acked_before[again]
            self._find_retransmissions(packets, side, again, *columns, rises, confirms, flies)
        for name, places in (("top_time", rises), ("acked_time", confirms), ("flight", flies)):
            latest, here = _find_latest(places, last, begin)
            self.halves.column(name)[half[here]] = packets.time[latest[here]]

    def _follow(self, packets: _Packets, half: Ints, name: str, base: Array, values: Ints) -> tuple[Ints, Ints]:
        """Returns the running maximum of a column after each packet and before it, and stores its last value."""
        column = self.halves.column(name)
        old, last, begin = column[half], packets.end - 1, packets.begin
        known = (old.astype(np.uint32) - base).view(np.int32) + np.int64(ORIGIN)
        carried = np.where(old == UNKNOWN, 0, known) + packets.shift[begin]
        values += packets.shift
        values[begin] = np.maximum(values[begin], carried)
        np.maximum.accumulate(values, out=values)
        before = np.empty_like(values)
        before[1:] = values[:-1]
        before[begin] = carried
        there = values[last] - packets.shift[last]
        is_known = there > 0
        column[half[is_known]] = (there[is_known] - ORIGIN + base[is_known]) & 0xFFFFFFFF
        return values, before

    def _find_base(self, packets: _Packets, half: Ints, number: Array, sent: Bools, acknowledging: Bools) -> Array:
        """Returns the sequence number that each stream counts from (uint32)."""
        base = self.halves.column("top")[half]
        base = np.where(base == UNKNOWN, self.halves.column("acked")[half], base)
        unknown = base == UNKNOWN
        if bool(unknown.any()):
            places = np.flatnonzero((sent | acknowledging) & unknown[packets.run])
            first, _ = find_runs(packets.run[places])
            base[packets.run[places[first]]] = number[places[first]]
        return base.astype(np.uint32)

    def _measure_acks(self, packets: _Packets, half: Ints, places: Ints, risen: Bools) -> None:
        """Measures round trips at packets that acknowledge all sent bytes. risen: whether `top` rose."""
        run = packets.run.take(places)
        latest = np.maximum.accumulate(packets.place * risen).take(places)
        here = latest >= packets.begin.take(run)
        here &= (latest > 0) | risen[0]
        sent = np.where(here, packets.time.take(latest), self.halves.column("top_time")[half].take(run))
        took = packets.time.take(places) - sent
        if bool((sent == NEVER).any()):
            run, took = run[sent != NEVER], took[sent != NEVER]
        if len(run):
            first, _ = find_runs(run)
            mine = half[run[first]]
            least = self.halves.column("ack_rtt")
            least[mine] = np.minimum(least[mine], np.minimum.reduceat(took, first))

    def _find_retransmissions(
        self,
        packets: _Packets,
        side: int,
        again: Ints,
        begins: Ints,
        top: Ints,
        acked: Ints,
        rises: Ints,
        confirms: Ints,
        flies: Ints,
    ) -> None:
        """Counts the packets in `again` that retransmit bytes, and their cost.

        begins: their first sequence numbers. top, acked: the running maxima before them. rises, confirms: where these
        rose. flies: where unacknowledged bytes were sent first.
        """
        size, run = packets.size[again], packets.run[again]
        probes = (size <= 1) & (packets.flags[again] & (SYN | FIN) == 0) & (begins == top - 1)
        half, time = 2 * packets.streams[run] + side, packets.time[again]

        def find_time(name: str, places: Ints) -> Ints:
            latest, here = _find_latest(places, again - 1, packets.begin[run])
            found: Ints = np.where(here, packets.time[latest], self.halves.column(name)[half])
            return found

        twice = (begins + size == top) & (time - TWICE_NS < find_time("top_time", rises))
        start = np.maximum(find_time("acked_time", confirms), find_time("flight", flies))
        start = np.where(start == NEVER, time, start)
        useless = begins + size <= acked
        counted = (useless | (time - start >= REORDERED_NS)) & ~(probes | twice | (top == packets.shift[again]))
        if not bool(counted.any()):
            return
        again, run, half, start, time, useless = (each[counted] for each in (again, run, half, start, time, useless))
        first, stop = find_runs(run)
        mine = half[first]
        previous = np.empty_like(time)
        previous[1:] = time[:-1]
        previous[first] = self.halves.column("resent")[mine]
        cost = np.where(useless, 0, np.maximum(time - np.maximum(start, previous), 0))
        self.halves.column("resent")[mine] = time[stop - 1]
        self.halves.column("retransmissions")[mine] += (stop - first).astype(np.int32)
        self.halves.column("retransmission_time")[mine] += np.add.reduceat(cost, first)
        self._note(
            NetworkEventKind.RETRANSMISSION, packets.streams[run], side, _take_numbers(packets, again), time, cost
        )

    def _measure_handshakes(self, packets: _Packets) -> None:
        """Stores the times of SYN, SYN/ACK and the first ACK of streams that begin."""
        columns, begin = self.halves.column, packets.begin
        client = np.maximum(self._streams.column("client")[packets.streams].astype(np.int64), 0)
        client_half, server_half = 2 * packets.streams + client, 2 * packets.streams + 1 - client
        shaking = (columns("opened")[client_half] != NEVER) | (columns("opened")[server_half] != NEVER)
        shaking &= columns("answered")[client_half] == UNMEASURED
        syn = packets.flags & SYN != 0
        if bool(syn.any()):
            shaking |= np.logical_or.reduceat(syn, begin)
        if not bool(shaking.any()):
            return
        place = np.flatnonzero(shaking[packets.run])
        first, _ = find_runs(packets.run[place])
        run = packets.run[place[first]]
        group = np.repeat(np.arange(len(run)), packets.end[run] - begin[run])
        syn, from_client = syn[place], packets.side[place] == client[packets.run[place]]
        client_half, server_half, far = client_half[run], server_half[run], len(packets.time)

        def earliest(which: Bools) -> Ints:
            return np.minimum.reduceat(np.where(which, place, far), first)

        def latest(which: Bools) -> Ints:
            return np.maximum.reduceat(np.where(which, place, -1), first)

        fresh = columns("opened")[server_half] == NEVER
        answer = np.where(fresh, earliest(syn & ~from_client), -1)
        question = latest(syn & from_client & (place < answer[group]))
        here = question >= 0
        columns("opened")[client_half[here]] = packets.time[question[here]]
        acks = ~syn & from_client & packets.acks[place] & packets.live[place]
        behind = np.where(answer == far, question, answer)
        ack = earliest(acks & (place > behind[group]))
        known = fresh & (answer < far) & (columns("opened")[client_half] != NEVER)
        took = packets.time[answer[known]] - columns("opened")[client_half[known]]
        columns("answered")[server_half[known]] = took
        again = latest(syn & ~from_client & (place < ack[group]))
        here = again >= 0
        columns("opened")[server_half[here]] = packets.time[again[here]]
        known = (
            (ack < far) & (columns("opened")[server_half] != NEVER) & (columns("answered")[client_half] == UNMEASURED)
        )
        columns("answered")[client_half[known]] = packets.time[ack[known]] - columns("opened")[server_half[known]]

    def _count_resets(self, packets: _Packets) -> None:
        places = np.flatnonzero(packets.flags & RST)
        if len(places):
            stream, side = packets.streams[packets.run[places]], packets.side[places]
            np.add.at(self.halves.column("resets"), 2 * stream + side, 1)
            time = packets.time[places]
            self._note(NetworkEventKind.RESET, stream, side, _take_numbers(packets, places), time, np.zeros_like(time))

    def _measure_windows(self, packets: _Packets) -> None:
        """Measures how long windows are 0: until the next packet of the same side with another window."""
        closed = packets.block.window == 0
        shut = self.halves.column("shut")
        both = np.repeat(2 * packets.streams, 2) + np.tile((0, 1), len(packets.streams))
        waiting = shut[both] != NEVER
        if not bool(waiting.any()) and not bool(closed.any()):
            return
        counts = packets.live & (packets.flags & (SYN | FIN) == 0)
        closed = closed[packets.order] & counts
        half = 2 * packets.run + packets.side
        waiting[half[closed]] = True
        place = np.flatnonzero(waiting[half] & counts)
        if not len(place):
            return
        place = place[np.argsort(half[place], kind="stable")]
        first, stop = find_runs(half[place])
        mine = both[half[place[first]]]
        closed, time = closed[place], packets.time[place]
        before = np.empty_like(closed)
        before[1:] = closed[:-1]
        before[first] = shut[mine] != NEVER
        opens = closed & ~before
        begun = np.maximum.accumulate(np.where(opens, np.arange(len(place)), -1))
        group = np.repeat(np.arange(len(first)), stop - first)
        since = np.where(begun >= first[group], time[begun], shut[mine][group])
        cost = np.where(~closed & before, time - since, 0)
        self.halves.column("zero_windows")[mine] += np.add.reduceat(opens, first, dtype=np.int32)
        self.halves.column("zero_window_time")[mine] += np.add.reduceat(cost, first)
        shut[mine] = np.where(closed[stop - 1], since[stop - 1], NEVER)
        ends = np.flatnonzero(~closed & before)
        stream, side = both[half[place[ends]]] >> 1, both[half[place[ends]]] & 1
        self._note(
            NetworkEventKind.ZERO_WINDOW, stream, side, _take_numbers(packets, place[ends]), time[ends], cost[ends]
        )

    def _note(
        self, kind: NetworkEventKind, stream: Ints, side: Array | int, packet: Ints, time: Ints, cost: Ints
    ) -> None:
        remaining = MOST_EVENTS - len(self.events)
        if len(stream) <= remaining:
            self.events.append(
                len(stream),
                {"stream": stream, "side": side, "kind": kind, "packet": packet, "time": time, "cost": cost},
            )


def _sort_packets(block: PacketBlock, order: Ints, streams: Ints, begin: Ints, end: Ints) -> _Packets:
    flags, seq, length = block.flags.take(order), block.seq.take(order), block.length.take(order)
    size = length + (flags & FIN) + (flags >> 1 & 1)
    run = np.repeat(np.arange(len(begin)), end - begin)
    shift = run << SHIFT
    side, ack = block.direction.take(order), block.ack.take(order)
    stop = seq + size.astype(np.uint32)
    first = side.astype(np.uint32) - np.uint32(1)  # all bits set if side 0 sent it
    number = stop & first | ack & ~first
    return _Packets(
        block,
        order,
        block.time.take(order),
        side,
        flags,
        seq,
        ack,
        size,
        (number, stop ^ ack ^ number),
        flags & RST == 0,
        flags & ACK != 0,
        size > 0,
        np.arange(len(order)),
        run,
        shift,
        begin,
        end,
        streams.astype(np.int64),
    )


def _find_latest(places: Ints, until: Ints, begin: Ints) -> tuple[Ints, Bools]:
    """Returns for each of n positions the last of `places` up to it, and whether it is not before its `begin`."""
    if not len(places):
        return np.zeros(len(until), np.int64), np.zeros(len(until), bool)
    at = np.searchsorted(places, until, "right") - 1
    found = places.take(np.maximum(at, 0))
    return found, (at >= 0) & (found >= begin)


def _take_numbers(packets: _Packets, places: Ints) -> Ints:
    return packets.block.number[packets.order[places]]
