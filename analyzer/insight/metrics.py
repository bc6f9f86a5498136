"""Measures groups of messages: counts, sizes, latencies, errors.

Theory. A group has a number; a message may be in several groups, once in each. So there are entries, each with the
index of a row and the number of a group, and each metric is one pass over them (np.bincount), whatever the groups are.
Times and latencies are integers of nanoseconds, so only rates are rounded. The latency of an exchange is its
response's. A negative latency, caused by a clock that went back, counts like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analyzer.columns.arrays import Array, Bools, Ints
from analyzer.insight.counts import count_groups
from analyzer.insight.grouping import RowGroups
from analyzer.insight.percentiles import nearest_ranks, sums
from analyzer.messages.index import MessageTable, find_missing_partners
from analyzer.query.response_errors import ErrorColumn, find_empty
from analyzer.session import Analysis
from dissectors.api import Role
from dissectors.slotted import make_slotted
from dissectors.wire.fast_path import NULL

SECOND = 10**9
PERCENTILES = {"p50_ns": 500, "p90_ns": 900, "p99_ns": 990, "p999_ns": 999}
"""Metrics that are percentiles of latencies, in thousandths."""


@make_slotted
class Metrics:
    """Metrics of one group; None if unknown: rates without a span, errors not read, no latencies.

    messages = requests + answers + oneway + push + raw. unanswered: requests without response. orphans: responses
    without request. bytes: of the messages, including length prefixes. rate: messages per second. errors: messages that
    report one; empty: messages whose error only says "nothing new"; they are not errors. error_rate: errors in
    responses, per response. timed: responses with a latency; the nearest-rank percentiles are those of their latencies.
    """

    messages: int
    requests: int
    answers: int
    unanswered: int
    orphans: int
    oneway: int
    push: int
    raw: int
    bytes: int
    rate: float | None
    errors: int | None
    empty: int | None
    error_rate: float | None
    timed: int
    min_ns: int | None
    p50_ns: int | None
    p90_ns: int | None
    p99_ns: int | None
    p999_ns: int | None
    max_ns: int | None
    mean_ns: float | None


METRIC_NAMES = tuple(Metrics.__annotations__)


@dataclass(frozen=True, slots=True)
class RowMeasures:
    """Columns of n rows from which metrics are computed. failed, empty: None if errors were not read.

    latency: ns, 0 for rows without one; timed: the indexes of rows with a latency, in the order of their latencies.
    """

    role: Array
    alone: Bools
    length: Array
    time: Ints
    latency: Ints
    timed: Ints
    failed: Bools | None
    empty: Bools | None

    @property
    def span(self) -> int:
        """Returns the time from the first message to the last, in ns; 0 if there is none."""
        return int(self.time.max()) - int(self.time.min()) if len(self.time) else 0

    @classmethod
    def from_rows(cls, session: Analysis, rows: Ints, reported: ErrorColumn | None) -> RowMeasures:
        """Reads the columns of some rows."""
        table: MessageTable = session.rows
        role, partner, time = (table.column(name)[rows] for name in ("role", "partner", "time"))
        alone = find_missing_partners(partner, table.column("marks")[rows])
        timed = (role == Role.RESPONSE) & (partner != NULL)
        request_time = table.column("time")[np.where(timed, partner, rows)]
        failed = empty = None
        if reported is not None:
            failed, empty = np.zeros(len(rows), bool), np.zeros(len(rows), bool)
            nothing = find_empty(session, rows, reported)
            failed[reported.places[~nothing]] = True
            empty[reported.places[nothing]] = True
        length = table.column("length")[rows]
        latency, those = np.where(timed, time - request_time, 0), np.flatnonzero(timed)
        ordered = those[np.argsort(latency[those], kind="stable")]
        return cls(role, alone, length, time, latency, ordered, failed, empty)


def measure_groups(facts: RowMeasures, grouped: RowGroups, span: int) -> list[Metrics]:
    """Computes the metrics of each group. span: ns for rates; 0: unknown."""
    keys, size, take = grouped.keys, len(grouped.labels), grouped.take
    role = take(facts.role)
    columns = count_groups(keys, size, role, take(facts.alone), take(facts.length))
    failed: Sequence[int | None] = [None] * size
    empty, wrong = failed, failed
    if facts.failed is not None and facts.empty is not None:
        failure = take(facts.failed)
        chosen = (failure, failure & (role == Role.RESPONSE), take(facts.empty))
        failed, wrong, empty = (np.bincount(keys[each], minlength=size).tolist() for each in chosen)
    mine, latency = latencies(facts, grouped)
    ranks = nearest_ranks(mine, latency, size, tuple(PERCENTILES.values())).tolist()
    whole = sums(mine, latency, size)
    found = zip(zip(*columns, strict=True), failed, wrong, empty, ranks, whole, strict=True)
    return [_make_metrics(*each, span=span) for each in found]


def _make_metrics(
    counts: Sequence[int],
    errors: int | None,
    wrong: int | None,
    empty: int | None,
    ranks: Sequence[int],
    total: int,
    *,
    span: int,
) -> Metrics:
    """Returns the metrics of a group. counts: up to `bytes`. wrong: errors in responses. ranks: see nearest_ranks()."""
    messages, answers, timed = counts[0], counts[2], ranks[0]
    rate = messages * SECOND / span if span else None
    share = wrong / answers if wrong is not None and answers else None
    least, *percentiles, most = ranks[1:] if timed else (None,) * (len(ranks) - 1)
    values: dict[str, Any] = {
        **dict(zip(METRIC_NAMES, counts, strict=False)),
        "rate": rate,
        "errors": errors,
        "empty": empty,
        "error_rate": share,
        "timed": timed,
        "min_ns": least,
        "max_ns": most,
        "mean_ns": total / timed if timed else None,
        **dict(zip(PERCENTILES, percentiles, strict=True)),
    }
    return Metrics(**values)


def latencies(facts: RowMeasures, grouped: RowGroups) -> tuple[Ints, Ints]:
    """Returns the group and the latency (ns) of each entry that has a latency, in the order of latencies."""
    timed = facts.timed if grouped.places is None else _find_timed(facts, grouped.places)
    return grouped.keys[timed], grouped.take(facts.latency)[timed]


def _find_timed(facts: RowMeasures, places: Ints) -> Ints:
    """Returns the entries with a latency, in the order of latencies."""
    rank = np.full(len(facts.role), -1, np.int64)
    rank[facts.timed] = np.arange(len(facts.timed))
    mine = rank[places]
    return np.argsort(mine, kind="stable")[int((mine < 0).sum()) :]
