"""Lines and places, held against the simplest thing that could be right: lists."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import within, within_steps
from tui.model.timeline import ListPlace, Timeline


def expected(
    streams: list[int], known: int, opened: set[int], flat: bool, kept: set[int] | None = None
) -> list[ListPlace]:
    rows = [(row, stream) for row, stream in enumerate(streams) if kept is None or row in kept]
    if flat:
        return [ListPlace(stream, row) for row, stream in rows]
    found = []
    for stream in range(known):
        mine = [ListPlace(stream, row) for row, each in rows if each == stream]
        if mine or kept is None:
            found.append(ListPlace(stream))
        if stream in opened:
            found += mine
    return found


def timeline_of(streams: list[int]) -> Timeline:
    column = np.array(streams, np.int32)
    return Timeline(lambda rows: column[rows])


@given(
    streams=st.lists(st.integers(0, 6), max_size=60),
    cuts=st.lists(st.integers(0, 60), max_size=6),
    folds=st.lists(st.tuples(st.integers(0, 8), st.booleans()), max_size=8),
    flat=st.booleans(),
)
def test_every_line_and_back(streams: list[int], cuts: list[int], folds: list[tuple[int, bool]], flat: bool) -> None:
    timeline = timeline_of(streams)
    timeline.flat = flat
    opened: set[int] = set()
    known = 0
    steps = sorted({min(cut, len(streams)) for cut in cuts} | {len(streams)})
    for number, rows in enumerate(steps):
        known = max([known, *(stream + 1 for stream in streams[:rows])])
        timeline.grow(rows, known)
        for stream, to in folds[number : number + 2]:
            if stream < known:
                timeline.fold(stream, opened=to)
                (opened.add if to else opened.discard)(stream)
        places = expected(streams[:rows], known, opened, flat)
        assert timeline.lines == len(places)
        assert timeline.list_places(0, len(places) + 5) == places
        for line, place in enumerate(places):
            assert timeline.find_place(line) == place
            assert timeline.find_line(place) == line
        assert timeline.list_places(len(places) // 2, 2) == places[len(places) // 2 :][:2]
    assert timeline.find_place(-1) is None
    assert timeline.find_place(timeline.lines) is None


@settings(max_examples=settings.default.max_examples // 4)  # each line and row is asked for itself
@given(
    streams=st.lists(st.integers(0, 6), max_size=60),
    keeps=st.lists(st.sets(st.integers(0, 59), max_size=30) | st.none(), max_size=4),
    opened=st.sets(st.integers(0, 6)),
    flat=st.booleans(),
)
def test_a_filter_hides_rows_and_streams_without_any(
    streams: list[int], keeps: list[set[int] | None], opened: set[int], flat: bool
) -> None:
    timeline = timeline_of(streams)
    timeline.flat = flat
    half = len(streams) // 2
    timeline.grow(half, 7)
    for stream in opened:
        timeline.fold(stream, opened=True)
    for keep in (None, *keeps):
        remaining = None if keep is None else {row for row in keep if row < half}
        timeline.filter_rows(None if remaining is None else np.array(sorted(remaining), np.int64))
    timeline.grow(len(streams), 7)
    if keeps and keeps[-1] is not None:
        remaining = {row for row in keeps[-1] if row < len(streams)}
        timeline.filter_rows(np.array(sorted(remaining), np.int64))
    places = expected(streams, 7, opened, flat, remaining)
    assert (timeline.lines, timeline.list_places(0, 100)) == (len(places), places)
    for line, place in enumerate(places):
        assert timeline.find_nearest(place) == place
        assert timeline.find_line(place) == line
    for row, stream in enumerate(streams):
        shown = remaining is None or row in remaining
        assert timeline.is_shown(row) == shown
        assert timeline.count_messages(stream) == streams.count(stream)
        near = timeline.find_nearest(ListPlace(stream, row))
        later = [each for each in sorted(remaining or ()) if each >= row]
        if remaining is not None:
            assert near == (
                None
                if not remaining
                else (streams[next(iter(later), max(remaining))], next(iter(later), max(remaining)))
            )


@settings(max_examples=settings.default.max_examples // 4)
@given(
    streams=st.lists(st.integers(0, 5), max_size=50),
    steps=st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=5),
    opened=st.sets(st.integers(0, 5)),
    keep=st.sets(st.integers(0, 49)) | st.none(),
    flat=st.booleans(),
    asked=st.booleans(),
)
def test_rows_leave_and_keep_their_numbers(
    streams: list[int], steps: list[tuple[int, int]], opened: set[int], keep: set[int] | None, flat: bool, asked: bool
) -> None:
    timeline = timeline_of(streams)
    timeline.flat = flat
    timeline.grow(0, 6)
    for stream in opened:
        timeline.fold(stream, opened=True)
    rows = first = 0
    known, opened, left = set(range(6)), set(opened), dict.fromkeys(range(6), 0)
    for more, leave in steps:
        known |= set(streams[rows : max(rows, more)])
        rows = max(rows, min(more, len(streams)))
        timeline.grow(rows, 6)
        before, first = first, max(first, min(leave, rows))
        if asked:
            timeline.list_places(0, 100)  # which puts what waits in its place
        timeline.evict(first)
        if first > before:
            known = set(streams[first:rows])  # who has no row any more is as one who never had any
            opened &= known
            left = {each: left[each] + streams[before:first].count(each) if each in known else 0 for each in left}
        remaining = None if keep is None else {row for row in keep if first <= row < rows}
        timeline.filter_rows(None if remaining is None else np.array(sorted(remaining), np.int64))
        shown = [(row, streams[row]) for row in range(first, rows) if remaining is None or row in remaining]
        places = [ListPlace(stream, row) for row, stream in shown]
        if not flat:
            places = []
            for stream in sorted(known):
                mine = [ListPlace(stream, row) for row, each in shown if each == stream]
                places += [ListPlace(stream)] if mine or remaining is None else []
                places += mine if stream in opened else []
        assert (timeline.lines, timeline.list_places(0, 200)) == (len(places), places)
        assert timeline.visible_rows.tolist() == [row for row, _ in shown]
        for line, place in enumerate(places):
            assert (timeline.find_place(line), timeline.find_line(place), timeline.find_nearest(place)) == (
                place,
                line,
                place,
            )
        for row, stream in enumerate(streams[:rows]):
            assert timeline.is_shown(row) == ((row, stream) in shown)
            if shown:
                later = next((each for each in shown if each[0] >= row), shown[-1])
                assert timeline.find_nearest(ListPlace(stream, row)) == ListPlace(later[1], later[0])
        for stream in range(6):
            mine = streams[first:rows].count(stream)
            there = left[stream] if stream in known else 0
            assert (timeline.count_messages(stream), timeline.count_evicted(stream)) == (mine + there, there)
            assert timeline.is_open(stream) == (stream in opened)
            assert timeline.find_first_row(stream) == next((row for row, each in shown if each == stream), None)


def test_what_left_costs_nothing() -> None:
    """A day of short connections: what is kept goes with the rows that are there."""
    block, remaining = 5_000, 20_000
    timeline = Timeline(lambda rows: (rows // 3).astype(np.int32))
    for flat in (True, False):
        timeline.flat = flat
        for rows in range(timeline.rows + block, timeline.rows + 40 * block, block):
            timeline.grow(rows, rows // 3 + 1)
            timeline.evict(rows - remaining)
            timeline.list_places(0, 60)
        grouped = timeline._all
        arrays = (timeline._open, timeline._evicted, timeline._sizes, timeline._ends, grouped.counts, grouped._order)
        assert timeline.rows - timeline.first == remaining
        assert sum(each.nbytes for each in (*arrays, *grouped._waiting)) < 20 * remaining
        assert len(timeline._slots) <= remaining // 3 + 2


def test_the_stream_nearby() -> None:
    timeline = timeline_of([0, 1, 0, 1, 3])
    timeline.grow(5, 5)
    timeline.filter_rows(np.array([1, 4]))
    assert [timeline.find_nearest(ListPlace(stream)) for stream in range(5)] == [
        ListPlace(1),
        ListPlace(1),
        ListPlace(3),
        ListPlace(3),
        ListPlace(3),
    ]
    assert [timeline.find_begin(stream) for stream in range(5)] == [0, 1, 0, 4, 0]
    assert [timeline.find_first_row(stream) for stream in range(5)] == [None, 1, None, 4, None]
    timeline.filter_rows(np.zeros(0, np.int64))
    assert (timeline.find_nearest(ListPlace(0)), timeline.find_nearest(ListPlace(0, 0)), timeline.lines) == (
        None,
        None,
        0,
    )


def test_folded_rows_and_whole_folds() -> None:
    timeline = timeline_of([0, 1, 0, 1, 3])
    timeline.grow(5, 5)
    assert timeline.find_line(ListPlace(1, 3)) == 1
    timeline.fold_all(opened=True)
    assert timeline.lines == 10
    assert timeline.find_line(ListPlace(1, 3)) == 5
    assert (timeline.count_rows(2), timeline.find_first_row(2), timeline.find_first_row(3)) == (0, None, 4)
    timeline.flat = True
    assert [timeline.find_line(ListPlace(stream)) for stream in range(5)] == [0, 1, 0, 4, 0]


def test_a_million_rows_cost_few_bytes_and_no_time() -> None:
    rows, streams, block = 1_000_000, 10_000, 50_000
    column = np.random.default_rng(1).integers(0, streams, rows).astype(np.int32)
    timeline = Timeline(lambda numbers: column[numbers])
    for end in range(block, rows + 1, block):
        timeline.grow(end, streams)
    timeline.fold_all(opened=True)
    timeline.list_places(0, 60)  # which sorts the rows, once
    with within(2), within_steps(300_000):  # 0.005 s, 27,000; to sort for each is 7 s, to walk the rows 100 million
        for line in range(0, timeline.lines, timeline.lines // 100):
            timeline.fold(line % streams, opened=False)
            timeline.list_places(min(line, timeline.lines - 60), 60)
    grouped = timeline._grouped
    assert grouped._order.nbytes + sum(each.nbytes for each in grouped._waiting) <= 4 * rows
