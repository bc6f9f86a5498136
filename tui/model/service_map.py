"""The views of the service map: edges beneath their servers or their clients, and all edges as a table.

Theory. An edge leads to the messages of its connections, by their numbers, because names of clients and servers are in
no message of some protocols. So the filter keeps exactly what the edge counts.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace

from analyzer.columns.text import safe_text
from analyzer.decode.rows import RowReader
from analyzer.insight.participants import read_reported_names
from analyzer.insight.service_map import Edge, ServiceMap, build_map
from analyzer.insight.statistics import GroupStatistics, Study
from analyzer.render.amounts import format_counted
from analyzer.session import Session
from tui.model.latency_and_rate import FOLDED_MARK, INDENT, OPEN_MARK
from tui.model.leads import FilterLead
from tui.model.row_sets import PageScope
from tui.model.table import SortableTable
from tui.model.views import (
    TableView,
    TextView,
    View,
    ViewHeads,
    ViewLine,
    ViewState,
    ViewWork,
    make_metric_columns,
    make_name_column,
)

SERVERS, CLIENTS, EDGES = "Servers", "Clients", "Edges"
MAP_VIEWS = (SERVERS, CLIENTS, EDGES)

RANKS: Mapping[str, int] = {
    **dict.fromkeys(("msg/s", "p50", "p99", "error rate"), 0),
    **{title: rank for rank, title in enumerate(("messages", "errors", "unanswered", "max", "bytes"), 1)},
}
"""The order in which columns are kept if not all fit, by title."""

LAST_RANK = 10


class MapView(TextView):
    """Nodes of one kind, each with the edges to the others beneath it. by_server: the nodes are servers."""

    def __init__(self, name: str, found: ServiceMap, *, by_server: bool) -> None:
        super().__init__(name, "there is no message")
        self._map = found
        self._heads: dict[int, list[int]] = {}
        for place, edge in enumerate(found.edges):
            self._heads.setdefault(edge.server if by_server else edge.client, []).append(place)
        messages = {node: sum(found.edges[row].metrics.messages for row in mine) for node, mine in self._heads.items()}
        self._heads = {node: self._heads[node] for node in sorted(messages, key=lambda node: -messages[node])}
        others = [edge.client if by_server else edge.server for edge in found.edges]
        title = "client" if by_server else "server"
        names = [found.nodes[each].participant.title for each in others]
        self._other = title
        self._table = make_edge_table(found.edges, {title: names})
        self.sorts = bool(found.edges)
        self.foldable = tuple(self._heads)
        self.opened = frozenset(self._heads)

    def make_head(self, width: int, state: ViewState) -> ViewHeads:
        """Returns the titles of the columns that fit."""
        inner = width - 2 * len(INDENT)
        heads = self._table.make_head(self._table.fit(inner), state.order) if self.sorts else []
        return [(INDENT * 2, ""), *heads]

    def make_lines(self, width: int, state: ViewState) -> Sequence[ViewLine]:
        """Returns a line for each node, and beneath it those of its edges."""
        if not self.sorts:
            return super().make_lines(width, state)
        fit, opened = self._table.fit(width - 2 * len(INDENT)), state.get_opened(self)
        rows = self._table.sort_rows(state.order)
        found: list[ViewLine] = []
        for node, mine in self._heads.items():
            shown = [row for row in rows if row in mine]
            if not shown:
                continue
            found.append(self._make_node_line(node, mine, is_open=node in opened))
            if node in opened:
                found += [
                    ViewLine(
                        (("", INDENT * 2), *self._table.make_line(fit, row)),
                        FilterLead(write_streams(self._map.edges[row].streams)),
                        (node, row),
                    )
                    for row in shown
                ]
        return found

    def _make_node_line(self, place: int, mine: Sequence[int], *, is_open: bool) -> ViewLine:
        node, edges = self._map.nodes[place], [self._map.edges[row] for row in mine]
        roles = f"  {', '.join(node.roles)}" if node.roles else ""
        messages = format_counted(sum(edge.metrics.messages for edge in edges), "message")
        line = (
            ("type", OPEN_MARK if is_open else FOLDED_MARK),
            ("title", safe_text(node.participant.title)),
            ("note", roles),
            ("dim", f"  {format_counted(len(edges), self._other)}, {messages}"),
        )
        streams = sorted({stream for edge in edges for stream in edge.streams})
        return ViewLine(line, FilterLead(write_streams(streams)), place, True)

    def find_line(self, key: Hashable, lines: Sequence[ViewLine]) -> int | None:
        """Returns the line of a node or an edge; of a folded edge that of its node."""
        places = {item.key: place for place, item in enumerate(lines)}
        return places.get(key, places.get(key[0]) if isinstance(key, tuple) else None)


def make_edge_table(edges: Sequence[Edge], names: Mapping[str, Sequence[str]]) -> SortableTable:
    """Makes a table of edges. names: the columns of names, by title."""
    totals = [GroupStatistics((place,), edge.metrics) for place, edge in enumerate(edges)]
    columns = [make_name_column(texts, title) for title, texts in names.items()]
    metrics = [replace(column, rank=RANKS.get(column.title, LAST_RANK)) for column in make_metric_columns(totals)]
    return SortableTable([*columns, *metrics], [edge.metrics.messages for edge in edges])


def write_streams(streams: Sequence[int]) -> str:
    """Writes the filter of messages of some connections, given in rising order: `stream in {1, 4..7}`."""
    if len(streams) == 1:
        return f"stream == {streams[0]}"
    runs: list[list[int]] = []
    for stream in streams:
        if runs and stream == runs[-1][1] + 1:
            runs[-1][1] = stream
        else:
            runs.append([stream, stream])
    texts = [f"{first}..{last}" if last > first else str(first) for first, last in runs]
    return f"stream in {{{', '.join(texts)}}}"


class MapSource:
    """Makes the views of the service map. found: the map, once it was made."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.found: ServiceMap | None = None

    def make_views(self, scope: PageScope, work: ViewWork) -> Iterator[Sequence[View]]:
        """Yields the views of the rows of a scope. Raises Cancellation if they are not wanted any more."""
        rows = scope.list_rows()
        work.subject = "errors"
        study = Study(RowReader(self._session), rows, looked=work.report_progress)
        work.subject = "names"
        names = read_reported_names(self._session, lambda done: work.report_progress(done, scope.rows))
        self.found = found = build_map(study, names)
        titles = [node.participant.title for node in found.nodes]
        table = make_edge_table(
            found.edges,
            {
                "client": [titles[edge.client] for edge in found.edges],
                "server": [titles[edge.server] for edge in found.edges],
            },
        )
        edges = found.edges
        yield [
            MapView(SERVERS, found, by_server=True),
            MapView(CLIENTS, found, by_server=False),
            TableView(EDGES, table, range(len(edges)), lambda row: FilterLead(write_streams(edges[row].streams))),
        ]
