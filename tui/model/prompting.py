"""What helps whoever types into a line of the bar: a verdict on each letter, ways to go on, what was typed earlier.

Theory. All of it is asked by threads (tui.screens.ask): one looks at the text, another reads what takes longer, the
names that there are and the values of a field. What has been read is put into place whole and never changed, so the
first needs to wait for nobody.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from analyzer.errors import UserError
from tui.model.completion import NOTHING, Known, Offers, offers
from tui.model.earlier import Earlier
from tui.model.names import Names, every_name
from tui.model.seen import Seen
from tui.model.verdict import State, Verdict, filter_verdict, other_verdict

_BEGUN = re.compile(r"""(?:0[xX][0-9A-Fa-f\s:.-]*|"[^"]*|'[^']*)?""")
"""What may become bytes: digits of which one is missing, an open quote."""

Sample = Callable[[str], Sequence[Seen]]


class Look(NamedTuple):
    """What there is to say of a text with a cursor in it."""

    text: str
    cursor: int
    verdict: Verdict
    offers: Offers


class Prompter:
    """Of the line for a filter. sample: reads the values of a field."""

    def __init__(self, history: Earlier, named: Mapping[str, str], sample: Sample) -> None:
        self.history = history
        self._named, self._sample = named, sample
        self._names: Names | None = None
        self._values: dict[str, Sequence[Seen]] = {}

    @property
    def known(self) -> Known:
        """What has been read by now."""
        return Known(self._names, self._named, self._values)

    def look(self, text: str, cursor: int) -> Look:
        """Looks at a text."""
        known = self.known
        return Look(text, cursor, filter_verdict(text, known), offers(text, cursor, known))

    def read_names(self) -> None:
        """Reads the names of fields."""
        self._names = every_name()

    def read_values(self, field: str) -> None:
        """Reads the values of a field; there are none where the capture cannot be read any more."""
        values: Sequence[Seen] = ()
        with suppress(UserError):
            values = self._sample(field)
        self._values = {**self._values, field: values}


class FindPrompter(Prompter):
    """Of the line for a search. sign: what stands before a filter; read: reads anything else, or raises UserError."""

    def __init__(
        self,
        history: Earlier,
        named: Mapping[str, str],
        sample: Sample,
        *,
        sign: str,
        read: Callable[[str], object],
    ) -> None:
        super().__init__(history, named, sample)
        self._sign, self._read = sign, read

    def look(self, text: str, cursor: int) -> Look:
        """See Prompter."""
        before = len(self._sign)
        if text.startswith(self._sign) and cursor >= before:
            found = super().look(text[before:], cursor - before)
            verdict = found.verdict if text[before:].strip() else Verdict(State.BEGUN, "a filter, as in the filter bar")
            return Look(text, cursor, verdict.moved(before), found.offers.moved(before))
        verdict = other_verdict(lambda: self._read(text))
        if verdict.state is State.WRONG and _BEGUN.fullmatch(text):
            verdict = Verdict(State.BEGUN, verdict.why)
        return Look(text, cursor, verdict, NOTHING)
