"""Pages about the capture or the selected message: findings, properties, packets, the conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.model.scope import Scope

if TYPE_CHECKING:
    from tui.screens.main import MainScreen


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
