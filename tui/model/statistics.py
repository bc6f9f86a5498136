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
from tui.model.figures import make_group_view
from tui.model.latency import make_latency_view
from tui.model.leads import FilterLead, Lead, make_label_filters, write_comparison
from tui.model.overview import OverviewFacts, OverviewView, summarise_groups
from tui.model.rate import make_rate_view
from tui.model.views import TableView, TextView, View, ViewWork

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

STATISTICS_VIEWS = (OVERVIEW, LATENCY, RATE, *SUBJECTS, CLIENTS, ERRORS, CONNECTIONS)

NOT_YET = "being looked for ..."


class StatisticsViews:
    """The views that there are by now."""

    def __init__(self) -> None:
        self._found: dict[str, View] = {name: TextView(name, NOT_YET) for name in STATISTICS_VIEWS}
        self._most: dict[str, str] = {}
        self._facts: OverviewFacts | None = None

    def add_view(self, view: View, most: str | None = None) -> None:
        """A view has been made. most: what is most in it, if it has anything."""
        self._found[view.name] = view
        if most is not None:
            self._most[view.name] = most

    def update_overview(self, facts: OverviewFacts | None = None) -> None:
        """Makes the first one anew."""
        self._facts = facts or self._facts
        if self._facts is not None:
            others = [(name, self._most[name]) for name in STATISTICS_VIEWS if name in self._most]
            self.add_view(OverviewView(OVERVIEW, self._facts, others, RATE))

    def list_views(self) -> list[View]:
        """In their order."""
        self.update_overview()
        return list(self._found.values())


def make_statistics_views(session: Analysis, rows: Ints, work: ViewWork) -> Iterator[list[View]]:
    """All views of some rows, each time more of them. Raises views.Stopped when nobody wants them any more."""
    reader, views = Rows(session), StatisticsViews()
    if not len(rows):
        for name in STATISTICS_VIEWS:
            views.add_view(TextView(name, "there is no message to count"))
        yield views.list_views()
        return
    study = Study(reader, rows, with_errors=False)
    views.update_overview(OverviewFacts.from_study(study))
    yield views.list_views()
    work.raise_if_cancelled()
    views.add_view(make_latency_view(LATENCY, study))
    yield views.list_views()
    for _ in _add_index_views(views, study, work):
        yield views.list_views()
    work.subject = "errors"
    study = Study(reader, rows, looked=work.report_progress)
    views.update_overview(OverviewFacts.from_study(study))
    _add_errors(views, study)
    yield views.list_views()
    for _ in _add_index_views(views, study, work):
        yield views.list_views()
    for name, word in SUBJECTS.items():
        work.subject = name.lower()
        _add_subjects(views, study, name, word)
        yield views.list_views()


def _add_index_views(views: StatisticsViews, study: Study, work: ViewWork) -> Iterator[None]:
    """Those for which nothing is read but errors."""
    work.raise_if_cancelled()
    views.add_view(make_rate_view(RATE, study))
    yield
    work.raise_if_cancelled()
    _add_grouped(views, study, CLIENTS, "client")
    yield
    work.raise_if_cancelled()
    _add_grouped(views, study, CONNECTIONS, "stream_id")
    yield


def _add_grouped(views: StatisticsViews, study: Study, name: str, field: str) -> None:
    groups = study.by(field).groups

    def lead(key: tuple[Any, ...]) -> Lead:
        return FilterLead(write_comparison(field, key[0]))

    title = "client" if field == "client" else "connection"
    views.add_view(make_group_view(name, [title], groups, lead), summarise_groups(groups, 0))


def _add_errors(views: StatisticsViews, study: Study) -> None:
    groups = [group for group in study.by("protocol", "operation", "error").groups if group.key[2] is not None]
    condition = make_label_filters((protocol, operation) for protocol, operation, _ in {group.key for group in groups})

    def lead(key: tuple[Any, ...]) -> Lead:
        return FilterLead(f"{condition(key[:2])} and {write_comparison('error', key[2])}")

    said = "" if groups else "no message reports an error"
    found = make_group_view(ERRORS, ["protocol", "operation", "error"], groups, lead, said)
    views.add_view(found, summarise_groups(groups, 2) if groups else None)


def _add_subjects(views: StatisticsViews, study: Study, name: str, word: str) -> None:
    """What messages name, by protocol; those that name nothing are told as a number."""
    groups = study.by("protocol", word).groups
    some, silent = [], 0
    for group in groups:
        if group.key[1] is None:
            silent += group.figures.messages
        else:
            some.append(group)
    views.add_view(_make_subject_view(name, word, some, silent), summarise_groups(some, 1) if some else None)


def _make_subject_view(name: str, word: str, groups: Sequence[Group], silent: int) -> TableView:
    def lead(key: tuple[Any, ...]) -> Lead | None:
        return FilterLead(write_comparison(f"{key[0]}.{word}", key[1])) if isinstance(key[1], str) else None

    said = f"{silent:,} messages name no {word}; one that names several is counted in each"
    if not groups:
        said = f"no message names a {word}"
    return make_group_view(name, ["protocol", word], groups, lead, said)
