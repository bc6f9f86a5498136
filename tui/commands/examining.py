"""Pages about the capture or the selected message: findings, properties, packets, the conversation, figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tui.model.scope import Scope
from tui.model.views import Work

if TYPE_CHECKING:
    from analyzer.columns.arrays import Ints
    from tui.model.views import View
    from tui.screens.main import MainScreen
    from tui.screens.view_maker import MakeViews


def scope_of(main: MainScreen) -> Scope:
    """What there is by now, and what the filter in force keeps of it."""
    timeline, filtered = main.timeline.timeline, main.filter.in_force
    filtering = filtered is not None and filtered.percent is not None
    return Scope(
        timeline.rows,
        timeline.streams,
        main.session.ended and not main.ingest.reading and not filtering,
        timeline.kept,
        None if filtered is None else filtered.text,
        frozenset(main.timeline.ignored),
        timeline.first,
    )


def findings(main: MainScreen) -> None:
    """Opens the list of what is wrong."""
    from tui.screens.findings import FindingsPage

    main.app.push_screen(FindingsPage(main.palette, main.session, lambda: scope_of(main)), main.follow_lead)


def properties(main: MainScreen) -> None:
    """Opens what is known of the capture itself."""
    from tui.screens.properties import PropertiesPage

    main.app.push_screen(PropertiesPage(main.palette, main.session, lambda: scope_of(main)), main.follow_lead)


def packets(main: MainScreen) -> None:
    """Opens the packets of the selected message."""
    from tui.screens.packets import PacketsPage

    place = main.timeline.selected
    if place is None or place.row is None:
        main.say("no message is selected", "bar-warning")
        return
    secrets = main.limits.show_secrets
    page = PacketsPage(main.palette, main.session, place.row, lambda: scope_of(main), show_secrets=secrets)
    main.app.push_screen(page, main.follow_lead)


def follow(main: MainScreen) -> None:
    """Opens the conversation of what is selected."""
    from tui.screens.follow import FollowPage

    place = main.timeline.selected
    if place is None:
        main.say("no message is selected", "bar-warning")
        return
    page = FollowPage(
        main.palette, main.session, place.stream, place.row, lambda: scope_of(main), main.limits, main.lore
    )
    main.app.push_screen(page, main.follow_lead)


def statistics(main: MainScreen) -> None:
    """Opens the figures."""
    from tui.model.statistics import NAMES, statistics_views

    _open_views(main, "Statistics", NAMES, lambda scope, work: statistics_views(main.session, rows_of(scope), work))


def conversations(main: MainScreen) -> None:
    """Opens the connections, endpoints and clients."""
    from tui.model.conversations import NAMES, conversation_views

    def make(scope: Scope, work: Work) -> Iterator[Sequence[View]]:
        streams = None if scope.first or scope.mask() is not None else scope.streams
        return conversation_views(main.session, rows_of(scope), work, streams)

    _open_views(main, "Conversations", NAMES, make)


def reports(main: MainScreen) -> None:
    """Opens what the protocols tell of the whole capture."""
    from tui.model.reports import names, report_views

    order = names(main.session)
    _open_views(main, "What happened", order, lambda scope, work: report_views(main.session, order, scope, work))


def _open_views(main: MainScreen, title: str, names: Sequence[str], make: MakeViews) -> None:
    from tui.screens.views import ViewsPage

    main.app.push_screen(ViewsPage(main.palette, title, names, lambda: scope_of(main), make), main.follow_lead)


def rows_of(scope: Scope) -> Ints:
    """The rows that count."""
    mask = scope.mask()
    return np.arange(scope.first, scope.rows) if mask is None else scope.first + np.flatnonzero(mask)
