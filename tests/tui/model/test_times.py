"""Times of rows: the same as `list --time-format` says, cut to the room there is, and since references."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from analyzer.config.model import TIME_FORMATS, TimeFormat
from analyzer.decode.rows import RowReader
from analyzer.render.clock import TimeClock
from analyzer.session import Session
from tests.tui.driving import KAFKA
from tui.model.times import REFERENCE, RowTimes, TimeWidth, choose_format

ROWS = np.arange(0, 600, 7)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session([KAFKA]) as found:
        yield found.load()


def shown(session: Session, times: RowTimes, room: int, rows: np.ndarray = ROWS) -> list[str]:
    reported = RowReader(session).read_columns(["time"], rows)[0]
    before = np.concatenate(([-1], rows[:-1]))
    return times.format_times(rows, reported, before, times.fit(room, len(session.rows)))


@pytest.mark.parametrize(("room", "decimals"), [(140, 6), (74, 3)])
@pytest.mark.parametrize("form", [None, *TIME_FORMATS])
def test_the_same_as_list(session: Session, form: TimeFormat | None, room: int, decimals: int) -> None:
    texts = shown(session, RowTimes(session, form), room)
    reader = RowReader(session)
    if form in (None, "iso"):
        (whole,) = reader.read_columns(["time"], ROWS)
        begin = 0 if form else 11
        decimals -= 3 * (form == "iso" and room < 101)
        expected = [text[begin : 19 + bool(decimals) + decimals] for text in whole]
    else:
        clock = TimeClock(form)
        clock.set_next_rows(reader, ROWS)
        whole = list(map(str, clock.read_column(reader, ROWS).values()))
        expected = [text[: decimals - 9] for text in whole]
    assert [text.strip() for text in texts] == expected
    assert len({len(text) for text in texts}) == 1


def test_where_it_is_narrow_there_are_none(session: Session) -> None:
    times = RowTimes(session, "relative")
    assert times.fit(63, 10) == TimeWidth(0, 0)
    assert set(shown(session, times, 63)) == {""}


def test_references(session: Session) -> None:
    times = RowTimes(session, "relative")
    assert times.toggle_reference(100)
    assert times.toggle_reference(20)
    assert times.references == [20, 100]
    texts = shown(session, times, 140, np.array([10, 20, 50, 100, 120]))
    assert [text.strip() == REFERENCE for text in texts] == [False, True, False, True, False]
    at = session.rows.column("time")
    began = session.packets.began
    assert began is not None
    for place, row, since in ((0, 10, began), (2, 50, int(at[20])), (4, 120, int(at[100]))):
        assert abs(float(texts[place]) - (int(at[row]) - since) / 10**9) < 2e-6
    assert not times.toggle_reference(20)
    assert times.references == [100]
    assert shown(session, times, 140, np.array([100]))[0].strip() == REFERENCE


def test_the_first_format() -> None:
    assert choose_format(None, "") is None
    assert choose_format(None, "no such") is None
    assert choose_format(None, "delta") == "delta"
    assert choose_format("epoch", "delta") == "epoch"
