"""Overview of an unknown capture, for one screen.

Theory. The first questions about an unknown capture are: which protocols, how many messages, how fast, what was
slowest, what failed, and what was never answered. The index answers most of them exactly. Errors need the bodies of
responses, read by their layout (analyzer.query.response_errors). Topics and paths need whole bodies. For them a sample
is enough, and the overview says that it is one: SAMPLE requests for each kind of name, evenly distributed and not
random, so that the same capture gives the same screen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from analyzer.columns.arrays import Ints, list_distinct, make_group_keys
from analyzer.decode import raw
from analyzer.decode.bodies import flag_row_findings
from analyzer.decode.content import find_dissector, read_context
from analyzer.decode.rows import RowReader
from analyzer.insight.counts import Waiting, count_streams, find_unanswered, longest
from analyzer.insight.metrics import Metrics
from analyzer.insight.statistics import GroupStatistics, Statistics, Study
from analyzer.insight.traffic import Conversation, conversations
from analyzer.messages import defects
from analyzer.messages.row_findings import decode_findings
from analyzer.query.fields.path import AliasedField, FieldPath
from analyzer.query.response_errors import ErrorColumn, Looked
from analyzer.session import Analysis, Session
from analyzer.tcp.network import UNMEASURED
from analyzer.tcp.streams import UNKNOWN_SIDE
from dissectors.api import Role
from dissectors.finding import Finding, Severity
from dissectors.slotted import make_slotted
from dissectors.wire.fast_path import NULL, distinct

SAMPLE = 1024
"""Number of requests that are decoded to find topics or paths."""

OLDEST = 5
SUBJECTS = ("topic", "path")


@make_slotted
class OperationMetrics:
    """Metrics of the messages of one operation of a protocol; of messages without an operation if None.

    over_time: messages in each interval. latencies: responses in each bucket of percentiles.EDGES.
    """

    protocol: str
    operation: str | None
    versions: Sequence[int]
    metrics: Metrics
    over_time: Sequence[int]
    latencies: Sequence[int]


@make_slotted
class SubjectCounts:
    """How many requests name each subject, such as a topic: `looked_at` of `of` requests were read."""

    name: str
    looked_at: int
    of: int
    counts: Sequence[tuple[str, int]]


@make_slotted
class Failure:
    """Messages of an operation that report the same error."""

    protocol: str
    operation: str | None
    error: str
    messages: int


@make_slotted
class NetworkTotals:
    """Network faults of all connections (see analyzer.tcp.network). rtt_ns: the median, or None.

    refused, unanswered: connections that were not opened.
    """

    rtt_ns: int | None
    retransmissions: int
    retransmission_time_ns: int
    zero_windows: int
    zero_window_time_ns: int
    resets: int
    refused: int
    unanswered: int


@make_slotted
class Overview:
    """The content of the first screen about a capture.

    first, last: times of the first and last message (ns since 1970; None if there is none). packets, and their bytes:
    all packets read. streams: connections of the rows; if all rows are included, also those without messages.
    messages_in_all: includes messages that are not selected. over_time, failures_over_time: messages, and those that
    report an error (None: not read), in each interval of `interval` ns. findings: by severity and code, of rows as far
    as the index knows; if all rows are included, also of connections and files.
    """

    packets: int
    tcp_packets: int
    packet_bytes: int
    streams: int
    messages_in_all: int
    total: Metrics
    first: int | None
    last: int | None
    interval: int
    over_time: Sequence[int]
    failures_over_time: Sequence[int] | None
    protocols: Sequence[GroupStatistics]
    operations: Sequence[OperationMetrics]
    clients: Statistics
    connections: Sequence[Conversation]
    subjects: Sequence[SubjectCounts]
    failures: Sequence[Failure]
    waiting: Sequence[tuple[str, str | None, int]]
    oldest: Sequence[Waiting]
    findings: Sequence[tuple[str, str, int]]
    network: NetworkTotals


def overview(
    session: Session,
    rows: Ints | None = None,
    *,
    with_errors: bool = True,
    looked: Looked = lambda done, total: None,
) -> Overview:
    """Computes the Overview of a loaded session, or of some of its rows. looked: reports progress."""
    reader, connections = RowReader(session), count_streams(session, rows)
    others = session.findings if rows is None else ()
    study = Study(reader, rows, with_errors=with_errors, looked=looked)
    rows, counts = study.rows, session.packets.counts
    intervals, begins = study.intervals.number_times(study.facts.time)
    failed = study.facts.failed
    waiting = find_unanswered(session, rows)
    return Overview(
        counts.packets,
        counts.tcp,
        counts.bytes,
        connections,
        len(session.rows),
        study.total,
        study.first,
        study.last,
        study.intervals.length,
        np.bincount(intervals, minlength=len(begins)).tolist(),
        None if failed is None else np.bincount(intervals[failed], minlength=len(begins)).tolist(),
        study.measure_by("protocol").groups,
        list(_operations(study)),
        study.measure_by("client"),
        conversations(reader, rows),
        [found for name in SUBJECTS if (found := _subjects(study, name)) is not None],
        [] if study.reported is None else list(_failures(study, study.reported)),
        list(_by_operation(reader, waiting)),
        longest(session, waiting, OLDEST),
        _findings(session, rows, others),
        _total_network(session, rows, whole=len(others) > 0 or len(rows) == len(session.rows) - session.rows.first),
    )


def _total_network(session: Analysis, rows: Ints, *, whole: bool) -> NetworkTotals:
    """Returns the network faults of the connections of rows; whole: includes connections without a message."""
    streams = np.arange(len(session.engine.streams)) if whole else list_distinct(session.rows.column("stream")[rows])
    found = session.engine.network.find_metrics(streams.astype(np.int64))
    trips = np.sort(found.rtt[found.rtt != UNMEASURED])
    return NetworkTotals(
        int(trips[(len(trips) - 1) // 2]) if len(trips) else None,
        int(found.retransmissions.sum()),
        int(found.retransmission_time.sum()),
        int(found.zero_windows.sum()),
        int(found.zero_window_time.sum()),
        int((found.resetter != UNKNOWN_SIDE).sum()),
        int(found.refused.sum()),
        int(found.unanswered.sum()),
    )


def _operations(study: Study) -> Iterator[OperationMetrics]:
    """Yields the metrics of operations, those with the most messages first."""
    grouped = study.group_rows(("protocol", "operation"))
    metrics = study.measure_groups(grouped)
    over_time, latencies = study.over_time(grouped).tolist(), study.latencies(grouped).tolist()
    version = study.reader.take_cells("version", study.rows)
    (numbers, versions), _ = make_group_keys([grouped.keys, version]) if len(version) else ([version, version], version)
    versions_used: dict[int, list[int]] = {}
    for number, spoke in zip(numbers.tolist(), versions.tolist(), strict=True):
        if spoke != NULL:
            versions_used.setdefault(number, []).append(spoke)
    for number in sorted(
        range(len(metrics)), key=lambda each: (-metrics[each].messages, *map(str, grouped.labels[each]))
    ):
        if not metrics[number].messages:
            continue
        protocol, operation = grouped.labels[number]
        parts = (versions_used.get(number, []), metrics[number], over_time[number], latencies[number])
        yield OperationMetrics(protocol, operation, *parts)


def _subjects(study: Study, name: str) -> SubjectCounts | None:
    """Returns the counts of names in requests; None if there are none."""
    from analyzer.query.fields import FieldReader  # not needed for a capture without messages

    role = study.reader.take_cells("role", study.rows)
    requests = study.rows[(role == Role.REQUEST) | (role == Role.ONEWAY)]
    found: Counter[str] = Counter()
    looked, there = 0, 0
    for field in _fields(study, name):
        mine = requests[FieldReader(study.reader, [field]).find_candidates(field, requests)]
        there += len(mine)
        chosen = mine[:: max(-(-len(mine) // SAMPLE), 1)]
        looked += len(chosen)
        plain = _skip_name_resolution(study.reader.session, field, chosen)
        for values in FieldReader(study.reader, [plain]).read_by_row(plain, chosen):
            found.update({str(value) for value in values})
    counts = sorted(found.items(), key=lambda counted: (-counted[1], counted[0]))
    return SubjectCounts(name, looked, there, counts) if found else None


def _fields(study: Study, name: str) -> Iterator[FieldPath]:
    """Yields the fields with this name of all protocols in the rows."""
    from analyzer.query.fields import UnknownField, find_field

    session = study.reader.session
    for number in distinct(study.reader.take_cells("protocol", study.rows))[0].tolist():
        dissector = session.engine.dissector(number)
        if dissector is not None:
            try:
                yield find_field(f"{dissector.name}.{name}")
            except UnknownField:
                continue


def _skip_name_resolution(session: Analysis, field: FieldPath, rows: Ints) -> FieldPath:
    """Returns the field without name resolution if no message has ids, because names need other messages."""
    origin = field.origin
    if not isinstance(origin, AliasedField):
        return field
    kind = origin.short.kind
    columns = [session.rows.column(column)[rows] for column in ("protocol", "code", "version", "role")]
    if not len(rows):
        return field
    for row in rows[np.unique(make_group_keys(columns)[1], return_index=True)[1]].tolist():
        dissector = find_dissector(session, row)
        ids = () if dissector is None else defects.list_references(dissector, read_context(session, row))
        if any(each.kind == kind for each in ids):
            return field
    return replace(field, origin=AliasedField(origin.protocol, origin.short._replace(kind=None)))


def _failures(study: Study, reported: ErrorColumn) -> Iterator[Failure]:
    """Yields errors by operation, the most frequent first."""
    reader, places = study.reader, reported.places
    if study.facts.failed is None or not len(places):
        return
    is_shown = study.facts.failed[places]
    rows, numbers = study.rows[places[is_shown]], reported.numbers[is_shown]
    counted = Counter(zip(*reader.read_columns(("protocol", "operation"), rows), numbers.tolist(), strict=True))
    for (protocol, operation, number), count in counted.most_common():
        yield Failure(protocol, operation, reported.kinds[number][1], count)


def _by_operation(reader: RowReader, rows: Ints) -> Iterator[tuple[str, str | None, int]]:
    names = zip(*reader.read_columns(("protocol", "operation"), rows), strict=True)
    for (protocol, operation), count in Counter(names).most_common():
        yield protocol, operation, count


def _findings(session: Session, rows: Ints, others: Sequence[Finding]) -> list[tuple[str, str, int]]:
    """Counts findings by severity and code, of these rows and `others`, the gravest and most frequent first.

    Reads no bodies, except the first bytes of raw rows.
    """
    found: Counter[tuple[Severity, str]] = Counter()
    bits = flag_row_findings(session, rows, late=session.ended)
    for value in list_distinct(bits).tolist():
        count = int((bits == value).sum())
        for finding in decode_findings(value):
            found[finding.severity, finding.code] += count
    found.update((finding.severity, finding.code) for finding in chain(raw.collect_raw_findings(session, rows), others))
    ordered = sorted(found.items(), key=lambda each: (-each[0][0], -each[1], each[0][1]))
    return [(severity.name.lower(), code, count) for (severity, code), count in ordered]
