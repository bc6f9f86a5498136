"""Checks whose sentences are in a table of their protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissectors.check import Check
from dissectors.finding import Finding, Severity
from dissectors.wire.times import lasting


class TableCheck(Check):
    """A check whose sentences are in the table `checks` of its protocol: by name a code, a severity and a text.

    Braces in a text mark values.
    """

    @staticmethod
    def table(name: str, /) -> Mapping[str, Any]:
        """Returns a table of the protocol."""
        raise NotImplementedError

    def find(self, sentence: str, /, *, about: str = "", **words: Any) -> None:
        """Reports a finding by its name, with the values of its sentence; `took` is in ns.

        about: the subject of the finding (dissectors.finding).
        """
        code, severity, text = self.table("checks")["sentences"][sentence]
        if "took" in words:
            words["took"] = lasting(words["took"])
        self.emit(Finding(Severity[severity.upper()], code, text.format(**words), subject=about))
