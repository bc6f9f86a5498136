"""Checks whose sentences are in a table of their protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dissectors.check import Check
from dissectors.finding import Finding, Severity
from dissectors.wire.times import lasting


class TableCheck(Check):
    """A check whose sentences are in a table of its protocol."""

    @classmethod
    def sentences(cls) -> Mapping[str, Sequence[str]]:
        """Returns the code, severity and text of each finding by name; braces in a text mark values."""
        raise NotImplementedError

    def find(self, sentence: str, /, *, about: str = "", **words: Any) -> None:
        """Reports a finding by its name, with the values of its sentence; `took` is in ns.

        about: the subject of the finding (dissectors.finding).
        """
        code, severity, text = self.sentences()[sentence]
        if "took" in words:
            words["took"] = lasting(words["took"])
        self.emit(Finding(Severity[severity.upper()], code, text.format(**words), subject=about))
