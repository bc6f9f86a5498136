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
from tui.model.findings import Findings, Tally
from tui.model.scope import Scope
from tui.model.views import Stopped, Work
from tui.screens.folding import FoldingPage
from tui.theme import Palette
from tui.widgets.bar import Part

if TYPE_CHECKING:
    from collections.abc import Callable

FRAGMENT = (16_384, 4 << 20)
"""Rows, and bytes of their messages, that are examined before what was found is shown."""

Fragment = tuple[Tally, int]
"""What was found since the last portion; so many rows have been looked at by now."""


class Examination:
    """Looks at all rows of a scope, for a thread of its own.

    post: gets what was found since the last time, and how many rows have been looked at by now.
    """

    def __init__(self, session: Session, scope: Scope, post: Callable[[Fragment], object]) -> None:
        self.scope = scope
        self.work = Work(lambda said: None)
        self._session, self._post = session, post
        self._tally = Tally()

    def run(self) -> Fragment | None:
        """Posts what it finds, and gives what it finds last; None where nobody wants it any more."""
        scope = self.scope
        if scope.ended and scope.kept is None:
            for finding in self._session.findings:
                self._tally.add(Found(None, finding))
            self._tell(0)
        mask = scope.mask()
        try:
            for found in of_rows(self._session, scope.rows, self._tell, FRAGMENT):
                row = -1 if found.row is None else found.row - scope.first
                if row >= 0 and (mask is None or mask[row]):
                    self._tally.add(found)
        except Stopped:
            return None
        return self._tally, scope.rows

    def _tell(self, rows: int) -> None:
        self.work.check()
        tally, self._tally = self._tally, Tally()
        self._post((tally, rows))


class FindingsPage(FoldingPage):
    """The page. scope: what there is when it is made, or made anew."""

    def __init__(self, palette: Palette, session: Session, scope: Callable[[], Scope]) -> None:
        super().__init__(palette, "Findings")
        self._session, self._scope = session, scope
        self._examination: Examination | None = None
        self._findings = Findings(session)
        self._rows = 0

    def begin(self) -> None:
        """See FoldingPage."""
        self.stop()
        self._findings, self._rows = Findings(self._session), 0
        self.pane.say("working ...")
        self._examination = examination = Examination(
            self._session,
            self._scope(),
            lambda portion: self._worker.post(lambda: self._take(examination, portion)),
        )
        self._worker.ask("page", examination.run, partial(self._take, examination))
        self._say()

    def stop(self) -> None:
        """Ends the examination that is under way."""
        if self._examination is not None:
            self._examination.work.stop()

    def on_unmount(self) -> None:
        """Nobody wants the rest any more."""
        self.stop()

    def _take(self, examination: Examination, portion: Fragment | None) -> None:
        if examination is not self._examination or portion is None:
            return
        tally, self._rows = portion
        pane, findings = self.pane, self._findings
        if pane.contents is None:
            findings.merge(tally)
            if findings.kinds:
                pane.show(findings)
        elif tally.counts:
            # Who is at the top sees what is gravest by now; nobody else is moved.
            marks = [
                findings.mark(pane.spot if pane.cursor else None),
                findings.mark(pane.top_spot if pane.top else None),
            ]
            findings.merge(tally)
            pane.changed(*map(findings.spot, marks))
        self._say()

    def _say(self) -> None:
        assert self._examination is not None
        scope, counts = self._examination.scope, self._findings.tally.by_severity()
        ended = self._rows >= scope.rows
        parts = [Part(_STYLES[severity], f"  {counted(count, severity)}") for severity, count in counts.items()]
        if ended:
            done = f"   {'' if counts else 'nothing to say '}in {scope.many:,} messages"
        else:
            share = max(self._rows - scope.first, 0) / max(scope.many, 1)
            done = f"   {int(100 * share)} % of {scope.many:,} messages examined"
        self.say_title(*parts, Part("bar-dim", done + (f" ({scope.said})" if scope.said else "")))
        if ended and not counts:
            self.pane.say("nothing to say")


_STYLES = {Severity.NOTE: "bar", Severity.WARNING: "bar-warning", Severity.ERROR: "bar-error"}


def counted(count: int, severity: Severity) -> str:
    """`1 error`, `2,000 warnings`."""
    return f"{count:,} {severity.name.lower()}{'' if count == 1 else 's'}"
