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
from tui.model.leads import Lead, Shows, To
from tui.model.memory import own_bytes
from tui.model.scope import Scope
from tui.screens.page import Entry, Page
from tui.theme import Palette

_MIB = 1 << 20


def entries(session: Session, scope: Scope) -> list[Entry]:
    """The lines of the page. Reads the session only; any thread may do it."""
    found = properties(session, scope.rows, scope.streams)
    lines = [Entry(_line(each), _lead(each, session, scope)) for each in property_lines(found)]
    return [*lines, Entry(()), *map(Entry, _own(scope))]


def _own(scope: Scope) -> Iterator[Line]:
    state = "has been read to its end" if scope.ended else "is being read: what is said here holds so far"
    yield _line(Property("the input", state))
    held = own_bytes()
    if held is not None:
        yield _line(Property("memory", f"{held / _MIB:,.0f} MiB are held by this program"))


def _line(each: Property) -> Line:
    return (("name", f"{each.name + ':':<{WIDTH}} "), ("value", each.text))


def _lead(each: Property, session: Session, scope: Scope) -> Lead | None:
    """A protocol's messages, or the one of a packet that somebody has written a comment on."""
    match each.about:
        case ("protocol", name):
            return Shows(f'protocol == "{name}"')
        case ("packet", number):
            row = _row_of(session, scope, int(number))
            return None if row is None else To(row)
    return None


def _row_of(session: Session, scope: Scope, packet: int) -> int | None:
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

    def __init__(self, palette: Palette, session: Session, scope: Callable[[], Scope]) -> None:
        super().__init__(palette, "Properties of the capture", lambda width: entries(session, self._known))
        self._scope = scope
        self._known = scope()

    def remake(self) -> None:
        """See Page."""
        self._known = self._scope()
        super().remake()

    def _action_anew(self) -> None:
        self.remake()
