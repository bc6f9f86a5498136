"""The stories of all protocols over a capture: which there are, who wants which rows, and the lines that they give.

Theory. Rows of one kind (protocol, role, code) are wanted by the same stories, for the same fields; so what reads just
these (Dissector.picker) is asked once for all of them, and rows of which no field is wanted are not read at all. Ends
of connections are heard behind their last row, as soon as a row is later than they are: that depends on what was
captured alone, not on how it was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from analyzer import defects
from analyzer.columns import Ints, given, given64
from analyzer.insight.checks import losses
from analyzer.insight.endings import endings
from analyzer.messages import FROM_CLIENT
from analyzer.packed import packed
from analyzer.render.forms import TOGETHER_BYTES
from analyzer.rows import chunks
from analyzer.session import Analysis
from dissectors.api import Context, Dissector, Pick
from dissectors.finding import Finding
from dissectors.report import REPORTED, ConnectionEnd, Kind, MessageEvent, Report, ReportRow

PORTION = 32_768
"""Rows that are read at one time."""

MOST = 1_000_000
"""Lines of a story that are kept; what comes behind them is counted."""

AROUND = 20_000
"""Rows on each side of one that are read to know its part in a story."""

CONNECTIONS = 4096
"""Connections whose ends are remembered as texts: rows of few come together."""

_HELD: Mapping[Kind, type] = {
    "text": str, "texts": list, "number": int, "time": int, "duration": int, "message": int,
}  # fmt: skip

_KIND = ("protocol", "role", "code", "version", "extra")


def tales(dissectors: Iterable[Dissector]) -> dict[str, type[Report]]:
    """All stories by name, each once; of two with the same name the later one is called PROTOCOL.NAME."""
    found: dict[str, type[Report]] = {}
    for dissector in dissectors:
        for story in defects.told(dissector.reports):
            if story not in found.values():
                name = story.name if story.name not in found else f"{dissector.name}.{story.name}"
                found[name] = story
    return found


def full_names(known: Mapping[str, type[Report]]) -> dict[str, str]:
    """Names of tales() by PROTOCOL.NAME, which means the same story in whatever capture."""
    return {f"{story.needs}.{story.name}": name for name, story in known.items()}


def offered(session: Analysis) -> tuple[dict[str, type[Report]], dict[str, type[Report]]]:
    """All stories of a session's protocols by name: those that its messages may tell, and the others."""
    known = tales(session.engine.known.dissectors)
    spoken = _spoken(session, range(session.first, len(session.rows)))
    told = {name: story for name, story in known.items() if story.needs in spoken}
    return told, {name: story for name, story in known.items() if name not in told}


def meant(session: Analysis, name: str) -> str:
    """Which story a name means here: of several protocols' of that name the only one that the messages may tell."""
    told, _ = offered(session)
    alike = [each for each in told if each.rpartition(".")[2] == name]
    return alike[0] if len(alike) == 1 else name


def _spoken(session: Analysis, rows: range) -> set[str]:
    """The protocols of rows."""
    numbers = np.unique(session.rows.column("protocol")[rows.start : rows.stop]).tolist()
    spoken = map(session.engine.dissector, numbers)
    return {dissector.name for dissector in spoken if dissector is not None}


class Chapter:
    """The lines of one story, in the order of their first times. more: how many there are beyond MOST."""

    def __init__(self, story: type[Report]) -> None:
        self.story = story
        self.entries: list[ReportRow] = []
        self.more = 0

    def add(self, entries: Iterable[ReportRow]) -> None:
        """Takes some, in any order. Raises TypeError, or ValueError, for one that is not of the story's columns."""
        for entry in entries:
            for column, value in zip(self.story.columns, entry.values, strict=True):
                if value is not None and not isinstance(value, _HELD[column.kind]):
                    raise TypeError(column.name)
            if len(self.entries) < MOST:
                self.entries.append(entry)
            else:
                self.more += 1

    def sort(self) -> None:
        """Puts them in their order."""
        self.entries.sort(key=lambda entry: (entry.first, entry.rows[0][1] if entry.rows else -1))


class Telling:
    """One reading of rows by some stories. rows: from the first of them to the last, all by default.

    problems: findings about stories that failed; what these would have told is missing.
    """

    def __init__(self, session: Analysis, stories: Sequence[type[Report]], rows: range | None = None) -> None:
        self._session = session
        every = range(session.first, len(session.rows))
        self._rows = every if rows is None else range(max(rows.start, every.start), min(rows.stop, every.stop))
        self.chapters = [Chapter(story) for story in stories]
        self._plans: dict[tuple[int, ...], _Plan | None] = {}
        self._losses = losses(session, self._rows.start, self._rows.stop)
        self.problems: list[Finding] = []
        self._tellers: dict[int, Report] = {}
        spoken = _spoken(session, self._rows)
        ends = lru_cache(CONNECTIONS)(self._ends)
        for number, story in enumerate(stories):
            if story.needs in spoken:
                try:
                    self._tellers[number] = story(ends)
                except Exception as error:  # a dissector's defect must not cost the other stories
                    self._failed(story, error)

    def run(self, looked: Callable[[int], None] = lambda rows: None) -> list[Chapter]:
        """Reads; looked: told from time to time up to which row."""
        ends = iter(endings(self._session, self._rows) if self._tellers else ())
        end = next(ends, None)
        for first in range(self._rows.start, self._rows.stop, PORTION) if self._tellers else ():
            portion = np.arange(first, min(first + PORTION, self._rows.stop))
            for plan, told in self._of(portion):
                while end is not None and end.at <= told.row:
                    self._hear(end.ending)
                    end = next(ends, None)
                for number in plan.stories:
                    self._take(number, lambda story, told=told: story.see(told))  # type: ignore[misc]
            looked(int(portion[-1]) + 1)
        while end is not None:
            self._hear(end.ending)
            end = next(ends, None)
        for number in list(self._tellers):
            self._take(number, lambda story: story.finish())
        for chapter in self.chapters:
            chapter.sort()
        return self.chapters

    def _hear(self, ending: ConnectionEnd) -> None:
        for number in list(self._tellers):
            self._take(number, lambda story: story.ended(ending))

    def _take(self, number: int, ask: Callable[[Report], Iterable[ReportRow]]) -> None:
        """What a story says, unless it has failed; a story that fails tells nothing more."""
        story = self._tellers.get(number)
        if story is None:
            return
        try:
            found = ask(story)
            if found:
                self.chapters[number].add(found)
        except Exception as error:  # the same
            del self._tellers[number]
            self._failed(type(story), error)

    def _failed(self, story: type[Report], error: Exception) -> None:
        dissector = next(each for each in self._session.engine.known.dissectors if each.name == story.needs)
        self.problems.append(defects.defect(dissector, error))

    def _of(self, portion: Ints) -> Iterator[tuple[_Plan, MessageEvent]]:
        """The rows that are wanted, with who wants them."""
        table, session = self._session.rows, self._session
        tables, keys = packed([table.column(name)[portion] for name in _KIND])
        plans = [self._plan(kind) for kind in zip(*(each.tolist() for each in tables), strict=True)]
        wanted = np.array([plan is not None for plan in plans], bool)
        text = session.names.text
        for rows in chunks(session, portion[wanted[keys]], PORTION, TOGETHER_BYTES):
            mine = [plans[key] for key in keys[rows - portion[0]].tolist()]
            read = np.array([plan is not None and plan.reads for plan in mine], bool)
            messages = iter(session.messages(rows[read]))
            columns = (table.column(name)[rows].tolist() for name in _TOLD)
            lost = self._losses[rows - self._rows.start].tolist()
            for row, plan, stream, time, side, operation, correlation, scope, client, partner, size, lacks in zip(
                rows.tolist(), mine, *columns, lost, strict=True
            ):
                assert plan is not None
                values, error = plan.read(next(messages)) if plan.reads else _UNREAD
                told = MessageEvent(
                    row, plan.protocol, plan.context, values, stream, time, side == FROM_CLIENT, text(operation),
                    given64(correlation, scoped=text(scope) is not None), text(client), given(partner), size, lacks,
                    error,
                )  # fmt: skip
                yield plan, told

    def _plan(self, kind: tuple[int, ...]) -> _Plan | None:
        if kind not in self._plans:
            self._plans[kind] = self._made(*kind)
        return self._plans[kind]

    def _made(self, protocol: int, role: int, code: int, version: int, extra: int) -> _Plan | None:
        dissector = self._session.engine.dissector(protocol)
        if dissector is None:
            return None
        context = self._session.context_of(role, code, version, extra)
        what = dissector.name, context.code, context.role
        stories = [number for number in self._tellers if what in self.chapters[number].story.wants]
        if not stories:
            return None
        paths = frozenset(path for number in stories for path in self.chapters[number].story.wants[what])
        pick = defects.picker(dissector, context, paths) if paths else None
        return _Plan(dissector, context, stories, bool(paths), pick)

    def _ends(self, stream: int) -> tuple[str, str]:
        return self._session.endpoint(stream, FROM_CLIENT), self._session.endpoint(stream, 1 - FROM_CLIENT)


class Part(NamedTuple):
    """What a line of a story says of one of its rows."""

    name: str
    story: type[Report]
    entry: ReportRow
    text: str


def parts_of(session: Analysis, row: int, around: int = AROUND) -> list[Part]:
    """The lines that a row has a part in, by what `around` rows on each side of it tell."""
    dissector, context = session.dissector(row), session.context(row)
    if dissector is None:
        return []
    what = dissector.name, context.code, context.role
    own = set(tales([dissector]).values())
    known = {name: story for name, story in tales(session.engine.known.dissectors).items() if story in own}
    wanting = {name: story for name, story in known.items() if what in story.wants}
    if wanting:
        asked = session.names.text(session.rows.cell("operation", row)), context.role, session.body(row).values
        wanting = {
            name: story for name, story in wanting.items() if defects.asked(partial(story.concerns, *asked), False)
        }
    rows = range(max(row - around, session.first), min(row + around + 1, len(session.rows)))
    chapters = Telling(session, list(wanting.values()), rows).run() if wanting else []
    is_part = len(rows) < len(session.rows) - session.first
    known_from = f" (by the {around:,} messages on each side)" if is_part else ""
    return [
        Part(name, chapter.story, entry, text + known_from)
        for name, chapter in zip(wanting, chapters, strict=True)
        for entry in chapter.entries
        if any(each == row for _, each in entry.rows)
        if (text := defects.asked(partial(chapter.story.says, entry, row), None)) is not None
    ]


_TOLD = ("stream", "time", "side", "operation", "correlation", "scope", "client", "partner", "length")
_UNREAD: tuple[dict[str, Any], None] = {}, None


class _Plan(NamedTuple):
    """How rows of one kind are read, and which stories want them."""

    dissector: Dissector
    context: Context
    stories: Sequence[int]
    reads: bool
    pick: Pick | None

    @property
    def protocol(self) -> str:
        """Its name."""
        return self.dissector.name

    def read(self, message: bytes) -> tuple[dict[str, Any], tuple[int, str] | None]:
        """At least what is wanted of a message, and the error that it reports."""
        body = defects.picked_body(self.dissector, self.pick, message, self.context)
        return body.values, body.values.get(REPORTED[0], body.error)
