"""Commands that open pages: findings, properties, packets, conversation, statistics, reports, and bug reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from analyzer.decode.content import find_dissector, read_header
from analyzer.render.bug_report import format_finding_report
from dissectors.field import Field
from tui.model.row_sets import PageScope
from tui.model.views import ViewWork

if TYPE_CHECKING:
    from analyzer.session import Session
    from tui.model.detail import MessageDetail, TreeNote
    from tui.model.views import View
    from tui.screens.main import MainScreen
    from tui.screens.views_page import MakeViews


def make_scope(main: MainScreen) -> PageScope:
    """Returns the rows that there are by now, and the rows that match the filter in force."""
    timeline, filtered = main.timeline.timeline, main.filter.in_force
    filtering = filtered is not None and filtered.percent is not None
    return PageScope(
        timeline.rows,
        timeline.streams,
        main.session.ended and not main.ingest.is_reading and not filtering,
        timeline.matches,
        None if filtered is None else filtered.text,
        frozenset(main.timeline.ignored),
        timeline.first,
    )


def open_findings(main: MainScreen) -> None:
    """Opens the page with the findings of the displayed messages."""
    from tui.screens.fold_pages import FindingsPage

    main.app.push_screen(FindingsPage(main.palette, main.session, lambda: make_scope(main)), main.follow_lead)


def open_properties(main: MainScreen) -> None:
    """Opens the page of the capture's properties."""
    from tui.screens.page import PropertiesPage

    main.app.push_screen(PropertiesPage(main.palette, main.session, lambda: make_scope(main)), main.follow_lead)


def open_packets(main: MainScreen) -> None:
    """Opens the packets of the selected message."""
    from tui.screens.fold_pages import PacketsPage

    place = main.timeline.selected
    if place is None or place.row is None:
        main.show_message("no message is selected", "bar-warning")
        return
    secrets = main.limits.show_secrets
    page = PacketsPage(main.palette, main.session, place.row, lambda: make_scope(main), show_secrets=secrets)
    main.app.push_screen(page, main.follow_lead)


def open_conversation(main: MainScreen) -> None:
    """Opens the conversation of the selected stream or message."""
    from tui.screens.fold_pages import FollowPage

    place = main.timeline.selected
    if place is None:
        main.show_message("no message is selected", "bar-warning")
        return
    page = FollowPage(
        main.palette, main.session, place.stream, place.row, lambda: make_scope(main), main.limits, main.resolver
    )
    main.app.push_screen(page, main.follow_lead)


def open_diagram(main: MainScreen) -> None:
    """Opens the sequence diagram of the displayed messages, and of the selected stream."""
    from tui.screens.diagram_page import DiagramPage, DiagramSubject

    scope, place, timeline = make_scope(main), main.timeline.selected, main.timeline.timeline
    if not timeline.rows:
        main.show_message("there is no message yet", "bar-warning")
        return
    rows = scope.list_rows()
    subjects = [DiagramSubject("all messages" if scope.filter is None else scope.filter, rows)]
    if place is not None:
        mine = main.session.rows.column("stream")[rows] == place.stream
        subjects.insert(0 if scope.filter is None else 1, DiagramSubject(f"stream {place.stream}", rows[mine]))
    page = DiagramPage(main.palette, main.session, subjects, None if place is None else place.row)
    main.app.push_screen(page, main.follow_lead)


def open_comparison(main: MainScreen) -> None:
    """Opens the comparison of messages or streams that are marked or selected."""
    from tui.screens.compare_page import ComparePage, list_subjects

    place, marks = main.timeline.selected, main.timeline.row_lines.marks
    subjects = list_subjects(main.session, None if place is None else place.row, sorted(marks.marked))
    if not subjects:
        main.show_message("nothing to compare: select a message, or mark two with m", "bar-warning")
        return
    page = ComparePage(main.palette, main.session, subjects, make_scope(main).list_rows(), main.limits)
    main.app.push_screen(page, main.follow_lead)


def open_graphs(main: MainScreen) -> None:
    """Opens the page of graphs over time of the displayed messages."""
    from tui.screens.graphs_page import GraphsPage

    main.app.push_screen(GraphsPage(main.palette, main.session, lambda: make_scope(main)), main.follow_lead)


def open_map(main: MainScreen) -> None:
    """Opens the service map of the displayed messages."""
    from tui.screens.map_page import MapPage

    main.app.push_screen(MapPage(main.palette, main.session, lambda: make_scope(main)), main.follow_lead)


def open_statistics(main: MainScreen) -> None:
    """Opens the page with the statistics of the displayed messages."""
    from tui.model.statistics import STATISTICS_VIEWS, make_statistics_views

    _open_views(
        main,
        "Statistics",
        STATISTICS_VIEWS,
        lambda scope, work: make_statistics_views(main.session, scope.list_rows(), work),
    )


def open_conversations(main: MainScreen) -> None:
    """Opens the page of connections, endpoints and client hosts."""
    from tui.model.conversations import CONVERSATION_VIEWS, make_conversation_views

    def make(scope: PageScope, work: ViewWork) -> Iterator[Sequence[View]]:
        streams = None if scope.first or scope.make_mask() is not None else scope.streams
        return make_conversation_views(main.session, scope.list_rows(), work, streams)

    _open_views(main, "Conversations", CONVERSATION_VIEWS, make)


def open_reports(main: MainScreen) -> None:
    """Opens the protocols' reports over the whole capture."""
    from tui.model.reports import list_report_names, make_report_views

    order = list_report_names(main.session)
    _open_views(main, "What happened", order, lambda scope, work: make_report_views(main.session, order, scope, work))


def _open_views(main: MainScreen, title: str, names: Sequence[str], make: MakeViews) -> None:
    from tui.screens.views_page import ViewsPage

    main.app.push_screen(ViewsPage(main.palette, title, names, lambda: make_scope(main), make), main.follow_lead)


BUG = "bug"
"""The code of findings about defects of a dissector."""


def show_bug(main: MainScreen) -> None:
    """Shows the bug report of the selected message."""
    lines = None if main.view.detail is None else make_bug_report(main.session, main.view.detail)
    if lines is None:
        main.show_message("no dissector failed at the selected message", "bar-warning")
    else:
        open_bug_report(main, lines)


def make_bug_report(session: Session, detail: MessageDetail, path: Sequence[Field | TreeNote] = ()) -> list[str] | None:
    """Returns the bug report of a message; None if no dissector failed at it.

    path: the selected line of the tree; a field is no defect.
    """
    finding = next((each for each in detail.tree.findings if each.code == BUG), None)
    if finding is None or (path and isinstance(path[-1], Field)):
        return None
    header, dissector = read_header(session, detail.row), find_dissector(session, detail.row)
    version = "" if header.version is None else f" v{header.version}"
    name = "unknown" if dissector is None else dissector.name
    return format_finding_report(
        finding, f"{name} {header.operation or header.code}{version} {header.role.name.lower()}"
    )


def open_bug_report(main: MainScreen, lines: Sequence[str]) -> None:
    """Opens the screen of a bug report."""
    from tui.screens.bug import BugScreen

    def handle_answer(going: str | None) -> None:
        if going == "end":
            main.app.exit()

    main.app.push_screen(
        BugScreen(main.palette, lines, "One message has no tree because of it. The other messages are not affected."),
        handle_answer,
    )
