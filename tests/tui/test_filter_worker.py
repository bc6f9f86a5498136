"""However rows come in and wherever a pass begins, it keeps what the filter keeps of all rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.decode.rows import RowReader
from analyzer.query.filter import compile_filter
from analyzer.session import Session
from tests.tui.driving import GOLDEN, KAFKA
from tui import filter_worker as model
from tui.filter_worker import FilterPass, FilterResult, RowReaders, _apply_filter

FILTERS = ("latency > 1ms", "not partner", 'text contains "jg"', "operation == Fetch or error", "stream == 99999")


@pytest.fixture(scope="module")
def session():
    with Session([KAFKA]) as found:
        yield found.load()


def ask(filtering: FilterPass, session: Session, most: int | None = None) -> list[model.RowPortion]:
    """Asks one portion after the other, until there are none or `most` have been asked."""
    readers, requested = RowReaders(session), []
    while (rows := filtering.next_part()) is not None and len(requested) != most:
        requested.append(rows)
        filtering.add_result(_apply_filter(filtering.filter, rows, readers, session))
    return requested


def wanted(session: Session, text: str) -> list[int]:
    return compile_filter(text).select_rows(RowReader(session), range(len(session.rows))).tolist()


@settings(max_examples=settings.default.max_examples // 24)  # a case asks 648 messages, some of them twice
@given(
    text=st.sampled_from(FILTERS),
    start=st.integers(0, 648),
    cuts=st.lists(st.tuples(st.integers(0, 648), st.integers(0, 3)), max_size=4),
    first=st.sampled_from([1, 7, 100, 1000]),
)
def test_all_that_the_filter_keeps(
    session: Session, text: str, start: int, cuts: list[tuple[int, int]], first: int
) -> None:
    steps = sorted(cuts)
    filtering = FilterPass(compile_filter(text), session, steps[0][0] if steps else 648, start)
    filtering._size = first
    for rows, parts in steps:
        filtering.grow(rows)
        ask(filtering, session, parts)
    filtering.grow(648)
    ask(filtering, session)
    assert filtering.matches.tolist() == wanted(session, text)
    assert (filtering.rows_left, filtering.percent, filtering.is_settled) == (0, 100, True)


@settings(max_examples=settings.default.max_examples // 24)
@given(
    text=st.sampled_from(FILTERS),
    start=st.integers(0, 648),
    steps=st.lists(st.tuples(st.integers(0, 648), st.integers(0, 648), st.integers(0, 2)), max_size=4),
    first=st.sampled_from([7, 100]),
    late=st.booleans(),
)
def test_rows_that_leave_are_forgotten(
    session: Session, text: str, start: int, steps: list[tuple[int, int, int]], first: int, late: bool
) -> None:
    """late: they leave while a portion is being asked."""
    filtering, readers, removed = FilterPass(compile_filter(text), session, 0, start), RowReaders(session), 0
    filtering._size = first
    for rows, leave, parts in sorted(steps):
        filtering.grow(rows)
        ask(filtering, session, parts)
        part = filtering.next_part() if late else None
        removed = max(removed, min(leave, rows))
        filtering.evict(removed)
        if part is not None:
            filtering.add_result(_apply_filter(filtering.filter, part, readers, session))
        assert not len(filtering.matches) or filtering.matches[0] >= removed
    filtering.grow(648)
    requested = ask(filtering, session)
    assert all(rows[0] >= removed for rows in requested)
    assert filtering.matches.tolist() == [row for row in wanted(session, text) if row >= removed]
    assert (filtering.rows_left, filtering.percent, filtering.is_settled) == (0, 100, True)


def test_outwards_from_where_the_user_is(session: Session) -> None:
    filtering = FilterPass(compile_filter('text contains "jg"'), session, 648, 500)
    filtering._size = 64
    requested = ask(filtering, session)
    assert requested[0] == range(500, 564)
    behind = [rows for rows in requested if rows[0] >= 500]
    before = [rows for rows in requested if rows[0] < 500]
    assert requested == behind + before
    assert [row for rows in behind for row in rows] == list(range(500, 648))
    assert before[0][-1] == 499
    assert sorted(row for rows in before for row in rows) == list(range(500))


def test_columns_are_requested_in_one_go(session: Session) -> None:
    assert ask(FilterPass(compile_filter("length > 100"), session, 648, 500), session) == [range(648)]


def test_parts_fit_into_a_moment(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    filtering = FilterPass(compile_filter('text contains "jg"'), session, 648, 0)
    none = np.zeros(0, np.int64)
    assert filtering.next_part() == range(model.FIRST_PART)
    filtering.add_result(FilterResult(range(100), none, none, True, 10 * model.PART_SECONDS))
    assert filtering.next_part() == range(100, 110)
    filtering.add_result(FilterResult(range(100, 110), none, none, True, 0.0))
    assert filtering.next_part() == range(110, 150)
    monkeypatch.setattr(model, "CHUNK_BYTES", int(session.rows.column("length")[110:115].sum()))
    assert filtering.next_part() == range(110, 115)
    monkeypatch.setattr(model, "CHUNK_BYTES", 1)
    assert filtering.next_part() == range(110, 111)
    sizes = session.rows.column("length")
    monkeypatch.setattr(model, "CHUNK_BYTES", int(sizes[643:].sum()))
    assert int(sizes[:643].max()) > model.CHUNK_BYTES
    assert FilterPass(compile_filter('text contains "jg"'), session, 648, 648).next_part() == range(643, 648)


LATE = [*((KAFKA, text) for text in FILTERS), (GOLDEN / "k4_election.pcap.zst", 'kafka.topic matches "^[\\w-]{22}$"')]


@pytest.mark.parametrize(("capture", "text"), LATE)
def test_what_comes_later_changes_the_verdict(capture: Path, text: str) -> None:
    """Asked as blocks come: at each point what is kept is what can be known, at the end what a file says.

    In the last capture topics are named behind what says their ids.
    """
    with Session([capture], block=40) as session:
        filtering = FilterPass(compile_filter(text), session, 0, 0)
        for rows in session.grow():
            filtering.grow(rows.stop)
            ask(filtering, session)
            if text == "not partner":
                partners = session.rows.column("partner")[filtering.matches]
                requests = session.rows.column("role")[filtering.matches] == 0
                assert (partners[requests] < 0).all()
        filtering.end()
        ask(filtering, session)
        assert filtering.matches.tolist() == wanted(session, text)
