"""Pages of tables: statistics, who talks to whom, what happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tui.commands.examining import scope_of
from tui.model.scope import Scope
from tui.model.working import Work

if TYPE_CHECKING:
    from analyzer.columns import Ints
    from tui.model.views import View
    from tui.screens.main import MainScreen


def statistics(main: MainScreen) -> None:
    """Opens the figures."""
    from tui.model.statistics import NAMES, statistics_views
    from tui.screens.views import ViewsPage

    def make(scope: Scope, work: Work) -> Iterator[Sequence[View]]:
        return statistics_views(main.session, rows_of(scope), work)

    main.app.push_screen(ViewsPage(main.palette, "Statistics", NAMES, lambda: scope_of(main), make), main.do_deed)


def conversations(main: MainScreen) -> None:
    """Opens the connections, endpoints and clients."""
    from tui.model.conversations import NAMES, conversation_views
    from tui.screens.views import ViewsPage

    def make(scope: Scope, work: Work) -> Iterator[Sequence[View]]:
        streams = None if scope.first or scope.mask() is not None else scope.streams
        return conversation_views(main.session, rows_of(scope), work, streams)

    page = ViewsPage(main.palette, "Conversations", NAMES, lambda: scope_of(main), make)
    main.app.push_screen(page, main.do_deed)


def reports(main: MainScreen) -> None:
    """Opens what the protocols tell of the whole capture."""
    from tui.model.reports import names, report_views
    from tui.screens.views import ViewsPage

    def make(scope: Scope, work: Work) -> Iterator[Sequence[View]]:
        return report_views(main.session, order, scope, work)

    order, title = names(main.session), "What happened"
    main.app.push_screen(ViewsPage(main.palette, title, order, lambda: scope_of(main), make), main.do_deed)


def rows_of(scope: Scope) -> Ints:
    """The rows that count."""
    mask = scope.mask()
    return np.arange(scope.first, scope.rows) if mask is None else scope.first + np.flatnonzero(mask)
