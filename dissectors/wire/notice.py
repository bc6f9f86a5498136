"""Declared notices: what is wrong in one message, or will be, as rows of a table.

Theory. A notice is a condition on decoded values (wire.condition) and a sentence with places in it (wire.summary), so
it is the same for one message and for symbolic values (dissectors.holes), which stand for many. A sentence that says
nothing is no finding. What takes more than a sentence is a function over plain values: each message that its condition
holds of is decoded by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from dissectors.finding import Finding, Severity
from dissectors.holes import Shapeless
from dissectors.wire.condition import condition
from dissectors.wire.summary import Say, Summaries

Values: TypeAlias = Mapping[str, Any]
Find: TypeAlias = Callable[[Values], Iterable[Finding]]
"""Findings from the plain values of one message, of which any field may be missing."""


class Notice:
    """What `find` says of the values that `when` holds of. sentence: whether it may be asked about symbolic values."""

    __slots__ = ("_sentence", "_when", "find")

    def __init__(self, when: str, find: Find, *, sentence: bool = False) -> None:
        self.find, self._when, self._sentence = find, condition(when), sentence

    def __call__(self, values: Values) -> Iterable[Finding]:
        """The findings about a message; none where the condition does not hold."""
        return self.find(values) if self._when(values) else ()

    def symbolic(self, values: Values) -> Iterable[Finding]:
        """The same of symbolic values. Raises Shapeless where more than a sentence is needed."""
        if not self._when(values):
            return ()
        if not self._sentence:
            raise Shapeless
        return self.find(values)


def notice(summaries: Summaries, row: Mapping[str, str]) -> Notice:
    """The notice of a table's row: `when` (may be missing), `severity`, `code`, and the sentence `text`."""
    say = summaries.sentence(row["text"])
    return Notice(row.get("when", ""), _Sentence(row["severity"], row["code"], say), sentence=True)


def first_notice(summaries: Summaries, rows: Sequence[Mapping[str, str]]) -> Notice:
    """The first of several rows that says something."""
    notices = [notice(summaries, row) for row in rows]
    return Notice("", lambda values: next(filter(None, (each(values) for each in notices)), ()), sentence=True)


class Notices:
    """The notices about messages of one kind."""

    __slots__ = ("_all",)

    def __init__(self, notices: Sequence[Notice]) -> None:
        self._all = tuple(notices)

    def __call__(self, values: Values) -> tuple[Finding, ...]:
        """The findings about a message."""
        return tuple([finding for each in self._all for finding in each(values)])

    def symbolic(self, values: Values) -> tuple[Finding, ...]:
        """The same about symbolic values. Raises Shapeless where they are not the same for all such messages."""
        return tuple([finding for each in self._all for finding in each.symbolic(values)])


class _Sentence:
    """A finding whose text is a phrase; none where that says nothing."""

    def __init__(self, severity: str, code: str, say: Say) -> None:
        self._severity, self._code, self._say = Severity[severity.upper()], code, say

    def __call__(self, values: Values) -> Iterable[Finding]:
        text = self._say(values, [])
        return () if text is None else (Finding(self._severity, self._code, text),)
