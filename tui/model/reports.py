"""What happened, as views: a table for each story that the protocols tell, whose lines lead to their messages.

Theory. The same lines as those of `report`, of all rows that there are by now, whatever a filter keeps: half of an
exchange tells no story. The tables come one after the other, for each is a reading of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.insight.reports import Chapter, Telling, offered, tales
from analyzer.render.reports_text import messages, shown, title
from analyzer.session import Analysis
from dissectors.report import Column as StoryColumn
from tui.model.figures import clocks
from tui.model.leads import Lead, Shows, To
from tui.model.scope import Scope
from tui.model.table import Column, Table
from tui.model.tabled import Tabled
from tui.model.views import Said, View
from tui.model.working import Work

NOT_YET = "being read ..."
KEPT = 20_000
"""Lines that can be looked at."""

_ALWAYS = 5
"""The first columns, which stay where there is not room for all."""

_MILLISECONDS = 3


def names(session: Analysis) -> Sequence[str]:
    """What the views are called: first those of protocols that have messages by now."""
    told, others = offered(session)
    return [*told, *others]


def story_views(session: Analysis, order: Sequence[str], scope: Scope, work: Work) -> Iterator[Sequence[View]]:
    """All views in an order, more of them each time. Raises working.Stopped when nobody wants them any more."""
    known = tales(session.engine.known.dissectors)
    found: dict[str, View] = {name: Said(name, NOT_YET) for name in order}
    for name in order:
        story = known[name]
        work.what = name
        telling = Telling(session, [story], range(scope.first, scope.rows))
        (chapter,) = telling.run(lambda row: work.looked(row, scope.rows))
        said = "; ".join(finding.text for finding in telling.problems)
        found[name] = _view(name, chapter, said) if chapter.entries else Said(name, said or _nothing(name, chapter))
        work.check()
        yield list(found.values())


def _nothing(name: str, chapter: Chapter) -> str:
    return f"there is nothing to tell of {name}: no message of {chapter.story.needs} says anything of it"


def _view(name: str, chapter: Chapter, problem: str) -> Tabled:
    entries = chapter.entries[:KEPT]
    firsts = [entry.first for entry in entries]
    times = dict(zip(firsts, clocks(firsts, _MILLISECONDS), strict=True))
    columns = [Column("first", firsts, times.__getitem__)]
    for place, column in enumerate(chapter.story.columns):
        values = [entry.values[place] for entry in entries]
        if any(shown(column, value) not in ("", "0") for value in values):
            columns.append(_column(column, values, 0 if len(columns) < _ALWAYS else place))
    columns.append(Column("messages", [messages(entry) for entry in entries], str, left=True, rank=1))
    more = len(chapter.entries) - len(entries) + chapter.more
    said = problem or (f"{more:,} more are not shown" if more else chapter.story.about)
    return Tabled(
        name, Table(columns), range(len(entries)), lambda row: _lead([at for _, at in entries[row].rows]), said
    )


def _column(column: StoryColumn, values: Sequence[object], rank: int) -> Column:
    """Lists are sorted as the texts that they are shown as."""
    if column.kind in ("text", "texts"):
        texts = [None if value is None else shown(column, value) for value in values]
        return Column(title(column), texts, str, left=True, rank=rank, style="")
    return Column(title(column), values, lambda value: shown(column, value), rank=rank)


def _lead(rows: Sequence[int]) -> Lead | None:
    """The messages of a line, by their numbers."""
    if len(set(rows)) <= 1:
        return To(rows[0]) if rows else None
    return Shows(f"number in {{{', '.join(str(row + 1) for row in sorted(set(rows)))}}}")
