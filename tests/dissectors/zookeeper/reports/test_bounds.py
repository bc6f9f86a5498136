"""What stories of watches and writes remember is bounded."""

from __future__ import annotations

import pytest

from dissectors.zookeeper.reports import watch_table
from dissectors.zookeeper.reports.causes import Cause, Causes
from dissectors.zookeeper.reports.fields import Write
from dissectors.zookeeper.reports.watch_table import WatchTable


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
