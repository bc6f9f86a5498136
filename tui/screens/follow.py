"""A conversation as a dialogue: what each side said, in order, fields folded beneath each message."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from analyzer.decode.endpoints import name_stream
from analyzer.decode.jsonable import Limits
from analyzer.decode.name_resolver import Lore
from analyzer.messages.index import FROM_CLIENT, FROM_SERVER
from analyzer.session import Session
from tui.model.dialogue import DecodedMessage, Dialogue
from tui.model.scope import PageScope
from tui.screens.folding import FoldingPage
from tui.theme import Palette
from tui.widgets.bar import BarPart

SIDE_TITLES = {None: "", FROM_CLIENT: ", what the client said", FROM_SERVER: ", what the server said"}
"""Whose messages are shown, in the order in which a key turns them over."""


class FollowPage(FoldingPage):
    """The page of one stream; the cursor begins at a row of it. lore: names that have been learned."""

    HINTS = (
        ("Enter", "go there"),
        ("Space", "fields"),
        ("= -", "all, none"),
        ("o", "one side"),
        ("r", "anew"),
        ("Esc", "back"),
    )

    def __init__(
        self,
        palette: Palette,
        session: Session,
        stream: int,
        row: int | None,
        scope: Callable[[], PageScope],
        limits: Limits,
        lore: Lore,
    ) -> None:
        super().__init__(palette, f"Stream {stream}: {name_stream(session, stream)}")
        self._session, self._stream, self._scope, self._limits, self._lore = session, stream, scope, limits, lore
        self._row = row
        self._side: int | None = None
        self._dialogue: Dialogue | None = None

    def begin(self) -> None:
        """See FoldingPage."""
        if self._dialogue is not None and self.pane.current_line is not None:
            self._row = int(self._dialogue.rows[self.pane.current_line.head])
        scope, index = self._scope(), self._session.rows
        every = scope.first + np.flatnonzero(index.column("stream")[scope.first : scope.rows] == self._stream)
        began = int(index.column("time")[every[:1]].sum())
        rows = scope.drop_ignored(every)
        if self._side is not None:
            rows = rows[index.column("side")[rows] == self._side]
        self._dialogue = Dialogue(self._session, rows, began, self._limits, self._lore, self._request)
        if len(rows):
            self.pane.show_contents(self._dialogue, 0 if self._row is None else self._dialogue.find_head(self._row))
        else:
            self.pane.show_text("no message")
        limits = f"   ({scope.description_of_all})" if scope.description_of_all else ""
        self.show_title(
            BarPart("bar", f"  {len(rows):,} messages{SIDE_TITLES[self._side]}"), BarPart("bar-dim", limits)
        )

    def _request(self, row: int) -> None:
        dialogue = self._dialogue
        assert dialogue is not None
        work = partial(dialogue.decode_message, row)
        self._worker.submit(f"row {row}", work, lambda decoded: self._take_decoded(dialogue, row, decoded))

    def _take_decoded(self, dialogue: Dialogue, row: int, decoded: DecodedMessage) -> None:
        if dialogue is self._dialogue:
            self.pane.add_lines(*dialogue.add_decoded(row, decoded))

    def _action_one_side(self) -> None:
        sides = list(SIDE_TITLES)
        self._side = sides[(sides.index(self._side) + 1) % len(sides)]
        self.begin()
