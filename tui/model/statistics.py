"""Statistics of messages as views, in the order in which they can be had: what the index tells first.

Theory. The figures are those of analyzer.insight, which `wireanalyze stats` prints. The index tells most of them at
once; errors need some answers' bodies, topics, paths and groups those of all that have any. So the views come again and
again, each time more of them, and whoever looks at one that is not there yet sees that it is being made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analyzer.columns.arrays import Ints
from analyzer.decode.rows import Rows
from analyzer.insight.statistics import Group, Study
from analyzer.session import Analysis
from tui.model.figures import grouped
from tui.model.latency import latency_view
from tui.model.leads import Lead, Shows, condition_of, one_of
from tui.model.overview import Facts, Overview, most_of
from tui.model.rate import rate_view
from tui.model.views import Said, Tabled, View, Work

OVERVIEW, LATENCY, RATE, CLIENTS, ERRORS, CONNECTIONS = (
    "Overview",
    "Latency",
    "Rate",
    "Clients",
    "Errors",
    "Connections",
)
SUBJECTS: Mapping[str, str] = {"Topics": "topic", "Paths": "path", "Groups": "group"}
"""Views of what messages are about, and what their protocols call it."""

NAMES = (OVERVIEW, LATENCY, RATE, *SUBJECTS, CLIENTS, ERRORS, CONNECTIONS)

NOT_YET = "being looked for ..."


class Views:
    """The views that there are by now."""

    def __init__(self) -> None:
        self._found: dict[str, View] = {name: Said(name, NOT_YET) for name in NAMES}
        self._most: dict[str, str] = {}
        self._facts: Facts | None = None

    def put(self, view: View, most: str | None = None) -> None:
        """A view has been made. most: what is most in it, if it has anything."""
        self._found[view.name] = view
        if most is not None:
            self._most[view.name] = most

    def overview(self, facts: Facts | None = None) -> None:
        """Makes the first one anew."""
        self._facts = facts or self._facts
        if self._facts is not None:
            others = [(name, self._most[name]) for name in NAMES if name in self._most]
            self.put(Overview(OVERVIEW, self._facts, others, RATE))

    def all(self) -> list[View]:
        """In their order."""
        self.overview()
        return list(self._found.values())


def statistics_views(session: Analysis, rows: Ints, work: Work) -> Iterator[list[View]]:
    """All views of some rows, each time more of them. Raises views.Stopped when nobody wants them any more."""
    reader, views = Rows(session), Views()
    if not len(rows):
        for name in NAMES:
            views.put(Said(name, "there is no message to count"))
        yield views.all()
        return
    study = Study(reader, rows, with_errors=False)
    views.overview(Facts.of(study))
    yield views.all()
    work.check()
    views.put(latency_view(LATENCY, study))
    yield views.all()
    for _ in _of_index(views, study, work):
        yield views.all()
    work.what = "errors"
    study = Study(reader, rows, looked=work.looked)
    views.overview(Facts.of(study))
    _errors(views, study)
    yield views.all()
    for _ in _of_index(views, study, work):
        yield views.all()
    for name, word in SUBJECTS.items():
        work.what = name.lower()
        _subjects(views, study, name, word)
        yield views.all()


def _of_index(views: Views, study: Study, work: Work) -> Iterator[None]:
    """Those for which nothing is read but errors."""
    work.check()
    views.put(rate_view(RATE, study))
    yield
    work.check()
    _by(views, study, CLIENTS, "client")
    yield
    work.check()
    _by(views, study, CONNECTIONS, "stream_id")
    yield


def _by(views: Views, study: Study, name: str, field: str) -> None:
    groups = study.by(field).groups

    def lead(key: tuple[Any, ...]) -> Lead:
        return Shows(one_of(field, key[0]))

    title = "client" if field == "client" else "connection"
    views.put(grouped(name, [title], groups, lead), most_of(groups, 0))


def _errors(views: Views, study: Study) -> None:
    groups = [group for group in study.by("protocol", "operation", "error").groups if group.key[2] is not None]
    condition = condition_of((protocol, operation) for protocol, operation, _ in {group.key for group in groups})

    def lead(key: tuple[Any, ...]) -> Lead:
        return Shows(f"{condition(key[:2])} and {one_of('error', key[2])}")

    said = "" if groups else "no message reports an error"
    found = grouped(ERRORS, ["protocol", "operation", "error"], groups, lead, said)
    views.put(found, most_of(groups, 2) if groups else None)


def _subjects(views: Views, study: Study, name: str, word: str) -> None:
    """What messages name, by protocol; those that name nothing are told as a number."""
    groups = study.by("protocol", word).groups
    some, silent = [], 0
    for group in groups:
        if group.key[1] is None:
            silent += group.figures.messages
        else:
            some.append(group)
    views.put(_table(name, word, some, silent), most_of(some, 1) if some else None)


def _table(name: str, word: str, groups: Sequence[Group], silent: int) -> Tabled:
    def lead(key: tuple[Any, ...]) -> Lead | None:
        return Shows(one_of(f"{key[0]}.{word}", key[1])) if isinstance(key[1], str) else None

    said = f"{silent:,} messages name no {word}; one that names several is counted in each"
    if not groups:
        said = f"no message names a {word}"
    return grouped(name, ["protocol", word], groups, lead, said)
