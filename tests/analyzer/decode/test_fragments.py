"""Portions of the same whole: the same rows, looked for from one of them, or kept in mind by who goes through all."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from random import Random

import pytest

import analyzer.decode.fragments
from analyzer.decode.fragments import FragmentTracker, find_before, find_fragment
from dissectors.pulsar import Pulsar
from dissectors.slotted import replace
from tests.analyzer.decode.test_joined_fragments import chunk, opened, plain, pushed


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What was asked of the dissector."""
    found: list[bytes] = []
    reported = Pulsar().fragments.read_fragment

    def portion(prefix: bytes) -> object:
        found.append(prefix)
        return reported(prefix)

    monkeypatch.setattr(Pulsar, "fragments", replace(Pulsar().fragments, read_fragment=portion))
    return found


@pytest.mark.parametrize(("most", "step"), [(10_000, 1 << 16), (5, 3), (2, 1)])
def test_both_find_the_same(most: int, step: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(analyzer.decode.fragments, "MOST", most)
    monkeypatch.setattr(analyzer.decode.fragments, "_STEP", step)
    random, stored, joined = Random(7), 0, 0

    def message() -> bytes:
        consumer = random.randrange(2)
        if random.random() < 0.3:
            return plain(consumer)
        total = random.choice([1, 2, 3, 4])
        return chunk(random.randrange(4), total, uuid=random.choice("ab"), consumer=consumer)

    with opened(tmp_path, pushed(message() for _ in range(400))) as session:
        passed = FragmentTracker(session)
        for row in range(len(session.rows)):
            found = find_fragment(session, row)
            if found is not None and found.completes and random.random() < 0.7:
                alone = find_before(session, row, found)
                assert passed.find_before(row, found) == alone
                stored, joined = stored + 1, joined + bool(alone)
    assert stored > 100
    assert joined > 5


def test_what_completes_something_ends_it(tmp_path: Path) -> None:
    """Each one here is the last of one more: without that, each would have all before it as its portions."""
    with opened(tmp_path, pushed(chunk(number, number + 1) for number in range(9))) as session:
        found = find_fragment(session, 10)
        assert found is not None
        assert (found.number, found.completes) == (8, True)
        assert find_before(session, 10, found) == {}


def test_each_row_is_read_once_by_who_goes_through_all(asked: list[bytes], tmp_path: Path) -> None:
    numbers = count()
    with opened(tmp_path, pushed(chunk(4, 5, uuid=f"u{next(numbers)}") for _ in range(300))) as session:
        parts = [(row, find_fragment(session, row)) for row in range(2, len(session.rows))]
        asked.clear()
        passed = FragmentTracker(session)
        for row, part in parts:
            assert part is not None
            assert passed.find_before(row, part) == {}
        assert len(asked) == len(parts) - 1


def test_a_first_part_has_none_before_it(asked: list[bytes], tmp_path: Path) -> None:
    with opened(tmp_path, pushed([*[plain()] * 20, chunk(0, 1)])) as session:
        found = find_fragment(session, 22)
        assert found is not None
        assert (find_before(session, 22, found), len(asked)) == ({}, 1)


def test_only_the_latest_are_stored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(analyzer.decode.fragments, "MOST", 8)
    messages = [chunk(0, 3, uuid=f"u{number}") for number in range(60)]
    with opened(tmp_path, pushed([*messages, chunk(2, 3, uuid="u55"), chunk(2, 3, uuid="u52")])) as session:
        passed = FragmentTracker(session)
        for row, expected in ((62, {0: 57}), (63, {})):
            found = find_fragment(session, row)
            assert found is not None
            assert passed.find_before(row, found) == expected
        (lane,) = passed._lanes.values()
        assert (len(lane.wholes), len(lane._latest)) == (7, 8), "two of them are of one"
