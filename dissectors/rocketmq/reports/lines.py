"""Lines that go on for as long as the capture does: topics, groups, queues, servers."""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from typing import Any, Generic, TypeVar

from dissectors.old_report import Ends, MessageEvent, OldReport, ReportRow
from dissectors.slotted import field, slotted

MOST = 65_536
"""Lines of a story that are open; then the oldest is told as it is."""

MOST_ROWS = 64
"""Messages that a line names."""

MOST_NAMES = 64
"""Names in a cell."""


@slotted(frozen=False, eq=False)
class Line:
    """first, last: when it was heard of. rows: messages of it, each with a word for its part."""

    first: int
    last: int
    rows: list[tuple[str, int]] = field(default_factory=list)

    def heard(self, told: MessageEvent) -> None:
        """There is something new; clocks of two interfaces may differ."""
        self.first, self.last = min(self.first, told.time), max(self.last, told.time)

    def note(self, word: str, told: MessageEvent) -> None:
        """Names one more message."""
        if len(self.rows) < MOST_ROWS:
            self.rows.append((word, told.row))


def add_name(names: dict[str, None], name: str | None) -> None:
    """One more name, each once; there is a bound."""
    if name is not None and len(names) < MOST_NAMES:
        names[name] = None


_Key = TypeVar("_Key", bound=Hashable)
_Line = TypeVar("_Line", bound=Line)


class LineStory(OldReport, Generic[_Key, _Line]):
    """A line for each key, told at the end."""

    def __init__(self, ends: Ends, *emit: Any) -> None:
        """See OldReport."""
        super().__init__(ends, *emit)
        self._lines: OrderedDict[_Key, _Line] = OrderedDict()
        self._over: list[ReportRow] = []

    @abstractmethod
    def made(self, key: _Key, told: MessageEvent) -> _Line:
        """A new line, of which this is the first message."""

    @abstractmethod
    def entry(self, line: _Line) -> ReportRow:
        """What it comes to."""

    def line(self, key: _Key, told: MessageEvent) -> _Line:
        """The line of a key, which this message is of."""
        found = self._lines.get(key)
        if found is None:
            found = self._lines[key] = self.made(key, told)
            if len(self._lines) > MOST:
                self._over.append(self.entry(self._lines.popitem(last=False)[1]))
        found.heard(told)
        return found

    def known(self, key: _Key) -> _Line | None:
        """The same where there is one."""
        return self._lines.get(key)

    def given(self) -> list[ReportRow]:
        """Those that were too many."""
        over, self._over = self._over, []
        return over

    def finish(self) -> Iterable[ReportRow]:
        """See OldReport."""
        return [self.entry(line) for line in self._lines.values()]
