"""What the user interface keeps for a row, beyond what the session keeps.

Theory. tracemalloc counts what Python and NumPy have allocated and not yet freed. The same capture is read by a session
alone and by the whole window; what the window has more is a constant (its widgets, what was painted) and so much for
each row, and two captures of different size tell them apart. What is imported, or made once of a protocol's tables and
kept, falls into whatever run comes first to it: so each is run once more before.
"""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from analyzer.session import Session
from benchmarks.library import Library
from tests.tui.driving import driving

MOST = 40
"""Bytes a row that are allowed."""

BLOCK = 4096
FEW, MANY = 2_000, 30_000


@contextmanager
def traced() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


def now() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def index(capture: Path) -> tuple[int, int]:
    """What a session holds, and its rows."""
    with traced(), Session([capture], block=BLOCK) as session:
        session.load()
        return now(), len(session.rows)


async def window(capture: Path) -> Mapping[str, int]:
    """What the window and its session hold, in each state."""
    found = {}
    with traced():
        async with driving([capture], block=BLOCK, size=(120, 40)) as drive:
            found["streams"] = now()
            await drive.press("v", "G", "g")
            found["timeline"] = now()
            await drive.filter("length > 100")
            assert 0 < len(drive.rows()) < drive.main.timeline.timeline.rows
            found["timeline, filtered"] = now()
            await drive.press("v", "g")
            found["streams, filtered"] = now()
    return found


@pytest.fixture(scope="module")
def a_row(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, float]:
    """Bytes a row in each state."""
    library = Library(tmp_path_factory.mktemp("captures"))
    few, many = (library.of_packets("small", packets) for packets in (FEW, MANY))
    (small, rows), (large, all_rows) = map(index, (few, many))
    for capture in (few, many):
        asyncio.run(window(capture))
    with_few, with_many = (asyncio.run(window(capture)) for capture in (few, many))
    return {state: (with_many[state] - large - (with_few[state] - small)) / (all_rows - rows) for state in with_many}


@pytest.mark.slow
def test_bytes_a_row(a_row: Mapping[str, float]) -> None:
    assert {state: round(stored) for state, stored in a_row.items() if stored > MOST} == {}


@pytest.mark.slow
def test_rows_are_counted_at_all(a_row: Mapping[str, float]) -> None:
    """The numbers of the rows that a filter keeps are more than nothing."""
    assert a_row["timeline, filtered"] > 4
