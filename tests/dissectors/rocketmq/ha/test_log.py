"""Pieces of a log: every cut of one, blank ends of files, and what is no log."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissectors.rocketmq.ha.log import BLANK, iterate_spans
from tests.dissectors.rocketmq.ha.frames import blank, placed
from tests.effort import within

BASE = 5_000_000_000
LOG = placed(BASE, b"first", b"", b"third" * 9)
SIZES = [len(placed(0, body)) for body in (b"first", b"", b"third" * 9)]
BORDERS = [0, SIZES[0], SIZES[0] + SIZES[1], len(LOG)]


def told(data: bytes, base: int) -> list[tuple[str, int]]:
    found = list(iterate_spans(data, 0, len(data), base))
    assert all(one.stop == two.start for one, two in pairwise(found))
    assert not found or found[0].start == 0
    return [
        ("messages" if each.spec is None else each.spec.name, each.messages or each.stop - each.start) for each in found
    ]


def test_every_beginning_and_end() -> None:
    for cut in range(len(LOG) + 1):
        assert_cut(cut)


def assert_cut(cut: int) -> None:
    """Of what goes on at a cut the front is kept, and behind it is read what stands at its place."""
    before, behind = told(LOG[:cut], BASE), told(LOG[cut:], BASE + cut)
    whole = sum(border <= cut for border in BORDERS[1:])
    assert sum(size for name, size in before if name == "messages") == whole
    assert sum(size for name, size in behind if name == "messages") == sum(border >= cut for border in BORDERS[:-1])
    if cut not in BORDERS:
        last = max(border for border in BORDERS if border < cut)
        assert before[-1] == ("continues" if whole or cut - last >= 8 else before[-1][0], cut - last)
        assert behind[0] == ("continued", min(border for border in BORDERS if border > cut) - cut)


CASES = {
    "nothing": (b"", []),
    "the end of a file": (LOG + blank(500), [("messages", 3), ("blank", 500)]),
    "a file's end that goes on in the next piece": (LOG + blank(500)[:90], [("messages", 3), ("blank", 90)]),
    "a blank one alone": (blank(64), [("blank", 64)]),
    "two files": (blank(64) + placed(BASE + 64, b"x"), [("blank", 64), ("messages", 1)]),
    "a message at another place": (placed(BASE + 1, b"x"), [("continued", len(placed(0, b"x")))]),
    "noise": (b"\xda\xa3\x20\xa7" * 50, [("continued", 200)]),
    "a size of nothing behind a message": (LOG + bytes(40), [("messages", 3)]),
    "a blank size that can't be": (LOG + b"\0\0\0\7" + BLANK.to_bytes(4), [("messages", 3)]),
}


@pytest.mark.parametrize(("data", "expected"), CASES.values(), ids=CASES)
def test_pieces(data: bytes, expected: list[tuple[str, int]]) -> None:
    assert told(data, BASE) == expected


@given(st.lists(st.sampled_from([LOG, blank(9), b"\xda\xa3\x20\xa7", bytes(3), b"\xff" * 8]), max_size=6), st.data())
def test_any_mixture(parts: list[bytes], data: st.DataObject) -> None:
    mixture = b"".join(parts)
    begin = data.draw(st.integers(0, len(mixture)))
    found = list(iterate_spans(mixture, begin, len(mixture), BASE))
    assert all(begin <= each.start < each.stop <= len(mixture) for each in found)


def test_magics_without_messages_cost_little() -> None:
    with within(5):
        assert told(b"\xda\xa3\x20\xa7" * 100_000, 0) == [("continued", 400_000)]
