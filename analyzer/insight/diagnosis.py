"""The diagnosis of a capture: findings of single messages, and findings that need several messages.

Theory. Rows are examined in order. Each row contributes its own findings, its error, and what the index knows about it;
checks (dissectors.check) get the rows that they subscribed to. Rows that need no decoding for this are skipped
(analyzer.insight.expert_info_scan). Rows are examined in parts: large parts have more similar rows, small ones show
progress sooner. Several processes scan parts. One process passes all rows to the checks, because these need rows in
order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import NamedTuple

from analyzer.capture.records import CaptureInfo
from analyzer.columns.arrays import Ints
from analyzer.decode.rows import split_rows
from analyzer.decode.template_decoder import TOGETHER, TOGETHER_BYTES
from analyzer.decode.tls_facts import read_facts
from analyzer.insight.checks import CheckReading
from analyzer.insight.expert_info_scan import About, ExpertInfoScan
from analyzer.insight.network_checks import find_network_problems
from analyzer.insight.reports import ReportReading, list_reports
from analyzer.insight.request_checks import (
    LONE,
    check_directions,
    check_reused_numbers,
    find_one_way_streams,
    find_outstanding,
)
from analyzer.insight.tls_checks import find_tls_problems
from analyzer.messages import defects
from analyzer.messages.index import FROM_CLIENT
from analyzer.processes.jobs import divide, map_in_order
from analyzer.session import Analysis, Session
from analyzer.tcp.streams import UNKNOWN_SIDE
from dissectors.api import Dissector
from dissectors.finding import ERROR_EXPLAINING, Finding, Severity
from dissectors.triage import PLAIN_ERROR, ErrorMeaning, Triage

ERROR_ANSWER, PACKETS_DROPPED = "error-answer", "packets-not-kept"


class LocatedFinding(NamedTuple):
    """A finding with its `row` and `stream`; None if it belongs to none, as a finding about a file.

    error: the name of the error of its message, if the finding is about that error.
    """

    row: int | None
    finding: Finding
    stream: int | None = None
    error: str | None = None


def diagnose(
    session: Analysis,
    looked: Callable[[int], None] = lambda rows: None,
    part_limits: tuple[int, int] = (TOGETHER, TOGETHER_BYTES),
) -> Iterator[LocatedFinding]:
    """Yields all findings of a loaded session: those of rows in order, then those of files and streams.

    looked: called from time to time with the number of examined rows. part_limits: see diagnose_rows().
    """
    yield from diagnose_rows(session, len(session.rows), looked, part_limits)
    yield from diagnose_reports(session)
    yield from diagnose_streams(session)
    if isinstance(session, Session):
        yield from (
            LocatedFinding(None, finding) for info in session.packets.files for finding in _report_dropped(info)
        )


def diagnose_streams(session: Analysis) -> Iterator[LocatedFinding]:
    """Yields the findings of streams: about their bytes, the network, TLS, and overloaded servers."""
    yield from (LocatedFinding(row, finding) for row, finding in find_outstanding(session))
    yield from (LocatedFinding(None, *each) for each in session.located)
    for stream, finding in chain(find_network_problems(session), find_tls_problems(session)):
        yield LocatedFinding(None, finding, stream)


def diagnose_reports(
    session: Analysis, rows: range | None = None, settled: int | None = None
) -> Iterator[LocatedFinding]:
    """Yields the findings of reports, each at the first message of its row.

    rows: those that are read; by default all. settled: the time, ns since 1970, up to which rows of reports do not
    change any more; later rows are skipped.
    """
    filled, _ = list_reports(session)
    reports = [report for report in filled.values() if report.diagnosed]
    reading = ReportReading(session, reports, rows)
    for table in reading.run() if reports else ():
        entries = [each for each in table.entries if settled is None or each.last <= settled]
        found = defects.collect_or_nothing(partial(table.report.diagnose, entries))
        yield from (LocatedFinding(row.rows[0][1] if row.rows else None, finding) for row, finding in found)
    yield from (LocatedFinding(None, finding) for finding in reading.problems)


def diagnose_rows(
    session: Analysis,
    count: int,
    looked: Callable[[int], None] = lambda rows: None,
    part_limits: tuple[int, int] = (TOGETHER, TOGETHER_BYTES),
    begin: int | None = None,
) -> Iterator[LocatedFinding]:
    """Yields the findings of the first `count` rows, in the order of the rows; more rows may still come.

    After all rows come findings at the ends of connections, each at the last row of its connection. part_limits: rows,
    and bytes of their messages, after which `looked` is called. begin: the first row that is examined, if earlier rows
    have been examined already; then ends of connections are examined before the capture has ended.
    """
    reading = CheckReading(session, begin or 0)
    info_scan = ExpertInfoScan(session, reading.paths)
    done, alone = max(session.rows.first, begin or 0), find_one_way_streams(session)
    examined = range(done, max(count, done))
    numbers = deque(LocatedFinding(*each) for each in check_reused_numbers(session, examined, reading.losses))
    parts = _split_rows(session, examined, *part_limits)
    for rows, scanned in zip(parts, map_in_order(info_scan.scan_rows, parts, session.jobs), strict=True):
        reading.begin_protocols(rows)
        end = int(session.engine.streams.column("end").max(initial=0))
        for about in reading.add_others(rows, info_scan.read_rows(rows, scanned)):
            while numbers and _comes_before(numbers[0], about.row):
                yield numbers.popleft()
            shown = reading.findings(about)
            if shown or about.findings or about.error is not None:
                lone = bool(alone[session.rows.cell("stream", about.row)])
                every = _locate_findings(session, about, shown, end)
                yield from (each for each in every if not (lone and each.finding.code in LONE))
        done += len(rows)
        while numbers and _comes_before(numbers[0], done - 1):
            yield numbers.popleft()
        if done == len(session.rows) and (session.ended or begin is not None):
            yield from (LocatedFinding(row, finding) for row, finding in reading.end_findings())
        if done == len(session.rows) and session.ended:
            yield from (LocatedFinding(None, finding) for finding in check_directions(session))
        looked(done)


def _split_rows(session: Analysis, rows: range, most: int, most_bytes: int) -> list[Ints]:
    sizes = {len(part) for part in divide(len(rows), session.jobs, most)}
    return list(split_rows(session, rows, max(sizes, default=most), most_bytes))


def _comes_before(found: LocatedFinding, row: int) -> bool:
    return found.row is None or found.row <= row


def _locate_findings(session: Analysis, about: About, shown: Sequence[Finding], end: int) -> Iterator[LocatedFinding]:
    """Yields the findings of a message, and its error, with the severity that the error has in its protocol.

    shown: findings of checks at the message. They replace the message's own findings of the codes in Triage.by_checks.
    If a finding of the same message explains the error, only that finding is reported, with at least the error's
    severity unless the finding is a note. Errors that are a normal step of the protocol, and "nothing new", are not
    reported. end: when the capture ends, ns since 1970.
    """
    triage = None if about.dissector is None else load_triage(about.dissector)
    checked: Collection[str] = () if triage is None else triage.by_checks
    meaning = None if about.error is None else _weigh_error(session, about, triage)
    severity = None if meaning is None else meaning.error_class.severity
    is_reported = severity is None
    for each in (*(each for each in about.findings if each.code not in checked), *shown):
        if each.code == "wrong-protocol" and _is_tls(session, about.row):
            continue
        if each.code == "unanswered" and _is_pending(session, about.row, end):
            continue
        if each.code == "unfinished" and _is_cut_off(session, about.row):
            each = replace(each, severity=Severity.NOTE)
        if about.error is None or each.code not in ERROR_EXPLAINING:
            yield LocatedFinding(about.row, each)
            continue
        is_reported = True
        harmless = severity is None or each.severity == Severity.NOTE
        graver = each if harmless else replace(each, severity=max(severity or each.severity, each.severity))
        yield LocatedFinding(about.row, graver, None, about.error[1])
    if about.error is not None and meaning is not None and severity is not None and not is_reported:
        operation = session.engine.names.text(session.rows.cell("operation", about.row))
        text = about.error[1] if operation is None else f"{operation}: {about.error[1]}"
        finding = Finding(severity, ERROR_ANSWER, text, advice=meaning.advice)
        yield LocatedFinding(about.row, finding, None, about.error[1])


_PREFIX = 4
"""Number of bytes of a message that contain only its length."""

GRACE, LONG_POLL_GRACE = 1_000_000_000, 35_000_000_000
"""ns before the end of a capture in which a pending request is normal; the second if the server may hold it."""


def _is_pending(session: Analysis, row: int, end: int) -> bool:
    """Returns whether a request without response is normal.

    It may have come too late for a response while its connection is still open, or its sender did not wait for news.
    """
    rows = session.rows
    dissector, by_sender = session.engine.dissector(rows.cell("protocol", row)), _is_closed_by_sender(session, row)
    is_long_poll = dissector is not None and rows.cell("code", row) in dissector.long_polls
    if by_sender is not None:
        return is_long_poll and by_sender
    left = end - int(rows.cell("time", row))
    return left <= (LONG_POLL_GRACE if is_long_poll else GRACE)


def _is_tls(session: Analysis, row: int) -> bool:
    """Returns whether a message without a protocol belongs to a connection in which both sides speak TLS."""
    stream = session.rows.cell("stream", row)
    facts = session.engine.tls.find(stream) or read_facts(session, stream)
    return facts is not None and bool(facts.version_name)


def _is_cut_off(session: Analysis, row: int) -> bool:
    """Returns whether a message is incomplete because its receiver closed, or its sender did before the body."""
    by_sender = _is_closed_by_sender(session, row)
    return by_sender is False or (by_sender is True and session.rows.cell("length", row) <= _PREFIX)


def _is_closed_by_sender(session: Analysis, row: int) -> bool | None:
    """Returns whether the sender of a message closed its connection first; None if it is not closed."""
    rows, streams = session.rows, session.engine.streams
    stream = rows.cell("stream", row)
    closer, client = streams.cell("closer", stream), max(streams.cell("client", stream), 0)
    if closer == UNKNOWN_SIDE:
        return None
    return bool((closer == client) == (rows.cell("side", row) == FROM_CLIENT))


def load_triage(dissector: Dissector) -> Triage | None:
    """Returns how a protocol weighs its errors and findings; None if it has no such table, or fails."""
    make = dissector.triage
    return None if make is None else defects.call_or_default(make, None)


def _weigh_error(session: Analysis, about: About, triage: Triage | None) -> ErrorMeaning | None:
    """Returns what the error of a message means; None if it only says "nothing new"."""
    assert about.error is not None
    operation = session.engine.names.text(session.rows.cell("operation", about.row))
    if about.dissector is not None and about.error[0] in about.dissector.nothing_new.get(operation or "", ()):
        return None
    return PLAIN_ERROR if triage is None else triage.weigh_error(about.error[1], operation)


def _report_dropped(info: CaptureInfo) -> Iterator[Finding]:
    """Yields findings about packets that the capture reports as dropped."""
    for place, counters in info.statistics.items():
        if counters.dropped:
            where = f"{info.path}, interface {info.interfaces[place].name or place}"
            lost = f"{counters.dropped:,} packets were dropped while it was captured"
            text = f"{where}: {lost}, so gaps are no loss on the wire"
            yield Finding(Severity.WARNING, PACKETS_DROPPED, text)
