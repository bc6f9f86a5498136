"""What has been found so far, behind the bar on stderr: a large capture tells its first findings within a second.

Theory. Problems are printed when the whole capture has been examined, because the gravest come first and some explain
others. Who waits at a terminal sees by then how many findings there are, and which is the gravest. While the capture is
still being read, its first messages are examined for that.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator

from analyzer.insight.diagnosis import ERROR_ANSWER, LocatedFinding, diagnose_rows
from analyzer.render.amounts import format_counted
from analyzer.session import Session
from dissectors.finding import Severity

FIRST_ROWS = 2000
"""Messages that are examined before all are read."""


class FirstFindings:
    """Counts findings as they come, for who waits."""

    def __init__(self) -> None:
        self._counts: Counter[Severity] = Counter()
        self._gravest = ""
        self._is_begun = False

    def describe_reading(self, session: Session) -> str:
        """Describes what the first messages of a capture show that is still being read; empty if nobody sees it."""
        if not self._is_begun and sys.stderr.isatty() and not session.ended:
            self._is_begun = True
            for _ in self.count(diagnose_rows(session, min(len(session.rows), FIRST_ROWS))):
                pass
        return self.describe()

    def restart(self) -> None:
        """Forgets what was counted, because all findings come from the first on."""
        self._counts.clear()

    def count(self, found: Iterable[LocatedFinding]) -> Iterator[LocatedFinding]:
        """Yields findings, and counts them."""
        for each in found:
            severity = each.finding.severity
            if severity > max(self._counts, default=0):
                self._gravest = (each.error or "") if each.finding.code == ERROR_ANSWER else each.finding.code
            self._counts[severity] += 1
            yield each

    def describe(self) -> str:
        """Describes what was found: `; found so far: 2 warnings, 1 note (leader-changed)`; empty for nothing."""
        if not self._counts:
            return ""
        parts = [
            format_counted(self._counts[each], each.name.lower())
            for each in sorted(Severity, reverse=True)
            if self._counts[each]
        ]
        return f"; found so far: {', '.join(parts)} ({self._gravest})"
