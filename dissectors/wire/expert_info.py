"""Declared expert info: problems of one message, present or coming, as rows of a table.

Theory. Expert info is a condition on decoded values (wire.condition) and a sentence with places in it (wire.summary),
so it gives the same result for one message and for symbolic values (dissectors.symbolic), which stand for many. A
silent sentence is no finding. Longer texts come from a function over plain values, and each message that meets its
condition is decoded by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from dissectors.finding import Finding, Severity
from dissectors.symbolic import NotTemplatable
from dissectors.wire.condition import condition
from dissectors.wire.summary import Say, Summaries

Values: TypeAlias = Mapping[str, Any]
Find: TypeAlias = Callable[[Values], Iterable[Finding]]
"""Findings from the plain values of one message, of which any field may be missing."""


class ExpertInfo:
    """A row of a table of expert info: `find` makes the finding if the condition `when` holds.

    sentence: whether it also works with symbolic values.
    """

    __slots__ = ("_sentence", "_when", "find")

    def __init__(self, when: str, find: Find, *, sentence: bool = False) -> None:
        self.find, self._when, self._sentence = find, condition(when), sentence

    def __call__(self, values: Values) -> Iterable[Finding]:
        """The findings about a message; none where the condition does not hold."""
        return self.find(values) if self._when(values) else ()

    def symbolic(self, values: Values) -> Iterable[Finding]:
        """Finds expert info about symbolic values. Raises NotTemplatable if this needs more than a sentence."""
        if not self._when(values):
            return ()
        if not self._sentence:
            raise NotTemplatable
        return self.find(values)


def compile_expert_info(summaries: Summaries, row: Mapping[str, str]) -> ExpertInfo:
    """Compiles a row of a table of expert info.

    It has `severity`, `code` and the sentence `text`; `when` and `advice` are optional.
    """
    say = summaries.sentence(row["text"])
    find = _Sentence(row["severity"], row["code"], say, row.get("advice", ""))
    return ExpertInfo(row.get("when", ""), find, sentence=True)


def compile_first(summaries: Summaries, rows: Sequence[Mapping[str, str]]) -> ExpertInfo:
    """Compiles several rows to a function that returns the result of the first one that finds something."""
    choices = [compile_expert_info(summaries, row) for row in rows]
    return ExpertInfo("", lambda values: next(filter(None, (each(values) for each in choices)), ()), sentence=True)


class ExpertInfoTable:
    """The expert info about messages of one kind."""

    __slots__ = ("_all",)

    def __init__(self, expert_info: Sequence[ExpertInfo]) -> None:
        self._all = tuple(expert_info)

    def __call__(self, values: Values) -> tuple[Finding, ...]:
        """The findings about a message."""
        return tuple([finding for each in self._all for finding in each(values)])

    def symbolic(self, values: Values) -> tuple[Finding, ...]:
        """Finds expert info about symbolic values. Raises NotTemplatable if it may differ between messages."""
        return tuple([finding for each in self._all for finding in each.symbolic(values)])


class _Sentence:
    """A finding whose text is a phrase; none where that says nothing."""

    def __init__(self, severity: str, code: str, say: Say, advice: str) -> None:
        self._severity, self._code, self._say, self._advice = Severity[severity.upper()], code, say, advice

    def __call__(self, values: Values) -> Iterable[Finding]:
        text = self._say(values, [])
        return () if text is None else (Finding(self._severity, self._code, text, advice=self._advice),)
