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
        """By name the code, the severity and the text of each finding, with places in braces."""
        raise NotImplementedError

    def find(self, sentence: str, **words: Any) -> None:
        """Something is found; `took` is in ns."""
        code, severity, text = self.sentences()[sentence]
        if "took" in words:
            words["took"] = lasting(words["took"])
        self.emit(Finding(Severity[severity.upper()], code, text.format(**words)))
