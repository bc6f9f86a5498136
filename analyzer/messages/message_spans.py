"""Finds the spans of messages in the segments of many half-streams.

Theory. The guess is that each segment begins a message and may contain more. The lengths in all segments are read at
once. Only half-streams in which the guess fails are walked, with one step for each place where it fails. The offsets of
all half-streams form one line, one half-stream after the other.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from analyzer.columns.arrays import Bools, Ints, find_runs, rank_in_runs
from analyzer.messages.message_lengths import ByteStore, LengthReader

WORTH_A_LOOK = 16
"""Minimum number of segments with another message that are read together; fewer are read one by one."""


class Segments(NamedTuple):
    """Holds n segments, sorted by half-stream (`half` = 2 * work + side) and offset; `line` is where each begins.

    `at` is SNAPPED for bytes that the snap length cut off. closed: the packet with which the segment was readable.
    """

    half: Ints
    line: Ints
    offset: Ints
    at: Ints
    length: Ints
    packet: Ints
    time: Ints
    closed: Ints

    @property
    def line_end(self) -> Ints:
        """Returns where each segment ends when all segments are put one after the other (int64, n)."""
        return self.line + self.length


class MessageSpans(NamedTuple):
    """Holds m messages in order of half-stream and offset: place on the line, first and last segment."""

    line: Ints
    length: Ints
    first: Ints
    last: Ints


def cut_messages(
    parts: Segments, lengths: LengthReader, store: ByteStore, clients: Sequence[int]
) -> tuple[MessageSpans, set[int]]:
    """Cuts all half-streams into messages; also returns the half-streams with an invalid length.

    clients: for each connection the side that opened it. Reference: StreamFramer in step.
    """
    begin, end = find_runs(parts.half)
    from_client = np.array([side == client for client in clients for side in (0, 1)], bool)
    guess = _guess(parts, lengths, from_client)
    unlike = guess.end != parts.line_end
    unlike |= guess.wrong
    dull = ~np.logical_or.reduceat(unlike, begin) if len(begin) else np.empty(0, bool)
    refused: set[int] = set()
    walker = _LineWalker(parts, lengths, store, guess, np.repeat(dull, end - begin), np.flatnonzero(unlike))
    for index in np.flatnonzero(~dull).tolist():
        half = int(parts.half[begin[index]])
        if not walker.walk(int(begin[index]), int(end[index]), bool(from_client[half])):
            refused.add(half)
    line, length = walker.messages(np.repeat(parts.line_end[end - 1], end - begin))
    first = np.searchsorted(parts.line, line, "right") - 1
    last = first.copy()
    long = np.flatnonzero(line + length > parts.line_end[first])
    last[long] = np.searchsorted(parts.line, line[long] + length[long] - 1, "right") - 1
    return MessageSpans(line, length, first, last), refused


class _Guess(NamedTuple):
    """Holds, for n segments that may each begin a message, where the last message ends (`end`, on the line).

    found: segment, line and length of these messages, round by round. wrong: where a length was invalid.
    """

    end: Ints
    wrong: Bools
    found: list[tuple[Ints, Ints, Ints]]


def _guess(parts: Segments, lengths: LengthReader, from_client: Bools) -> _Guess:
    """Reads the first message of all segments, then the second one of those that hold two, and so on."""
    end, wrong = parts.line.copy(), np.zeros(len(parts.line), bool)
    found: list[tuple[Ints, Ints, Ints]] = []
    line_end = parts.line_end
    some = np.flatnonzero((parts.length >= lengths.width) & (parts.at >= 0))
    while len(some) >= (WORTH_A_LOOK if found else 1):
        here = end[some]
        length = lengths.read_many(
            parts.at[some] + here - parts.line[some], line_end[some] - here, from_client[parts.half[some]]
        )
        known = length > 0
        if not known.all():
            wrong[some[length == 0]] = True
            some, here, length = some[known], here[known], length[known]
        found.append((some, here, length))
        end[some] += length
        some = some[end[some] + lengths.width <= line_end[some]]
    return _Guess(end, wrong, found)


class _OnLine:
    """Reads the bytes on the line from `here` in segment `index` to before `stop`, like a paged message."""

    def __init__(self, parts: Segments, store: ByteStore, index: int, here: int, stop: int) -> None:
        self._parts, self._store, self._index, self._here, self._stop = parts, store, index, here, stop

    def __len__(self) -> int:
        return self._stop - self._here

    def read_bytes(self, offset: int, length: int) -> bytes:
        """Returns `length` bytes from `offset` on; fewer if no more have come."""
        parts, here = self._parts, self._here + offset
        stop, index, found = min(here + length, self._stop), self._index, b""
        if offset >= parts.line[index] + parts.length[index] - self._here:
            index = int(np.searchsorted(parts.line, here, "right")) - 1
        while here < stop and parts.at[index] >= 0:
            inside = here - int(parts.line[index])
            part = min(int(parts.length[index]) - inside, stop - here)
            found += self._store.read_bytes(int(parts.at[index]) + inside, part)
            here, index = here + part, index + 1
        return found


class _LineWalker:
    """Finds the segments that begin a message, half-stream by half-stream, and messages that begin elsewhere.

    used: the segments that begin a message: all of a half-stream except those from each `passed` up to `passed_to`.
    odd: segments whose messages do not end where the segment ends.
    """

    def __init__(
        self, parts: Segments, lengths: LengthReader, store: ByteStore, guess: _Guess, used: Bools, odd: Ints
    ) -> None:
        self._parts, self._tell, self._store, self._guess, self._used = parts, lengths, store, guess, used
        end = guess.end[odd]
        next_one = np.searchsorted(parts.line, end)
        starts = (np.append(parts.line, parts.line_end[-1:])[next_one] == end) & (end != parts.line[odd])
        self._odd, self._wrong = odd.tolist(), guess.wrong[odd].tolist()
        self._end, self._next, self._starts = end.tolist(), next_one.tolist(), starts.tolist()
        self._next_odd = np.searchsorted(odd, next_one).tolist()
        self._lines: list[int] = []
        self._lengths: list[int] = []
        self._passed: list[int] = []
        self._passed_to: list[int] = []

    def walk(self, first: int, last: int, from_client: bool) -> bool:
        """Walks segments `first` to `last` (exclusive) of one half-stream.

        Returns False if it is out of step.
        """
        stop = int(self._parts.line[last - 1] + self._parts.length[last - 1])
        odds, place, beyond = self._odd, bisect_left(self._odd, first), bisect_left(self._odd, last)
        self._used[first:last] = True
        while place < beyond:
            if self._wrong[place]:
                return False
            odd = odds[place]
            if self._starts[place]:
                index, place = self._next[place], self._next_odd[place]
            else:
                index = self._inside(self._end[place], stop, last, from_client)
                if index < 0:
                    return False
                place = bisect_left(odds, index, place)
            self._passed.append(odd + 1)
            self._passed_to.append(min(index, last))
        return True

    def _inside(self, here: int, stop: int, last: int, from_client: bool) -> int:
        """Walks from a place within a segment to a message that begins one; returns a negative number out of step."""
        line, line_end, at = self._lists
        index = bisect_right(line, here) - 1
        while here < stop:
            run = []
            if at[index] >= 0:
                data = self._store.window(at[index] + here - line[index], line_end[index] - here)
                run = self._tell.read_run(data)
            if not run:
                length = self._tell.read_one(_OnLine(self._parts, self._store, index, here, stop), from_client)
                if not length or (length < 0 and self._is_lost(index, here - length, last)):
                    return -1
                run = [length]
            for length in run:
                if not 0 < length <= stop - here:
                    return last
                self._lines.append(here)
                self._lengths.append(length)
                here += length
            index = bisect_right(line, here, index) - 1
            if line[index] == here:
                return index
        return last

    @cached_property
    def _lists(self) -> tuple[list[int], list[int], list[int]]:
        """Where segments begin and end on the line, and their locations, as lists: their cells are read faster."""
        return self._parts.line.tolist(), self._parts.line_end.tolist(), self._parts.at.tolist()

    def _is_lost(self, index: int, end: int, last: int) -> bool:
        """Returns whether bytes before `end` are lost, from segment `index` to before `last`."""
        beyond = min(int(np.searchsorted(self._parts.line, end)), last)
        return bool((self._parts.at[index:beyond] < 0).any())

    def messages(self, stop: Ints) -> tuple[Ints, Ints]:
        """Returns line and length of all messages, in order; `stop`: where the half-stream of each segment ends."""
        passed, passed_to = np.array((self._passed, self._passed_to), np.int64)
        count = passed_to - passed
        self._used[np.repeat(passed, count) + rank_in_runs(count)] = False
        lines, lengths = [], []
        for segment, line, length in self._guess.found:
            whole = self._used[segment] & (line + length <= stop[segment])
            lines.append(line[whole])
            lengths.append(length[whole])
        lines.append(np.array(self._lines, np.int64))
        lengths.append(np.array(self._lengths, np.int64))
        line, length = np.concatenate(lines), np.concatenate(lengths)
        if len(lines) == 2 and not self._lines:
            return line, length
        order = np.argsort(line, kind="stable")
        return line[order], length[order]
