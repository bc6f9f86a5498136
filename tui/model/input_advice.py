"""Advice while you type into the filter bar or the search line: a verdict, completions, and earlier entries.

Theory. Threads compute the advice (tui.screens.filter_bar): one judges the text, another reads names of fields and
values, which takes longer. What has been read replaces its place as a whole and is never changed, so no lock is needed.
In the history the text being typed counts as the newest entry without being kept: you come back to it at the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from analyzer.errors import UserError
from tui.model.completion import (
    NO_COMPLETIONS,
    Completions,
    CompletionSources,
    TextState,
    TextVerdict,
    complete,
    judge_filter,
    judge_text,
)
from tui.model.completion_sources import FieldNames, SampledValue, read_field_names

_BEGUN = re.compile(r"""(?:0[xX][0-9A-Fa-f\s:.-]*|"[^"]*|'[^']*)?""")
"""Unfinished bytes: an odd number of digits, or an open quote."""

ValueSampler = Callable[[str], Sequence[SampledValue]]


class InputAdvice(NamedTuple):
    """The advice for a text with a cursor in it."""

    text: str
    cursor: int
    verdict: TextVerdict
    offers: Completions


class InputAdvisor:
    """Advises on filters.

    sample: reads the values of a field.
    """

    def __init__(self, history: InputHistory, named: Mapping[str, str], sample: ValueSampler) -> None:
        self.history = history
        self._named, self._sample = named, sample
        self._names: FieldNames | None = None
        self._values: dict[str, Sequence[SampledValue]] = {}

    @property
    def sources(self) -> CompletionSources:
        """The words that have been read by now."""
        return CompletionSources(self._names, self._named, self._values)

    def advise(self, text: str, cursor: int) -> InputAdvice:
        """Judges a text, and completes the word at the cursor."""
        known = self.sources
        return InputAdvice(text, cursor, judge_filter(text, known), complete(text, cursor, known))

    def read_names(self) -> None:
        """Reads the names of fields."""
        self._names = read_field_names()

    def read_values(self, field: str) -> None:
        """Samples the values of a field; there are none if the capture cannot be read any more."""
        values: Sequence[SampledValue] = ()
        with suppress(UserError):
            values = self._sample(field)
        self._values = {**self._values, field: values}


class SearchAdvisor(InputAdvisor):
    """Advises on searches.

    sign: begins a filter. read: parses any other text, or raises UserError.
    """

    def __init__(
        self,
        history: InputHistory,
        named: Mapping[str, str],
        sample: ValueSampler,
        *,
        sign: str,
        read: Callable[[str], object],
    ) -> None:
        super().__init__(history, named, sample)
        self._sign, self._read = sign, read

    def advise(self, text: str, cursor: int) -> InputAdvice:
        """Judges the text of a search; completes words only in a filter."""
        before = len(self._sign)
        if text.startswith(self._sign) and cursor >= before:
            found = super().advise(text[before:], cursor - before)
            verdict = (
                found.verdict
                if text[before:].strip()
                else TextVerdict(TextState.BEGUN, "a filter, as in the filter bar")
            )
            return InputAdvice(text, cursor, verdict.shift(before), found.offers.shift(before))
        verdict = judge_text(lambda: self._read(text))
        if verdict.state is TextState.WRONG and _BEGUN.fullmatch(text):
            verdict = TextVerdict(TextState.BEGUN, verdict.why)
        return InputAdvice(text, cursor, verdict, NO_COMPLETIONS)


MOST_ENTRIES = 200
"""The number of entries that are kept."""


class InputHistory:
    """The earlier entries of one kind of input line, the newest first."""

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self.entries = list(dict.fromkeys(entry for entry in entries if entry.strip()))[:MOST_ENTRIES]
        self._at = -1
        self._typed = ""

    def add(self, text: str) -> None:
        """Adds an entry as the newest one."""
        self.begin()
        if text.strip():
            self.entries = [text, *(entry for entry in self.entries if entry != text)][:MOST_ENTRIES]

    def begin(self) -> None:
        """Starts at the newest entry, for a line that opens."""
        self._at, self._typed = -1, ""

    def go_older(self, text: str) -> str | None:
        """Returns the next older entry that differs from `text`; None at the end."""
        if self._at < 0:
            self._typed = text
        at = self._at + 1
        while at < len(self.entries) and self.entries[at] == text:
            at += 1
        return self._go(at) if at < len(self.entries) else None

    def go_newer(self) -> str | None:
        """Returns the next newer entry, at last the text that was being typed; None behind it."""
        if self._at < 0:
            return None
        return self._go(self._at - 1)

    def _go(self, at: int) -> str:
        self._at = at
        return self._typed if at < 0 else self.entries[at]
