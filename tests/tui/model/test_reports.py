"""Stories as views: the lines of `report`, and where they lead."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.insight.reports import reports_by_name
from analyzer.query.filter import compile_filter
from analyzer.render.lines import strip_styles
from analyzer.session import Session
from dissectors.registry import dissectors
from tui.model import reports
from tui.model.leads import FilterLead
from tui.model.reports import list_report_names, make_report_views
from tui.model.row_sets import PageScope
from tui.model.views import Cancellation, TableView, TextView, View, ViewState, ViewWork

WATCH = Path(__file__).parents[2] / "golden" / "zookeeper" / "cl_java395_watch.pcap.zst"


def views(session: Session) -> list[View]:
    scope = PageScope(len(session.rows), len(session.engine.streams), True, None, None, frozenset(), 0)
    *_, last = make_report_views(session, list_report_names(session), scope, ViewWork(lambda said: None))
    return list(last)


def test_a_view_for_each_story() -> None:
    with Session([WATCH]).load() as session:
        found = views(session)
        assert [view.name for view in found] == list(list_report_names(session))
        assert {view.name for view in found} == {"timeline", *reports_by_name(dissectors())}
        tabled = {"timeline", "sessions", "watches", "delays"}
        assert [type(view) for view in found] == [TableView if view.name in tabled else TextView for view in found]
        watches = next(view for view in found if view.name == "watches")
        items = watches.make_lines(200, ViewState())
        assert len(items) == 18
        assert strip_styles(items[0].line).split()[:6] == [
            "14:09:32.411",
            "/jw/x",
            "exist",
            "fired",
            "NodeCreated",
            "0x100001ed4cd0006",
        ]
        assert items[0].lead == FilterLead("number in {7, 15, 16}")
        compile_filter(items[0].lead.condition, None)
        assert "no message of zookeeper-quorum" in strip_styles(
            next(view for view in found if view.name == "commits").make_lines(200, ViewState())[0].line
        )


def test_what_the_capture_may_tell_comes_first() -> None:
    with Session([Path(__file__).parents[3] / "captures" / "pulsar.pcap.zst"]).load() as session:
        order = list_report_names(session)
    assert order[:3] == ["timeline", "producers", "consumers"]
    assert sorted(order) == sorted(["timeline", *reports_by_name(dissectors())])


def test_no_more_lines_than_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "MOST_LINES", 5)
    with Session([WATCH]).load() as session:
        items = views(session)[2].make_lines(120, ViewState())
    assert (len(items), strip_styles(items[5].line)) == (6, "12 more are not shown")


def test_it_ends_when_nobody_wants_it() -> None:
    work = ViewWork(lambda said: None)
    work.cancel()
    with Session([WATCH]).load() as session, pytest.raises(Cancellation):
        list(
            make_report_views(
                session, list_report_names(session), PageScope(101, 3, True, None, None, frozenset(), 0), work
            )
        )
