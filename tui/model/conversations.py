"""The views of conversations: connections, endpoints, and the hosts that clients run on.

Theory. analyzer.insight counts messages, bytes and latencies of the page's rows, as for `stats --conversations` and
`--endpoints`. Packets, retransmissions and gaps are those of whole connections. Connections without a message are
listed only if the page covers all rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from analyzer.columns.arrays import Ints
from analyzer.decode.endpoints import name_endpoint, name_stream
from analyzer.decode.rows import RowReader
from analyzer.insight.grouping import RowGroups
from analyzer.insight.metrics import Metrics
from analyzer.insight.statistics import GroupStatistics, Study
from analyzer.insight.traffic import Conversation, conversations, endpoints
from analyzer.messages.index import FROM_CLIENT, FROM_SERVER
from analyzer.query.fields.keys import parse_address
from analyzer.render.amounts import format_count, format_counted, format_size
from analyzer.render.durations import format_duration
from analyzer.session import Analysis
from analyzer.tcp.network import UNMEASURED
from analyzer.tcp.streams import UNKNOWN_SIDE
from tui.model.leads import FilterLead, Lead, write_literal
from tui.model.table import SortableTable, TableColumn
from tui.model.views import TableView, TextView, View, ViewWork, format_clocks, make_metric_columns, make_name_column

CONNECTIONS, ENDPOINTS, HOSTS = CONVERSATION_VIEWS = ("Connections", "Endpoints", "Client hosts")
NOT_YET = "being counted ..."
P95 = 950
WHOLE = (
    "packets, retransmissions (again), gaps and the rest of the network are those of whole connections; times are UTC"
)


def make_conversation_views(session: Analysis, rows: Ints, work: ViewWork, streams: int | None) -> Iterator[list[View]]:
    """Yields all views: first without errors, because these need bodies.

    streams: their number if the page covers all rows. Raises Cancellation if the work is not wanted any more.
    """
    reader = RowReader(session)
    views: dict[str, View] = {name: TextView(name, NOT_YET) for name in CONVERSATION_VIEWS}
    for with_errors in (False, True):
        work.subject = "errors"
        study = Study(reader, rows, with_errors=with_errors, looked=work.report_progress)
        for view in (_view_connections(study, streams), _view_hosts(study)):
            views[view.name] = view
            yield list(views.values())
            work.raise_if_cancelled()
        if not with_errors:
            views[ENDPOINTS] = _view_endpoints(study)
            yield list(views.values())


def _view_connections(study: Study, streams: int | None) -> TableView:
    """Makes the view of connections: those with most messages first, then those without any."""
    session = study.reader.session
    grouped = study.group_rows(("stream",))
    numbers = [number for (number,) in grouped.labels]
    metrics = dict(
        zip(numbers, zip(study.measure_groups(grouped), study.percentile(grouped, P95), strict=True), strict=True)
    )
    talks = {talk.connection: talk for talk in conversations(study.reader, study.rows)}
    place = {number: talks[name_stream(session, number)] for number in numbers}
    silent = [] if streams is None else sorted(set(range(streams)) - set(numbers))
    shown = [*sorted(numbers, key=lambda number: -place[number].messages), *silent]
    columns = [
        TableColumn("stream", shown, str, rank=2),
        *(
            make_name_column([name_endpoint(session, number, side) for number in shown], title)
            for side, title in _SIDES
        ),
        make_name_column([place[number].protocol if number in place else "-" for number in shown], "protocol", rank=1),
        *_make_amount_columns([place.get(number) for number in shown]),
        *_make_stream_columns(session, shown),
        *_make_metric_columns([metrics.get(number) for number in shown]),
    ]
    table = SortableTable(columns, [place[number].messages if number in place else 0 for number in shown])

    def lead(row: int) -> Lead | None:
        return FilterLead(f"stream == {shown[row]}") if shown[row] in place else None

    text = format_counted(len(numbers), "connection") + (f", {len(silent):,} more without a message" if silent else "")
    return TableView(CONNECTIONS, table, shown, lead, f"{text}; {WHOLE}")


_SIDES = ((FROM_CLIENT, "client"), (FROM_SERVER, "server"))


def _make_amount_columns(talks: Sequence[Conversation | None]) -> list[TableColumn]:
    """Makes the columns of messages and bytes of each side, and of times."""

    def values(name: str) -> list[Any]:
        return [None if talk is None else getattr(talk, name) for talk in talks]

    began = values("began")
    times = [time for time in began if time is not None]
    texts = dict(zip(times, format_clocks(times, 3), strict=True))
    return [
        TableColumn("messages", values("messages"), format_count),
        TableColumn("bytes", values("bytes"), format_size, rank=4),
        TableColumn("> msgs", values("to_server"), format_count, rank=12),
        TableColumn("> bytes", values("bytes_to_server"), format_size, rank=11),
        TableColumn("< msgs", values("to_client"), format_count, rank=12),
        TableColumn("< bytes", values("bytes_to_client"), format_size, rank=11),
        TableColumn("began", began, texts.__getitem__, rank=8),
        TableColumn("lasted", values("duration_ns"), format_duration, rank=7),
    ]


def _make_stream_columns(session: Analysis, numbers: Sequence[int]) -> list[TableColumn]:
    """Makes the columns of whole connections: what has gone wrong only if it has."""
    engine, chosen = session.engine, np.array(numbers, np.int64)
    again = np.bincount(engine.repeats.column("stream"), minlength=int(chosen.max(initial=0)) + 1)[chosen]
    gaps = [engine.stream_findings.stream_counts["gap", number] for number in numbers]
    packets = engine.streams.column("packets")[chosen].tolist()
    metrics = engine.network.find_metrics(chosen)
    trips = [None if time == UNMEASURED else time for time in metrics.rtt.tolist()]
    found = [TableColumn("packets", packets, format_count, rank=6)]
    if any(trips):
        found.append(TableColumn("rtt", trips, format_duration, rank=7))
    for title, values in (("again", again.tolist()), ("gaps", gaps)):
        if any(values):
            found.append(TableColumn(title, values, format_count, rank=5, style="warning"))
    for title, times in (("lost time", metrics.retransmission_time), ("closed", metrics.zero_window_time)):
        if times.any():
            found.append(TableColumn(title, times.tolist(), format_duration, rank=5, style="warning"))
    if (metrics.resetter != UNKNOWN_SIDE).any():
        sides = ["-" if side == UNKNOWN_SIDE else ("client", "server")[side] for side in metrics.resetter.tolist()]
        found.append(TableColumn("reset by", sides, str, rank=8))
    return found


def _make_metric_columns(found: Sequence[tuple[Metrics, int | None] | None]) -> list[TableColumn]:
    """Makes the columns of errors and latencies."""

    def values(name: str) -> list[Any]:
        return [None if each is None else getattr(each[0], name) for each in found]

    columns = []
    for name, style in (("unanswered", "warning"), ("errors", "error")):
        if any(values(name)):
            columns.append(TableColumn(name, values(name), format_count, rank=3, style=style))
    p95 = [None if each is None else each[1] for each in found]
    return [
        *columns,
        TableColumn("p95", p95, format_duration),
        TableColumn("max", values("max_ns"), format_duration, rank=9),
    ]


def _view_endpoints(study: Study) -> TableView:
    """Makes the view of addresses with ports."""
    found = endpoints(study.reader, study.rows)
    columns = [
        make_name_column([each.endpoint for each in found], "endpoint"),
        TableColumn("connections", [each.connections for each in found], format_count, rank=1),
        TableColumn("messages", [each.messages for each in found], format_count),
        TableColumn("bytes", [each.bytes for each in found], format_size, rank=2),
        TableColumn("sent", [each.sent for each in found], format_count, rank=3),
        TableColumn("bytes sent", [each.bytes_sent for each in found], format_size, rank=4),
        TableColumn("received", [each.received for each in found], format_count, rank=3),
        TableColumn("bytes received", [each.bytes_received for each in found], format_size, rank=4),
    ]
    keys = [each.endpoint for each in found]

    def lead(row: int) -> Lead:
        wanted = write_literal(keys[row])
        return FilterLead(f"(source == {wanted} or destination == {wanted})")

    table = SortableTable(columns, [each.messages for each in found])
    return TableView(
        ENDPOINTS, table, keys, lead, f"{format_counted(len(found), 'endpoint')}; e shows the hosts that clients run on"
    )


def _view_hosts(study: Study) -> TableView:
    """Makes the view of client addresses, with all traffic between them and any server."""
    session = study.reader.session
    streams = study.group_rows(("stream",))
    hosts = [parse_address(name_endpoint(session, number, FROM_CLIENT)) for (number,) in streams.labels]
    known = {host: number for number, host in enumerate(dict.fromkeys(hosts))}
    numbers = np.array([known[host] for host in hosts], np.int64)
    found = study.measure_groups(RowGroups(streams.places, numbers[streams.keys], list(known)))
    groups = sorted(
        (GroupStatistics((host,), each) for host, each in zip(known, found, strict=True)), key=_count_messages
    )
    keys = [group.key[0] for group in groups]
    many = Counter(hosts)
    called = [session.hosts.find_name(host) for host in keys]
    columns = [make_name_column(keys, "client host"), *([make_name_column(called, "called")] if any(called) else [])]
    columns += [
        TableColumn("connections", [many[host] for host in keys], format_count, rank=1),
        *make_metric_columns(groups),
    ]

    def lead(row: int) -> Lead:
        host = keys[row]
        up, down = f"from_client == true and source.ip == {host}", f"from_client == false and destination.ip == {host}"
        return FilterLead(f"({up} or {down})")

    table = SortableTable(columns, [group.metrics.messages for group in groups])
    return TableView(HOSTS, table, keys, lead, format_counted(len(keys), "client host"))


def _count_messages(group: GroupStatistics) -> int:
    return -group.metrics.messages
