"""What the capture is, as `info` tells it, and what this program needs for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

import numpy as np
from textual.binding import Binding, BindingType

from analyzer.insight.properties import properties
from analyzer.render.lines import Line
from analyzer.render.properties_text import WIDTH, Property, property_lines
from analyzer.session import Session
from tui.model.leads import FilterLead, Lead, MessageLead
from tui.model.memory import measure_memory
from tui.model.scope import PageScope
from tui.screens.page import Page, PageLine
from tui.theme import Palette

_MIB = 1 << 20


def make_property_lines(session: Session, scope: PageScope) -> list[PageLine]:
    """The lines of the page. Reads the session only; any thread may do it."""
    found = properties(session, scope.rows, scope.streams)
    lines = [PageLine(_make_line(each), _find_lead(each, session, scope)) for each in property_lines(found)]
    return [*lines, PageLine(()), *map(PageLine, _make_own_lines(scope))]


def _make_own_lines(scope: PageScope) -> Iterator[Line]:
    state = "has been read to its end" if scope.ended else "is being read: what is said here holds so far"
    yield _make_line(Property("the input", state))
    held = measure_memory()
    if held is not None:
        yield _make_line(Property("memory", f"{held / _MIB:,.0f} MiB are held by this program"))


def _make_line(each: Property) -> Line:
    return (("name", f"{each.name + ':':<{WIDTH}} "), ("value", each.text))


def _find_lead(each: Property, session: Session, scope: PageScope) -> Lead | None:
    """A protocol's messages, or the one of a packet that somebody has written a comment on."""
    match each.about:
        case ("protocol", name):
            return FilterLead(f'protocol == "{name}"')
        case ("packet", number):
            row = _find_row(session, scope, int(number))
            return None if row is None else MessageLead(row)
    return None


def _find_row(session: Session, scope: PageScope, packet: int) -> int | None:
    """The first row that a packet brought bytes of; None for none, an empty packet's for example."""
    begins, counts = (session.rows.column(name)[scope.first : scope.rows] for name in ("pieces", "count"))
    for piece in np.flatnonzero(session.engine.pieces.column("packet") == packet)[:1].tolist():
        for row in np.flatnonzero((begins <= piece) & (piece < begins + counts)).tolist():
            return scope.first + int(row)
    return None


class PropertiesPage(Page):
    """The page. scope: what there is when it is made."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("r", "anew", show=False)]
    HINTS = (("Enter", "filter by the protocol; go to the packet's message"), ("r", "anew"), ("Esc", "back"))

    def __init__(self, palette: Palette, session: Session, scope: Callable[[], PageScope]) -> None:
        super().__init__(palette, "Properties of the capture", lambda width: make_property_lines(session, self._known))
        self._scope = scope
        self._known = scope()

    def rebuild(self) -> None:
        """See Page."""
        self._known = self._scope()
        super().rebuild()

    def _action_anew(self) -> None:
        self.rebuild()
