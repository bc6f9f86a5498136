"""Figures of groups beside a plain evaluation of the rows that `list` prints; percentiles, tests of significance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from analyzer.columns.arrays import Ints
from analyzer.decode.rows import RowReader
from analyzer.errors import UserError
from analyzer.insight.difference import compare_percentiles, compare_rates, compare_shares
from analyzer.insight.grouping import LENGTHS, LIMIT, MOST, SECOND, Intervals, field_of
from analyzer.insight.percentiles import EDGES, buckets, nearest_ranks, sums
from analyzer.insight.statistics import Study, statistics
from analyzer.query.fields import FieldReader
from analyzer.query.filter import compile_filter
from analyzer.session import Session
from tests.analyzer.wire import CLIENT, SERVER, Segment, capture, opening

ROOT = Path(__file__).parents[3]
MIXED, KAFKA = ROOT / "captures" / "mixed.pcapng", ROOT / "captures" / "kafka-4.4.pcap.zst"
KEYS = ("number", "time", "stream_id", "protocol", "source", "destination", "role", "operation", "version", "client")
MORE = ("length", "partner", "latency_ns", "error")
PULLED = {"PULL_MESSAGE": (19, 20, 21), "LITE_PULL_MESSAGE": (19, 20, 21), "POP_MESSAGE": (209, 210)}

Row = Mapping[str, Any]
Named = Callable[[Row], Iterable[Any]]


@cache
def rows_of(path: Path) -> list[Row]:
    """All rows as programs read them, with the time in ns."""
    with Session([path]).load() as session:
        reader, numbers = RowReader(session), np.arange(len(session.rows))
        found = [dict(row) for row in reader.read_objects((*KEYS, *MORE), numbers)]
        for row, time in zip(found, session.rows.column("time").tolist(), strict=True):
            row["time_ns"] = time
    return found


def is_nothing(row: Row) -> bool:
    code = row["error"] and row["error"]["code"]
    return row["protocol"] == "rocketmq" and code in PULLED.get(row["operation"], ())


def metrics(rows: Sequence[Row], span: int) -> dict[str, Any]:
    """All figures of one group, the slow way."""
    roles = [row["role"] for row in rows]
    text = [row for row in rows if row["error"] is not None]
    failed = [row for row in text if not is_nothing(row)]
    times = sorted(row["latency_ns"] for row in rows if row["latency_ns"] is not None)
    names = ("p50_ns", "p90_ns", "p99_ns", "p999_ns")
    ranks = [times[math.ceil(p * len(times) / 1000) - 1] if times else None for p in (500, 900, 990, 999)]
    answers = roles.count("response")
    return {
        "messages": len(rows),
        "requests": roles.count("request"),
        "answers": answers,
        "unanswered": sum(row["role"] == "request" and row["partner"] is None for row in rows),
        "orphans": sum(row["role"] == "response" and row["partner"] is None for row in rows),
        "oneway": roles.count("oneway"),
        "push": roles.count("push"),
        "raw": roles.count("raw"),
        "bytes": sum(row["length"] for row in rows),
        "rate": len(rows) * SECOND / span if span else None,
        "errors": len(failed),
        "empty": len(text) - len(failed),
        "error_rate": sum(row["role"] == "response" for row in failed) / answers if answers else None,
        "timed": len(times),
        "min_ns": times[0] if times else None,
        **dict(zip(names, ranks, strict=True)),
        "max_ns": times[-1] if times else None,
        "mean_ns": sum(times) / len(times) if times else None,
    }


def grouped(rows: Sequence[Row], values: Named, span: int | None = None) -> dict[Any, dict[str, Any]]:
    times = [row["time_ns"] for row in rows]
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        for value in list(dict.fromkeys(values(row))) or [None]:
            groups.setdefault(value, []).append(row)
    return {value: metrics(mine, span or max(times) - min(times)) for value, mine in groups.items()}


def key(name: str) -> Named:
    return lambda row: [row[name]]


def error(row: Row) -> list[str | None]:
    return [row["error"] and row["error"]["name"]]


BY: dict[str, Named] = {
    **{name: key(name) for name in KEYS if name not in ("number", "time", "stream_id")},
    "connection": key("stream_id"),
    "error": error,
    "length": key("length"),
    "ip": lambda row: [row[side].rpartition(":")[0] for side in ("source", "destination")],
    "port": lambda row: [int(row[side].rpartition(":")[2]) for side in ("source", "destination")],
}


@pytest.mark.sampled(9)
@pytest.mark.parametrize("path", [MIXED, KAFKA], ids=lambda path: path.name)
@pytest.mark.parametrize("name", BY)
def test_by_a_key(name: str, path: Path) -> None:
    with Session([path]).load() as session:
        found = statistics(RowReader(session), [name])
    assert {group.key[0]: asdict(group.metrics) for group in found.groups} == grouped(rows_of(path), BY[name])
    assert asdict(found.total) == grouped(rows_of(path), lambda row: [0])[0]
    assert [group.metrics.messages for group in found.groups] == sorted(
        (group.metrics.messages for group in found.groups), reverse=True
    )


@pytest.mark.parametrize("name", ["topic", "group", "kafka.Fetch.request.maxWaitMs", "kafka.partition"])
def test_by_what_messages_say(name: str) -> None:
    with Session([MIXED]).load() as session:
        reader, numbers = RowReader(session), np.arange(len(session.rows))
        field = field_of(name)
        reading = FieldReader(reader, [field])
        text: dict[int, list[Any]] = {}
        places, values = reading.read_values(field, numbers)
        for place, value in zip(places.tolist(), values, strict=True):
            text.setdefault(place + 1, []).append(value)
        found = statistics(reader, [name])
    assert any(len(set(values)) > 1 for values in text.values()) or name != "kafka.partition"
    expected = grouped(rows_of(MIXED), lambda row: text.get(row["number"], []))
    assert {group.key[0]: asdict(group.metrics) for group in found.groups} == expected


@pytest.mark.parametrize(
    "names", [("protocol", "operation"), ("ip", "role"), ("role", "port"), ("port", "ip", "error")]
)
def test_by_several_keys_a_row_is_in_each_pair(names: tuple[str, ...]) -> None:
    def values(row: Row) -> Iterable[Any]:
        found: list[tuple[Any, ...]] = [()]
        for name in names:
            found = [(*one, value) for one in found for value in dict.fromkeys(BY[name](row))]
        return found

    with Session([MIXED]).load() as session:
        found = statistics(RowReader(session), names)
    assert {group.key: asdict(group.metrics) for group in found.groups} == grouped(rows_of(MIXED), values)


@pytest.mark.parametrize("interval", [SECOND, 7 * SECOND, 1_000_000])
def test_by_time(interval: int) -> None:
    with Session([MIXED]).load() as session:
        found = statistics(RowReader(session), ["time"], interval=interval)
    expected = grouped(rows_of(MIXED), lambda row: [row["time_ns"] // interval * interval], interval)
    assert {group.key[0]: asdict(group.metrics) for group in found.groups if group.metrics.messages} == expected
    begins = [group.key[0] for group in found.groups]
    assert begins == list(range(begins[0], begins[-1] + 1, interval))
    assert found.interval == interval


def test_intervals_that_are_too_many_are_only_those_with_messages() -> None:
    keys, begins = Intervals(1).number_times(np.array([5, 5 + LIMIT, 7]))
    assert (keys.tolist(), begins) == ([0, 2, 1], [5, 7, 5 + LIMIT])


@pytest.mark.parametrize("span", [0, 1, 59, 10**6, 59 * SECOND, 61 * SECOND, 400 * 86_400 * SECOND])
def test_the_usual_interval_is_the_shortest_that_fits(span: int) -> None:
    first = 1_795_000_000_123_456_789
    length = Intervals.fitting(first, first + span).length
    assert (first + span) // length - first // length < MOST
    shorter = [each for each in LENGTHS if each < length]
    assert all((first + span) // each - first // each >= MOST for each in shorter)


def test_of_rows_that_a_filter_keeps() -> None:
    with Session([MIXED]).load() as session:
        reader = RowReader(session)
        rows: Ints = compile_filter("latency > 50ms").select_rows(reader, np.arange(len(session.rows)))
        found = statistics(reader, ["operation"], rows)
    remaining = [row for row in rows_of(MIXED) if (row["latency_ns"] or 0) > 50_000_000]
    assert {group.key[0]: asdict(group.metrics) for group in found.groups} == grouped(remaining, key("operation"))


def test_several_files_are_one_timeline_and_nothing_depends_on_blocks() -> None:
    found = []
    for block in (32_768, 7):
        with Session([MIXED, KAFKA], block=block).load() as session:
            found.append(statistics(RowReader(session), ["client", "version"]))
    assert found[0] == found[1]
    assert found[0].total.messages == len(rows_of(MIXED)) + len(rows_of(KAFKA))


def test_without_errors_nobody_knows_of_any() -> None:
    with Session([MIXED]).load() as session:
        total = statistics(RowReader(session), ["role"], with_errors=False).total
    assert (total.errors, total.empty, total.error_rate) == (None, None, None)


def test_no_rows_are_no_groups() -> None:
    with Session([MIXED]).load() as session:
        found = statistics(RowReader(session), ["client", "topic"], np.zeros(0, np.int64))
    assert (list(found.groups), found.total.messages, found.total.rate, found.first) == ([], 0, None, None)


@pytest.mark.parametrize("name", ["nonsense", "kafka.Fetch.request.topics", "kafka.nonsense"])
def test_what_is_no_field_is_an_error(name: str) -> None:
    with pytest.raises(UserError, match=name.partition(".")[0]):
        field_of(name)


REQUEST = bytes.fromhex("00000012 0003 0001 00000007 0004 74657374 ffffffff")
ANSWER = bytes.fromhex("00000010 00000007 00000000 ffffffff 00000000")


def exchange(at: int, begin: int, latency: int) -> list[Segment]:
    requested, answered = at * len(REQUEST), at * len(ANSWER)
    request = REQUEST[:8] + at.to_bytes(4) + REQUEST[12:]
    answer = ANSWER[:4] + at.to_bytes(4) + ANSWER[8:]
    return [
        Segment(CLIENT, requested, request, acked=answered, time=begin),
        Segment(SERVER, answered, answer, acked=requested + len(request), time=begin + latency),
    ]


def test_latencies_by_hand_with_one_that_is_negative(tmp_path: Path) -> None:
    """Five exchanges a second apart; the clock goes back during the third."""
    latencies = [400_000, 100_000, -50_000, 300_000, 200_000]
    first = 1_795_000_000 * SECOND
    segments = opening()
    for place, latency in enumerate(latencies):
        segments += exchange(place, first + place * SECOND, latency)
    with Session([capture(tmp_path / "a.pcap", segments)]).load() as session:
        study = Study(RowReader(session))
        total = study.total
        distribution = study.latencies(study.group_rows(["role"]))
    assert (total.timed, total.min_ns, total.p50_ns, total.p90_ns, total.max_ns) == (
        5,
        -50_000,
        200_000,
        400_000,
        400_000,
    )
    assert (total.mean_ns, total.messages, total.rate) == (190_000.0, 10, 10 * SECOND / (4 * SECOND + 200_000))
    assert distribution.sum() == len(latencies)


# ---- percentiles of groups beside sorted lists, sums beside Python's, and the edges of buckets


THOUSANDTHS = (500, 900, 990, 999)
VALUES = st.one_of(st.integers(-1000, 1000), st.integers(-(1 << 62), 1 << 62))
ENTRIES = st.lists(st.tuples(st.integers(0, 5), VALUES), max_size=60)


def plainly(values: list[int]) -> list[int]:
    """Nearest rank as textbooks say it, without arrays."""
    ordered, count = sorted(values), len(values)
    if not count:
        return [0] * (len(THOUSANDTHS) + 3)
    ranks = [ordered[max(math.ceil(each * count / 1000), 1) - 1] for each in THOUSANDTHS]
    return [count, ordered[0], *ranks, ordered[-1]]


@given(ENTRIES)
@example([(0, value) for value in range(1000, 0, -1)])
def test_each_group_has_the_percentiles_of_its_values(entries: list[tuple[int, int]]) -> None:
    ordered = sorted(entries, key=lambda entry: entry[1])
    keys, values = (np.array([entry[place] for entry in ordered], np.int64) for place in (0, 1))
    found = nearest_ranks(keys, values, 7, THOUSANDTHS).tolist()
    assert found == [plainly([value for key, value in entries if key == group]) for group in range(7)]


@given(ENTRIES)
def test_sums_are_exact(entries: list[tuple[int, int]]) -> None:
    keys, values = (np.array([entry[place] for entry in entries], np.int64) for place in (0, 1))
    assert sums(keys, values, 6) == [sum(value for key, value in entries if key == group) for group in range(6)]


@pytest.mark.parametrize(
    ("value", "begin"),
    [(-5, 0), (0, 0), (1, 1), (3, 3), (4, 4), (7, 7), (8, 8), (9, 8), (11, 10), (1023, 896), (1024, 1024)],
)
def test_a_bucket_begins_at_its_edge(value: int, begin: int) -> None:
    assert EDGES[buckets(np.array([value]))[0]] == begin


def test_buckets_grow_by_a_quarter_at_most_and_never_overlap() -> None:
    assert (np.diff(EDGES) > 0).all()
    assert (EDGES[5:] * 4 <= EDGES[4:-1] * 5).all()


# ---- tests of significance beside values from textbooks, and beside counting all outcomes


def count_outcomes(some: int, of: int, others: int, of_others: int) -> float:
    """Fisher's test, by counting all tables with the same sums."""
    marked = some + others
    ways = [comb(of, n) * comb(of_others, marked - n) for n in range(max(0, marked - of_others), min(marked, of) + 1)]
    seen = comb(of, some) * comb(of_others, others)
    return sum(way for way in ways if way <= seen) / sum(ways)


@pytest.mark.parametrize(
    ("some", "of", "others", "of_others", "expected"),
    [
        (3, 4, 1, 4, 0.4857142857),  # the lady tasting tea
        (1, 10, 11, 14, 0.0027594562),
        (0, 5, 5, 5, 2 / 252),
        (7, 7, 3, 3, 1.0),
        (0, 0, 3, 9, 1.0),
    ],
)
def test_shares(some: int, of: int, others: int, of_others: int, expected: float) -> None:
    assert compare_shares(some, of, others, of_others) == pytest.approx(expected, rel=1e-6)
    assert compare_shares(others, of_others, some, of) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("of", [1, 3, 8, 15])
def test_few_shares_are_exact(of: int) -> None:
    for some in range(of + 1):
        for others in range(10):
            assert compare_shares(some, of, others, 9) == pytest.approx(count_outcomes(some, of, others, 9), rel=1e-6)


def test_many_shares_are_nearly_as_exact_ones() -> None:
    for others in (100, 120, 140):
        exact, found = count_outcomes(100, 1000, others, 1000), compare_shares(100, 1000, others, 1000)
        assert found == pytest.approx(exact, rel=0.4)
    assert compare_shares(10**6, 10**7, 10**6 + 10**5, 10**7) == 0


def test_rates() -> None:
    assert compare_rates(5, 10, 5, 10) == 1
    assert compare_rates(0, 10, 4, 10) == pytest.approx(2 / 16)
    assert compare_rates(0, 10, 4, 0) == 1
    assert compare_rates(1000, 10, 2000, 20) == 1
    assert compare_rates(1000, 10, 2000, 10) < 1e-9


def test_percentiles_of_one_distribution_and_of_two() -> None:
    chance = np.random.default_rng(27)
    one, other = (np.sort(chance.lognormal(10, 2, 5000).astype(np.int64)) for _ in range(2))
    for thousandths in (500, 900, 990):
        assert compare_percentiles(one, one, thousandths) == 1
        assert compare_percentiles(one, other, thousandths) > 0.01
        assert compare_percentiles(one, 2 * other, thousandths) < 0.001


def test_only_the_tail_differs() -> None:
    one = np.arange(10_000)
    other = np.sort(np.where(one % 50 == 0, one + 10**6, one))
    assert compare_percentiles(one, other, 500) > 0.01
    assert compare_percentiles(one, other, 990) < 0.001


def test_few_values_prove_nothing() -> None:
    assert compare_percentiles(np.array([1]), np.array([10**9]), 500) == 1
    assert compare_percentiles(np.zeros(0, np.int64), np.arange(9), 500) == 1
