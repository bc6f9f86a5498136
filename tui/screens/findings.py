"""What is wrong in the capture: findings by kind, the gravest first, as doctor tells them.

Theory. What belongs to files and connections is known and comes first; what messages say must be decoded, which takes
seconds, so it comes in portions, each shown when it is there. Enter on a finding selects its message and, where the
finding has a place, the field there. The same sentence is looked for in the message then: among alike messages, which
are examined together, only one has been asked where its finding lies.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from analyzer.insight.checkup import Found, of_rows
from analyzer.session import Session
from dissectors.finding import Severity
from tui.model.findings import FindingList, FindingTally
from tui.model.scope import PageScope
from tui.model.views import Cancellation, ViewWork
from tui.screens.folding import FoldingPage
from tui.theme import Palette
from tui.widgets.bar import BarPart

if TYPE_CHECKING:
    from collections.abc import Callable

PORTION_LIMITS = (16_384, 4 << 20)
"""Rows, and bytes of their messages, that are examined before what was found is shown."""

ScanPortion = tuple[FindingTally, int]
"""What was found since the last portion; so many rows have been looked at by now."""


class FindingScan:
    """Looks at all rows of a scope, for a thread of its own.

    post: gets what was found since the last time, and how many rows have been looked at by now.
    """

    def __init__(self, session: Session, scope: PageScope, post: Callable[[ScanPortion], object]) -> None:
        self.scope = scope
        self.work = ViewWork(lambda said: None)
        self._session, self._post = session, post
        self._tally = FindingTally()

    def run(self) -> ScanPortion | None:
        """Posts what it finds, and gives what it finds last; None where nobody wants it any more."""
        scope = self.scope
        if scope.ended and scope.matches is None:
            for finding in self._session.findings:
                self._tally.add(Found(None, finding))
            self._post_portion(0)
        mask = scope.make_mask()
        try:
            for found in of_rows(self._session, scope.rows, self._post_portion, PORTION_LIMITS):
                row = -1 if found.row is None else found.row - scope.first
                if row >= 0 and (mask is None or mask[row]):
                    self._tally.add(found)
        except Cancellation:
            return None
        return self._tally, scope.rows

    def _post_portion(self, rows: int) -> None:
        self.work.raise_if_cancelled()
        tally, self._tally = self._tally, FindingTally()
        self._post((tally, rows))


class FindingsPage(FoldingPage):
    """The page. scope: what there is when it is made, or made anew."""

    def __init__(self, palette: Palette, session: Session, scope: Callable[[], PageScope]) -> None:
        super().__init__(palette, "Findings")
        self._session, self._scope = session, scope
        self._examination: FindingScan | None = None
        self._findings = FindingList(session)
        self._rows = 0

    def begin(self) -> None:
        """See FoldingPage."""
        self.stop()
        self._findings, self._rows = FindingList(self._session), 0
        self.pane.show_text("working ...")
        self._examination = examination = FindingScan(
            self._session,
            self._scope(),
            lambda portion: self._worker.post(lambda: self._take_portion(examination, portion)),
        )
        self._worker.submit("page", examination.run, partial(self._take_portion, examination))
        self._show_title()

    def stop(self) -> None:
        """Ends the examination that is under way."""
        if self._examination is not None:
            self._examination.work.cancel()

    def on_unmount(self) -> None:
        """Nobody wants the rest any more."""
        self.stop()

    def _take_portion(self, examination: FindingScan, portion: ScanPortion | None) -> None:
        if examination is not self._examination or portion is None:
            return
        tally, self._rows = portion
        pane, findings = self.pane, self._findings
        if pane.contents is None:
            findings.merge(tally)
            if findings.kinds:
                pane.show_contents(findings)
        elif tally.counts:
            # Who is at the top sees what is gravest by now; nobody else is moved.
            marks = [
                findings.get_position(pane.current_line if pane.cursor else None),
                findings.get_position(pane.top_line if pane.top else None),
            ]
            findings.merge(tally)
            pane.restore_lines(*map(findings.find_line, marks))
        self._show_title()

    def _show_title(self) -> None:
        assert self._examination is not None
        scope, counts = self._examination.scope, self._findings.tally.count_by_severity()
        ended = self._rows >= scope.rows
        parts = [BarPart(_STYLES[severity], f"  {format_count(count, severity)}") for severity, count in counts.items()]
        if ended:
            done = f"   {'' if counts else 'nothing to say '}in {scope.row_count:,} messages"
        else:
            share = max(self._rows - scope.first, 0) / max(scope.row_count, 1)
            done = f"   {int(100 * share)} % of {scope.row_count:,} messages examined"
        self.show_title(*parts, BarPart("bar-dim", done + (f" ({scope.description})" if scope.description else "")))
        if ended and not counts:
            self.pane.show_text("nothing to say")


_STYLES = {Severity.NOTE: "bar", Severity.WARNING: "bar-warning", Severity.ERROR: "bar-error"}


def format_count(count: int, severity: Severity) -> str:
    """`1 error`, `2,000 warnings`."""
    return f"{count:,} {severity.name.lower()}{'' if count == 1 else 's'}"
