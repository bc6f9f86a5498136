"""The views of the page of graphs, made of what is read once: errors, and the groups of a field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.decode.rows import RowReader
from analyzer.insight.grouping import ERROR
from analyzer.insight.series import choose_groups
from analyzer.insight.statistics import Study
from analyzer.session import Session
from tui.model.graphs import GRAPHS, GraphView, SeriesSource
from tui.model.heatmap import HeatmapView, measure_heat
from tui.model.row_sets import PageScope
from tui.model.views import TextView, View, ViewWork

HEATMAP = "Heatmap"
NAMES = (*(graph.name for graph in GRAPHS), HEATMAP)


class GraphSource:
    """What was read of a scope: the study, and the groups of a field."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.by: str | None = "operation"
        self.scope: PageScope | None = None
        self._work: ViewWork | None = None
        self._study: Study | None = None
        self._heatmap: HeatmapView | None = None

    def make_views(self, scope: PageScope, work: ViewWork) -> Iterator[Sequence[View]]:
        """Yields the views of a scope, first without errors. Raises Cancellation if they are not wanted any more."""
        rows = scope.list_rows()
        if not len(rows):
            yield [TextView(name, "there is no message to count") for name in NAMES]
            return
        self._work, by, reader = work, self.by, RowReader(self._session)
        work.subject = by or "errors"
        study = self._study if scope is self.scope else None
        if study is None:
            self._heatmap, self._study = None, None
            study = Study(reader, rows, with_errors=by == ERROR, looked=self._report_progress)
        groups = choose_groups(study, by)
        work.raise_if_cancelled()
        yield self._list_views(SeriesSource.measure(study, by, groups), study)
        if study.reported is None:
            work.subject = "errors"
            study = Study(reader, rows, looked=self._report_progress)
            work.raise_if_cancelled()
            yield self._list_views(SeriesSource.measure(study, by, groups), study)
        self._study, self.scope = study, scope

    def _report_progress(self, done: int, total: int) -> None:
        """Reports the progress of the present work, because a study outlives the work that made it."""
        if self._work is not None:
            self._work.report_progress(done, total)

    def _list_views(self, source: SeriesSource, study: Study) -> list[View]:
        if self._heatmap is None:
            self._heatmap = HeatmapView(HEATMAP, measure_heat(study))
        has_errors = study.reported is not None
        graphs = [
            GraphView(graph, source)
            if has_errors or graph.metric != "errors"
            else TextView(graph.name, "searching ...")
            for graph in GRAPHS
        ]
        return [*graphs, self._heatmap]
