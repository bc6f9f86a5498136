"""Checks: findings that need several messages of a capture.

Theory. A message is decoded alone, and most problems show in one message. Some do not: a repeated sequence number, a
session that is used out of step. For these a protocol has Checks, which are Correlators (dissectors.correlator) that
emit Findings. A finding belongs to the message that is being handled; one that the end of a connection reveals belongs
to the connection's last message. Checks run only for a diagnosis (analyzer.insight.checks).
"""

from __future__ import annotations

from dissectors.correlator import ConnectionEnd, Correlator
from dissectors.finding import Finding, Severity


class Check(Correlator[Finding]):
    """Looks at some messages of a capture, one after the other. An answer comes only behind a request that asked for
    it (await_answer).
    """

    def leave_open(self, end: ConnectionEnd) -> None:
        """Handles a connection that is still open when the capture ends, after all connections that ended."""

    def warn(self, code: str, text: str, subject: str = "") -> None:
        """Emits a finding of severity warning for the message that is being handled. subject: see Finding."""
        self.emit(Finding(Severity.WARNING, code, text, subject=subject))

    def note(self, code: str, text: str, subject: str = "") -> None:
        """Emits a finding of severity note for the message that is being handled. subject: see Finding."""
        self.emit(Finding(Severity.NOTE, code, text, subject=subject))
