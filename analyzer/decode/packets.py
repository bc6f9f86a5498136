"""Counts retransmissions of messages' bytes, for many rows at once, from the streams' records.

Theory. A retransmission is a range of bytes of one direction, and so is a row. The number of retransmissions that
overlap a row is the number that begin before its end, minus the number that end at its beginning or before. Two
searches in sorted positions give both numbers; the number of the direction is put in front of each position. Directions
without retransmissions, which are most, are skipped first.
"""

from __future__ import annotations

import numpy as np

from analyzer.columns.arrays import Array, Ints, flag_run_starts, rank_in_runs
from analyzer.columns.values import format_iso_time
from analyzer.messages.index import FROM_CLIENT
from analyzer.session import Analysis

_PLACE_BITS = 44
"""A position and the number of its direction share 64 bits. 16 TiB are enough for any direction."""


def count_retransmissions(session: Analysis, rows: Ints, *, streaming: bool = False) -> Ints:
    """Returns for n rows how many retransmissions overlap their bytes (int64, n).

    streaming: counts only retransmissions before the last packet of a message, because later ones are not known when a
    row is printed during the capture. list_packets() lists the packets of one row.
    """
    repeats, index, streams = session.engine.repeats, session.rows, session.engine.streams
    remaining = slice(repeats.first, len(repeats))
    found = np.zeros(len(rows), np.int64)
    if remaining.start == remaining.stop or not len(rows):
        return found
    stream = index.column("stream")[rows].astype(np.int64)
    client = np.maximum(streams.column("client")[stream], 0)
    direction = stream * 2 + np.where(index.column("side")[rows] == FROM_CLIENT, client, 1 - client)
    again, side = (repeats.column(name)[remaining].astype(np.int64) for name in ("stream", "side"))
    again = again * 2 + side
    has_again = np.zeros(int(max(direction.max(), again.max())) + 1, bool)
    has_again[again] = True
    places = np.flatnonzero(has_again[direction])
    if not len(places):
        return found
    has_again[:] = False
    has_again[direction[places]] = True
    runs = np.flatnonzero(has_again[again])
    named = np.cumsum(has_again) - 1
    begin = index.column("offset")[rows[places]].astype(np.int64)
    end = begin + index.column("length")[rows[places]]
    first = repeats.column("offset")[remaining][runs].astype(np.int64)
    last = first + repeats.column("length")[remaining][runs]
    mine, theirs = (named[each] << _PLACE_BITS for each in (direction[places], again[runs]))
    if not streaming:
        found[places] = _count_below(mine + end, theirs + first) - _count_below(mine + begin + 1, theirs + last)
        return found
    closing, packet = index.column("last")[rows[places]], repeats.column("packet")[remaining][runs]
    for place, (low, high, by) in enumerate(zip(mine + begin, mine + end, closing, strict=True)):
        touches = (theirs + first < high) & (theirs + last > low) & (packet <= by)
        found[places[place]] = np.count_nonzero(touches)
    return found


def list_packets(session: Analysis, row: int) -> list[dict[str, int | str | bool]]:
    """Returns the packets with a row's bytes, including retransmissions; `offset` is the offset in the message."""
    offset = 0
    found: list[tuple[int, int, int, int, bool]] = []
    first = session.rows.cell("pieces", row)
    pieces = session.engine.pieces
    for index in range(first, first + session.rows.cell("count", row)):
        length = pieces.cell("length", index)
        if pieces.cell("at", index) >= 0:
            found.append((pieces.cell("packet", index), pieces.cell("time", index), offset, length, False))
        offset += length
    found += _list_retransmissions(session, row)
    return [
        {
            "number": packet,
            "time": format_iso_time(time),
            "offset": at,
            "length": length,
            "retransmission": again,
        }
        for packet, time, at, length, again in sorted(found)
    ]


def _list_retransmissions(session: Analysis, row: int) -> list[tuple[int, int, int, int, bool]]:
    """Returns retransmissions of a row's bytes, as (packet, time, offset in the message, length, True)."""
    stream, begin = session.rows.cell("stream", row), session.rows.cell("offset", row)
    end = begin + session.rows.cell("length", row)
    client = session.engine.streams.cell("client", stream)
    side = client if session.rows.cell("side", row) == FROM_CLIENT else 1 - client
    repeats = session.engine.repeats
    columns = (repeats.column(name)[repeats.first :] for name in ("stream", "side", "offset", "length"))
    of_stream, of_side, offset, length = columns
    same = (of_stream == stream) & (of_side == side)
    places = (np.flatnonzero(same & (offset < end) & (offset + length > begin)) + repeats.first).tolist()
    found = []
    for place in places:
        at, size = repeats.cell("offset", place), repeats.cell("length", place)
        inside, stop = max(at, begin), min(at + size, end)
        packet, time = repeats.cell("packet", place), repeats.cell("time", place)
        found.append((packet, time, inside - begin, stop - inside, True))
    return found


def list_packet_numbers(session: Analysis, rows: Ints, *, streaming: bool = False) -> tuple[Ints, Ints]:
    """Returns the numbers of the packets with bytes of `rows`, including retransmissions, each once for a row.

    Returns indexes in `rows` (int64, ascending) and as many packet numbers (int64), which rise within a row. streaming:
    as in count_retransmissions().
    """
    pieces, index = session.engine.pieces, session.rows
    counts = index.column("count")[rows].astype(np.int64)
    at = np.repeat(index.column("pieces")[rows].astype(np.int64), counts) + rank_in_runs(counts)
    there = pieces.column("at")[at] >= 0  # a negative location is a lost piece
    found = [(np.repeat(np.arange(len(rows)), counts)[there], pieces.column("packet")[at[there]].astype(np.int64))]
    for place in np.flatnonzero(count_retransmissions(session, rows, streaming=streaming)).tolist():
        brought = list_packets(session, int(rows[place]))
        closing = index.cell("last", int(rows[place]))
        again = [int(each["number"]) for each in brought if each["retransmission"]]
        again = [number for number in again if not streaming or number <= closing]
        found.append((np.full(len(again), place), np.array(again, np.int64)))
    places, numbers = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.lexsort((numbers, places))
    places, numbers = places[order], numbers[order]
    once = flag_run_starts(places, numbers)
    return places[once], numbers[once]


def _count_below(limits: Ints, places: Array) -> Ints:
    """Returns the number of positions below each limit."""
    below: Ints = np.searchsorted(np.sort(places), limits)
    return below
