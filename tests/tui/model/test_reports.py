"""Stories as views: the lines of `report`, and where they lead."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analyzer.decode.rows import RowReader
from analyzer.render.lines import strip_styles
from analyzer.session import Session
from tui.model import reports
from tui.model.leads import FilterLead, ViewLead, add_rows
from tui.model.reports import NOTHING, OVERVIEW, list_report_names, make_report_views
from tui.model.row_sets import PageScope
from tui.model.views import Cancellation, TableView, View, ViewState, ViewWork

CAPTURES = Path(__file__).parents[3] / "captures"
WATCH = Path(__file__).parents[2] / "golden" / "zookeeper" / "cl_java395_watch.pcap.zst"


def views(session: Session) -> list[View]:
    scope = PageScope(len(session.rows), len(session.engine.streams), True, None, None, frozenset(), 0)
    *_, last = make_report_views(session, list_report_names(session), scope, ViewWork(lambda said: None))
    return list(last)


def test_a_view_for_each_report_with_lines() -> None:
    with Session([WATCH]).load() as session:
        found = views(session)
        assert [view.name for view in found] == [OVERVIEW, "timeline", "sessions", "watches", "delays"]
        watches = next(view for view in found if view.name == "watches")
        items = watches.make_lines(200, ViewState())
        assert len(items) == 18
        assert items[0].lead == FilterLead("number in {76, 90}")
        sessions = next(view for view in found if view.name == "sessions").make_lines(200, ViewState())
        assert sessions[0].lead == FilterLead("zookeeper.session == 0x100001ed4cd0006", (2, 85))
        overview = found[0].make_lines(120, ViewState())
        assert [strip_styles(item.line).split()[:2] for item in overview] == [
            ["sessions", "2"],
            ["watches", "17"],
            ["delays", "17"],
            ["timeline", "3"],
        ]
        assert overview[0].lead == ViewLead("sessions")


def test_only_what_the_capture_may_tell() -> None:
    with Session([CAPTURES / "pulsar.pcap.zst"]).load() as session:
        order = list_report_names(session)
    assert order == [
        *(OVERVIEW, "timeline", "producers", "consumers", "deliveries", "lookups", "transactions", "delays")
    ]


def test_a_capture_of_nothing() -> None:
    with Session([WATCH]) as session:
        work, scope = ViewWork(lambda said: None), PageScope(0, 0, True)
        assert list_report_names(session) == [OVERVIEW]
        (found,) = make_report_views(session, [OVERVIEW, "sessions"], scope, work)
        assert [strip_styles(view.make_lines(120, ViewState())[0].line).strip() for view in found] == [NOTHING]


@pytest.mark.parametrize("name", ["zookeeper-ensemble.pcap.zst", "pulsar.pcap.zst"])
def test_a_line_leads_to_all_its_messages(name: str) -> None:
    with Session([CAPTURES / name]).load() as session:
        reader = RowReader(session)
        for view in views(session)[1:]:
            assert isinstance(view, TableView)
            for row in range(min(len(view.keys), 3)):
                lead = view.lead(row)
                if isinstance(lead, FilterLead):
                    rows = np.unique(np.array(lead.rows or [0], np.int64))
                    found = add_rows(lead, session, {}).select_rows(reader, rows)
                    assert not lead.rows or found.tolist() == rows.tolist(), lead


def test_no_more_lines_than_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "MOST_LINES", 5)
    with Session([WATCH]).load() as session:
        items = views(session)[3].make_lines(120, ViewState())
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
