"""Finds problems of a capture that is still being read, as soon as they are known, in bounded memory.

Theory. Checks and reports read rows from the first to the last one, and remember what they need. A live capture has no
last row, and its first rows are evicted. So new rows are read together with some rows before them, which is enough for
most faults. Findings that are known already are skipped. A report contributes only rows that do not change any more. If
a problem and its cause become known together, they are shown together.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.insight.diagnosis import LocatedFinding, diagnose_reports, diagnose_rows, diagnose_streams
from analyzer.insight.problems import Problem, ProblemTable
from analyzer.insight.root_causes import fold_effects
from analyzer.session import Analysis
from analyzer.tcp.streams import UNKNOWN_SIDE
from dissectors.correlator import SECOND, BoundedTable

OVERLAP = 4096
"""Number of rows before the new ones that are read again."""

SETTLED = 10 * SECOND
"""ns after its last message after which a row of a report does not change any more."""

MOST_KNOWN = 100_000
"""Number of findings that are kept, so that they are not reported again."""

_Key = tuple[int | None, int | None, str, str | None, str]
"""Row, stream, code, error, and the text of a finding without row and stream."""


class LiveDiagnosis:
    """Finds problems among the rows of a session as they arrive."""

    def __init__(self, session: Analysis) -> None:
        self._session = session
        self._table = ProblemTable(session, 1)
        self._known: BoundedTable[_Key, bool] = BoundedTable(MOST_KNOWN)
        self._done = self._packet = 0

    def find_new_problems(self) -> list[Problem]:
        """Examines the rows that have come since the last call; returns the problems that are new, with their texts."""
        fresh: dict[int, Problem] = {}
        for found in self._find_new():
            problem = self._table.add(found)
            if problem.count == 1:
                fresh[id(problem)] = problem
        for problem in fresh.values():
            self._table.describe(problem)
        return fold_effects(self._session, list(fresh.values()))

    def count_problems(self) -> int:
        """Returns the number of problems so far that are more than notes and that no other problem explains."""
        return self._table.count_unexplained()

    def _find_new(self) -> Iterator[LocatedFinding]:
        session, stop = self._session, len(self._session.rows)
        if session.engine.packet == self._packet and not session.ended:
            return
        self._packet = session.engine.packet
        begin = max(session.rows.first, self._done - OVERLAP)
        rows, self._done = range(begin, stop), stop
        if rows:
            yield from filter(self._is_new, diagnose_rows(session, stop, begin=begin))
            now = int(session.rows.column("time")[begin:stop].max())
            settled = None if session.ended else now - SETTLED
            yield from filter(self._is_new, diagnose_reports(session, rows, settled))
        if len(session.engine.streams):
            yield from filter(self._is_new, diagnose_streams(session))

    def _is_new(self, found: LocatedFinding) -> bool:
        """Returns whether a finding is not known yet, and later packets cannot refute it."""
        row, finding = found.row, found.finding
        if finding.code == "unanswered" and row is not None and not self._session.ended:
            stream = self._session.rows.cell("stream", row)
            if self._session.engine.streams.cell("closer", stream) == UNKNOWN_SIDE:
                return False
        text = finding.text if row is None and found.stream is None else ""
        key = row, found.stream, finding.code, found.error, text
        if key in self._known:
            return False
        self._known[key] = True
        return True
