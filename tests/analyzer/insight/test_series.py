"""Series over time beside the statistics of all times, and requests in flight beside counting one by one."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from analyzer.decode.rows import RowReader
from analyzer.insight.series import IN_FLIGHT, SERVER, choose_groups, measure_series
from analyzer.insight.statistics import Study
from analyzer.session import Session
from dissectors.api import Role
from tests.tui.driving import KAFKA


@cache
def study() -> Study:
    return Study(RowReader(Session([KAFKA]).load()))


@pytest.mark.parametrize("by", [None, "operation", "topic", SERVER])
def test_intervals_add_up_to_the_metrics_of_all_times(by: str | None) -> None:
    groups = choose_groups(study(), by, 5)
    found, totals = measure_series(study(), groups), groups.measure(study())
    assert len(totals) == groups.count == len(groups.labels) + 1
    for name in ("messages", "bytes", "errors"):
        sums = found.values[name].sum(axis=1) * found.length / 10**9
        assert np.rint(sums).tolist() == [getattr(each, name) for each in totals]
    assert totals[-1].messages == len(study().rows)
    sizes = [each.messages for each in totals[:-1]]
    assert sizes == sorted(sizes, reverse=True)
    slowest = np.nanmax(found.values["p99_ns"], axis=1)
    assert slowest[-1] == study().total.max_ns


def test_requests_in_flight_are_those_that_wait_at_one_time() -> None:
    scale = study().in_intervals(20)
    groups = choose_groups(scale, "operation", 3)
    found = measure_series(scale, groups)
    session = scale.reader.session
    table, ends = session.rows, session.engine.streams.column("end")
    waits: list[tuple[str | None, int, int]] = []
    for row in range(len(table)):
        partner = table.cell("partner", row)
        if table.cell("role", row) == Role.REQUEST:
            end = table.cell("time", partner) if partner >= 0 else ends[table.cell("stream", row)]
            operation = session.engine.names.text(table.cell("operation", row))
            waits.append((operation, table.cell("time", row), int(end)))
    assert len(waits) == scale.total.requests
    for place, label in enumerate([*groups.labels, None]):
        mine = [(begin, end) for operation, begin, end in waits if label in (None, operation)]
        for interval, first in enumerate(found.begins):
            moments = [first, *(begin for begin, _ in mine if first <= begin < first + found.length)]
            most = max(sum(begin <= moment < max(end, begin + 1) for begin, end in mine) for moment in moments)
            assert found.values[IN_FLIGHT][place, interval] == most, (label, interval)
