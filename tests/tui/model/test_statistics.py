"""Each line of statistics and conversations beside the filter that it stands for, and beside `wireanalyze stats`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyzer.decode.rows import RowReader
from analyzer.insight.percentiles import ROUND, buckets
from analyzer.insight.statistics import Study
from analyzer.query.filter import compile_filter
from analyzer.render.lines import strip_styles
from analyzer.session import Session
from tests.analyzer.wire import CLIENT, Segment, capture, opening
from tests.program import run
from tests.tui.driving import KAFKA
from tests.tui.hostile import TEXTS, acts, write
from tui.model.conversations import make_conversation_views
from tui.model.latency_and_rate import LatencyView, RateView
from tui.model.leads import FilterLead, MessageLead
from tui.model.statistics import STATISTICS_VIEWS, OverviewView, make_statistics_views
from tui.model.views import Cancellation, TableView, View, ViewLine, ViewState, ViewWork

MIXED = KAFKA.with_name("mixed.pcapng")
WIDE = 250


def silent() -> ViewWork:
    return ViewWork(lambda text: None)


@cache
def opened(path: Path) -> Session:
    return Session([path]).load()


@cache
def views_of(path: Path, kind: str = "statistics") -> dict[str, View]:
    session = opened(path)
    rows = np.arange(len(session.rows))
    if kind == "statistics":
        *_, views = make_statistics_views(session, rows, silent())
    else:
        *_, views = make_conversation_views(session, rows, silent(), len(session.engine.streams))
    return {view.name: view for view in views}


def kept(path: Path, condition: str) -> int:
    session = opened(path)
    return len(compile_filter(condition).select_rows(RowReader(session), np.arange(len(session.rows))))


def column(view: TableView, title: str) -> list[Any]:
    return list(next(each.values for each in view.table.columns if each.title == title))


def lines(view: View, state: ViewState | None = None) -> list[ViewLine]:
    return list(view.make_lines(WIDE, state or ViewState()))


@pytest.mark.parametrize("path", [KAFKA, MIXED], ids=lambda path: path.stem)
@pytest.mark.parametrize("kind", ["statistics", "conversations"])
def test_the_filter_of_a_line_keeps_what_the_line_counts(path: Path, kind: str) -> None:
    checked = 0
    for view in views_of(path, kind).values():
        if isinstance(view, TableView) and not isinstance(view, LatencyView) and len(view.table):
            for row, many in enumerate(column(view, "messages")):
                lead = view.lead(row)
                assert (lead is None) is (not many), (view.name, row)
                if isinstance(lead, FilterLead):
                    assert kept(path, lead.condition) == many, (view.name, lead.condition)
                    checked += 1
    assert checked > 50


@pytest.mark.parametrize("path", [KAFKA, MIXED], ids=lambda path: path.stem)
def test_the_filter_of_a_bucket_keeps_the_latencies_that_it_counts(path: Path) -> None:
    view = views_of(path)["Latency"]
    assert isinstance(view, LatencyView)
    state = ViewState(opened=frozenset(view.foldable))
    answers, checked = column(view, "answers"), 0
    found: dict[object, list[int]] = {}
    for item in lines(view, state):
        if item.folds:
            operation = item.key
            found[operation] = []
        elif isinstance(item.lead, FilterLead):
            many = int(strip_styles(item.line).split("%")[0].split()[-2].replace(",", ""))
            found[operation].append(many)
            assert kept(path, item.lead.condition) == many, item.lead.condition
            checked += 1
    assert [sum(counts) for counts in found.values()] == answers
    assert len(found) == len(view.table) > 10
    assert checked > 50


def test_the_filter_of_an_interval_keeps_what_was_counted_in_it() -> None:
    view = views_of(MIXED)["Rate"]
    assert isinstance(view, RateView)
    total = len(opened(MIXED).rows)
    begun = []
    for zoom in range(view.zooms + 1):
        items = [item for item in lines(view, ViewState(zoom=zoom)) if isinstance(item.lead, FilterLead)]
        begun.append(len(items))
        if not zoom:
            for item in items:
                assert isinstance(item.lead, FilterLead)
                assert kept(MIXED, item.lead.condition) == int(strip_styles(item.line).split()[1]), item.lead.condition
        assert sum(int(strip_styles(item.line).split()[1].replace(",", "")) for item in items) == total
    assert begun == sorted(set(begun))


def test_metrics_are_those_of_stats() -> None:
    found = views_of(MIXED)
    for name, key, word in (("Topics", "protocol,topic", "topic"), ("Clients", "client", "client")):
        view = found[name]
        assert isinstance(view, TableView)
        text = run("stats", str(MIXED), "--by", key, "--format", "json")
        groups = [each for each in json.loads(text.stdout)["groups"] if name == "Clients" or each[word]]
        assert [each["messages"] for each in groups] == column(view, "messages")
        assert [each["p99_ns"] for each in groups] == column(view, "p99")
        assert [each["errors"] for each in groups] == column(view, "errors")
        assert [each[word] or "-" for each in groups] == column(view, word)


def test_conversations_are_those_of_stats() -> None:
    for name, option, key in (("Connections", "conversations", "connection"), ("Endpoints", "endpoints", "endpoint")):
        view = views_of(KAFKA, "conversations")[name]
        assert isinstance(view, TableView)
        found = json.loads(run("stats", str(KAFKA), f"--{option}", "--format", "json").stdout)[option]
        assert [each["messages"] for each in found] == column(view, "messages")
        assert [each["bytes"] for each in found] == column(view, "bytes")
        if name == "Endpoints":
            assert [each[key] for each in found] == column(view, key)
        else:
            ends = zip(column(view, "client"), column(view, "server"), strict=True)
            assert [each[key] for each in found] == [">".join(pair) for pair in ends]


def test_one_more_percentile_is_by_nearest_rank() -> None:
    session = opened(KAFKA)
    study = Study(RowReader(session), with_errors=False)
    grouped = study.group_rows(("operation",))
    latency = study.facts.latency
    for number, p95 in enumerate(study.percentile(grouped, 950)):
        mine = np.sort(latency[study.facts.timed[grouped.keys[study.facts.timed] == number]])
        assert p95 == (int(mine[-(-len(mine) * 95 // 100) - 1]) if len(mine) else None)
    assert study.percentile(grouped, 500) == [each.p50_ns for each in study.measure_groups(grouped)]


def test_buckets_for_people() -> None:
    cases = [(-5, "0"), (0, "0"), (999, "0"), (1000, "1us"), (1999, "1us"), (511_999, "256us"), (512_000, "512us")]
    cases += [(999_999, "512us"), (10**6, "1ms"), (999_999_999, "512ms"), (10**9, "1s"), (1 << 62, "524288s")]
    units = {"us": 10**3, "ms": 10**6, "s": 10**9}
    for value, edge in cases:
        number = edge.rstrip("mus")
        wanted = int(number) * units.get(edge[len(number) :], 1)
        assert int(ROUND[buckets(np.array([value]), ROUND)[0]]) == wanted, value
    assert (np.diff(ROUND) > 0).all()


def test_the_overview_says_what_is_wrong_and_leads_there() -> None:
    view = views_of(MIXED)["Overview"]
    assert isinstance(view, OverviewView)
    items = {str(item.key): item for item in lines(view) if item.key is not None}
    errors, silent_ones = items["errors"], items["never answered"]
    assert isinstance(errors.lead, FilterLead)
    assert isinstance(silent_ones.lead, FilterLead)
    assert strip_styles(errors.line).split()[1] == "26,"
    assert kept(MIXED, errors.lead.condition) == 26
    assert kept(MIXED, "error") == 26 + 4
    nothing = items["nothing yet"]
    assert isinstance(nothing.lead, FilterLead)
    assert kept(MIXED, nothing.lead.condition) == 4
    assert f"{kept(MIXED, silent_ones.lead.condition)} requests" in strip_styles(silent_ones.line)
    waiting = [item.lead.row for item in lines(view) if isinstance(item.lead, MessageLead)]
    text = json.loads(run("stats", str(MIXED), "--format", "json").stdout)
    assert waiting == [each["number"] - 1 for each in text["unanswered"]["oldest"]][: len(waiting)]
    operations = [item for item in lines(view) if isinstance(item.key, tuple) and isinstance(item.lead, FilterLead)]
    assert len(operations) == len(text["operations"])


def test_only_the_rows_that_are_shown_count() -> None:
    session = opened(KAFKA)
    rows = compile_filter("kafka.Fetch").select_rows(RowReader(session), np.arange(len(session.rows)))
    *_, views = make_statistics_views(session, rows, silent())
    found = {view.name: view for view in views}
    assert f"messages       {len(rows)}," in "".join(
        strip_styles(item.line) for item in found["Overview"].make_lines(WIDE, ViewState())
    )
    latencies = found["Latency"]
    assert isinstance(latencies, LatencyView)
    assert latencies.foldable == ["operation == Fetch"]
    *_, talks = make_conversation_views(session, rows, silent(), None)
    connections = talks[0]
    assert isinstance(connections, TableView)
    assert sum(column(connections, "messages")) == len(rows)
    assert len(connections.table) < len(session.engine.streams)


def test_no_rows_no_metrics() -> None:
    found = list(make_statistics_views(opened(KAFKA), np.zeros(0, np.int64), silent()))
    assert [view.name for view in found[-1]] == list(STATISTICS_VIEWS)
    for view in found[-1]:
        assert [strip_styles(item.line).strip() for item in lines(view)] == ["there is no message to count"]
    *_, talks = make_conversation_views(opened(KAFKA), np.zeros(0, np.int64), silent(), None)
    assert all(len(lines(view)) <= 1 for view in talks)


def test_what_the_index_tells_comes_first() -> None:
    session = opened(KAFKA)
    came: Iterator[list[View]] = make_statistics_views(session, np.arange(len(session.rows)), silent())
    first = {view.name: len(lines(view)) for view in next(came)}
    assert first["Overview"] > 10
    assert all(many == 1 for name, many in first.items() if name != "Overview")
    second = {view.name: len(lines(view)) for view in next(came)}
    assert second["Latency"] > 10


@pytest.mark.parametrize("after", range(6))
def test_nobody_waits_for_work_that_nobody_wants(after: int) -> None:
    session = opened(KAFKA)
    work = silent()
    came = make_statistics_views(session, np.arange(len(session.rows)), work)
    for _ in range(after):
        next(came)
    work.cancel()
    with pytest.raises(Cancellation):
        list(came)


def test_connections_without_a_message_retransmissions_and_gaps(tmp_path: Path) -> None:
    request = bytes.fromhex("0000000a 0012 0000 00000001 0000")
    segments = [*opening(), *(Segment(CLIENT, at, request) for at in (0, 0, len(request), 300))]
    path = capture(tmp_path / "lossy.pcap", segments)
    with Session([path]).load() as session:
        rows = np.arange(len(session.rows))
        *_, views = make_conversation_views(session, rows, silent(), len(session.engine.streams))
        view = views[0]
        assert isinstance(view, TableView)
        assert column(view, "packets") == [len(segments)]
        assert column(view, "again") == [1]
        assert column(view, "gaps") == [sum(finding.code == "gap" for finding in session.findings)] == [1]
    silence = capture(tmp_path / "silent.pcap", opening())
    with Session([silence]).load() as session:
        *_, views = make_conversation_views(session, np.zeros(0, np.int64), silent(), len(session.engine.streams))
        view = views[0]
        assert isinstance(view, TableView)
        assert (len(view.table), view.lead(0)) == (1, None)
        assert "1 more without a message" in strip_styles(lines(view)[-1].line)


def test_hostile_names_are_seen_and_their_filters_work(tmp_path: Path) -> None:
    path = write(tmp_path / "evil.pcap", TEXTS)
    for kind in ("statistics", "conversations"):
        for view in views_of(path, kind).values():
            for item in lines(view):
                assert not acts("".join(text for _, text in item.line)), item
    view = views_of(path)["Topics"]
    assert isinstance(view, TableView)
    for row, many in enumerate(column(view, "messages")):
        lead = view.lead(row)
        assert isinstance(lead, FilterLead)
        assert kept(path, lead.condition) == many, lead.condition
