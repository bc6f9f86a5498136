"""Stories on values that lack anything or have anything in them: nothing is raised, and memory is bounded."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.api import Context
from dissectors.correlator import MessageEvent
from dissectors.report import ReportType
from dissectors.wire.embedded import EmbeddedValue
from dissectors.zookeeper.labels import load_names
from dissectors.zookeeper.quorum.header import packets
from dissectors.zookeeper.reports import reports, watch_table
from dissectors.zookeeper.reports.causes import Cause, Causes
from dissectors.zookeeper.reports.fields import Write
from dissectors.zookeeper.reports.watch_table import WatchTable
from tests.dissectors.telling import feed, kinds_of, wanted_names
from tests.dissectors.zookeeper.reports.told import ends

_NAMES = sorted(
    wanted_names([*reports()])
    | {"header", "txn", "clientId", "cxid", "txns", "serverid", "request", "opcode", "sessionId", "err"}
)
_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 12), st.integers(-(1 << 63), (1 << 63) - 1), st.text("/ab", max_size=4)
)
_VALUES: st.SearchStrategy[Any] = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=4)
        | inner.map(lambda value: EmbeddedValue(b"", value))
    ),
    max_leaves=8,
)
_MESSAGES = st.tuples(
    st.integers(0, 10_000),
    st.dictionaries(st.sampled_from(_NAMES), _VALUES, max_size=6),
    st.integers(0, 3),
    st.integers(0, 1 << 40),
    st.booleans(),
    st.one_of(st.none(), st.integers(0, 20)),
    st.sampled_from([None, "0x1", "0x2"]),
    st.sampled_from([None, 0, 1, -2]),
)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("report", reports(), ids=lambda report: report.name)
@given(messages=st.lists(_MESSAGES, max_size=12))
def test_nothing_is_raised(report: ReportType, messages: list[Any]) -> None:
    kinds, events = kinds_of(report), []
    for row, (choice, values, stream, time, from_client, partner, client, xid) in enumerate(messages):
        protocol, code, role = kinds[choice % len(kinds)]
        name = packets()[code].name if protocol.endswith("quorum") and code else load_names("operation").get(code or 99)
        operation = "connect" if protocol == "zookeeper" and code is None else name
        place = row, protocol, Context(role, code), values, stream, time, from_client
        events.append((MessageEvent(*place, operation, xid, client, partner), choice % 5 == 0))
    feed(report, ends, events)


def test_no_more_watches_than_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_table, "MOST", 10)
    found = WatchTable()
    made = [found.set("s", "data", f"/{number}", number, 0) for number in range(20)]
    assert made == [True] * 10 + [False] * 10
    assert len(found.fire("s", "NodeDeleted", "/3")) == 1
    assert found.set("s", "data", "/new", 0, 0)
    assert len(found.close("s")) == 10
    assert found.set("t", "child", "/a", 0, 0)


def test_a_watch_names_no_more_messages_than_that() -> None:
    found = WatchTable()
    for number in range(1000):
        found.set("s", "data", "/a", number, 0)
    assert len(found.of_session("s")[0].rows) == watch_table.WatchRow.most_rows


def test_no_more_writes_than_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dissectors.correlator.LIMIT", 3)
    found = Causes()
    for number in range(10):
        cause = Cause(number, number)
        found.ask(("s", number), cause, [Write("set", f"/{number}")])
        found.answer(cause, number, failed=False)
    assert [found.find("NodeDataChanged", f"/{number}", -1) is not None for number in range(10)] == [False] * 7 + [
        True
    ] * 3
    assert [found.find("NodeDataChanged", "/x", number) is not None for number in range(10)] == [False] * 7 + [True] * 3
