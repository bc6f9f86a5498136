"""Condenses messages between participants to a sequence of important steps, and folds the rest.

Theory. A diagram with thousands of arrows is useless. So a step is an exchange whose response follows its request
directly, one message, or a fold: exchanges of one operation between two participants, between two important steps.
Several choices are tried, from generous to strict: all messages; those in reports, those with errors, and the first of
each kind; then without messages of reports that have no events; then without errors, or without the first of each kind.
The first choice that fits into the wanted number of steps is taken. Only messages that become steps of their own are
decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from analyzer.columns.arrays import Array, Bools, Ints, flag_run_starts, make_group_keys
from analyzer.decode.resolved_names import TopicNamer
from analyzer.decode.rows import RowReader
from analyzer.insight.activity import list_error_rows
from analyzer.insight.delay_report import DelayReport
from analyzer.insight.participants import Participants, ReportedNames, find_participants, read_reported_names
from analyzer.insight.reports import ReportReading, list_reports
from analyzer.messages.index import FROM_CLIENT
from analyzer.session import Analysis
from dissectors.api import Role
from dissectors.wire.fast_path import NULL

MOST_STEPS, MOST_LANES = 60, 12
"""Steps and lanes of a diagram, by default."""

OTHERS = "others"
"""The lane of participants beyond those with the most messages."""

PAUSE_NS, PAUSE_SHARE = 500_000_000, 10
"""A pause is shown if it is at least PAUSE_NS, and at least PAUSE_SHARE times the median."""

KEYS = ("operation", "protocol", "info", "error", "latency_ns", "role", "length")


@dataclass(frozen=True, slots=True)
class Step:
    """An arrow, or a pause without lanes.

    sender, receiver: lanes. both: the response followed directly, so the arrow has two heads. count: exchanges that are
    folded into it. detail: what changed, for people. rows: its messages; for a fold, the first one.
    """

    time: int
    sender: int = -1
    receiver: int = -1
    operation: str = ""
    detail: str = ""
    latency_ns: int | None = None
    error: str | None = None
    is_answer: bool = False
    both: bool = False
    count: int = 1
    rows: tuple[int, ...] = ()
    pause_ns: int = 0


@dataclass(frozen=True, slots=True)
class SequenceDiagram:
    """Lanes by name, and steps in the order of time. left_out: messages that no step shows."""

    lanes: Sequence[str]
    steps: Sequence[Step]
    messages: int
    left_out: int = 0

    @property
    def began(self) -> int:
        """The time of the first step, ns since 1970."""
        return self.steps[0].time if self.steps else 0


class DiagramSource(NamedTuple):
    """Data of a session that all its diagrams share: names, and the rows of reports.

    events: rows of reports with events. parts: rows of any other report.
    """

    names: ReportedNames
    events: Ints
    parts: Ints

    @classmethod
    def load(cls, session: Analysis, looked: Callable[[int], None] = lambda rows: None) -> DiagramSource:
        """Reads all reports of a session. looked: see ReportReading.run()."""
        reports = [each for each in list_reports(session)[0].values() if each is not DelayReport]
        events: set[int] = set()
        parts: set[int] = set()
        for table in ReportReading(session, reports).run(looked) if reports else ():
            mine = events if table.report.has_events else parts
            mine.update(row for entry in table.entries for _, row in entry.rows)
        names = read_reported_names(session, looked)
        return cls(names, *(np.array(sorted(each), np.int64) for each in (events, parts)))


def build_sequence(
    session: Analysis, rows: Ints, source: DiagramSource, most: int = MOST_STEPS, most_lanes: int = MOST_LANES
) -> SequenceDiagram:
    """Builds the diagram of rows in at most about `most` steps."""
    table = session.rows
    rows = rows[np.argsort(table.column("time")[rows], kind="stable")]
    sequence = _Sequence(session, rows, find_participants(session, rows, source.names), most_lanes)
    chosen = next((each for each in sequence.choices(source) if sequence.count_steps(each) <= most), None)
    if chosen is None:
        chosen = sequence.choose_turns(source, most)
    steps = list(sequence.make_steps(chosen))
    return SequenceDiagram(
        sequence.lanes, list(_add_pauses(steps[:most])), len(rows), sum(each.count for each in steps[most:])
    )


class _Sequence:
    """Rows in the order of time, with the lanes of their senders and receivers."""

    def __init__(self, session: Analysis, rows: Ints, participants: Participants, most_lanes: int) -> None:
        self._session, self._rows = session, rows
        table = session.rows
        names = [each.name if each.is_server else each.title for each in participants.known]
        order = _order_lanes(participants, len(names))
        total = np.bincount(participants.sides.ravel(), minlength=len(names))
        many = len(order) > most_lanes
        named = set(sorted(order, key=lambda each: -int(total[each]))[: most_lanes - 1] if many else order)
        self.lanes = [names[each] for each in order if each in named] + [OTHERS] * many
        lane = np.full(max(len(names), 1), len(named), np.int64)
        lane[[each for each in order if each in named]] = np.arange(len(named))
        sides = lane[participants.sides] if len(rows) else np.zeros((0, 2), np.int64)
        by_client: Bools = table.column("side")[rows] == FROM_CLIENT
        self._sender = np.where(by_client, sides[:, 0], sides[:, 1])
        self._receiver = np.where(by_client, sides[:, 1], sides[:, 0])
        self._role: Array = table.column("role")[rows]
        self._partner = self._find_partners(table.column("partner")[rows].astype(np.int64))
        operation = table.column("operation")[rows]
        answered = np.flatnonzero((self._role == Role.RESPONSE) & (self._partner >= 0))
        operation[answered] = operation[self._partner[answered]]
        columns = [sides[:, 0], sides[:, 1], np.where(self._role == Role.REQUEST, -1, by_client), operation]
        (*_, self._operations), self._kinds = make_group_keys(columns)
        self._groups: Ints = np.zeros(len(rows), np.int64)

    def _find_partners(self, partner: Ints) -> Ints:
        """Returns the index of each row's partner among the rows, -1 for none."""
        order = np.argsort(self._rows, kind="stable")
        ordered = self._rows[order]
        at = np.minimum(np.searchsorted(ordered, partner), max(len(ordered) - 1, 0))
        return np.where((partner != NULL) & (ordered[at] == partner), order[at], -1) if len(order) else partner

    def choices(self, source: DiagramSource) -> Iterator[Bools]:
        """Yields which rows are important, from generous to strict."""
        yield np.ones(len(self._rows), bool)
        errors = np.isin(self._rows, list_error_rows(self._session, np.sort(self._rows)))
        first = np.zeros(len(self._rows), bool)
        first[np.unique(self._kinds, return_index=True)[1]] = True
        events, parts = (np.isin(self._rows, each) for each in (source.events, source.parts))
        for chosen in (events | parts | errors | first, events | errors | first, events | first, events | errors):
            yield self._with_partners(chosen)

    def choose_turns(self, source: DiagramSource, most: int) -> Bools:
        """Returns the events that differ from the one before between two lanes, if these steps fit; else all events.

        Folds then end only at steps between the same lanes.
        """
        events: Bools = np.isin(self._rows, source.events)
        _, groups = make_group_keys(
            [np.minimum(self._sender, self._receiver), np.maximum(self._sender, self._receiver)]
        )
        order = np.argsort(groups, kind="stable")
        at = order[events[order]]
        operation = self._operations[self._kinds[at]]
        turns = np.zeros(len(events), bool)
        turns[at[flag_run_starts(operation, groups[at])]] = True
        before, self._groups = self._groups, groups
        if self.count_steps(turns) <= most:
            return turns
        self._groups = before
        return events

    def _with_partners(self, chosen: Bools) -> Bools:
        found = chosen.copy()
        found[self._partner[chosen & (self._partner >= 0)]] = True
        return found

    def count_steps(self, chosen: Bools) -> int:
        """Returns how many steps a choice has."""
        return len(self._fold(chosen)[0]) + int(chosen.sum())

    def _fold(self, chosen: Bools) -> tuple[Ints, Ints]:
        """Returns the first index of each fold, and the number of exchanges in it."""
        rest = np.flatnonzero(~chosen & ~((self._role == Role.RESPONSE) & (self._partner >= 0)))
        order = np.argsort(self._groups, kind="stable")
        between = np.zeros(len(chosen), np.int64)
        between[order] = np.cumsum(chosen[order])
        _, keys = make_group_keys([between[rest], self._kinds[rest]])
        _, first, counts = np.unique(keys, return_index=True, return_counts=True)
        return rest[first], counts

    def make_steps(self, chosen: Bools) -> Iterator[Step]:
        """Yields the steps of chosen rows and of folds, in the order of time."""
        folds = {int(at): int(count) for at, count in zip(*self._fold(chosen), strict=True)}
        single = [at for at, count in folds.items() if count == 1]
        chosen = chosen.copy()
        chosen[single] = True
        chosen = self._with_partners(chosen)
        places = sorted({*np.flatnonzero(chosen).tolist(), *(at for at, count in folds.items() if count > 1)})
        cells = self._read_cells([at for at in places if folds.get(at, 1) == 1])
        done: set[int] = set()
        for at, after in zip(places, [*places[1:], -1], strict=True):
            if at in done:
                continue
            count = folds.get(at, 1)
            if count > 1:
                yield self._make_fold(at, count)
            elif after >= 0 and after == self._partner[at] and self._role[at] == Role.REQUEST:
                done.add(after)
                yield self._make_exchange(at, after, cells)
            else:
                yield self._make_message(at, cells)

    def _read_cells(self, places: Sequence[int]) -> dict[int, dict[str, object]]:
        rows = self._rows[np.array(places, np.int64)]
        reader, naming = RowReader(self._session), TopicNamer(self._session)
        order = np.argsort(rows, kind="stable")
        read = reader.read_objects(KEYS, rows[order], naming.fill_in_names)
        return {places[at]: cells for at, cells in zip(order.tolist(), read, strict=True)}

    def _make_fold(self, at: int, count: int) -> Step:
        name = self._session.engine.names.text(int(self._operations[self._kinds[at]])) or "raw"
        ends, row = (int(self._sender[at]), int(self._receiver[at])), int(self._rows[at])
        both = bool(self._role[at] == Role.REQUEST)
        return Step(self._find_time(at), *ends, name, both=both, count=count, rows=(row,))

    def _make_exchange(self, at: int, answer: int, cells: dict[int, dict[str, object]]) -> Step:
        request, response = (self._make_message(place, cells) for place in (at, answer))
        return replace(
            request,
            detail="; ".join(text for text in (response.detail, request.detail) if text),
            latency_ns=response.latency_ns,
            error=request.error or response.error,
            both=True,
            rows=(*request.rows, *response.rows),
        )

    def _make_message(self, at: int, cells: dict[int, dict[str, object]]) -> Step:
        mine, row = cells[at], int(self._rows[at])
        error = mine["error"]
        operation = str(mine["operation"] or (mine["protocol"] if mine["role"] == "raw" else "?"))
        latency = mine["latency_ns"]
        return Step(
            self._find_time(at),
            int(self._sender[at]),
            int(self._receiver[at]),
            operation,
            str(mine["info"] or ""),
            latency if isinstance(latency, int) else None,
            error["name"] if isinstance(error, dict) else None,
            is_answer=mine["role"] == "response",
            rows=(row,),
        )

    def _find_time(self, at: int) -> int:
        return int(self._session.rows.cell("time", int(self._rows[at])))


def _order_lanes(participants: Participants, count: int) -> list[int]:
    """Returns participants, those with the most messages between them next to each other."""
    if not count:
        return []
    pairs, many = np.unique(participants.sides, axis=0, return_counts=True)
    order: list[int] = []
    for place in np.argsort(-many, kind="stable").tolist():
        for each in pairs[place].tolist():
            if each not in order:
                order.append(each)
    servers = [each for each in order if participants.known[each].is_server]
    if len(servers) == len(order):
        return sorted(order, key=lambda each: participants.known[each].name)
    clients = [each for each in order if each not in servers]
    half = len(clients) // 2 if len(servers) == 1 else len(clients)
    return [*clients[:half], *servers, *clients[half:]]


def _add_pauses(steps: Sequence[Step]) -> Iterator[Step]:
    """Yields the steps, and the pauses between them."""
    times = np.array([each.time for each in steps], np.int64)
    waits = np.diff(times)
    least = max(PAUSE_NS, int(np.median(waits)) * PAUSE_SHARE) if len(waits) else 0
    for step, wait in zip(steps, [*waits.tolist(), 0], strict=True):
        yield step
        if wait > least:
            yield Step(step.time, pause_ns=wait)
