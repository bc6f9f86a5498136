"""Holds the state of one session of a connection (dissectors.session_state), as its requests see it."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from analyzer.columns.arrays import Ints, find_runs
from analyzer.query.fields.gathered import FieldValues, make_list
from dissectors.session_state import Partition, SessionChange

MOST = 100_000
"""Number of partitions that are kept for a session."""

MOST_UNANSWERED = 64
"""Number of changes of a session that can be undone if the broker refuses them."""


MOST_OPENINGS = 8
"""Number of requests of a connection that may have opened a session that has not been used yet."""

Key: TypeAlias = tuple[Hashable, ...]
"""Identifies a session within its connection."""


class SessionTopics(NamedTuple):
    """Holds topics and partition numbers that a request reads because its session contains them, each once."""

    topics: tuple[str, ...] = ()
    partitions: tuple[int, ...] = ()


NOTHING = SessionTopics()


class SessionState:
    """Holds the topics and partitions of a fetch session, in the order in which requests added them."""

    def __init__(self, partitions_before: Iterable[Partition] = ()) -> None:
        self._partitions: dict[Partition, None] = {}
        self._topics: Counter[str] = Counter()
        self._numbers: Counter[int] = Counter()
        self._requested: SessionTopics | None = None
        self._unanswered: deque[tuple[int, SessionChange]] = deque(maxlen=MOST_UNANSWERED)
        self._add(partitions_before)

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """The partitions that the fetch session has after the latest request."""
        return tuple(self._partitions)

    @property
    def requested(self) -> SessionTopics:
        """The topics and partitions that a request of this session reads; the same object until they change."""
        if self._requested is None:
            self._requested = SessionTopics(tuple(self._topics), tuple(self._numbers))
        return self._requested

    @property
    def unanswered(self) -> list[int]:
        """The rows of requests whose changes the server may still refuse."""
        return [row for row, _ in self._unanswered]

    def apply(self, row: int, change: SessionChange) -> None:
        """Adds and removes partitions according to the request in this row."""
        added = self._add(change.added)
        removed = self._remove(change.removed)
        if added or removed:
            undone = tuple(each for each in removed if each not in added)
            self._unanswered.append((row, SessionChange(undone, tuple(added))))

    def settle(self, row: int, *, failed: bool) -> None:
        """Handles the answer to the request in this row; undoes its change if it failed."""
        for each in self._unanswered:
            if each[0] == row:
                self._unanswered.remove(each)
                if failed:
                    self._remove(each[1].removed)
                    self._add(each[1].added)
                return

    def renumber(self, number: Callable[[int], int]) -> None:
        """Replaces the numbers of rows."""
        self._unanswered = deque(((number(row), change) for row, change in self._unanswered), MOST_UNANSWERED)

    def _add(self, partitions: Iterable[Partition]) -> dict[Partition, None]:
        """Adds partitions; returns those that are new."""
        new: dict[Partition, None] = {}
        for each in partitions:
            if each not in self._partitions and len(self._partitions) < MOST:
                self._partitions[each] = new[each] = None
                self._count(each, 1)
        return new

    def _remove(self, partitions: Iterable[Partition]) -> list[Partition]:
        """Removes partitions; returns those that were present."""
        removed_partitions = [each for each in dict.fromkeys(partitions) if each in self._partitions]
        for each in removed_partitions:
            del self._partitions[each]
            self._count(each, -1)
        return removed_partitions

    def _count(self, partition: Partition, by: int) -> None:
        topic, number = partition
        before = len(self._topics), len(self._numbers)
        self._topics[topic] += by
        self._numbers[number] += by
        if not self._topics[topic]:
            del self._topics[topic]
        if not self._numbers[number]:
            del self._numbers[number]
        if before != (len(self._topics), len(self._numbers)):
            self._requested = None


@dataclass(slots=True)
class RequestHistory:
    """Holds the requests of one operation on one connection that use sessions.

    openings: requests that may have opened a session that has not been used yet. rows, topics: the history; requests
    from each of these rows (ascending) on read these topics.
    """

    sessions: dict[Key, SessionState] = field(default_factory=dict)
    openings: deque[tuple[int, Key]] = field(default_factory=partial(deque, maxlen=MOST_OPENINGS))
    rows: list[int] = field(default_factory=list)
    topics: list[SessionTopics] = field(default_factory=list)

    def find_topics(self, row: int) -> SessionTopics:
        """Returns what the request in a row reads because of its session."""
        place = bisect_right(self.rows, row) - 1
        return self.topics[place] if place >= 0 else NOTHING

    def forget_before(self, before: int) -> None:
        """Drops entries that no row from `before` on needs."""
        evicted = max(bisect_right(self.rows, before) - 1, 0)
        del self.rows[:evicted], self.topics[:evicted]

    def renumber(self, number: Callable[[int], int]) -> None:
        """Replaces the numbers of rows."""
        self.openings = deque(((number(row), key) for row, key in self.openings), MOST_OPENINGS)
        self.rows = [*map(number, self.rows)]
        for session in self.sessions.values():
            session.renumber(number)


class SessionReach(NamedTuple):
    """Holds the lists that n requests read because of their sessions.

    `numbers` has an index into `lists` for each row; 0, the empty list, for a row without a session.
    """

    numbers: Ints
    lists: Sequence[tuple[Any, ...]]

    def list_values(self) -> FieldValues:
        """Returns the values of each row."""
        return _spread_lists(self.numbers, self.lists)


def merge_session_values(found: FieldValues, reach: SessionReach) -> FieldValues:
    """Appends the values of their sessions to the values of rows, without duplicates."""
    lists, numbers = list(reach.lists), reach.numbers.copy()
    known: dict[tuple[Any, ...], int] = {}
    values = make_list(found.values)
    begins, ends = find_runs(found.rows)
    rows = found.rows[begins]
    for row, partitions_before, begin, end in zip(
        *(each.tolist() for each in (rows, numbers[rows], begins, ends)), strict=True
    ):
        own = values[begin] if end - begin == 1 else tuple(values[begin:end])
        number = known.get((own, partitions_before))
        if number is None:
            own_values = values[begin:end]
            lists.append((*own_values, *(each for each in lists[partitions_before] if each not in own_values)))
            number = known[own, partitions_before] = len(lists) - 1
        numbers[row] = number
    return _spread_lists(numbers, lists)


def _spread_lists(numbers: Ints, lists: Sequence[tuple[Any, ...]]) -> FieldValues:
    counts = np.array([len(each) for each in lists])[numbers]
    values = [value for number in numbers.tolist() for value in lists[number]]
    return FieldValues(np.repeat(np.arange(len(numbers)), counts), values)
