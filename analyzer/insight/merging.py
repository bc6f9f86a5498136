"""Merges similar messages for correlators that take them at once (dissectors.correlator).

Theory. Messages that a correlator gets one by one, and ends of connections, must stay in order. They divide the rows of
a correlator into stretches. Within a stretch, similar messages are one group; responses are similar only if their
requests are in one group. Groups are made from the columns of some thousand rows. A group is delivered at the position
of its first message, so a response comes after its request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from analyzer.columns.arrays import Bools, Ints, argsort_stable, find_runs, iterate_groups, make_group_keys
from analyzer.decode.multi_segment import locate_messages
from analyzer.insight.alike import Alike, AlikePlan, FieldSelection, plan_alike
from analyzer.insight.events import Events
from analyzer.session import Analysis
from dissectors.api import Context, Dissector, Role, State
from dissectors.correlator import Correlator, Merge, MergedMessages, MessageEvent, MessageKind, QuietTest
from dissectors.message import Path
from dissectors.report import REPORTED
from dissectors.wire.fast_path import NULL, NULL64, load_fast_path

WORTH = 16
"""Number of messages of a kind below which each is read alone."""

KIND = ("protocol", "role", "code", "version", "extra")
"""Columns of the index that are equal in messages of one layout."""

_SAME = ("stream", "client", "operation")
MOST = 62
"""Number of correlators that may take merged messages: their numbers are bits."""


ReadEvents = Callable[[Ints, Ints | None], list[MessageEvent]]
"""Makes events of rows (n), in their order, with the values of other rows (n); without values if these are None."""


class KindPlan(NamedTuple):
    """Says how rows of a kind are merged. wanted: bits of the correlators that get them.

    takers: by number, those that take them merged, and how. bare: bits of those that read no fields of them. walk: how
    fields are read in columns; None if there is no need.
    """

    wanted: int
    takers: Mapping[int, Merge]
    bare: int
    walk: AlikePlan | None

    @property
    def is_merged(self) -> bool:
        """Returns whether all correlators that get them take them merged."""
        return self.wanted != 0 and _bits(self.takers) == self.wanted


def plan_kind(dissector: Dissector, context: Context, correlators: Sequence[Correlator[Any]]) -> KindPlan:
    """Plans how messages of a kind are merged."""
    what: MessageKind = (dissector.name, context.code, context.role)
    found = {number: each.on[what] for number, each in enumerate(correlators[:MOST]) if what in each.on}
    wanted, bare = (_bits(found), _bits(number for number, each in found.items() if not each.paths))
    takers = {number: each.merge for number, each in found.items() if each.merge is not None}
    fields = [(found[number].paths if merge.handle else frozenset(), merge) for number, merge in takers.items()]
    same = frozenset(path for paths, merge in fields for path in paths - merge.numbers)
    numbers = frozenset(path for _, merge in fields for path in merge.numbers)
    quiet = frozenset(each for _, merge in fields for each in merge.quiet.items())
    walk = None
    if same or numbers or quiet:
        fast_path = load_fast_path(dissector)
        layout = None if fast_path is None else fast_path.layout(context)
        if fast_path is not None and layout is not None and REPORTED not in same:
            walk = plan_alike(fast_path, layout, FieldSelection(same, numbers, quiet))
        if walk is None:
            takers = {number: merge for number, merge in takers.items() if bare >> number & 1 or merge.answers}
    return KindPlan(wanted, takers, bare, walk)


def _bits(numbers: Iterable[int]) -> int:
    return sum(1 << number for number in numbers)


class Delivery(NamedTuple):
    """Merged messages for a correlator (by number), at the position of the first one."""

    row: int
    correlator: int
    handle: Callable[[Any, MergedMessages], None]
    merged: MergedMessages


class MergedPart(NamedTuple):
    """Of n rows: `taken` (int64, n), the bits of correlators that take each one merged; deliveries by rows."""

    taken: Ints
    deliveries: list[Delivery]


class _Part:
    """Consecutive rows (n) during merging. walk, place: the walk that read each row, and its index in that walk.

    basic, group (int64, n): equal for rows that are alike by the index, and also by their fields; -1: in no group.
    """

    def __init__(self, session: Analysis, rows: Ints, keys: Ints, plans: Sequence[KindPlan | None]) -> None:
        self.rows, self.keys, self.plans = rows, keys, plans
        column = session.rows.column
        self.partner = column("partner")[rows].astype(np.int64)
        self.answers = column("role")[rows] == Role.RESPONSE
        alone = self.partner == NULL
        _, self.basic = make_group_keys([keys, *(column(name)[rows] for name in _SAME), alone])
        self.group = np.full(len(rows), -1, np.int64)
        self.walks: list[Alike] = []
        self.walk, self.place = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
        self.time = column("time")[rows]

    def walk_kinds(self, session: Analysis, texts: dict[bytes, int]) -> None:
        """Reads the fields of the kinds whose plan has a walk."""
        column = session.rows.column
        whole = column("state")[self.rows] == State.COMPLETE
        for key, places in iterate_groups(self.keys):
            plan = self.plans[key]
            if plan is None or plan.walk is None:
                continue
            places = places[whole[places]]
            for mine, source, at in locate_messages(session, self.rows[places], WORTH):
                those = places[mine]
                length = column("length")[self.rows[those]].astype(np.int64)
                alike = Alike(plan.walk, source, at, length, self.time[those], texts)
                self.walk[those], self.place[those] = len(self.walks), np.arange(len(those))
                _, groups = make_group_keys([alike.group, self.basic[those]])
                self.group[those] = np.where(alike.group < 0, -1, groups + int(self.group.max(initial=-1)) + 1)
                self.walks.append(alike)

    def find_leaders(self) -> Ints:
        """Returns the first row of the group of each row."""
        _, first, which = np.unique(self.group, return_index=True, return_inverse=True)
        return self.rows[first[which]]

    def spread(self, values: Sequence[Any]) -> Any:
        """Returns one value for each row from one value for each plan."""
        return np.array(values)[self.keys]

    def find_quiet(self, quiet: Mapping[Path, int | QuietTest | None], key: int) -> Bools:
        """Returns which rows of a kind are in a group, and pass the tests of some fields."""
        found: Bools = (self.keys == key) & (self.group >= 0)
        for number, alike in enumerate(self.walks):
            for each in quiet.items() & alike.loud.keys():
                mine = np.flatnonzero(found & (self.walk == number))
                found[mine[alike.loud[each][self.place[mine]]]] = False
        return found


class Merger:
    """Merges the messages of a reading, part by part.

    ends: the rows (ascending) before which ends of connections are reported. read: makes events of rows.
    """

    def __init__(
        self,
        session: Analysis,
        events: Events,
        correlators: Sequence[Correlator[Any]],
        ends: Sequence[int],
        read: ReadEvents,
    ) -> None:
        self._session, self._events, self._read = session, events, read
        self._correlators, self._ends = correlators, np.array(ends, np.int64)
        self._texts: dict[bytes, int] = {}
        self._late: dict[int, dict[int, int]] = {}
        """By correlator and row of a request whose response is in a later part: the first row of its group."""
        self._ignored: dict[int, set[int]] = {}
        """By correlator: the ignored requests whose responses are in later parts."""

    def merge(self, rows: Ints, keys: Ints, plans: Sequence[KindPlan | None]) -> MergedPart:
        """Merges consecutive rows. keys: the number of each row's plan."""
        taken = np.zeros(len(rows), np.int64)
        takers = sorted({number for plan in plans if plan is not None for number in plan.takers})
        if not takers:
            return MergedPart(taken, [])
        part = _Part(self._session, rows, keys, plans)
        part.walk_kinds(self._session, self._texts)
        if len(self._texts) > _MOST_TEXTS:
            self._texts.clear()
        groups = [group for number in takers for group in self._merge_for(number, part, taken)]
        groups.sort(key=_first_of)
        elapsed = self._events.find_elapsed(rows)
        deliveries = [
            Delivery(event.row, group.correlator, group.handle, _GroupMessages(self._read, part, elapsed, group, event))
            for group, event in zip(groups, self._make_events(part, groups), strict=True)
        ]
        return MergedPart(taken, deliveries)

    def _make_events(self, part: _Part, groups: Sequence[_Group]) -> list[MessageEvent]:
        """Returns the event of the first message of each group."""
        first = np.array([_first_of(group) for group in groups], np.int64)
        bare = np.array([group.bare for group in groups], bool)
        found: list[MessageEvent | None] = [None] * len(groups)
        leaders = part.find_leaders()
        for chosen in (bare, ~bare):
            places, which = np.unique(first[chosen], return_inverse=True)
            values = None if chosen is bare else leaders[places]
            events = self._read(part.rows[places], values) if len(places) else []
            for number, place in zip(np.flatnonzero(chosen).tolist(), which.tolist(), strict=True):
                found[number] = events[place]
        return [event for event in found if event is not None]

    def _merge_for(self, number: int, part: _Part, taken: Ints) -> Iterator[_Group]:
        """Yields the groups that a correlator gets, and marks their rows in `taken`."""
        correlator, bit = self._correlators[number], 1 << number
        group, mine, ignored = np.full(len(part.rows), -1, np.int64), *np.zeros((2, len(part.rows)), bool)
        kinds = [
            (key, plan, plan.takers[number]) for key, plan in enumerate(part.plans) if plan and number in plan.takers
        ]
        for key, plan, merge in sorted(kinds, key=lambda kind: kind[2].answers):
            bare = bool(plan.bare & bit)
            if merge.answers:
                those = (part.keys == key) & self._find_answers(number, part, ignored)
            else:
                those = part.keys == key if bare else part.find_quiet(merge.quiet, key)
            mine |= those
            if merge.handle is None:
                ignored |= those
            group[those] = -2 - part.basic[those] if bare else part.group[those]
        taken[mine] |= bit
        alone = (part.spread([0 if plan is None else plan.wanted for plan in part.plans]) & bit != 0) & ~mine
        stretch = np.cumsum(alone)
        if type(correlator).end_connection is not Correlator.end_connection:
            stretch += np.searchsorted(self._ends, part.rows, "right")
        first = part.rows.copy()
        asking = np.flatnonzero(mine & ~ignored & ~part.answers)
        found = self._group_rows([group[asking], stretch[asking]], asking, part, first)
        requests = self._find_requests(number, part, first)
        late = alone & part.answers & (requests != part.partner)
        for partner, request in zip(part.partner[late].tolist(), requests[late].tolist(), strict=True):
            correlator.merged_with[partner] = request
        answering = np.flatnonzero(mine & ~ignored & part.answers)
        found += self._group_rows([group[answering], stretch[answering], requests[answering]], answering, part, first)
        for places in found:
            plan = part.plans[part.keys[places[0]]]
            assert plan is not None
            handle = plan.takers[number].handle
            assert handle is not None
            is_answer = part.answers[places[0]] and part.partner[places[0]] != NULL
            request = int(requests[places[0]]) if is_answer else None
            yield _Group(number, handle, places, request, bool(plan.bare & bit))

    def _find_answers(self, number: int, part: _Part, ignored: Bools) -> Bools:
        """Returns which rows answer requests that a correlator ignores; keeps these requests for later parts."""
        late = self._ignored.setdefault(number, set())
        begin, end = int(part.rows[0]), int(part.rows[-1]) + 1
        found = np.zeros(len(part.rows), bool)
        inside = part.answers & (part.partner >= begin) & (part.partner < end)
        found[inside] = ignored[part.partner[inside] - begin]
        before = np.flatnonzero(part.answers & (part.partner >= 0) & (part.partner < begin)) if late else ()
        for place in before:
            found[place] = int(part.partner[place]) in late
        late.difference_update(part.partner[before].tolist() if late else ())
        late.update(part.rows[ignored & ~part.answers & (part.partner >= end)].tolist())
        return found

    def _group_rows(self, columns: Sequence[Ints], places: Ints, part: _Part, first: Ints) -> list[Ints]:
        """Returns the indexes of each group; writes the first row of its group for each row."""
        if not len(places):
            return []
        _, keys = make_group_keys(columns)
        order = argsort_stable(keys)
        begin, end = find_runs(keys[order])
        places = places[order]
        first[places] = part.rows[np.repeat(places[begin], end - begin)]
        return [places[one:behind] for one, behind in zip(begin.tolist(), end.tolist(), strict=True)]

    def _find_requests(self, number: int, part: _Part, first: Ints) -> Ints:
        """Returns the first row of the group of each response's request; keeps it for responses in later parts."""
        late = self._late.setdefault(number, {})
        requests = part.partner.copy()
        begin, end = int(part.rows[0]), int(part.rows[-1]) + 1
        inside = part.answers & (requests >= begin) & (requests < end)
        requests[inside] = first[requests[inside] - begin]
        for place in np.flatnonzero(part.answers & (requests >= 0) & (part.partner < begin)).tolist() if late else ():
            requests[place] = late.pop(int(requests[place]), int(requests[place]))
        later = ~part.answers & (part.partner >= end) & (first != part.rows)
        late.update(zip(part.rows[later].tolist(), first[later].tolist(), strict=True))
        return requests


_MOST_TEXTS = 100_000


class _Group(NamedTuple):
    """Similar messages for a correlator, by their indexes in a part. bare: it reads no fields of them."""

    correlator: int
    handle: Callable[[Any, MergedMessages], None]
    places: Ints
    request: int | None
    bare: bool


def _first_of(group: _Group) -> int:
    return int(group.places[0])


class _GroupMessages(MergedMessages):
    """The messages of a group."""

    def __init__(self, read: ReadEvents, part: _Part, elapsed: Ints, group: _Group, first: MessageEvent) -> None:
        self._read, self._part, self._elapsed, self._places = read, part, elapsed, group.places
        self.first, self.last_row, self.request = first, int(part.rows[group.places[-1]]), group.request
        self.count, self.latest = len(group.places), int(part.time[group.places].max())

    def list_numbers(self, path: Path) -> list[list[int]]:
        """Returns the numbers of a field: for each of its positions in a message, the numbers of all messages."""
        return self._read_numbers(path).tolist()  # type: ignore[no-any-return]

    def sum_numbers(self, path: Path) -> list[int]:
        """Returns the sums of the numbers of a field, one for each of its positions in a message."""
        return self._read_numbers(path).sum(axis=1).tolist()  # type: ignore[no-any-return]

    def _read_numbers(self, path: Path) -> Ints:
        part = self._part
        return part.walks[int(part.walk[self._places[0]])].read_numbers(path, part.place[self._places])

    def list_rows(self) -> list[int]:
        """Returns the rows of the messages."""
        rows: list[int] = self._part.rows[self._places].tolist()
        return rows

    def list_times(self) -> list[int]:
        """Returns the times of the messages, ns since 1970."""
        times: list[int] = self._part.time[self._places].tolist()
        return times

    def list_partners(self) -> list[int]:
        """Returns the rows of the partners; -1 for none."""
        partners: list[int] = np.maximum(self._part.partner[self._places], -1).tolist()
        return partners

    def list_elapsed(self) -> list[int]:
        """Returns how long after its request each response came, in ns; empty if one request was not read."""
        elapsed: list[int] = self._elapsed[self._places].tolist()
        return [] if NULL64 in elapsed else elapsed

    def list_values(self) -> Iterator[Mapping[str, Any]]:
        """Yields the values of each message; they are decoded one by one."""
        for row in self._part.rows[self._places]:
            (event,) = self._read(np.array([row]), np.array([row]))
            yield event.values
